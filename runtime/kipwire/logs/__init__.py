"""Logs of brokers: segments and the files beside them, their names, and the records of internal topics."""

# Theory. A log is a folder of segments; a segment is a row of batches without gaps, in a file whose name has its first
# offset. `kipwire.records` reads a batch from bytes; this room knows files.
#
# Where a broken batch ends, and how damage is told from the end of a log. `segments.read_part` goes on after a wrong
# byte, where a buffer's reader stops. For each place without a whole batch `read_part` asks `accounting.account`, which
# has two answers, `Tail` and `Damage`; the head of `accounting` has the rule. In short: the length of a batch is
# believed if another head follows at its end; else a whole batch is searched, known by head and checksum; only the last
# segment of a log has a tail, and no whole batch lies in a tail. So batches, damage and a tail fill a file without gaps
# and without overlaps (`test_every_byte_of_a_damaged_log_is_a_row_an_error_or_the_tail_of_its_last_segment`), and
# hostile bytes cost a small multiple of their number (`test_hostile_heads_cost_a_small_multiple_of_their_bytes`).
#
# `offsets` says which offsets a batch can have at its place. `stream.read_stream` reads a pipe as a file is read: what
# follows damage goes to a temporary file, for the searches. `partition_files` reads the files beside segments,
# `index_checks` compares indexes with segments, `names` has the names of all these files, `internal_topics` what
# brokers keep in topics of their own.

from kipwire.logs.segments import read_segment

__all__ = ["read_segment"]

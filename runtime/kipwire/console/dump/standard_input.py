"""Standard input, read once: a log segment, a snapshot or a capture of packets, known by its first bytes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

from kipwire.console.arriving import AT_ONCE, Arriving
from kipwire.console.dump.log_files import HEAD_BYTES, RAW, STANDARD_INPUT, LogFile, begins_as_a_log
from kipwire.logs.accounting import head_of
from kipwire.logs.internal_topics import METADATA
from kipwire.logs.stream import StreamBuffer
from kipwire.model.errors import KipwireError
from kipwire.records import read_batches
from kipwire.records.control import control_type
from kipwire.records.heads import RECORDS
from kipwire.traffic.any_capture import Capture
from kipwire.traffic.captures import INDEX
from kipwire.traffic.packet_files import is_packets

_LARGEST_FIRST = 1 << 16
"""Bytes of the first batch of a snapshot at most; it has a few dozen."""
_MAGIC = 2
_TAKES = "give a log segment, a snapshot, or a capture of packets as tcpdump writes it"


class LogStream(NamedTuple):
    """A log that comes through standard input."""

    file: LogFile
    ahead: StreamBuffer
    grows: bool
    """False for a snapshot, which is complete."""


def open_standard_input(before_waiting: Callable[[], None], decode_as: str | None) -> LogStream | Capture:
    """Look at the first bytes of standard input.

    Args:
        before_waiting: called before more bytes are read, so that what is known is shown without delay.
        decode_as: as for `log_file`.

    Raises:
        OSError: it cannot be read.
        ValueError: it is empty, a terminal, or something else.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError(f"standard input is a terminal; {_TAKES}, such as cat FILE | kipwire dump -")
    stream = Arriving(sys.stdin.buffer, before_waiting)
    head = stream.peek(HEAD_BYTES)
    if not head:
        raise ValueError(f"standard input is empty; {_TAKES}")
    if is_packets(head):
        return Capture(STANDARD_INPUT, (), io.BufferedReader(stream, AT_ONCE))
    if not begins_as_a_log(head):
        raise ValueError(_unknown(head))
    is_snapshot = _begins_as_a_snapshot(stream)
    internal = decode_as or (METADATA if is_snapshot else None)
    file = LogFile(STANDARD_INPUT, None, None, None, None, None if internal == RAW else internal)
    return LogStream(file, StreamBuffer(stream.read_some), not is_snapshot)


def _unknown(head: bytes) -> str:
    if head.lstrip()[:1] == b"{":
        return (
            f"standard input has JSON; {_TAKES}. The {INDEX} of a capture needs the frames beside it: give the folder. "
            "Lines of a dump are for kipwire pack"
        )
    return f"standard input is neither a log nor a capture: it begins with {head.hex(' ')}; {_TAKES}"


def _begins_as_a_snapshot(stream: Arriving) -> bool:
    head = head_of(stream.peek(RECORDS), 0)
    if head is None or head.magic != _MAGIC or head.size > _LARGEST_FIRST:
        return False
    try:
        batch = next(read_batches(stream.peek(head.size)), None)
        return batch is not None and batch.is_control and control_type(batch.records[0]) == "SNAPSHOT_HEADER"
    except (KipwireError, IndexError):
        return False

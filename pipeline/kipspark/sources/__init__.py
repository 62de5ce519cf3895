"""Files as tables: log segments, snapshots, captured frames, files next to segments; and topics of brokers.

There are five: `kafka_log` in `log_source`, `kafka_topic` in `topic_source`, and in `file_sources` those whose files
are read once and whole: `kafka_snapshot`, `kafka_frames`, `kafka_partition_files`. A row takes the way of all of them:
options -> planned pieces of work -> a task for each -> Arrow batches.

Three processes. Spark uses a source in three places, each a Python process of its own:

1. A worker beside the driver makes the source from the user's options. Its `schema` gives the columns.
2. Another one makes the reader, by `reader`, and calls its `partitions` once. `options.Options` checks the options
   there, and the files are listed: what is wrong ends a query before its first task, with an error that names the
   option or the path, and a file that appears later is not read.
3. Spark pickles the reader and each partition. A worker of some executor calls `read` with a partition, and another one
   does so again if the task fails. So the rows follow from the reader, the partition and the files alone
   (`test_readers_and_tasks_work_in_another_process_and_a_task_without_work_has_no_rows`).

Hence a source is plain data and two functions of its module, which pickle finds by their names; `base.Reader` makes
Spark's reader of them:

* the first lists the pieces of work (`_plan` in `log_source`). A task costs some milliseconds by itself, so a piece is
  large enough to be worth it: a part of an index, ranges of segments, some files.
* the second, `_read` there, gives the rows of a piece as Arrow batches, with exactly the columns of `schema`.

`functools.partial` binds to both what they need of the options. There is no other state, and for a plan without work
Spark makes one task all the same, which has no rows.

Logs. `segments` lists the segments of all folders; `splits` cuts them into ranges of bytes that begin where a batch
begins, by the index beside a segment or by the lengths in the batches. Each batch belongs to the range in which it
starts, so every record is read once (`test_ranges_of_a_segment_have_every_record_once`). `batch_heads` reads many heads
at once and passes over batches that can have nothing wanted, by the rule of `kipwire.records.Bounds`. A row is a record
(`log_rows`) or a batch (`batch_rows`). What cannot be read is an error, or a row that says so with `mode` PERMISSIVE;
`kipwire.logs.accounting` tells it from the end of a log.

Streams. `_LogStreamReader` has more steps and the same tasks. Spark asks for the latest offset, writes it into its
checkpoint, and asks for the tasks between two such offsets; after a crash it asks for the same two again, perhaps in
another process.

* An offset of ours is `checkpoints.Reached`: for each folder the next Kafka offset, never a position in a file. So
  compaction may rewrite what was read, and what is left to read. It is JSON with a version, and each release reads all
  earlier ones (`test_offsets_of_every_version_are_read`).
* `follower.Follower` finds how far a batch may read, and the ranges between two offsets. What it remembers, such as
  ends and positions, only saves time: all of it can be found again from a checkpoint and the folders.
* `limits` shares the bytes of a limited batch among logs, so that none waits for ever
  (`test_no_log_waits_forever_for_larger_ones`).
* A broker deletes and replaces segments meanwhile. `reading` notices that a file is another one now, and looks in the
  folder for the offsets that are left, so that each record is read once
  (`test_each_record_of_logs_that_change_is_read_once`). What is gone before it was read is a loss: an error, or a
  warning by `failOnDataLoss` (`losses`).

The driver's side lists, and opens few files: indexes, the last segment of a log, heads where a range begins. The tasks
read all else. Nothing but the `Reader` and its work goes from one to the other, and secrets of a store are in that, not
in any error (`test_what_is_wrong_with_a_store_is_one_line_without_secrets`).

To add a source: its plan in `FORMATS` of `kipwire.tables.sources.formats`, of which the plan of snapshots is the
shortest; `options.py` beside it reads options. Its class goes into `register` here. docs/spark-sources.md gets a
section; docs/spark.md and docs/glossary.md name every source, docs/where.md those that need folders. Test it without
Spark: `reader(...).partitions()` gives the tasks, and `read` the rows of one, as `test_batch_rows.py` does. A kind of
file beside segments is no source of its own, but a row of `KINDS` in `partition_files.py`.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from kipspark.sources.file_sources import KafkaFramesSource, KafkaPartitionFilesSource, KafkaSnapshotSource
from kipspark.sources.log_source import KafkaLogSource
from kipspark.sources.topic_source import KafkaTopicSource


def register(spark: SparkSession) -> None:
    """Register the five formats in a session."""
    spark.dataSource.register(KafkaLogSource)
    spark.dataSource.register(KafkaTopicSource)
    spark.dataSource.register(KafkaSnapshotSource)
    spark.dataSource.register(KafkaPartitionFilesSource)
    spark.dataSource.register(KafkaFramesSource)

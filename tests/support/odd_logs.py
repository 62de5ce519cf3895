"""Log folders in which something odd is beside what is good, and the rows that reports on them must have.

One seed makes one log: partitions of its own topics, and its partition of each of the brokers' own topics. The good
part of a log is always the same kind of thing: a topic, a group that reads it, a transaction, a share group, a segment
in tiered storage. A `Kind` adds what is odd, and it comes before, between and after the good records. What a report
says of the good part must not depend on it.

Logs have numbers, so that a folder may have hundreds of them and one run of a job reads all. A new kind of oddity is a
function that takes a `Log` and is added to `KINDS`: it writes with `Log.add` and says with `Log.expect` which rows
must be there because of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from struct import pack, pack_into
from typing import Any, Literal
from uuid import UUID

from kafka_messages.group_metadata_key.v0 import GroupMetadataKey
from kafka_messages.group_metadata_value.v3 import GroupMetadataValue
from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v1 import OffsetCommitValue
from kafka_messages.remote_log_segment_metadata_record.v0 import RemoteLogSegmentMetadataRecord
from kafka_messages.share_snapshot_key.v0 import ShareSnapshotKey
from kafka_messages.share_snapshot_value.v0 import ShareSnapshotValue, StateBatch
from kafka_messages.topic_record.v0 import TopicRecord
from kafka_messages.transaction_log_key.v0 import TransactionLogKey
from kafka_messages.transaction_log_value.v1 import TransactionLogValue
from kipjobs.report.report import Report
from kipwire import Message, build
from kipwire.codec.checksums import crc32c
from kipwire.records import Record, write_batch
from kipwire.tools.times import DAY, moment_text
from tests.support.compressed_parts import CODECS, write_in_parts
from tests.support.subjects.broker_logs import NOW, write_log
from tests.support.subjects.odd_records import odd_record

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
SHARE, REMOTE, METADATA = "__share_group_state", "__remote_log_metadata", "__cluster_metadata"
JOBS = ("offsets", "transactions", "compaction", "share", "tiered", "metadata")
"""The jobs that read logs."""

Row = Mapping[str, Any]
"""Some columns of a row, with their values."""
_CODECS: tuple[Literal["none", "gzip", "snappy", "lz4", "zstd"], ...] = ("none", "gzip", "snappy", "lz4", "zstd")
_COVERED, _TIMES = 21, 27
"""Bytes of a batch at which what its checksum covers, and its two times, begin."""


class Log:
    """One log that is being written."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = Random(seed)
        self.number = number
        """Distinguishes it from the others in its folder."""
        self.batches: dict[str, list[bytes]] = defaultdict(list)
        """By the name of the partition's folder."""
        self.expected: list[tuple[str, str, Row]] = []
        """Job, table and columns of the rows that must be there."""
        self._next: dict[str, int] = defaultdict(int)

    def partition(self, topic: str) -> str:
        """Return the folder of this log's partition of a topic; the metadata of a cluster has but one partition."""
        return f"{topic}-{0 if topic == METADATA else self.number if topic.startswith('__') else 0}"

    def add(self, topic: str, records: Sequence[Record], times: tuple[int, int] | None = None, **how: Any) -> int:
        """Add a batch to a partition, and return its first offset.

        Args:
            topic: of the partition.
            records: whose offsets follow.
            times: the first and the highest time in the head; of any 64 bits, and the records' times move along.
            how: it is written, as for `write_batch`.
        """
        name = self.partition(topic)
        first = self._next[name]
        for offset, record in enumerate(records, first):
            record.offset = offset
        self._next[name] += len(records)
        data = write_batch(records, compression=self.random.choice(_CODECS), **how)
        self.batches[name].append(data if times is None else with_times(data, *times))
        return first

    def add_in_parts(self, topic: str, records: list[Record]) -> None:
        """Add a batch whose compressed section has several parts."""
        name = self.partition(topic)
        for offset, record in enumerate(records, self._next[name]):
            record.offset = offset
        self._next[name] += len(records)
        self.batches[name].append(write_in_parts(records, self.random.choice(CODECS), self.random))

    def damage(self, topic: str) -> int:
        """Damage the last batch of a partition, and return its position."""
        batches = self.batches[self.partition(topic)]
        batch = bytearray(batches[-1])
        batch[self.random.randrange(_COVERED, len(batch))] ^= 1 << self.random.randrange(8)
        batches[-1] = bytes(batch)
        return sum(map(len, batches[:-1]))

    def begin(self, topic: str, offset: int) -> None:
        """Begin a partition at an offset, after what others have written."""
        self._next[self.partition(topic)] = offset

    def end(self, topic: str) -> int:
        """Return the offset after the last record of a partition."""
        return self._next[self.partition(topic)]

    def expect(self, job: str, table: str, **columns: Any) -> None:
        """Say that a table of a job must have a row with these values."""
        self.expected.append((job, table, columns))


Kind = Callable[[Log], None]
"""Adds one kind of oddity to a log."""


def with_times(batch: bytes, first: int, highest: int) -> bytes:
    """Return a batch with other times in its head: Kafka stores any, and its writers here refuse those below -1."""
    changed = bytearray(batch)
    pack_into(">qq", changed, _TIMES, first, highest)
    pack_into(">I", changed, _COVERED - 4, crc32c(bytes(changed[_COVERED:])))
    return bytes(changed)


def any_time(random: Random) -> int:
    """Draw a number of 64 bits that may stand where a time stands: mostly where something begins or ends."""
    edges = (
        *(0, -1, -2, -1000, 1_700_000_000_123_456, 1_700_000_000_123_456_789, 1_700_000_000),
        *(2**63 - 1, -(2**63), (2**63 - 1) // 1000, (2**63 - 1) // 1000 + 1, -((2**63 - 1) // 1000) - 1),
        *(253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001, NOW, NOW + 2 * DAY),
    )
    if random.random() < 0.6:
        return random.choice(edges)
    return random.getrandbits(64) - 2**63 if random.random() < 0.5 else random.randrange(-(2**45), 2**48)


def good(log: Log) -> None:
    """Write what every log has, at plausible times."""
    random, number = log.random, log.number
    topic, ident = f"good{number}", UUID(int=number + 1)
    count, read = random.randrange(2, 9), random.randrange(1, 3)
    for index in range(count):
        log.add(topic, [Record(timestamp=NOW + index, key=b"k", value=b"v")])
    commit = OffsetCommitValue(offset=read, commit_timestamp=NOW + 50, expire_timestamp=-1)
    log.add(GROUPS, [_keyed(OffsetCommitKey(group=topic, topic=topic, partition=0), commit)])
    log.expect("offsets", "groups", group=topic, topic=topic, offset=read, end_offset=count, lag=max(count - read, 0))
    log.expect("transactions", "partitions", topic=topic, partition=0, end_offset=count, last_stable_offset=count)
    state = TransactionLogValue(
        producer_id=number + 1000,
        transaction_status=4,
        transaction_last_update_timestamp_ms=NOW,
        transaction_timeout_ms=7,
    )
    log.add(TRANSACTIONS, [_keyed(TransactionLogKey(transactional_id=topic), state)])
    log.expect("transactions", "transactions", transactional_id=topic, producer_id=number + 1000, timeout_ms=7)
    log.add(SHARE, [_keyed(*_share(topic, ident, NOW))])
    log.expect("share", "partitions", group=topic, topic=topic, partition=0, start_offset=1, batches=1)
    log.add(REMOTE, [_remote(topic, ident, NOW)])
    log.expect("tiered", "segments", topic=topic, start_offset=number, state="COPY_SEGMENT_STARTED", size=5000)
    log.add(METADATA, [_metadata(TopicRecord(name=topic, topic_id=ident))])
    log.expect("metadata", "topics", topic=topic)
    log.expect("compaction", "partitions", topic=GROUPS, partition=number)


def times(log: Log) -> None:
    """Write records at any times, and times of any number in the records of the brokers' own topics."""
    random, number = log.random, log.number
    topic, ident, producer = f"times{number}", UUID(int=(number + 1) << 64), random.choice((-1, 5, 6))
    odd: list[int] = []
    first_odd, batches = None, random.randrange(1, 4)
    for sequence in range(batches):
        span = (any_time(random), any_time(random))
        is_of_broker = random.random() < 0.3
        of_producer = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence} if producer > 0 else {}
        first = log.add(
            topic,
            [Record(timestamp=0, key=b"k", value=b"v")],
            span,
            timestamp_type="LogAppendTime" if is_of_broker else "CreateTime",
            is_transactional=producer == 6,
            **of_producer,
        )
        of_batch = [time for time in span if time != -1 and not 0 <= time <= NOW + DAY]
        first_odd = first if of_batch and first_odd is None else first_odd
        odd += of_batch
    if odd:
        log.expect(
            *("transactions", "implausible_times"),
            topic=topic,
            first_offset=first_odd,
            lowest_ms=min(odd),
            highest_ms=max(odd),
            lowest=moment_text(min(odd)),
            highest=moment_text(max(odd)),
        )
    log.expect("transactions", "partitions", topic=topic, partition=0, end_offset=batches)
    commit = OffsetCommitValue(offset=1, commit_timestamp=any_time(random), expire_timestamp=any_time(random))
    log.add(GROUPS, [_keyed(OffsetCommitKey(group=topic, topic=topic, partition=0), commit)], _span(random))
    log.expect("offsets", "groups", group=topic, topic=topic, offset=1, end_offset=batches, lag=batches - 1)
    members = GroupMetadataValue(generation=3, current_state_timestamp=any_time(random))
    log.add(GROUPS, [_keyed(GroupMetadataKey(group=topic), members)], _span(random))
    log.expect("offsets", "membership", group=topic, kind="classic", event="epoch", epoch=3)
    state = TransactionLogValue(
        producer_id=number + 5000,
        transaction_status=1,
        transaction_start_timestamp_ms=any_time(random),
        transaction_last_update_timestamp_ms=any_time(random),
    )
    log.add(TRANSACTIONS, [_keyed(TransactionLogKey(transactional_id=topic), state)], _span(random))
    log.expect("transactions", "transactions", transactional_id=topic, producer_id=number + 5000, state="Ongoing")
    log.add(SHARE, [_keyed(*_share(topic, ident, any_time(random)))], _span(random))
    log.expect("share", "partitions", group=topic, topic=topic, start_offset=1, batches=1)
    log.add(REMOTE, [_remote(topic, ident, any_time(random), any_time(random))], _span(random))
    log.expect("tiered", "segments", topic=topic, start_offset=number, size=5000)
    log.add(METADATA, [_metadata(TopicRecord(name=topic, topic_id=ident))], _span(random))
    log.expect("metadata", "topics", topic=topic)


def unknown(log: Log) -> None:
    """Write records of a later Kafka, or without a type, to the brokers' own topics."""
    _odd_records(log, damaged=False)


def parts(log: Log) -> None:
    """Write batches whose compressed sections have several parts."""
    random, topic = log.random, f"parts{log.number}"
    count = random.randrange(1, 30)
    log.add_in_parts(topic, [Record(timestamp=NOW + at, key=b"k", value=b"v%d" % at) for at in range(count)])
    log.expect("transactions", "partitions", topic=topic, partition=0, end_offset=count)
    commit = OffsetCommitValue(offset=1, commit_timestamp=NOW + 50, expire_timestamp=-1)
    log.add_in_parts(GROUPS, [_keyed(OffsetCommitKey(group=topic, topic=topic, partition=0), commit)])
    log.expect("offsets", "groups", group=topic, topic=topic, offset=1, end_offset=count, lag=count - 1)
    log.add_in_parts(REMOTE, [_remote(topic, UUID(int=(log.number + 1) << 32), NOW)])
    log.expect("tiered", "segments", topic=topic, start_offset=log.number, size=5000)


def damage(log: Log) -> None:
    """Write damaged records, and a damaged batch, which a job leaves out with --permissive."""
    _odd_records(log, damaged=True)
    for topic, job in _JOB_OF.items():
        if topic != METADATA:  # whose partition all logs share
            log.add(topic, [Record(timestamp=NOW, key=b"k", value=b"v")])
            position = log.damage(topic)
            place = {"topic": topic, "partition": log.number, "kind": "damaged", "position": position}
            log.expect(job, "left_out", **place)


_JOB_OF = {GROUPS: "offsets", TRANSACTIONS: "transactions", SHARE: "share", REMOTE: "tiered", METADATA: "metadata"}
"""The job that decodes the records of each of the brokers' own topics."""


def _odd_records(log: Log, *, damaged: bool) -> None:
    for topic, job in _JOB_OF.items():
        odd = [odd_record(topic, log.random, damaged=damaged) for _ in range(log.random.randrange(1, 4))]
        log.add(topic, [one.record for one in odd])
        for record, kind, type_, version in odd:
            partition = 0 if topic == METADATA else log.number
            place = {"topic": topic, "partition": partition, "offset": record.offset}
            log.expect(job, "left_out", **place, kind=kind, type=type_, version=version)


KINDS: dict[str, Kind] = {"times": times, "unknown": unknown, "parts": parts}
"""All kinds of oddities that no report needs to be told to go on after."""
DAMAGED: dict[str, Kind] = {**KINDS, "damage": damage}
"""All kinds of oddities."""


def write_odd_logs(folder: Path, seeds: Iterable[int], kinds: Sequence[str] = tuple(KINDS)) -> list[Log]:
    """Write the logs of seeds into one folder, and return them.

    Args:
        folder: of a broker.
        seeds: a log for each.
        kinds: of what is odd in each log, beside what is good; names of `DAMAGED`.
    """
    logs = []
    metadata: list[bytes] = []
    offset = 0
    for number, seed in enumerate(seeds):
        log = Log(seed, number)
        log.begin(METADATA, offset)
        parts = [good, *[DAMAGED[kind] for kind in kinds]]
        log.random.shuffle(parts)
        for part in parts:
            part(log)
        metadata += log.batches.pop(log.partition(METADATA))
        offset = log.end(METADATA)
        for name, batches in log.batches.items():
            write_log(folder / name, *batches)
        logs.append(log)
    write_log(folder / f"{METADATA}-0", *metadata)
    return logs


def missing(job: str, report: Report, logs: Iterable[Log]) -> list[str]:
    """Return the rows that a report should have and lacks, each with the seed's number."""
    expected: dict[tuple[str, tuple[str, ...]], list[tuple[tuple[Any, ...], int]]] = defaultdict(list)
    for log in logs:
        for of_job, table, row in log.expected:
            if of_job == job:
                expected[table, tuple(row)].append((tuple(row.values()), log.number))
    lacking = []
    frames = {table.name: table.frame for table in report.tables}
    for (table, columns), wanted in expected.items():
        found = frames[table].select(*columns).toArrow()
        there = set(zip(*[column.to_pylist() for column in found.columns], strict=True))
        lacking += [f"log {number}: {table} without {row} of {columns}" for row, number in wanted if row not in there]
    return lacking


def _span(random: Random) -> tuple[int, int]:
    return any_time(random), any_time(random)


def _keyed(key: Message, value: Message) -> Record:
    types = {"OffsetCommitKey": 1, "GroupMetadataKey": 2}
    return Record(
        timestamp=NOW,
        key=pack(">h", types.get(type(key).__name__, 0)) + key.encode(),
        value=pack(">h", value.VERSION) + value.encode(),
    )


def _share(group: str, topic: UUID, time: int) -> tuple[Message, Message]:
    value = ShareSnapshotValue(
        snapshot_epoch=3,
        start_offset=1,
        delivery_complete_count=0,
        create_timestamp=time,
        write_timestamp=time,
        state_batches=[StateBatch(first_offset=1, last_offset=1, delivery_state=0, delivery_count=1)],
    )
    return ShareSnapshotKey(group_id=group, topic_id=topic, partition=0), value


def _remote(topic: str, ident: UUID, time: int, event: int = NOW) -> Record:
    of = {"topic_id_partition": {"name": topic, "id": ident, "partition": 0}, "id": ident}
    number = int("".join(filter(str.isdigit, topic)))
    return _metadata(
        build(
            RemoteLogSegmentMetadataRecord,
            {
                "remote_log_segment_id": of,
                "broker_id": 1,
                "start_offset": number,
                "end_offset": number + 9,
                "segment_size_in_bytes": 5000,
                "max_timestamp_ms": time,
                "event_timestamp_ms": event,
                "segment_leader_epochs": [{"leader_epoch": 4, "offset": number}],
            },
        )
    )


def _metadata(message: Message) -> Record:
    """Make a record of the topics that have Kafka's frame of metadata."""
    return Record(timestamp=NOW, value=bytes([1, message.API_KEY or 0, message.VERSION]) + message.encode())

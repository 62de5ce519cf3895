"""Records that do not belong in the brokers' own topics, or are of a later Kafka, or damaged, among good ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

from kafka_messages.remote_log_segment_metadata_record.v0 import RemoteLogSegmentMetadataRecord
from kafka_messages.remote_log_segment_metadata_update_record.v0 import RemoteLogSegmentMetadataUpdateRecord
from kipjobs.jobs import offsets
from kipwire import Message, build
from kipwire.codec.wire import write_varint
from kipwire.logs.internal_topics import pack_envelope
from kipwire.message.registry import registry_of
from kipwire.records import Record, read_segment, write_batch
from kipwire.tables.messages.records import REMOTE, types_of
from tests.support.subjects.broker_logs import NOW, numbered, write_log
from tests.support.subjects.random_messages import random_message

FAMILIES = {
    "__consumer_offsets": "group",
    "__transaction_state": "transaction",
    "__share_group_state": "share",
    "__cluster_metadata": "metadata",
    "__remote_log_metadata": REMOTE,
}
_CHOSEN = {"group": offsets.TYPES, "transaction": ("TransactionLog",)}
"""Types of records that jobs decode, where they do not decode all."""


class Odd(NamedTuple):
    """A record that no job can decode, and what a job says of it."""

    record: Record
    kind: str
    """`unknown` or `damaged`."""
    type: str | None
    version: int | None


def odd_record(topic: str, random: Random, *, damaged: bool) -> Odd:
    """Make an odd record for an internal topic: a damaged one, or one that may be intact."""
    family = FAMILIES[topic]
    number, one = random.choice(
        [item for item in types_of(family).items() if item[1].name in _CHOSEN.get(family, (item[1].name,))]
    )
    value = _made(random, one.value.message)
    if one.key is None:
        made = _odd_metadata(random, family, number, value, one.name, damaged=damaged)
    else:
        made = _odd_pair(random, family, _made(random, one.key.message), value, one.name, damaged=damaged)
    return made


def _odd_pair(random: Random, family: str, key: Message, value: Message, name: str, *, damaged: bool) -> Odd:
    keys, values = pack_envelope(type(key)) or b"", pack_envelope(type(value)) or b""
    whole_key, whole_value = keys + key.encode(), values + value.encode()
    if damaged:
        if random.random() < 0.5:
            return _odd(_broken(random, whole_key), whole_value, "damaged", name, value.VERSION)
        return _odd(whole_key, _broken(random, whole_value), "damaged", name, value.VERSION)
    case = random.randrange(5)
    if case == 0:
        return _odd(None, random.choice((None, whole_value)), "unknown", None, None)
    if case == 1:
        return _odd(random.randbytes(random.randrange(2)), whole_value, "unknown", None, None)
    if case == 2:
        type_id = _unknown(random, types_of(family), -(2**15), 2**15)
        version = random.randrange(-5, 2**15)
        data = random.choice((None, version.to_bytes(2, "big", signed=True) + random.randbytes(3)))
        shown = None if data is None else version
        return _odd(type_id.to_bytes(2, "big", signed=True) + random.randbytes(4), data, "unknown", str(type_id), shown)
    if case == 3:
        return _odd(whole_key, random.randbytes(random.randrange(2)), "unknown", name, None)
    version = _unknown(random, registry_of("kafka_messages").versions(value.NAME), -(2**15), 2**15)
    data = version.to_bytes(2, "big", signed=True) + value.encode()
    return _odd(whole_key, data, "unknown", name, version)


def _odd_metadata(random: Random, family: str, number: int, value: Message, name: str, *, damaged: bool) -> Odd:
    body = value.encode()
    if damaged:
        return _odd(None, _broken(random, (pack_envelope(type(value)) or b"") + body), "damaged", name, value.VERSION)
    case = random.randrange(5)
    if case == 0:
        return _odd(None, random.choice((None, b"", b"\1", b"\1\2")), "unknown", None, None)
    if case == 1:
        frame = _unknown(random, (1,), 0, 2**31)
        return _odd(None, _numbers(frame, number, value.VERSION) + body, "unknown", None, None)
    if case == 2:
        cut = random.choice((b"\xff", b"\xf5\3", b"\xff\xff\xff\xff\xff\xff"))  # without an end, a version or a limit
        return _odd(None, b"\1" + cut, "unknown", None, None)
    if case == 3:
        type_id, version = _unknown(random, types_of(family), 0, 2**31), random.choice((0, 3, 300))
        return _odd(None, _numbers(1, type_id, version) + body, "unknown", str(type_id), version)
    version = _unknown(random, registry_of("kafka_messages").versions(value.NAME), 0, 2**31)
    return _odd(None, _numbers(1, number, version) + body, "unknown", name, version)


def _odd(key: bytes | None, value: bytes | None, kind: str, type_: str | None, version: int | None) -> Odd:
    return Odd(Record(offset=0, timestamp=NOW, key=key, value=value), kind, type_, version)


def _numbers(*numbers: int) -> bytes:
    return b"".join(map(write_varint, numbers))


def _unknown(random: Random, known: object, least: int, end: int) -> int:
    """Return a number that is not known: often a small one, or one that takes several bytes as a varint."""
    while True:
        number = random.choice((random.randrange(200), 501, 10_001, random.randrange(least, end)))
        if number not in known:  # type: ignore[operator]
            return number


def _broken(random: Random, data: bytes) -> bytes:
    """Return the bytes of a message with one too many, or if it has a content, with one too few."""
    return data[:-1] if len(data) > 3 and random.random() < 0.5 else data + b"\7"


def _made(random: Random, name: str) -> Message:
    known = registry_of("kafka_messages")
    return random_message(known.message(name, random.choice(known.versions(name))), random, unknown=False)


def add_odd_records(folder: Path, random: Random, *, damaged: bool = False) -> list[Odd]:
    """Write odd records between the good ones of a partition, whose first and last ones stay where they are.

    Args:
        folder: of the partition of an internal topic, with one segment.
        random: chooses.
        damaged: whether some of them are damaged; others may be intact.

    Returns:
        The odd records, with their offsets.
    """
    (segment,) = folder.glob("*.log")
    good = [record for batch in read_segment(segment) for record in batch.records]
    topic = folder.name.rpartition("-")[0]
    odd = [odd_record(topic, random, damaged=damaged and random.random() < 0.5) for _ in range(random.randrange(1, 9))]
    between = [*good[1:-1], *(one.record for one in odd)]
    random.shuffle(between)
    segment.write_bytes(b"".join(_batches(random, [good[0], *between, good[-1]])))
    return odd


def without(folder: Path, odd: list[Odd]) -> None:
    """Remove odd records from a partition again; all others keep their offsets."""
    (segment,) = folder.glob("*.log")
    offsets_of_odd = {one.record.offset for one in odd}
    good = [
        record for batch in read_segment(segment) for record in batch.records if record.offset not in offsets_of_odd
    ]
    segment.write_bytes(b"".join(write_batch([record]) for record in good))


def _batches(random: Random, records: list[Record]) -> Iterator[bytes]:
    for offset, record in enumerate(records):
        record.offset = offset
    while records:
        count = random.randrange(1, 6)
        yield write_batch(records[:count], compression=random.choice(("none", "gzip")))
        records = records[count:]


def write_remote(folder: Path, random: Random, number: int) -> None:
    """Write a log of the metadata of tiered storage."""
    records: list[Message] = []
    for at in range(random.randrange(1, 9)):
        partition = {"name": f"t{number}", "id": UUID(int=number + 1), "partition": random.randrange(2)}
        of = {
            "remote_log_segment_id": {"topic_id_partition": partition, "id": UUID(int=100 * number + at)},
            "broker_id": 1,
        }
        added = {**of, "start_offset": at, "end_offset": at, "segment_size_in_bytes": random.randrange(9)}
        records.append(build(RemoteLogSegmentMetadataRecord, added))
        state = {**of, "remote_log_segment_state": random.randrange(5)}
        records.append(build(RemoteLogSegmentMetadataUpdateRecord, state))
    some = [Record(offset=0, timestamp=NOW, value=(pack_envelope(type(one)) or b"") + one.encode()) for one in records]
    write_log(folder, numbered(*some))

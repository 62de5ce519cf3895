"""Random log folders of brokers: records, transactions, and every type of record of the brokers' own topics."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Literal
from uuid import UUID

from kafka_messages.enums import TransactionState
from kipwire import Message, Struct
from kipwire.logs.internal_topics import METADATA_FRAME
from kipwire.message.registry import registry_of
from kipwire.records import Record, write_batch
from kipwire.tables.messages.records import types_of
from tests.support.subjects.broker_logs import NOW, marker, write_log
from tests.support.subjects.random_messages import random_message

_FAMILIES = {"group": "__consumer_offsets", "transaction": "__transaction_state", "share": "__share_group_state"}
_CODECS: tuple[Literal["none", "gzip", "snappy", "lz4", "zstd"], ...] = ("none", "gzip", "snappy", "lz4", "zstd")
_OFTEN = ("OffsetCommit", "GroupMetadata", "ShareSnapshot")
"""Types of records that jobs look at most."""
_FEW = ("one", "two", "three")
"""Names of groups and the like: few, so that records are about the same."""


def write_random_logs(folder: Path, seed: int, number: int) -> None:
    """Write what one broker has.

    Args:
        folder: of its logs.
        seed: of all that is random.
        number: of the partitions of brokers' topics, so that several folders may be read together.
    """
    random = Random(seed)
    for partition in range(2):
        _write_topic(random, folder / f"t{number}-{partition}")
    for family, topic in _FAMILIES.items():
        _write_records(random, folder / f"{topic}-{number}", family, f"t{number}")


def write_random_metadata(folder: Path, seed: int) -> None:
    """Write a metadata log."""
    random = Random(seed)
    values = []
    for _ in range(random.randrange(5, 60)):
        record = random.choice([one for one in types_of("metadata").values() if "Transaction" not in one.name])
        message = _made(random, record.value.message, "t")
        values.append(bytes([METADATA_FRAME, message.API_KEY or 0, message.VERSION]) + message.encode())
    records = [Record(offset=at, timestamp=NOW + at, value=value) for at, value in enumerate(values)]
    write_log(folder / "__cluster_metadata-0", *_batches(random, records))


def _write_topic(random: Random, folder: Path) -> None:
    batches: list[bytes] = []
    offset = random.choice((0, 0, 7))
    base = offset
    for _ in range(random.randrange(1, 12)):
        count = random.randrange(1, 5)
        time = NOW + random.randrange(10_000)
        records = [
            Record(
                offset=offset + index,
                timestamp=random.choice((time + index, time, -1)),
                key=random.choice((None, b"a", b"b", b"")),
                value=random.choice((None, b"v" * index)),
            )
            for index in range(count)
        ]
        producer = random.choice((None, 1, 2, 3))
        extra: dict[str, Any] = {}
        if producer is not None:
            extra = {"producer_id": producer, "producer_epoch": random.randrange(2), "base_sequence": offset}
            extra["is_transactional"] = random.random() < 0.7
        batches.append(write_batch(records, compression=random.choice(_CODECS), **extra))
        offset += count + random.choice((0, 0, 0, 3))  # compaction leaves gaps
        if random.random() < 0.4:
            batches.append(marker(offset, random.randrange(1, 4), random.randrange(3), random.randrange(2)))
            offset += 1
    write_log(folder, *batches, base=base)


def _write_records(random: Random, folder: Path, family: str, topic: str) -> None:
    records = []
    for at in range(random.randrange(3, 40)):
        types = types_of(family).values()
        often = [one for one in types if one.name in _OFTEN]
        one = random.choice(often if often and random.random() < 0.5 else list(types))
        assert one.key is not None
        key, value = _made(random, one.key.message, topic), _made(random, one.value.message, topic)
        envelope = (key.API_KEY or 0).to_bytes(2, "big")
        data = None if random.random() < 0.2 else value.VERSION.to_bytes(2, "big") + value.encode()
        records.append(Record(offset=at, timestamp=NOW + at * 100, key=envelope + key.encode(), value=data))
    write_log(folder, *_batches(random, records))


def _batches(random: Random, records: list[Record]) -> list[bytes]:
    batches = []
    while records:
        count = random.randrange(1, 6)
        batches.append(write_batch(records[:count], compression=random.choice(_CODECS)))
        records = records[count:]
    return batches


def _made(random: Random, name: str, topic: str) -> Message:
    known = registry_of("kafka_messages")
    version = random.choice(known.versions(name))
    message = random_message(known.message(name, version), random, unknown=False)
    _settle(message, random, topic)
    return message


def _settle(item: Struct, random: Random, topic: str) -> None:
    """Give the fields by which jobs put records together few different values, and times that are times."""
    for field in item.ATTRIBUTES:
        name = field.name
        value = getattr(item, name)
        if isinstance(value, list):
            for one in value:
                if isinstance(one, Struct):
                    _settle(one, random, topic)
        elif isinstance(value, Struct):
            _settle(value, random, topic)
        elif value is None:
            continue
        elif "timestamp" in name and isinstance(value, int):
            setattr(item, name, random.choice((-1, NOW + random.randrange(10_000))))
        elif name in ("group", "group_id", "transactional_id", "member_id"):
            setattr(item, name, f"{random.choice(_FEW)} of {topic}")  # whose records are in one partition
        elif name in ("topic_name", "name") and isinstance(getattr(item, "topic_id", None), UUID):
            number = random.randrange(1, 4)
            setattr(item, "topic_id", UUID(int=number))  # noqa: B010  no Struct has it for type checkers
            setattr(item, name, f"name {number}")  # an id has one name
        elif isinstance(value, float) and 0 < abs(value) < 1e-300:
            setattr(item, name, 0.5)  # older Java writes such a number with a wrong last digit
        elif name == "topic" and isinstance(value, str):
            setattr(item, name, topic)
        elif name in ("partition", "partition_id", "broker_id", "leader") and isinstance(value, int):
            setattr(item, name, random.randrange(2))
        elif name == "topic_id" and not hasattr(item, "topic_name") and not hasattr(item, "name"):
            setattr(item, name, UUID(int=random.randrange(1, 4)))
        elif name in ("offset", "start_offset", "first_offset", "last_offset", "delivery_complete_count"):
            setattr(item, name, random.randrange(20))
        elif name == "transaction_status":
            setattr(item, name, int(random.choice(list(TransactionState))))
        elif name == "producer_id":
            setattr(item, name, random.randrange(1, 4))

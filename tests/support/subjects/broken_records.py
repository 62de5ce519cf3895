"""Logs of brokers' own topics, with records of all types and versions, of which some are damaged or not known."""

from __future__ import annotations

from pathlib import Path
from random import Random

from kipwire.message.registry import registry_of
from kipwire.records import Record, read_segment, write_batch
from tests.support.subjects.broker_logs import marker, write_log
from tests.support.subjects.random_logs import write_random_logs, write_random_metadata
from tests.support.subjects.random_messages import random_message

TOPICS = {"group": "__consumer_offsets", "transaction": "__transaction_state", "share": "__share_group_state"}
MESSAGE = "OffsetCommitValue"
MESSAGES, BODIES = "commits", "bodies"
"""Topics whose values are messages of all versions, and messages of one version without it."""
VERSION = 3
"""The version of the latter."""


def write_broken_records(folder: Path, seed: int) -> None:
    """Write records of all families, and messages: intact, null, cut, of unknown types, in broken batches."""
    random = Random(seed)
    write_random_logs(folder, seed, 0)
    write_random_metadata(folder, seed)
    known = registry_of("kafka_messages")

    def value(topic: str) -> bytes:
        version = VERSION if topic == BODIES else random.choice(known.versions(MESSAGE))
        message = random_message(known.message(MESSAGE, version), random, unknown=True)
        return (b"" if topic == BODIES else version.to_bytes(2, "big")) + message.encode()

    for topic in (MESSAGES, BODIES):
        write_log(folder / f"{topic}-0", write_batch([Record(offset=at, value=value(topic)) for at in range(60)]))
    for segment in sorted(folder.glob("*/*.log")):
        if segment.parent.name.startswith(("__", MESSAGES, BODIES)):
            records = [record for batch in read_segment(segment) for record in batch.records]
            segment.write_bytes(b"".join(_batches(random, records)))


def _batches(random: Random, records: list[Record]) -> list[bytes]:
    """Return the records in batches of three, one of them with a wrong checksum, and a marker after the last."""
    batches = []
    for at in range(0, len(records), 3):
        some = records[at : at + 3]
        for record in some:
            record.key, record.value = _broken(random, record.key), _broken(random, record.value)
        batches.append(write_batch(some))
    damaged = random.randrange(len(batches))
    batches[damaged] = batches[damaged][:-1] + bytes([batches[damaged][-1] ^ 1])
    return [*batches, marker(len(records), 1, 1)]


def _broken(random: Random, data: bytes | None) -> bytes | None:
    """Return bytes that are mostly the same."""
    if data is None or random.random() < 0.8:
        return data
    return random.choice(
        (None, b"", data[:1], data[: random.randrange(len(data))], b"\x7f\xff" + data[2:], data + b"\0")
    )

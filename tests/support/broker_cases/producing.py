"""Cases of batches that producers send."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey
from kipwire.codec.checksums import crc32c
from kipwire.records import Record, write_batch, write_message_set
from kipwire.records.compression import compress
from tests.support.broker_cases.talking import NOT_YET, STILL, Talk
from tests.support.broker_cases.topics import UNKNOWN_ID, new

TIME = 1_700_000_000_000
_FUTURE = 9_000_000_000_000
"""Timestamp in the year 2255."""
_ATTRIBUTES, _LAST_OFFSET_DELTA, _MAX_TIMESTAMP, _COUNT, _RECORDS = 21, 23, 35, 57, 61
"""Positions in a batch of magic 2."""


def batch(number: int = 1, **values: Any) -> bytes:
    """Return a batch of some records."""
    records = [Record(offset=at, timestamp=TIME + at, value=b"v%d" % at) for at in range(number)]
    return write_batch(records, **values)


def produce(talk: Talk, case: str, records: bytes | None, *, version: int = 9, acks: int = -1, **values: Any) -> None:
    """Produce to a partition of the topic of all cases, or to another."""
    retried = values.pop("retried", NOT_YET)
    partition, left_out = {"index": values.pop("index", 0), "records": records}, values.pop("left_out", ())
    topic = {"name": f"{talk.name}-t", "partition_data": [partition], **values}
    asked: dict[str, Any] = {
        "transactional_id": values.get("transactional_id"),
        "acks": acks,
        "timeout_ms": 3000,
        "topic_data": [topic],
    }
    talk.ask(case, ApiKey.PRODUCE, version, retried, left_out=left_out, **asked)


def batches(talk: Talk) -> None:
    """Append batches, with success and without."""

    def ask(case: str, records: bytes | None, **values: Any) -> None:
        produce(talk, f"produce {case}" if case else "produce", records, **values)

    ask("", batch(3))
    ask("acks=1", batch(), version=3, acks=1)
    ask("acks=2", batch(), acks=2)
    ask("unknown topic", batch(), name=f"{talk.name}none")
    ask("unknown partition", batch(), index=9)
    ask("unknown id", batch(), version=13, topic_id=UNKNOWN_ID)
    ask("unknown topic acks=2", batch(), name=f"{talk.name}none", acks=2)
    ask("bad crc", _changed(batch(), -1, b"\xff", checked=False))
    ask("two batches", batch() + batch())
    ask("null records", None)
    ask("empty records", b"")
    ask("empty records acks=2", b"", acks=2)
    for version in (9, 3):
        old = write_message_set([Record(offset=0, timestamp=1, value=b"x")], magic=1)
        ask(f"magic 1 in v{version}", old, version=version)
    ask("zstd in v3", batch(compression="zstd"), version=3)
    ask("zstd in v7", batch(compression="zstd"), version=7)
    ask("truncated batch", batch(2)[:-4])
    ask("garbage", b"\1" * 80)
    ask("tiny size", batch()[:8] + b"\0\0\0\5" + batch()[12:])
    ask("too small a size", batch()[:8] + b"\0\0\0\x28" + batch()[12:52])
    ask("unknown magic", _changed(batch(), 16, b"\3", checked=False))
    ask("base offset 5", b"\0" * 7 + b"\5" + batch()[8:])
    ask("control batch", batch(is_control=True, producer_id=5, producer_epoch=0, base_sequence=0))
    transactional = batch(producer_id=99999, producer_epoch=0, base_sequence=0, is_transactional=True)
    ask("unknown tx", transactional, transactional_id=f"{talk.name}-notx")
    ask("transactional without id", transactional)
    ask("too large", write_batch([Record(offset=0, timestamp=TIME, value=b"v" * 1_050_000)]))
    ask("future timestamp", write_batch([Record(offset=0, timestamp=_FUTURE, value=b"v")]))
    ask("no timestamp", write_batch([Record(offset=0, timestamp=-1, value=b"v")]))


def idempotent(talk: Talk) -> None:
    """Append batches of idempotent producers, which Kafka expects in order."""
    producer_id = talk.ask("init pid", ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1000)
    producer_id = producer_id.producer_id
    with_timeout: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": -5}
    talk.ask("init pid timeout -5", ApiKey.INIT_PRODUCER_ID, 4, **with_timeout)
    known = {"producer_id": producer_id, "producer_epoch": 0}
    talk.ask("init pid with a pid", ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, **known)

    def ask(case: str, epoch: int, sequence: int, number: int = 1, *, other: int = 0, **values: Any) -> None:
        numbers = {"producer_id": producer_id + other, "producer_epoch": epoch, "base_sequence": sequence}
        produce(talk, f"idempotent {case}", batch(number, **numbers), **values)

    ask("seq 0", 0, 0, 2)
    ask("duplicate", 0, 0, 2)
    ask("gap", 0, 7)
    ask("next", 0, 2)
    ask("newer epoch seq 5", 1, 5)
    ask("newer epoch seq 0", 1, 0)
    ask("older epoch", 0, 3)
    ask("older epoch duplicate", 0, 2)
    ask("unknown pid seq 4", 0, 4, other=5000)
    ask("unknown pid seq 3 in v12", 0, 3, other=5001, version=12)
    for at in range(8):
        ask(f"in order {at}", 0, at, index=1)
    ask("one of the last five", 0, 3, index=1)
    ask("before the last five", 0, 2, index=1)
    ask("other count", 0, 7, 2, index=1)
    without = batch(producer_id=producer_id, producer_epoch=1, base_sequence=1)
    produce(talk, "idempotent sequence -1", _changed(without, 53, b"\xff" * 4))


def damaged(talk: Talk) -> None:
    """Append batches with a right checksum and wrong content."""
    name = f"{talk.name}-d"  # since Kafka stores some of them
    talk.ask("create for damaged batches", ApiKey.CREATE_TOPICS, 5, timeout_ms=5000, topics=[new(name)])
    talk.ask("metadata for damaged batches", ApiKey.METADATA, 12, STILL, topics=[{"name": name}])

    def ask(case: str, records: bytes, **values: Any) -> None:
        produce(talk, f"damaged {case}", records, name=name, left_out=("base_offset",), **values)

    good = batch(2)
    ask("last offset", _changed(good, _LAST_OFFSET_DELTA, b"\0\0\0\5"))
    ask("negative last offset", _changed(good, _LAST_OFFSET_DELTA, b"\xff\xff\xff\xff"))
    ask("count", _changed(good, _COUNT, b"\0\0\0\5"))
    ask("count and last offset", _changed(_changed(good, _COUNT, b"\0\0\0\3"), _LAST_OFFSET_DELTA, b"\0\0\0\2"))
    ask("fewer than there are", _changed(_changed(good, _COUNT, b"\0\0\0\1"), _LAST_OFFSET_DELTA, b"\0\0\0\0"))
    ask("no records", write_batch([], base_offset=0))
    ask("negative count", _changed(good, _COUNT, b"\xff\xff\xff\xff"))
    for number in (1, 2, 3, 4):
        ask(f"not compressed with {number}", _changed(good, _ATTRIBUTES, bytes([0, number])))
    for number in (5, 7):
        ask(f"unknown codec {number}", _changed(good, _ATTRIBUTES, bytes([0, number])))
        ask(f"unknown codec {number} in v3", _changed(good, _ATTRIBUTES, bytes([0, number])), version=3)
    ask("max timestamp", _changed(good, _MAX_TIMESTAMP, b"\0" * 8))
    ask("append time", _changed(good, _ATTRIBUTES, b"\0\x08"))
    ask("delete horizon", _changed(good, _ATTRIBUTES, b"\0\x40"))
    ask("spare attributes", _changed(good, _ATTRIBUTES, b"\xff\0"))
    ask("offsets that skip", write_batch([Record(offset=at, timestamp=TIME, value=b"v") for at in (0, 3)]))
    # A record: size, attributes, timestamp delta, offset delta, key size, value size, value, count of headers.
    record = good[_RECORDS : _RECORDS + 9]
    assert record == bytes.fromhex("10 00 00 00 01 04 76 30 00".replace(" ", ""))
    wrong = {
        "size": "12 00 00 00 01 04 76 30 00",
        "smaller size": "0e 00 00 00 01 04 76 30 00",
        "negative size": "01 00 00 00 01 04 76 30 00",
        "attributes": "10 05 00 00 01 04 76 30 00",
        "offset": "10 00 00 04 01 04 76 30 00",
        "offset below": "10 00 00 03 01 04 76 30 00",
        "key size": "10 00 00 00 03 04 76 30 00",
        "key beyond": "10 00 00 00 20 04 76 30 00",
        "value size": "10 00 00 00 01 03 76 30 00",
        "value beyond": "10 00 00 00 01 20 76 30 00",
        "header count": "10 00 00 00 01 04 76 30 01",
        "headers beyond": "10 00 00 00 01 04 76 30 02",
        "null header key": "10 00 00 00 01 00 02 01 00",
        "size beyond": "20 00 00 00 01 04 76 30 00",
    }
    for label, text in wrong.items():
        for codec in ("none", "gzip"):
            ask(f"record {label} {codec}", _with_record(bytes.fromhex(text), codec))
    ask("surplus after the records", _with_record(record + b"\0", "none"))
    ask("surplus after the records gzip", _with_record(record + b"\0", "gzip"))


def _with_record(section: bytes, codec: Any) -> bytes:
    """Return a batch of one record that has these bytes."""
    made = batch(1, compression=codec)
    made = made[:_RECORDS] + compress(codec, section)
    made = made[:8] + (len(made) - 12).to_bytes(4, "big") + made[12:]
    return _changed(made, _RECORDS, b"")


def _changed(data: bytes, at: int, others: bytes, *, checked: bool = True) -> bytes:
    """Return a batch with other bytes somewhere, and with the right checksum."""
    made = bytearray(data)
    at %= len(made) + 1 if at >= 0 else len(made)
    made[at : at + len(others)] = others
    if checked:
        made[17:21] = crc32c(bytes(made[_ATTRIBUTES:])).to_bytes(4, "big")
    return bytes(made)

"""Fixtures for the tests of kipwire produce: a cluster, and the lines of a dump with all that a log can have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key
from kipwire.records.model import Header
from kipwire.testing import FakeBroker
from tests.support import command_line
from tests.support.command_line import Done

Kipwire = Callable[..., Done]

TIME = 1_700_000_000_000


@pytest.fixture
def kipwire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kipwire:
    """Calls a command of kipwire; `stdin` is what comes through a pipe."""

    def call(*arguments: object, stdin: str = "") -> Done:
        return command_line.call(
            *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys, stdin=stdin.encode()
        )

    return call


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """Two nodes with topics of several partitions."""
    topics = {"copy": 2, "one": 1, "three": 3}
    with FakeBroker(topics=topics, nodes=2, auto_create_topics=False) as started:
        yield started
        started.check()


def plain(start: int, count: int, partition: int = 0) -> list[Record]:
    """Make records with keys, nulls, bytes that are no text, and headers, one key of which is there twice."""
    headers: list[list[Header]] = [[], [("h", b"\xff"), ("h", None)], [("é", b"")]]
    return [
        Record(
            offset=at,
            timestamp=TIME - at,
            key=None if at % 5 == 4 else b"k\xfe%d" % at,
            value=None if at % 3 == 2 else b"p%d v%d" % (partition, at),
            headers=headers[at % 3],
        )
        for at in range(start, start + count)
    ]


def marker(offset: int, producer: int, *, aborts: bool) -> bytes:
    """Make the batch of a marker that ends a transaction."""
    record = Record(offset=offset, timestamp=TIME, key=end_marker_key("ABORT" if aborts else "COMMIT"), value=bytes(6))
    return write_batch([record], producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)


def of_transaction(records: list[Record], producer: int, sequence: int = 0) -> bytes:
    """Make a batch of a transaction."""
    return write_batch(records, producer_id=producer, producer_epoch=0, base_sequence=sequence, is_transactional=True)


def save(folder: Path, partition: int, *batches: bytes) -> None:
    """Write a segment of `orders`."""
    place = folder / "logs" / f"orders-{partition}"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{0:020}.log").write_bytes(b"".join(batches))


def contents(records: list[Record]) -> list[object]:
    """Return all of records but their offsets."""
    return [(one.timestamp, one.key, one.value, one.headers) for one in records]


@pytest.fixture
def lines(tmp_path: Path, kipwire: Kipwire) -> str:
    """The lines of two partitions: transactions that overlap, one of them aborted, and one without an end."""
    save(
        tmp_path,
        0,
        write_batch(plain(0, 3)),
        of_transaction(plain(3, 2), 7),
        of_transaction(plain(5, 2), 8),
        marker(7, 8, aborts=True),
        marker(8, 7, aborts=False),
        of_transaction(plain(9, 1), 8),
        marker(10, 8, aborts=False),
        of_transaction(plain(11, 1), 9),
    )
    save(tmp_path, 1, write_batch(plain(0, 4, 1), compression="gzip", timestamp_type="LogAppendTime", max_timestamp=5))
    done = kipwire("dump", "-r", "-f", "json", "logs/orders-0", "logs/orders-1")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def expected() -> tuple[list[object], list[object]]:
    """Return what of `lines` is to be in each partition."""
    second = plain(0, 4, 1)
    for record in second:
        record.timestamp = 5
    return contents([*plain(0, 5), *plain(9, 1), *plain(11, 1)]), contents(second)

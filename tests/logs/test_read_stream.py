"""A log that comes through a pipe gives what the file gives: the same batches, the same damage, the same tail."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kipwire.logs import stream
from kipwire.logs.accounting import Damage, Tail
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import read_part
from kipwire.logs.stream import StreamBuffer, read_stream
from kipwire.records import Bounds, Record, RecordBatch, write_batch
from tests.support.damaged_logs import damage, written_log
from tests.support.places import DATA

Item = RecordBatch | Misplaced | Damage | Tail


class Pipe:
    """Stream that returns its bytes in pieces of any size, each once."""

    def __init__(self, data: bytes, chance: Random) -> None:
        self._file = io.BytesIO(data)
        self._chance = chance
        self.most = 0
        """Largest size of one `read`."""

    def read(self, size: int) -> bytes:
        self.most = max(self.most, size)
        return self._file.read(self._chance.randrange(1, size + 1))


def of_stream(data: bytes, chance: Random, **options: Any) -> list[Item]:
    return list(read_stream(StreamBuffer(Pipe(data, chance).read), "x", **options))


def of_file(data: bytes, *, grows: bool = True, bounds: Bounds | None = None) -> list[Item]:
    return list(read_part(io.BytesIO(data), "x", grows=grows, bounds=bounds))


def shown(items: list[Item]) -> list[object]:
    found: list[object] = []
    for one in items:
        if isinstance(one, RecordBatch):
            found.append((one.position, one.size, one.crc, one.records))
        elif isinstance(one, Tail):
            found.append(one)
        elif isinstance(one, Misplaced):
            found.append((one.batch.position, one.reason, one.is_this))
        else:
            found.append((one.position, one.end, one.is_batch, one.error.offset, one.error.reason))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_log_is_the_same_through_a_pipe(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    log = written_log(chance, tmp_path)
    damage(chance, log)
    for path in log.segments:
        data = path.read_bytes()
        for grows in (True, False):
            assert shown(of_stream(data, chance, grows=grows)) == shown(of_file(data, grows=grows)), path


@pytest.mark.parametrize("folder", sorted(path.name for path in (DATA / "segments").iterdir() if path.is_dir()))
def test_bounds_pass_over_the_same_batches(folder: str) -> None:
    data = (DATA / "segments" / folder / "00000000000000000000.log").read_bytes()
    chance = Random(folder)
    for _ in range(5):
        cut = data[: chance.randrange(len(data) + 1)]
        bounds = Bounds(chance.randrange(50), chance.choice((None, 60, 300)))
        expected = shown(of_file(cut, bounds=bounds))
        found = shown(of_stream(cut, chance, bounds=bounds))
        assert found[:-1] == expected[:-1]
        assert found[-1].position + found[-1].size == len(cut)  # type: ignore[attr-defined]


def batches(count: int, size: int) -> list[bytes]:
    return [write_batch([Record(offset=one, value=bytes(size))]) for one in range(count)]


def test_batches_are_given_before_those_after_them_are_there() -> None:
    parts = batches(3, 10)
    given: list[bytes] = []

    def read(size: int) -> bytes:
        given.append(parts.pop(0) if parts else b"")
        return given[-1]

    found = read_stream(StreamBuffer(read), "x")
    for number in range(1, 4):
        assert isinstance(next(found), RecordBatch)
        assert len(given) == number


def test_whole_batches_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "TemporaryFile", None)
    several = batches(50, 100_000)
    several[20] = several[20][:-1] + b"\1"  # a wrong checksum, in a batch that ends where it says
    pipe = Pipe(b"".join(several), Random(1))
    ahead = StreamBuffer(pipe.read)
    largest, kinds = 0, []
    for item in read_stream(ahead, "x"):
        largest = max(largest, ahead.held)
        kinds.append(type(item))
    assert kinds == [*[RecordBatch] * 20, Damage, *[RecordBatch] * 29, Tail]
    assert largest < 500_000


def test_what_follows_damage_is_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    several = batches(40, 10_000)
    data = several[0] + b"\xff" * 30 + b"".join(several[1:])
    assert [type(one) for one in of_stream(data, Random(2))].count(RecordBatch) == 40
    monkeypatch.setattr(stream, "MOST_KEPT", 200_000)
    found = of_stream(data, Random(2))
    last = found[-1]
    assert isinstance(last, Damage)
    assert last.error.reason == (
        "more than 200,000 bytes follow an invalid batch and are not read; save them to a file (in x)"
    )
    assert 10 < [type(one) for one in found].count(RecordBatch) < 40

"""No flipped bit in the head of a batch changes rows silently, through any reader of log files.

What a reader cannot see is listed in `tests.support.flipped_heads`, and in docs/spark-sources.md.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random

import pytest

from kipspark.sources.log_source import KafkaLogSource
from kipwire.records import Record, with_offsets, write_batch
from tests.support.command_line import call
from tests.support.flipped_heads import BATCHES, HEAD, QUICK, READERS, SEGMENTS, Flip, is_told, write_log
from tests.support.subjects.offset_logs import Batch, Commit, write_logs

PLACES = [(0, 1), (0, BATCHES - 1), (SEGMENTS - 1, 0), (SEGMENTS - 1, BATCHES - 1)]
"""Segments and batches: in the middle, before another segment, and at both ends of the last one."""
OTHERS = sorted(READERS.keys() - set(QUICK))


def silent(folder: Path, flips: Mapping[Flip, Collection[str]], *, index: bool = True) -> list[tuple[str, Flip]]:
    """Return the readers that give other rows without a word, each with the flip; the flips have readers."""
    write_log(folder, index=index)
    whole = {name: READERS[name](folder) for name in {name for names in flips.values() for name in names}}
    for name, found in whole.items():
        assert found.rows and not found.is_told, name
    wrong = []
    for flip, names in flips.items():
        write_log(folder, flip, index=index)
        wrong += [(name, flip) for name in names if not is_told(name, READERS[name](folder), whole[name], flip)]
    return wrong


def test_a_flip_of_each_byte_of_a_head_is_told(tmp_path: Path) -> None:
    chance = Random(5)
    flips = {Flip(*chance.choice(PLACES), byte, chance.randrange(8)): QUICK for byte in range(HEAD)}
    some_bytes = [*range(8), *range(8, HEAD, 5)]
    some_names = chance.sample(OTHERS, len(OTHERS))
    for at, byte in enumerate(some_bytes):
        flip = Flip(*PLACES[at % 4], byte, chance.randrange(8))
        flips[flip] = [*flips.get(flip, []), some_names[at % len(some_names)]]
    assert silent(tmp_path, flips) == []


@pytest.mark.night
@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("place", PLACES)
def test_a_flip_of_each_bit_of_a_head_is_told_by_every_reader(tmp_path: Path, place: tuple[int, int], bit: int) -> None:
    chance = Random(f"{place} {bit}")
    count = len(OTHERS) if os.environ.get("KIPWIRE_TESTS") == "thorough" else 5
    flips = {Flip(*place, byte, bit): [*QUICK, *chance.sample(OTHERS, count)] for byte in range(HEAD)}
    assert silent(tmp_path, flips, index=bit % 2 == 1) == []


def test_a_commit_whose_offset_goes_back_ends_the_job_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One bit: base offset 5 becomes 1, and the commit before would be the last one."""
    commits = [Commit("g", 0, 10 * at, 1000 * at) for at in range(1, 7)]
    logs = write_logs(tmp_path / "logs", "t", {0: [Batch(0, [0] * 60)]}, commits)
    (file,) = (logs / "__consumer_offsets-0").glob("*.log")
    data = file.read_bytes()
    at = data.rindex((5).to_bytes(8, "big") + b"\0\0\0")
    file.write_bytes(data[:at] + (1).to_bytes(8, "big") + data[at + 8 :])
    done = call("offsets", logs, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2
    said = f"the batch at byte {at} begins at offset 1, but the batch before it ends at offset 4: one of them is wrong"
    assert f"{file}: {said}" in done.stderr.replace("\n", "")


def test_a_stream_compares_the_first_batch_that_is_added_with_the_last_one_before(tmp_path: Path) -> None:
    """Between two batches of a stream, too: here the last batch was too high by one when it was read."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    file = folder / f"{0:020}.log"
    batch = write_batch([Record(offset=at, timestamp=1, value=b"v") for at in range(5)])
    for again in (False, True):  # as after a restart: only the checkpoint is known
        file.write_bytes(batch + with_offsets(batch, 6))
        source = KafkaLogSource({"path": str(tmp_path), "mode": "PERMISSIVE"})
        reader = source.streamReader(source.schema())
        start = reader.latestOffset(reader.initialOffset())  # type: ignore[call-arg]
        assert start["next_offsets"] == {str(folder): 11}
        file.write_bytes(batch + with_offsets(batch, 6) + with_offsets(batch, 10))
        if again:
            reader = source.streamReader(source.schema())
        end = reader.latestOffset(start)  # type: ignore[call-arg]
        rows = [
            row
            for task in reader.partitions(start, end)
            for found in reader.read(task)
            for row in found.to_pylist()  # type: ignore[union-attr]
        ]
        (error,) = [row["error"] for row in rows]
        assert "begins at offset 10, but the batch before it ends at offset 10" in error

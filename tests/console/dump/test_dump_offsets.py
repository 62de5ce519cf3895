"""Damaged base offsets, which no checksum covers: kipwire dump reports those that their place contradicts."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from kipwire.console.dump.reading import Damage, read_file
from kipwire.records import Record, RecordBatch, write_message_set
from kipwire.records.compression import Compression
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import batch, log

BASE, END = 10, 15
SEGMENT, NEXT = f"{BASE:020}.log", f"{END:020}.log"
PLACES = [(10, 11), (12, 12), (13, 14)]
"""First and last offsets of the batches."""
BATCHES = [batch(first, *[b"v"] * (last - first + 1)) for first, last in PLACES]
SIZE = len(b"".join(BATCHES))


def flipped(data: bytes, bit: int) -> bytes:
    offset = int.from_bytes(data[:8], "big") ^ 1 << bit
    return offset.to_bytes(8, "big") + data[8:]


def first_and_last(data: bytes, delta: int) -> tuple[int, int]:
    first = int.from_bytes(data[:8], "big", signed=True)
    return first, first + delta


def contradictions(places: list[tuple[int, int]], end: int | None) -> int:
    """Count them by the rule, for at most one damaged batch."""
    highest = BASE + 2**31 if end is None else end
    fits = [first >= BASE and last < highest for first, last in places]
    if not all(fits):
        return fits.count(False)
    return sum(following[0] <= one[1] for one, following in pairwise(places))


@pytest.mark.parametrize("end", [END, None])
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_each_flipped_bit_that_the_place_contradicts_is_one_error(tmp_path: Path, number: int, end: int | None) -> None:
    if end is not None:
        log(tmp_path / "a-0", name=NEXT)
    seen = 0
    for bit in range(64):
        data = [flipped(one, bit) if i == number else one for i, one in enumerate(BATCHES)]
        file = log(tmp_path / "a-0", *data, name=SEGMENT)
        found = list(read_file(file, 0, None))
        damage = [one for one in found if isinstance(one, Damage)]
        places = [first_and_last(one, last - first) for one, (first, last) in zip(data, PLACES, strict=True)]
        assert len(damage) == contradictions(places, end), (bit, damage)
        batches = [one.batch if isinstance(one, Damage) else one for one in found]
        shown = [one.records for one in batches if isinstance(one, RecordBatch)]
        assert [record.value for records in shown for record in records] == [b"v"] * 5
        seen += len(damage)
    # What is left: a higher offset of the last batch, if no segment follows.
    assert seen == 64 if end is not None or number < 2 else 0 < seen < 64


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_offsets_of_old_formats_are_checked(tmp_path: Path, magic: Literal[0, 1], compression: Compression) -> None:
    sets = [write_message_set([Record(offset=at, value=b"v")], magic=magic, compression=compression) for at in (12, 14)]
    assert not [one for one in read_file(log(tmp_path / "a-0", *sets, name=SEGMENT), 0, None) if type(one) is Damage]
    for bit, words in (
        (63, "offsets there are from 10 to"),
        (40, "offsets there are from 10 to 2147483657"),
        (20, "one of them is wrong"),
        (3, "offsets there are from"),
    ):
        file = log(tmp_path / "a-0", flipped(sets[0], bit), sets[1], name=SEGMENT)
        (damage,) = [one for one in read_file(file, 0, None) if isinstance(one, Damage)]
        assert words in damage.reason


@pytest.mark.parametrize("options", [(), ("-r",), ("-s",), ("-f", "json")])
def test_a_batch_with_a_wrong_offset_is_shown_with_an_error(
    dump: Dump, tmp_path: Path, options: tuple[str, ...]
) -> None:
    file = log(tmp_path / "a-0", BATCHES[0], flipped(BATCHES[1], 63), BATCHES[2], name=SEGMENT)
    at, wrong = len(BATCHES[0]), 12 - 2**63
    done = dump(file, *options)
    reason = f"ends at offset {wrong}; offsets there are from 10 to 2147483657"
    assert (done.returncode, done.stderr) == (1, f"error: {file}: batch at byte {at}: {reason}\n")
    if options in ((), ("-r",)):
        assert f"offset={wrong}-{wrong} " in done.stdout
    if "-s" in options:
        assert "3 batches, 5 records, offset=10-14, " in done.stdout
        assert ", 1 error\n" in done.stdout
    if "json" in options:
        error = json.loads(done.stdout.splitlines()[2])
        assert (error["type"], error["position"], error["at"], error["reason"]) == ("error", at, at, reason)


def test_of_two_batches_that_contradict_each_other_both_are_named(dump: Dump, tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", BATCHES[0], flipped(BATCHES[1], 20), BATCHES[2], name=SEGMENT)
    done = dump(file)
    at = len(BATCHES[0] + BATCHES[1])
    reason = f"begins at offset 13, but the batch before it ends at offset {12 + 2**20}: one of them is wrong"
    assert (done.returncode, done.stderr) == (1, f"error: {file}: batch at byte {at}: {reason}\n")
    assert "offset=13-14 " in done.stdout


def test_a_last_offset_beyond_64_bits_is_an_error(dump: Dump, tmp_path: Path) -> None:
    high = (2**63 - 1).to_bytes(8, "big") + BATCHES[2][8:]
    done = dump(log(tmp_path / "a-0", high, name=f"{2**63 - 9:020}.log"))
    assert done.returncode == 1
    assert done.stderr.endswith("batch at byte 0: ends at offset 9223372036854775808, which exceeds 64 bits\n")


def test_standard_input_has_no_name_but_an_order(dump: Dump) -> None:
    done = dump("-", stdin=BATCHES[0] + flipped(BATCHES[1], 63) + BATCHES[2] + BATCHES[0])
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.endswith(f"batch at byte {len(BATCHES[0])}: ends at offset {12 - 2**63}; offsets there are from 0 on")
    assert f"batch at byte {SIZE}: begins at offset 10, but the batch before it ends at offset 14" in second


def test_a_file_without_an_offset_in_its_name_has_no_lowest_one(dump: Dump, tmp_path: Path) -> None:
    done = dump(log(tmp_path / "a-0", *BATCHES, name="copy.log"))
    assert (done.returncode, done.stderr) == (0, "")

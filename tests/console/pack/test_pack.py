"""kipwire pack turns the JSON of kipwire dump back into the log: byte for byte, or with the same meaning."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire.cli.output import Output
from kipwire.codec.checksums import crc32, crc32c
from kipwire.console.dump.json_lines import JsonLines
from kipwire.console.dump.log_files import log_file
from kipwire.console.dump.logs import DumpOptions, LogDump
from kipwire.console.dump_lines import Left, batches_of
from kipwire.console.pack.segments import Counts, Writer
from kipwire.records import Record, RecordBatch, read_batches, write_batch, write_message_set
from kipwire.records.compression import COMPRESSIONS
from kipwire.records.record_batches import created_timestamps
from tests.console.pack.conftest import Pack
from tests.records.test_records_properties import CODECS, INT32, TIMESTAMPS, producer_states, records
from tests.support.places import DATA

NAME = "00000000000000000000.log"
FILES = sorted([*DATA.glob("s*s/*/*.log"), *DATA.glob("s*s/*/*.checkpoint")])


class Packed(NamedTuple):
    data: bytes
    counts: Counts


def dumped(folder: Path, name: str = NAME, **wanted: Any) -> bytes:
    """Return the JSON lines of a file, without the command line, which takes longer than the rest."""
    text = io.StringIO()
    with redirect_stdout(text):
        out = Output()
        dump = LogDump(JsonLines(), out, DumpOptions(records=True, **wanted))
        dump.whole(log_file(folder / name, None))
        out.flush()
    assert '"type":"error"' not in text.getvalue()  # control records without a known meaning are no damage
    return text.getvalue().encode()


def packed(lines: bytes, folder: Path, *, fewer: bool = False) -> Counts:
    writer = Writer(folder, None, None, fewer=fewer)
    for batch in batches_of(io.BytesIO(lines), "lines", Left()):
        writer.write(batch)
    writer.close()
    return writer.counts


def back_and_forth(log: bytes, topic: str = "orders-0") -> Packed:
    with TemporaryDirectory() as name:
        source, target = Path(name, "source", topic), Path(name, "target")
        source.mkdir(parents=True)
        target.mkdir()
        (source / NAME).write_bytes(log)
        counts = packed(dumped(source), target)
        return Packed((target / topic / NAME).read_bytes(), counts)


def facts(batch: RecordBatch) -> dict[str, Any]:
    """Everything that a batch says, except its place, its size and its checksum."""
    left_out = ("_base_offset", "_decode", "_records", "_section", "_source", "crc", "position", "size")
    return {name: getattr(batch, name) for name in RecordBatch.__slots__ if name not in left_out} | {
        "base_offset": batch.base_offset,
        "created": created_timestamps(batch) if batch.magic == 2 else [],
        "records": [
            (one.offset, one.timestamp, one.key, one.value, [(bytes_of(key), value) for key, value in one.headers])
            for one in batch.records
        ],
    }


def bytes_of(key: str) -> bytes:
    return getattr(key, "raw", None) or key.encode()


def expect_same(log: bytes, found: Packed) -> None:
    """Check that the batches are the same: byte for byte without compression, and with kipwire's own compression."""
    before, after = list(read_batches(log)), list(read_batches(found.data))
    for one, other in zip(before, after, strict=True):
        assert facts(one) == facts(other)
        if one.compression == "none":
            assert log[one.position : one.position + one.size] == found.data[other.position :][: other.size]
    assert found.counts.same + found.counts.recompressed == len(before)
    assert not found.counts.changed


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Logs of batches of all formats, codecs, and kinds, with gaps as compaction leaves them."""
    parts, shift = [], 0
    for _ in range(draw(st.integers(1, 4))):
        magic: Any = draw(st.sampled_from((0, 1, 2, 2, 2)))
        codec: Any = draw(CODECS)
        if magic == 2:
            made = draw(records())
            first = made[0].offset if made else 0
            for record in made:
                record.offset += shift - first
            end = made[-1].offset - shift if made else 0
            options: dict[str, Any] = {
                **draw(producer_states()),
                "partition_leader_epoch": draw(INT32),
                "base_offset": shift,
                "last_offset_delta": end + draw(st.integers(0, 100)),
                "base_timestamp": draw(st.none() | TIMESTAMPS),
                "max_timestamp": draw(st.none() | TIMESTAMPS),
                "delete_horizon": draw(st.none() | TIMESTAMPS),
                "timestamp_type": draw(st.sampled_from(("CreateTime", "LogAppendTime"))),
            }
            parts.append(write_batch(made, compression=codec, **options))
            shift += options["last_offset_delta"] + 1
        elif codec != "zstd":
            made = draw(records(headers=False, timestamps=magic == 1, at_least=1))
            first = made[0].offset
            for record in made:
                record.offset += shift - first
            kind: Any = draw(st.sampled_from(("CreateTime", "LogAppendTime")))
            parts.append(write_message_set(made, magic=magic, compression=codec, timestamp_type=kind))
            shift = made[-1].offset + 1
    return b"".join(parts) or write_batch([Record(offset=0)])


@given(logs())
@settings(max_examples=60)
def test_any_log_comes_back_from_its_lines(log: bytes) -> None:
    expect_same(log, back_and_forth(log))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_real_logs_come_back(file: Path, tmp_path: Path) -> None:
    counts = packed(dumped(file.parent, file.name), tmp_path)
    (found,) = tmp_path.glob("*/*")
    assert found.relative_to(tmp_path) == file.relative_to(file.parent.parent)
    expect_same(file.read_bytes(), Packed(found.read_bytes(), counts))
    if not counts.recompressed:
        assert found.read_bytes() == file.read_bytes()


def test_our_own_compression_has_the_same_bytes_again() -> None:
    some = [Record(offset=i, timestamp=i, key=b"k%d" % i, value=b"v" * 1000) for i in range(100)]
    for codec in COMPRESSIONS[1:]:
        log = write_batch(some, compression=codec)
        found = back_and_forth(log)
        assert (found.data, found.counts.same) == (log, 1)


def with_attributes(batch: bytes, at: int, bits: int) -> bytes:
    """Return the batch with bits set in its attributes, and with the right checksum."""
    changed = bytearray(batch)
    changed[at] |= bits
    crc, checksum = (17, crc32c) if batch[16] == 2 else (12, crc32)
    changed[crc : crc + 4] = checksum(bytes(changed[crc + 4 :])).to_bytes(4, "big")
    return bytes(changed)


def test_bits_without_meaning_come_back() -> None:
    some = [Record(offset=0, key=b"k", value=b"v")]
    old = [write_message_set(some, magic=magic) for magic in (0, 1)]
    for log in (with_attributes(write_batch(some), 21, 0x40), *(with_attributes(one, 17, 0xC0) for one in old)):
        expect_same(log, back_and_forth(log))
    # An odd producer id, which no builder would write, and a control batch with records of no known type.
    odd = bytearray(write_batch([Record(offset=5, timestamp=7, key=b"\0\0\0\x63", value=None)], is_control=True))
    odd[43:51] = b"\xff" * 7 + b"\xfe"
    log = with_attributes(bytes(odd), 22, 0x10)
    assert next(read_batches(log)).is_transactional
    expect_same(log, back_and_forth(log))


def test_wrapped_messages_whose_entry_has_no_offset_come_back() -> None:
    some = [Record(offset=i, timestamp=i, value=b"v%d" % i) for i in range(3)]
    log = bytearray(write_message_set(some, magic=1, compression="gzip"))
    log[:8] = bytes(8)  # as a producer leaves it
    expect_same(bytes(log), back_and_forth(bytes(log)))


def test_bytes_that_nothing_reads_count_as_changed() -> None:
    log = bytearray(write_batch([Record(offset=0, value=b"v")]))
    log[62] = 1  # the attributes of the record
    log[17:21] = crc32c(bytes(log[21:])).to_bytes(4, "big")
    found = back_and_forth(bytes(log))
    assert (found.counts.changed, found.counts.same) == (1, 0)
    assert next(read_batches(found.data)).records == next(read_batches(bytes(log))).records


def segments(folder: Path) -> Iterator[tuple[str, list[int]]]:
    for path in sorted(folder.glob("*/*.log")):
        batches = read_batches(path.read_bytes())
        yield str(path.relative_to(folder)), [batch.base_offset for batch in batches]


def write_log(folder: Path, bases: dict[str, list[int]]) -> None:
    folder.mkdir(parents=True)
    for name, offsets in bases.items():
        (folder / name).write_bytes(b"".join(write_batch([Record(offset=one, value=b"v")]) for one in offsets))


LATER = "00000000000000000100.log"


def test_the_command_keeps_partitions_and_segments(kipwire: Pack, tmp_path: Path) -> None:
    write_log(tmp_path / "logs/orders-0", {NAME: [3, 5], LATER: [120]})
    write_log(tmp_path / "logs/bills-7", {NAME: [0]})
    lines = kipwire("dump", "-r", "-f", "json", "logs").stdout
    done = kipwire("pack", "--out", "new", stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "new: 3 segments, 4 batches, 4 records, 276 bytes\n"
        "4 as they were, byte for byte; 0 compressed again, with other bytes for the same records; 0 changed\n"
    )
    expected = [("bills-7/" + NAME, [0]), ("orders-0/" + NAME, [3, 5]), ("orders-0/" + LATER, [120])]
    assert list(segments(tmp_path / "new")) == expected
    (tmp_path / "lines.jsonl").write_text(lines)
    assert kipwire("pack", "lines.jsonl", "--out", "again").stdout.startswith("again: 3 segments")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again", "lines.jsonl", "logs", "new"]


def test_segments_are_as_large_as_is_asked_for(kipwire: Pack, tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0", {NAME: [0, 1, 2], LATER: [100, 2**31 + 99]})
    lines = kipwire("dump", "-r", "-f", "json", "orders-0").stdout
    assert kipwire("pack", "--out", "new", "--segment-bytes", 140, stdin=lines).returncode == 0
    assert [offsets for _, offsets in segments(tmp_path / "new")] == [[0, 1], [2, 100], [2**31 + 99]]
    assert kipwire("pack", "--out", "one", "--segment-bytes", 10_000, stdin=lines).returncode == 0
    assert [offsets for _, offsets in segments(tmp_path / "one")] == [[0, 1, 2, 100], [2**31 + 99]]


def test_a_log_without_a_folder_of_a_partition_is_told_its_own(kipwire: Pack, tmp_path: Path) -> None:
    log = write_batch([Record(offset=7, value=b"v")])
    lines = kipwire("dump", "-r", "-f", "json", "-", stdin=log).stdout
    done = kipwire("pack", "--out", "new", stdin=lines)
    assert (done.returncode, done.stderr) == (
        2,
        'kipwire: standard input:1: "topic" is null, since the log was not in the folder of a partition; '
        "name one with --partition, such as --partition orders/0\n",
    )
    assert kipwire("pack", "--out", "new", "--partition", "my-orders/3", stdin=lines).returncode == 0
    assert (tmp_path / "new/my-orders-3/00000000000000000007.log").read_bytes() == log


def test_what_could_not_be_read_is_left_out_and_counted(kipwire: Pack, tmp_path: Path) -> None:
    parts = [write_batch([Record(offset=i, value=b"v")]) for i in range(4)]
    broken = bytearray(parts[2])
    broken[57:61] = b"\0\0\0\7"  # the count of records
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4, "big")
    write_log(tmp_path / "orders-0", {NAME: []})
    (tmp_path / "orders-0" / NAME).write_bytes(parts[0] + parts[1][:-1] + b"\7" + bytes(broken) + parts[3])
    lines = kipwire("dump", "-r", "-f", "json", "orders-0").stdout
    assert [json.loads(line)["type"] for line in lines.splitlines()].count("error") == 2
    done = kipwire("pack", "--out", "new", stdin=lines)
    assert done.returncode == 1
    assert done.stderr == "error: 2 errors in the dump; the batches that could not be read are left out\n"
    assert (tmp_path / "new/orders-0" / NAME).read_bytes() == parts[0] + parts[3]


def test_records_may_be_taken_out(kipwire: Pack, tmp_path: Path) -> None:
    some = [Record(offset=i, timestamp=i, value=b"v%d" % i) for i in range(4)]
    log = write_batch(some, producer_id=7, producer_epoch=0, base_sequence=0) + write_message_set(
        [Record(offset=9, value=b"secret")], magic=1
    )
    write_log(tmp_path / "orders-0", {NAME: []})
    (tmp_path / "orders-0" / NAME).write_bytes(log)
    lines = kipwire("dump", "-r", "-f", "json", "orders-0").stdout
    fewer = "".join(f"{line}\n" for line in lines.splitlines() if '"v2"' not in line and '"secret"' not in line)
    done = kipwire("pack", "--out", "new", stdin=fewer)
    assert (done.returncode, done.stderr) == (
        2,
        "kipwire: standard input:1: the batch declares 4 in records_count, and 3 follow; dump with --records and "
        "without bounds, or give --allow-fewer\n",
    )
    done = kipwire("pack", "--out", "new", "--allow-fewer", stdin=fewer)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 batches with fewer records than they declare")
    (batch,) = read_batches((tmp_path / "new/orders-0" / NAME).read_bytes())
    assert batch.records == [some[0], some[1], some[3]]
    assert (batch.base_offset, batch.last_offset, batch.last_sequence, batch.producer_id) == (0, 3, 3, 7)


def test_values_may_be_changed(kipwire: Pack, tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0", {NAME: [0, 1]})
    lines = kipwire("dump", "-r", "-f", "json", "orders-0").stdout.replace('"value":"v"', '"value":"new"', 1)
    done = kipwire("pack", "--out", "new", stdin=lines)
    assert done.stdout.splitlines()[1].endswith("; 1 changed")
    values = [
        one.value for batch in read_batches((tmp_path / "new/orders-0" / NAME).read_bytes()) for one in batch.records
    ]
    assert values == [b"new", b"v"]

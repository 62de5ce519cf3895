"""Reading logs and captures in ranges, and columns of messages: what tasks do, without Spark itself."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pyarrow as pa
import pytest

import golden_data
import kafka_messages
from kafka_messages.offset_commit_value.v3 import OffsetCommitValue
from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipspark.errors import BrokenMessageError, JobError, SourceError
from kipspark.jobs import conform
from kipspark.jobs.random_messages import random_message
from kipspark.messages.all_versions import all_versions_type
from kipspark.messages.decoding import decode, decode_strictly
from kipspark.messages.encoding import encode
from kipspark.messages.records import Records, decode_coordinator, decode_metadata, records_type
from kipspark.messages.selection import Selection
from kipspark.sources.capture_files import find_captures
from kipspark.sources.captures import parts, read_frames
from kipspark.sources.frame_rows import FrameFilter
from kipspark.sources.log_columns import LOG_SCHEMA
from kipspark.sources.log_rows import Wanted, read_rows
from kipspark.sources.options import Options
from kipspark.sources.segments import Segment, find_segments
from kipspark.sources.snapshots import first_snapshots, read_snapshot
from kipspark.sources.splits import Split, cut, position_before
from kipwire import ConversionError, DecodeError, EncodeError, PackageError, columns, convert
from kipwire.records import Record, read_segment, write_batch
from kipwire.records.sections import write_section

SEGMENTS = Path(__file__).parent / "data" / "segments"
SNAPSHOTS = Path(__file__).parent / "data" / "snapshots"
CAPTURE = Path(__file__).parent.parent / "examples" / "capture"
KAFKA = "kafka_messages"


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    """A segment from offset 100 on, with 50 batches of two records."""
    folder = tmp_path / "t-3"
    folder.mkdir()
    batches = [
        write_batch([Record(offset=at + one, timestamp=1000 * at, value=b"v" * (at % 7)) for one in (0, 1)])
        for at in range(100, 200, 2)
    ]
    (folder / f"{100:020}.log").write_bytes(b"".join(batches))
    return find_segments(tmp_path)[0]


def index(segment: Segment, entries: list[tuple[int, int]]) -> None:
    """Put an offset index beside a segment, with room that was taken in advance."""
    data = b"".join(pack(">ii", *entry) for entry in entries) + bytes(80)
    Path(segment.path).with_suffix(".index").write_bytes(data)


def offsets_in(splits: list[Split], wanted: Wanted | None = None) -> list[list[int]]:
    return [
        [offset for batch in read_rows(split, wanted or Wanted()) for offset in batch.column("offset").to_pylist()]
        for split in splits
    ]


def batch_starts(segment: Segment) -> list[int]:
    return [split.start for split in cut(segment, 1)]


# Segments and their ranges.


@pytest.mark.parametrize("split_bytes", [1, 100, 500, 2000, 1 << 30])
def test_ranges_of_a_segment_have_every_record_once(segment: Segment, split_bytes: int) -> None:
    found = offsets_in(cut(segment, split_bytes))
    assert [offset for part in found for offset in part] == list(range(100, 200))
    assert all(found)


def test_an_index_gives_the_ranges(segment: Segment) -> None:
    starts = batch_starts(segment)
    index(segment, [(21, starts[10]), (61, starts[30])])
    assert [split.start for split in cut(segment, 1)] == [0, starts[10], starts[30]]
    assert position_before(segment, 120) == 0
    assert position_before(segment, 121) == starts[10]
    assert position_before(segment, 10_000) == starts[30]


@pytest.mark.parametrize("entry", [(21, 5), (21, 1 << 30), (5, 2000), (-7, -9)])
def test_an_index_that_does_not_fit_is_not_trusted(segment: Segment, entry: tuple[int, int]) -> None:
    index(segment, [entry])
    assert [offset for part in offsets_in(cut(segment, 500)) for offset in part] == list(range(100, 200))
    assert position_before(segment, 150) == 0


def test_records_are_left_out_by_offset_and_time(segment: Segment) -> None:
    whole = cut(segment)
    assert offsets_in(whole, Wanted(first_offset=103, end_offset=107)) == [[103, 104, 105, 106]]
    assert offsets_in(whole, Wanted(first_timestamp=104_000, end_timestamp=108_000)) == [[104, 105, 106, 107]]


@pytest.mark.parametrize("damage", ["crc", "length", "cut"])
def test_a_broken_batch_costs_no_other_one(segment: Segment, damage: str) -> None:
    starts = batch_starts(segment)
    data = bytearray(Path(segment.path).read_bytes())
    if damage == "crc":
        data[starts[7] + 20] ^= 1
    elif damage == "length":
        data[starts[7] + 8 : starts[7] + 12] = pack(">i", 3)
    else:
        data = data[: starts[7] + 30]
    Path(segment.path).write_bytes(data)
    splits = [Split(segment, 0, segment.size)]
    if damage == "cut":
        assert offsets_in(splits) == [list(range(100, 114))]
        return
    with pytest.raises(DecodeError, match=rf"at byte {starts[7]}|at byte {starts[7] + 8}|at byte {starts[7] + 17}"):
        offsets_in(splits)
    found = offsets_in(splits, Wanted(permissive=True))[0]
    after = [] if damage == "length" else list(range(116, 200))  # without a length nothing says where the next one is
    assert found == [*range(100, 114), None, *after]


def test_places_without_segments_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no such file or folder"):
        find_segments(tmp_path / "none")
    (tmp_path / "some.log").write_text("text")
    with pytest.raises(SourceError, match=r"no log segments; expected files such as orders-0/0+\.log"):
        find_segments(tmp_path)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"topic": "a"}, "has no option 'topic'; it has topics"),
        ({"startingOffset": "x"}, "option startingOffset is 'x'; it must be a whole number"),
        ({"checkCrc": "maybe"}, "it must be true or false"),
        ({"mode": "loose"}, "it must be FAILFAST or PERMISSIVE"),
        ({}, "needs a path"),
    ],
)
def test_wrong_options_are_named(given: dict[str, str], wrong: str) -> None:
    pytest.importorskip("pyspark")
    from kipspark.sources.log_source import KafkaLogSource

    source = KafkaLogSource({"path": "x", **given} if given else {})
    with pytest.raises(SourceError, match=wrong):
        source.reader(source.schema())


def test_options_are_found_in_any_case() -> None:
    assert Options("s", {"TOPICS": "a, b"}, ("topics",)).texts("topics") == ("a", "b")


# Snapshots.


@pytest.mark.parametrize(
    ("starts", "ends", "needed"),
    [
        ([142, 150], [146, 167, 254], 146),
        ([142, 150], [142, 167], 142),
        ([150, 190], [146, 187], 187),
        ([190], [146, 187], None),
        ([0, 100], [0, 90], 0),
        ([0, 100], [90], None),  # the log says everything
        ([190], [], None),
    ],
)
def test_a_log_begins_with_the_oldest_snapshot_that_ends_in_it(
    tmp_path: Path, starts: list[int], ends: list[int], needed: int | None
) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for start in starts:
        (folder / f"{start:020}.log").write_bytes(b"")
    for name in (*[f"{end:020}-{1:010}.checkpoint" for end in ends], f"{150:020}-{1:010}.checkpoint.deleted"):
        (folder / name).write_bytes(b"")
    found = first_snapshots(str(tmp_path))
    assert [one.end_offset for one in found] == ([] if needed is None else [needed])
    assert first_snapshots(str(tmp_path), topics=["orders"]) == []


def test_folders_of_replicas_have_one_snapshot_together(tmp_path: Path) -> None:
    for replica, start, end in (("a", 150, 167), ("b", 100, 120)):
        folder = tmp_path / replica / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        (folder / f"{start:020}.log").write_bytes(b"")
        (folder / f"{end:020}-{1:010}.checkpoint").write_bytes(b"")
    (found,) = first_snapshots(str(tmp_path))
    assert (Path(found.path).parent.parent.name, found.end_offset) == ("b", 120)


def test_a_snapshot_has_its_records_without_those_around_them() -> None:
    (snapshot,) = first_snapshots(str(SNAPSHOTS))
    rows = read_snapshot(snapshot)
    assert (snapshot.end_offset, snapshot.epoch, rows.num_rows) == (146, 1, 22)
    assert {str(time) for time in rows.column("timestamp").to_pylist()} == {"2026-11-21 16:05:32.091000+00:00"}
    decoded, errors = decode_metadata(Records("metadata"), rows.column("value"))
    assert errors == {}
    assert sum(row["type"] == "TopicRecord" for row in decoded.to_pylist()) == 3


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        (lambda data: data[:-1], "is incomplete: it does not end with a snapshot footer"),
        (lambda data: b"", "is not a snapshot: it does not begin with a snapshot header"),
        (lambda data: data[:200] + b"!" + data[201:], r"crc at byte \d+"),
    ],
)
def test_a_damaged_snapshot_is_named(tmp_path: Path, damage: Callable[[bytes], bytes], wrong: str) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(SNAPSHOTS / folder.name, folder)
    (snapshot,) = first_snapshots(str(tmp_path))
    Path(snapshot.path).write_bytes(damage(Path(snapshot.path).read_bytes()))
    with pytest.raises(SourceError, match=rf"{1:010}\.checkpoint: .*{wrong}"):
        read_snapshot(snapshot)


# Columns of logs.


def rows_of(path: Path) -> list[dict[str, object]]:
    """The rows of a whole segment by the records of its batches, one after the other."""
    return [
        {
            "topic": path.parent.name.rpartition("-")[0],
            "partition": int(path.parent.name.rpartition("-")[2]),
            "offset": record.offset,
            "timestamp": microseconds(record.timestamp),
            "timestamp_type": batch.timestamp_type,
            "key": record.key,
            "value": record.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "sequence": batch.sequence(record),
            "is_transactional": batch.is_transactional,
            "is_control": batch.is_control,
            "leader_epoch": batch.partition_leader_epoch,
            "magic": batch.magic,
            "compression": batch.compression,
            "segment": str(path),
            "batch_position": batch.position,
            "error": None,
        }
        for batch in read_segment(path)
        for record in batch.records
    ]


def microseconds(milliseconds: int) -> int | None:
    return None if milliseconds == -1 or not -(2**63) <= milliseconds * 1000 < 2**63 else milliseconds * 1000


def found_rows(path: Path, wanted: Wanted) -> list[dict[str, object]]:
    """The rows of a whole segment, timestamps as plain numbers, since datetime ends with the year 9999."""
    whole = Split(find_segments(path)[0], 0, path.stat().st_size)
    found: list[dict[str, object]] = []
    for batch in read_rows(whole, wanted):
        batch.validate(full=True)
        assert batch.schema == LOG_SCHEMA
        numbers = batch.column("timestamp").cast(pa.int64())
        found += batch.set_column(batch.schema.get_field_index("timestamp"), "timestamp", numbers).to_pylist()
    return found


@pytest.mark.parametrize(
    "path", sorted(SEGMENTS.rglob("*.log")), ids=lambda path: f"{path.parent.name}/{path.stem[-6:]}"
)
def test_rows_of_a_segment_are_its_records(path: Path) -> None:
    assert found_rows(path, Wanted(control=True)) == rows_of(path)


def test_rows_of_all_formats_are_their_records(tmp_path: Path) -> None:
    path = tmp_path / "g-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(bytes.fromhex(line["hex"]) for line in golden_data.lines("record-batches")))
    expected = rows_of(path)
    assert {row["magic"] for row in expected} == {0, 1, 2}
    assert found_rows(path, Wanted(control=True)) == expected
    for wanted in (Wanted(first_timestamp=10**40), Wanted(first_offset=2**63), Wanted(end_timestamp=-(10**40))):
        assert found_rows(path, wanted) == []
    assert found_rows(path, Wanted(first_offset=1, first_timestamp=-(10**40), end_offset=10**40, control=True)) == [
        row for row in expected if int(str(row["offset"])) >= 1
    ]


def test_sequences_and_timestamps_at_their_ends(tmp_path: Path) -> None:
    times = [-1, 0, -5, (2**63 - 1) // 1000, (2**63 - 1) // 1000 + 1, -((2**63 - 1) // 1000) - 1, 2**62]
    records = [Record(offset=100 + at, timestamp=time) for at, time in enumerate(times)]
    last = [Record(offset=2**63 - 3 + at, timestamp=0) for at in range(3)]
    path = tmp_path / "t-0" / f"{100:020}.log"
    path.parent.mkdir()
    path.write_bytes(
        write_batch(records, base_sequence=2**31 - 3, producer_id=1, producer_epoch=0)
        + write_batch(records)
        + write_batch(last, base_sequence=2**31 - 2, producer_id=1, producer_epoch=0)
    )
    found = found_rows(path, Wanted())
    assert found == rows_of(path)
    assert [row["sequence"] for row in found] == [
        2**31 - 3,
        2**31 - 2,
        2**31 - 1,
        0,
        1,
        2,
        3,
        *7 * [-1],
        2**31 - 2,
        2**31 - 1,
        0,
    ]


def test_broken_records_cost_no_other_batch(tmp_path: Path) -> None:
    good = write_batch([Record(offset=0, timestamp=0)])
    section = write_section([Record(offset=1, timestamp=1)], 0, 0)
    bad = BatchLayout(base_offset=1, last_offset_delta=1, records=section[:-1] + b"\7", records_count=1).encode()
    beyond = BatchLayout(base_timestamp=2**63 - 1, records=section, records_count=1).encode()
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(good + bad + good + good + beyond + good)
    found = found_rows(path, Wanted(permissive=True))
    assert [row["offset"] for row in found] == [0, None, 0, 0, None, 0]
    assert [row["batch_position"] for row in found[:2]] == [0, len(good)]
    assert f"batches[1].records[0].headers at byte {len(good + bad) - 1}: " in str(found[1]["error"])
    assert f"batch at byte {len(good + bad + good + good)}: " in str(found[4]["error"])
    assert found[1]["segment"] == str(path) and found[1]["topic"] == "t"
    with pytest.raises(DecodeError, match=r"batches\[1\].records\[0\].headers"):
        found_rows(path, Wanted())
    path.write_bytes(good + beyond)
    with pytest.raises(columns.ColumnError, match="more than 64 bits"):
        found_rows(path, Wanted())


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_is_in_memory_is_bounded(tmp_path: Path, compression: Any) -> None:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    value = bytes(3 * 2**20)
    batches = [write_batch([Record(offset=at, value=value)], compression=compression) for at in range(20)]
    path.write_bytes(b"".join(batches))
    sizes = [len(batch) for batch in read_rows(Split(find_segments(path)[0], 0, path.stat().st_size), Wanted())]
    assert sizes == [6, 6, 6, 2]


def test_many_batches_without_records_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(write_batch([], base_offset=0) * 20_000 + write_batch([Record(offset=1)]))
    assert [row["offset"] for row in found_rows(path, Wanted())] == [1]


# Captures.


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """The example's capture, not packed."""
    for name in ("frames.bin", "frames.jsonl"):
        (tmp_path / name).write_bytes(gzip.decompress((CAPTURE / f"{name}.gz").read_bytes()))
    return tmp_path / "frames.jsonl"


@pytest.mark.parametrize("split_bytes", [997, 20_000, 1 << 30])
def test_parts_of_a_capture_have_every_frame_once(capture: Path, split_bytes: int) -> None:
    numbers = [
        number
        for part in parts(capture, split_bytes)
        for batch in read_frames(part, FrameFilter())
        for number in batch.column("number").to_pylist()
    ]
    assert numbers == list(range(2186))


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("off", 3, "no frame of"),
        ("len", 2**31 - 1, "no frame of 2147483647 bytes"),
        ("dir", "up", "\"dir\" is 'up'"),
        ("api_key", "3", '"api_key" must be a whole number'),
        ("client_id", 3, '"client_id" must be a string or null'),
    ],
)
def test_a_wrong_index_is_named_with_its_line(capture: Path, name: str, value: object, wrong: str) -> None:
    lines = capture.read_text().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), name: value})
    capture.write_text("\n".join(lines))
    for split_bytes in (1 << 30, len(lines[0]) + 1, len(lines[0]) + 3):  # the line is not the first of its part
        with pytest.raises(SourceError, match=f"{capture}:3: .*{wrong}"):
            for part in parts(capture, split_bytes):
                list(read_frames(part, FrameFilter()))


def test_places_without_captures_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a capture is a tcpdump file such as a\.pcap .* or a folder with"):
        find_captures(str(tmp_path))
    (tmp_path / "frames.jsonl").write_text("")
    with pytest.raises(SourceError, match=r"has frames.jsonl, but no frames.bin"):
        parts(find_captures(str(tmp_path)).indexes[0], 100)


# Columns of messages.


def mixed(count: int) -> tuple[list[bytes | None], set[int]]:
    """Commits of all versions as topics have them, among them null and broken ones; and the rows of the latter."""
    random = Random(5)
    values: list[bytes | None] = []
    broken = set()
    for at in range(count):
        version = random.choice(kafka_messages.versions("OffsetCommitValue"))
        cls = kafka_messages.message("OffsetCommitValue", version)
        data = version.to_bytes(2, "big") + cls(offset=at).encode()  # type: ignore[call-arg]
        if at % 11 == 3:
            broken.add(at)
            data = random.choice((data[:-1], data[:1], data + b"x", b"\x7f\xff" + data[2:], b""))
        values.append(None if at % 13 == 6 and at not in broken else data)
    return values, broken


def test_versions_may_be_mixed_and_broken_messages_are_explained() -> None:
    values, broken = mixed(500)
    selection = Selection(KAFKA, "OffsetCommitValue")
    rows, errors = decode(selection, pa.array(values, pa.binary()))
    rows.validate(full=True)
    assert rows.type == all_versions_type(selection)
    assert set(errors) == broken
    for at, (row, value) in enumerate(zip(rows.to_pylist(), values, strict=True)):
        if value is None or at in broken:
            assert row is None
            continue
        assert (row["_version"], row["offset"]) == (int.from_bytes(value[:2], "big"), at)
        assert (row["expire_timestamp"] is not None) == (row["_version"] == 1)
    for at in broken:
        error = errors[at]
        assert error.reason
        assert 0 <= error.offset <= len(values[at] or b"")
    again, wrong = encode(selection, rows)
    assert wrong == {}
    assert again.to_pylist() == [None if at in broken else value for at, value in enumerate(values)]


def test_strict_decoding_names_the_first_broken_message() -> None:
    good = b"\0\3" + OffsetCommitValue(offset=1).encode()
    with pytest.raises(
        BrokenMessageError, match=r"OffsetCommitValue v3: offset at byte 2: .*\(of 5 bytes: 0003000000\)"
    ):
        decode_strictly(Selection(KAFKA, "OffsetCommitValue"), pa.array([good, good[:5], b"", good]))


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "JoinGroupRequest", "RegisterBrokerRecord"])
def test_a_union_of_versions_gives_every_version_back(name: str) -> None:
    random = Random(name)
    for version in kafka_messages.versions(name):
        cls = kafka_messages.message(name, version)
        made = [random_message(cls, random, unknown=True).encode() for _ in range(20)]
        selection = Selection(KAFKA, name, version)
        rows = decode_strictly(selection, pa.array(made))
        whole = Selection(KAFKA, name)
        wide = rows.cast(pa.struct([field for field in all_versions_type(whole) if field.name != "_version"]))
        data, errors = encode(selection, wide)
        assert errors == {}
        assert data.to_pylist() == made


def test_every_message_has_a_union() -> None:
    for name in kafka_messages.names():
        if kafka_messages.versions(name):
            assert all_versions_type(Selection(KAFKA, name)).num_fields >= 1


@pytest.mark.parametrize(
    ("name", "newer", "older"),
    [
        ("OffsetCommitValue", 4, [3, 2, 0]),
        ("FetchResponse", 12, [11, 7, 4]),
        ("JoinGroupRequest", 9, [8, 5, 4, 0]),
        ("RegisterBrokerRecord", 3, [2, 1, 0]),
        ("ListOffsetsResponse", 9, [4, 1]),
        ("CreateTopicsRequest", 7, [5, 2]),
    ],
)
def test_an_older_version_is_written_where_convert_would_and_with_its_bytes(
    name: str, newer: int, older: list[int]
) -> None:
    random = Random(name)
    newest = kafka_messages.message(name, newer)
    made = [thinned(random_message(newest, random, unknown=False), random) for _ in range(100)]
    rows = columns.decode(newest, [message.encode() for message in made])
    verdicts = set()
    for version in older:
        expected: list[bytes | None] = []
        for message in made:
            try:
                expected.append(convert(message, version).encode())
            except (ConversionError, EncodeError):
                expected.append(None)
        data, errors = encode(Selection(KAFKA, name, version), rows)
        assert data.to_pylist() == expected
        assert set(errors) == {at for at, one in enumerate(expected) if one is None}
        verdicts |= {one is None for one in expected}
    assert False in verdicts


def thinned(item: Any, random: Random) -> Any:
    """The struct with most of its fields at their defaults, in all depths."""
    for field in item.ATTRIBUTES:
        if random.random() < 0.6:
            setattr(item, field.name, field.default_value())
        elif field.struct is not None and getattr(item, field.name) is not None:
            inner = getattr(item, field.name)
            for one in inner if field.array else [inner]:
                thinned(one, random)
    return item


def test_only_what_may_be_dropped_is_dropped() -> None:
    rows = pa.array(
        [
            {"offset": 1, "metadata": "", "leader_epoch": 5, "commit_timestamp": 0},  # ignorable
            {"offset": 1, "metadata": "", "commit_timestamp": 0, "no_such_field": 0},
        ]
    )
    data, errors = encode(Selection(KAFKA, "OffsetCommitValue", 2), rows)
    assert [value is None for value in data.to_pylist()] == [False, True]
    assert errors == {1: "OffsetCommitValue v2: no_such_field: this version has no such field"}
    requests = pa.array(
        [
            {"replica_id": -1, "isolation_level": level, "topics": [], "timeout_ms": timeout}
            for level, timeout in ((0, 0), (1, 0), (0, None), (0, 5))
        ]
    )
    data, errors = encode(Selection(KAFKA, "ListOffsetsRequest", 1), requests)
    assert [value is None for value in data.to_pylist()] == [False, True, False, False]
    assert errors == {1: "ListOffsetsRequest v1: isolation_level: this version has no such field"}


def test_rows_that_cannot_be_written_cost_no_other_row() -> None:
    values = [2**40 if at % 4 == 1 else at for at in range(40)]
    rows = pa.array([{"offset": 0, "leader_epoch": value, "metadata": "", "commit_timestamp": 0} for value in values])
    data, errors = encode(Selection(KAFKA, "OffsetCommitValue", 3), rows)
    assert set(errors) == set(range(1, 40, 4))
    assert "leader_epoch" in errors[1]
    decoded = columns.decode(OffsetCommitValue, data).to_pylist()
    assert [row and row["leader_epoch"] for row in decoded] == [None if at in errors else at for at in range(40)]


@pytest.mark.parametrize(
    ("selection", "wrong"),
    [
        (Selection(KAFKA, "MetadataResponse"), "do not include the version"),
        (Selection("no_package", "A"), "cannot be imported"),
        (Selection("json", "A"), "is not a package that kipgen generated"),
        (Selection(KAFKA, "OffsetCommitValue", None, ("offset", "offsets")), "has no field 'offsets' in any version"),
    ],
)
def test_what_cannot_be_decoded_is_refused_at_once(selection: Selection, wrong: str) -> None:
    with pytest.raises((JobError, PackageError), match=wrong):
        decode(selection, pa.array([], pa.binary()))


def test_records_of_unknown_types_and_versions_are_explained() -> None:
    keys = pa.array([b"\0\1", b"\0\x63abc", b"\0", None, b"\0\3\0\1g"])
    values = pa.array([b"\0\3", None, None, b"\0\0", b"\0\x09"])
    rows, errors = decode_coordinator(Records("group"), keys, values)
    assert [row is None for row in rows.to_pylist()] == [True] * 5
    assert {at: (error.path, error.offset) for at, error in errors.items()} == {
        0: ("offset", 2),
        1: ("type", 0),
        2: ("version", 1),
        4: ("version", 0),
    }
    rows, errors = decode_metadata(Records("metadata"), pa.array([b"\2\0\0", b"\1\x7f\0", b"\1\2\5", b"\1"]))
    assert [error.offset for _, error in sorted(errors.items())] == [0, 1, 1, 1]
    with pytest.raises(JobError, match="have no type 'Topic'"):
        records_type(Records("metadata", ("Topic",)))
    with pytest.raises(JobError, match="there is no coordinator 'groups'"):
        records_type(Records("groups"))


def test_conformance_finds_a_difference() -> None:
    class Wrong(OffsetCommitValue):
        def encode(self) -> bytes:
            return super().encode() + (b"\0" if self.offset == 2 else b"")

    made = [Wrong(offset=offset) for offset in range(4)]
    found = list(conform.differing(Wrong, made))  # type: ignore[arg-type]
    assert {(row["check"], row["number"]) for row in found} >= {("decode", 2)}
    assert all(row["number"] == 2 or row["check"] == "columns" for row in found)


def test_random_messages_are_the_same_for_the_same_seed() -> None:
    one, same, other = (conform.cases([KAFKA], 1, seed) for seed in (1, 1, 2))
    assert one == same
    assert len({case["seed"] for case in one} & {case["seed"] for case in other}) == 0
    cls = kafka_messages.message("MetadataResponse", 12)
    made = [random_message(cls, Random(3), unknown=True).encode() for _ in range(2)]
    assert made[0] == made[1]

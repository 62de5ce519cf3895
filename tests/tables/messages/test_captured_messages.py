"""Reading captures in ranges, and columns of messages: what tasks do, without Spark itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import kafka_messages
from kafka_messages.offset_commit_value.v3 import OffsetCommitValue
from kipwire import ConversionError, EncodeError, PackageError, columns, convert
from kipwire.tables.errors import BrokenMessageError, JobError, SourceError
from kipwire.tables.messages.decoding import decode, decode_strictly
from kipwire.tables.messages.encoding import encode
from kipwire.tables.messages.records import Records, decode_coordinator, decode_metadata, records_type
from kipwire.tables.messages.selection import Selection, all_versions_type
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from tests.support.places import ROOT
from tests.support.subjects.random_messages import random_message

CAPTURE = ROOT / "examples" / "capture"
KAFKA = "kafka_messages"


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
    for start, shown in ((good[:1], r" \(of 1 byte: 00\)"), (b"", "")):
        with pytest.raises(BrokenMessageError, match=rf"version at byte \d: need 2 bytes, but .* left{shown}$"):
            decode_strictly(Selection(KAFKA, "OffsetCommitValue"), pa.array([good, start]))


def test_only_the_first_batch_looks_for_the_classes_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection(KAFKA, "OffsetCommitValue", fields=("offset", "metadata"))
    data = pa.array([b"\0\3" + OffsetCommitValue(offset=1).encode()])
    first = decode_strictly(selection, data)
    monkeypatch.setattr("kipwire.tables.messages.selection.registry_of", None)
    monkeypatch.setattr("kipwire.tables.messages.selection.columns", None)
    assert decode_strictly(selection, data) == first


def test_an_answer_to_an_unknown_version_of_api_versions_is_read_in_version_0() -> None:
    answer = bytes.fromhex("0023 00000001 0012 0000 0005")  # a broker's own bytes
    of_3 = kafka_messages.message("ApiVersionsResponse", 3)
    asked = [of_3().encode(), answer, None, of_3(error_code=35).encode(), answer[:-1]]  # type: ignore[call-arg]
    rows, errors = decode(Selection(KAFKA, "ApiVersionsResponse", 3), pa.array(asked, pa.binary()))
    rows.validate(full=True)
    assert rows.type == all_versions_type(Selection(KAFKA, "ApiVersionsResponse", 3))
    values = rows.to_pylist()
    only = {"api_key": 18, "min_version": 0, "max_version": 5, "unknown_tagged_fields": None}
    assert values[1]["api_keys"] == [only]
    assert [None if row is None else row["error_code"] for row in values] == [0, 35, None, 35, None]
    assert [None if row is None else row["throttle_time_ms"] for row in values] == [0, None, None, 0, None]
    assert set(errors) == {4}
    assert errors[4].message == "ApiVersionsResponse"


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


@pytest.mark.parametrize("name", ["FetchRequest", "ApiVersionsRequest"])
def test_a_column_of_requests_of_all_versions_gives_their_bodies_back(name: str) -> None:
    random, sent, bodies = Random(name), [], []
    for version in kafka_messages.versions(name):
        request = random_message(kafka_messages.message(name, version), random, unknown=True)
        sent.append(kafka_messages.encode_request(request, version, "me"))
        bodies.append(request.encode())
    rows = decode_strictly(Selection(KAFKA, name), pa.array([*sent, None], pa.binary()))
    assert [row and row["_version"] for row in rows.to_pylist()] == [*kafka_messages.versions(name), None]
    data, errors = encode(Selection(KAFKA, name), rows)
    assert (data.to_pylist(), errors) == ([*bodies, None], {})
    response = Selection(KAFKA, "HeartbeatResponse")
    with pytest.raises(JobError, match="is not stored with its version"):
        encode(response, pa.array([{"_version": 0, "error_code": 0}], all_versions_type(response)))


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
    """Return the struct with most of its fields at their defaults, in all depths."""
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
        (Selection("json", "A"), "is not a package generated by kipgen"),
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
        2: ("type", 0),
        4: ("version", 0),
    }
    rows, errors = decode_metadata(Records("metadata"), pa.array([b"\2\0\0", b"\1\x7f\0", b"\1\2\5", b"\1"]))
    assert [error.offset for _, error in sorted(errors.items())] == [0, 1, 2, 0]
    with pytest.raises(JobError, match="have no type 'Topic'"):
        records_type(Records("metadata", ("Topic",)))
    with pytest.raises(JobError, match="unknown coordinator 'groups'"):
        records_type(Records("groups"))

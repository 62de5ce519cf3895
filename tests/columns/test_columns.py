"""Columns have the values, the strictness and the bytes of rows, by the compiled kernel and without it."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import kafka_messages
import kafka_records
from kipwire import DecodeError, Message, columns, native
from kipwire.drafts import proposals
from kipwire.testing import damaged, messages
from tests.support import column_checks, golden_data, property_checks
from tests.support.cases import of_each, some_versions
from tests.support.column_checks import BY_PYTHON, Way
from tests.support.places import FORMS, LAYOUTS
from tests.support.spec_package import Classes, declared_versions
from tests.support.subjects.column_examples import EXAMPLES, HeartbeatRequest, MetadataResponse, metadata

FetchRequest = kafka_messages.message("FetchRequest", 17)
PAIRS = golden_data.every_message_and_version()
OTHERS = [
    (module.__name__, name, version)
    for module in (kafka_records, proposals)
    for name in module.names()
    for version in module.versions(name)
]


# Values, bytes and verdicts.


@of_each("name, version", PAIRS, together=lambda name, version: name)
def test_golden_messages_are_the_same_in_columns(way: Way, name: str, version: int) -> None:
    lines = golden_data.messages()[name, version]
    data = [bytes.fromhex(line["hex"]) for line in lines]
    column_checks.check_columns(way, kafka_messages.message(name, version), [*data, None, *data])


def test_every_golden_message_comes_back_byte_for_byte() -> None:
    count = 0
    for (name, version), lines in golden_data.messages().items():
        cls = kafka_messages.message(name, version)
        array = pa.array([bytes.fromhex(line["hex"]) for line in lines], pa.binary())
        assert columns.encode(cls, columns.decode(cls, array)).equals(array)
        count += len(array)
    assert count == 2993 + 457  # golden lines of Kafka 4.4.0, and of versions that it has removed


def test_every_captured_body_comes_back_byte_for_byte(way: Way) -> None:
    spec = importlib.util.spec_from_file_location("decode_capture_for_columns", EXAMPLES / "decode_capture.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script  # dataclasses look their module up
    spec.loader.exec_module(script)
    bodies: dict[type[Message], list[bytes | None]] = {}
    for frame in script.read_capture(EXAMPLES / "capture"):
        header: Message
        if frame.entry.is_request:
            header, body = kafka_messages.decode_request(frame.data)
        else:
            header, body = kafka_messages.decode_response(frame.data, frame.entry.api_key, frame.entry.api_version)
        bodies.setdefault(type(body), []).append(frame.data[len(header.encode()) :])
    assert sum(map(len, bodies.values())) == 2186
    for cls, data in bodies.items():
        column_checks.check_columns(way, cls, data)
        assert columns.encode(cls, columns.decode(cls, data)).to_pylist() == data


def check_class(cls: type[Message]) -> None:
    """Check all ways on messages of a class, and their bytes with faults among them."""
    ways = ways_of(cls)

    def agrees(data: list[bytes | None]) -> None:
        for way in ways:
            column_checks.check_columns(way, cls, data)
        column_checks.check_errors(cls, data)

    encoded = property_checks.messages_of(cls).map(lambda message: message.encode())
    property_checks.for_all(agrees, st.tuples(encoded, encoded).flatmap(with_faults))


def with_faults(data: tuple[bytes, bytes]) -> st.SearchStrategy[list[bytes | None]]:
    """Add damaged copies to two messages: to damage one that is there is cheaper than to draw another."""
    first, second = data
    return st.tuples(damaged(first), damaged(second)).map(lambda bad: [first, None, bad[0], second, bad[1], first])


def ways_of(cls: type[Message]) -> list[Way]:
    """Return the ways that lead to columns of a class."""
    if native.in_use and cls.TYPE != "layout":
        return [column_checks.by_kernel(), BY_PYTHON]
    return [BY_PYTHON]


@of_each("name, version", some_versions(PAIRS), together=lambda name, version: name)
def test_any_and_damaged_messages_are_the_same_in_columns(name: str, version: int) -> None:
    check_class(kafka_messages.message(name, version))


@of_each("package_name, name, version", some_versions(OTHERS), together=lambda package_name, name, version: name)
def test_proposals_and_record_formats_are_the_same_in_columns(package_name: str, name: str, version: int) -> None:
    check_class(import_module(package_name).message(name, version))


@of_each("name, version", some_versions(declared_versions(FORMS)), together=lambda name, version: name)
def test_every_form_of_the_language_is_the_same_in_columns(forms: Classes, name: str, version: int) -> None:
    check_class(forms(name, version))


@of_each("name, version", declared_versions(LAYOUTS), together=lambda name, version: name)
def test_every_kind_of_record_format_becomes_columns_and_the_same_bytes(
    layouts: Classes, name: str, version: int
) -> None:
    cls = layouts(name, version)
    message = cls()
    rows = columns.decode(cls, [message.encode(), None])
    assert rows.to_pylist() == [column_checks.plain(message), None]
    assert columns.encode(cls, rows).to_pylist() == [message.encode(), None]


def test_damaged_bytes_have_the_verdict_of_rows(way: Way) -> None:
    lines: dict[tuple[str, int], list[bytes | None]] = {}
    for line in [*golden_data.lines("negative"), *golden_data.lines("probes")]:
        if line["version"] in kafka_messages.versions(line["message"]):
            lines.setdefault((line["message"], line["version"]), []).append(bytes.fromhex(line["hex"]))
    assert sum(map(len, lines.values())) == 3369
    for (name, version), data in lines.items():
        cls = kafka_messages.message(name, version)
        column_checks.check_columns(way, cls, data)
        column_checks.check_errors(cls, data)


@pytest.mark.parametrize("cls", [MetadataResponse, FetchRequest, kafka_messages.message("AlterClientQuotasRequest", 1)])
def test_values_that_cannot_be_written_are_refused_as_in_rows(way: Way, cls: type[Message]) -> None:
    property_checks.for_all(column_checks.check_values, property_checks.messages_with_a_wrong_value(cls))


@pytest.mark.parametrize("cls", [MetadataResponse, FetchRequest, kafka_messages.message("FetchResponse", 17)])
def test_chosen_columns_are_those_of_the_whole(way: Way, cls: type[Message]) -> None:
    def agrees(data: list[bytes | None]) -> None:
        column_checks.check_choices(way, cls, data)

    encoded = messages(cls, long=False).map(lambda message: message.encode())
    some = st.tuples(encoded, st.none(), encoded.flatmap(damaged), encoded)
    property_checks.for_all(agrees, some.map(list))


# Input and output.


def test_rows_have_the_columns_of_the_schema(way: Way) -> None:
    rows = columns.decode(MetadataResponse, [metadata().encode()])
    assert list(rows.type) == list(columns.schema(MetadataResponse))
    assert str(columns.schema(kafka_messages.message("OffsetCommitValue", 4))).splitlines() == [
        "offset: int64 not null",
        "leader_epoch: int32 not null",
        "metadata: string not null",
        "commit_timestamp: int64 not null",
        "topic_id: fixed_size_binary[16] not null",
        "unknown_tagged_fields: map<int32, binary> not null",
        "  child 0, entries: struct<key: int32 not null, value: binary not null> not null",
        "      child 0, key: int32 not null",
        "      child 1, value: binary not null",
    ]
    (topic,) = [field for field in columns.schema(MetadataResponse) if field.name == "topics"]
    assert [field.name for field in topic.type.value_type if field.nullable] == ["name"]
    assert columns.schema(kafka_messages.message("HeartbeatRequest", 3)).names == [
        field.name for field in kafka_messages.message("HeartbeatRequest", 3).FIELDS
    ]


def test_messages_may_be_given_in_many_ways(way: Way) -> None:
    data = [HeartbeatRequest(group_id=f"group-{i}").encode() for i in range(20)]  # type: ignore[call-arg]
    some: list[bytes | None] = [*data[:7], None, *data[7:]]
    whole = columns.decode(HeartbeatRequest, some)
    assert whole.field("group_id").to_pylist()[:2] == ["group-0", "group-1"]
    for type_ in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array = pa.array(some, type_)
        assert columns.decode(HeartbeatRequest, array).equals(whole)
        for start, count in ((0, 5), (3, 9), (7, 1), (8, 0), (20, 5)):
            part = columns.decode(HeartbeatRequest, array.slice(start, count))
            assert part.to_pylist() == whole.slice(start, count).to_pylist()
    chunked = pa.chunked_array([some[:4], some[4:4], some[4:]], pa.binary())
    rows = columns.decode(HeartbeatRequest, chunked)
    assert rows.num_chunks == 3
    assert rows.to_pylist() == whole.to_pylist()
    assert columns.encode(HeartbeatRequest, rows).equals(chunked)
    size = len(data[0])
    assert {len(one) for one in data[:10]} == {size}
    ends = [*range(0, 10 * size + 1, size)]
    without_null = whole.filter(whole.is_valid()).slice(0, 10)
    for offsets in (ends, pa.array(ends, pa.int32()), pa.array([0, *ends], pa.int64()).slice(1)):
        assert columns.decode(HeartbeatRequest, columns.split(b"".join(data), offsets)).equals(without_null)


def test_nothing_gives_no_rows(way: Way) -> None:
    empty: list[bytes] = []
    for nothing in (empty, pa.array([], pa.binary()), pa.array([b"x"]).slice(1), pa.nulls(0)):
        rows = columns.decode(MetadataResponse, nothing)
        rows.validate(full=True)
        assert (len(rows), rows.type) == (0, columns.decode(MetadataResponse, [None]).type)
        assert len(columns.encode(MetadataResponse, rows)) == 0
    assert columns.decode(MetadataResponse, pa.nulls(3)).to_pylist() == [None] * 3
    assert columns.encode(MetadataResponse, columns.decode(MetadataResponse, [None])).to_pylist() == [None]
    chunks = columns.decode(MetadataResponse, pa.chunked_array([], pa.binary()))
    assert (len(chunks), columns.encode(MetadataResponse, chunks).type) == (0, pa.binary())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (pa.array([1]), "messages must be of type binary or large_binary, not int64"),
        (pa.array(["text"]), "messages must be of type binary or large_binary, not string"),
        (["text", 1], "messages must be an Arrow array or a list of bytes"),
        (7, "messages must be an Arrow array or a list of bytes"),
    ],
    ids=str,
)
def test_what_is_not_a_message_is_refused(given: Any, reason: str) -> None:
    with pytest.raises(columns.ColumnError, match=reason):
        columns.decode(MetadataResponse, given)


@pytest.mark.parametrize("offsets", [[0, 5, 3], [0, 12], [-1, 3], [], pa.array([0, None]), pa.array([0.5])], ids=str)
def test_offsets_that_make_no_sense_are_refused(offsets: Any) -> None:
    with pytest.raises(columns.ColumnError, match="offsets"):
        columns.split(bytes(10), offsets)


def test_damaged_arrays_are_refused(way: Way) -> None:
    offsets = pa.py_buffer(pa.array([0, 90, 3], pa.int32()).buffers()[1])
    damaged_messages = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(bytes(10))])
    with pytest.raises(columns.ColumnError, match="the array of messages is damaged"):
        columns.decode(HeartbeatRequest, damaged_messages)


# Broken messages.


def test_broken_message_is_an_error_with_its_row(way: Way) -> None:
    good = metadata().encode()
    broken = good[:40]
    with pytest.raises(DecodeError) as alone:
        MetadataResponse.decode(broken)
    array = pa.array([good, None, good, broken, b""])
    for data, row in ((array, 3), (array.slice(2), 1), (pa.chunked_array([array[:3], array[3:]]), 3)):
        with pytest.raises(columns.RowDecodeError) as caught:
            columns.decode(MetadataResponse, data)
        error = caught.value
        assert str(error) == f"row {row}: {alone.value}"
        assert (error.row, error.path, error.offset) == (row, alone.value.path, alone.value.offset)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_broken_messages_leave_nothing_behind(way: Way) -> None:
    good = metadata().encode()
    data: list[bytes | None] = []
    for size in range(len(good)):
        data += [good[:size], good] if size % 3 else [good[:size]]
    rows = columns.decode(MetadataResponse, data, mode="null")
    assert rows.null_count == len(good)
    assert column_checks.holds_nothing_else(rows)
    left = columns.decode(MetadataResponse, [one for one in data if one == good])
    assert rows.filter(rows.is_valid()).equals(left)
    texts = columns.explain(MetadataResponse, data, rows)
    assert texts.null_count == len(left)
    assert texts[0].as_py() == "MetadataResponse v12: throttle_time_ms at byte 0: need 4 bytes, but none are left"


def test_columns_that_nobody_asked_for_are_still_checked(way: Way) -> None:
    message = metadata()
    good = message.encode()
    at = good.index("é".encode())
    for fields in (None, [], ["throttle_time_ms"], ["topics.partitions.leader_id"]):
        for broken in (good[:at] + b"\xff\xff" + good[at + 2 :], good + b"\0", good[:-1]):
            with pytest.raises(columns.RowDecodeError):
                columns.decode(MetadataResponse, [good, broken], fields)
    bools = bytearray(HeartbeatRequest.decode(HeartbeatRequest().encode()).encode())
    with pytest.raises(columns.RowDecodeError):
        columns.decode(HeartbeatRequest, [bytes(bools) + b"\1"], ["group_id"])


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'lenient'"):
        columns.decode(MetadataResponse, [], mode="lenient")  # type: ignore[arg-type]


def test_rows_of_other_data_cannot_be_explained() -> None:
    with pytest.raises(columns.ColumnError, match="2 rows do not come from 1 message"):
        columns.explain(MetadataResponse, [b""], columns.decode(MetadataResponse, [None, None]))


# Choosing.


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (["topic"], "MetadataResponse v12: no field 'topic'; there are throttle_time_ms, brokers,"),
        (["topics.nme"], "MetadataResponse v12: topics: no field 'nme'; there are error_code, name,"),
        (["cluster_id.length"], "MetadataResponse v12: cluster_id: it is not a struct and has no field 'length'"),
        ([""], "MetadataResponse v12: no field ''"),
    ],
)
def test_path_to_no_field_is_refused(fields: list[str], reason: str) -> None:
    with pytest.raises(columns.ColumnError) as caught:
        columns.schema(MetadataResponse, fields)
    assert str(caught.value).startswith(reason)


def test_one_text_is_not_a_list_of_paths() -> None:
    with pytest.raises(TypeError, match="not one string"):
        columns.schema(MetadataResponse, "topics")


def test_choice_keeps_the_order_of_the_spec(way: Way) -> None:
    fields = ["topics.unknown_tagged_fields", "topics.name", "brokers", "brokers.host"]
    rows = columns.decode(MetadataResponse, [metadata().encode()], fields)
    assert [one.name for one in rows.type] == ["brokers", "topics"]
    (row,) = rows.to_pylist()
    assert list(row["brokers"][0]) == ["node_id", "host", "port", "rack", "unknown_tagged_fields"]
    assert row["topics"] == [
        {"name": None, "unknown_tagged_fields": []},
        {"name": "", "unknown_tagged_fields": [(7, b"seven"), (300, b"")]},
    ]
    assert columns.decode(MetadataResponse, [metadata().encode(), None], []).is_valid().to_pylist() == [True, False]

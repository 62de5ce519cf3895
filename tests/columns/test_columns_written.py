"""Columns to messages: wrong columns are refused, and the bytes are the same as for messages written one by one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest

import kafka_messages
from kipwire import EncodeError, KipwireError, Message, columns
from tests.support.column_checks import Way
from tests.support.subjects.column_examples import EXAMPLES, HeartbeatRequest, MetadataResponse, metadata

# Writing.


def changed(path: str, value: Any) -> pa.StructArray:
    """Return rows whose second one has another value at a path."""
    rows = columns.decode(MetadataResponse, [metadata().encode()] * 2).to_pylist()
    at = rows[1]
    *parents, last = path.split(".")
    for parent in parents:
        at = at[int(parent) if isinstance(at, list) else parent]
    at[last] = value
    return pa.array(rows, columns.decode(MetadataResponse, []).type)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("throttle_time_ms", None, "throttle_time_ms: must not be null in this version"),
        ("brokers", None, "brokers: must not be null in this version"),
        ("brokers", [None], "brokers[0]: elements of an array must not be null"),
        ("brokers.0.host", None, "brokers[0].host: must not be null in this version"),
        ("brokers.0.host", "é" * 20000, "brokers[0].host: string of 40000 bytes; the limit is 32767"),
        ("topics.1.partitions.2.isr_nodes", [1, None], "topics[1].partitions[2].isr_nodes[1]: elements of an array"),
        (
            "topics.1.unknown_tagged_fields",
            [(-1, b"")],
            "topics[1].unknown_tagged_fields[-1]: a tag must be a number",
        ),
        (
            "topics.1.unknown_tagged_fields",
            [(5, b""), (5, b"a")],
            "topics[1].unknown_tagged_fields: tag 5 appears",
        ),
    ],
)
def test_value_that_cannot_be_written_is_an_error_with_its_row(way: Way, path: str, value: Any, error: str) -> None:
    rows = changed(path, value)
    for given, row in ((rows, 1), (rows.slice(1), 0), (pa.chunked_array([rows.slice(0, 1), rows.slice(1)]), 1)):
        with pytest.raises(columns.RowEncodeError) as caught:
            columns.encode(MetadataResponse, given)
        assert str(caught.value).startswith(f"row {row}: MetadataResponse v12: {error}")
        assert caught.value.row == row
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_text_that_is_not_utf8_is_refused(way: Way) -> None:
    host = pa.array([b"\xff"], pa.binary()).cast(pa.string(), safe=False)
    rows = columns.decode(HeartbeatRequest, [HeartbeatRequest().encode()])
    parts = [host if one.name == "group_id" else rows.field(one.name) for one in rows.type]
    with pytest.raises(KipwireError, match=r"(?i)utf-?8"):
        columns.encode(HeartbeatRequest, pa.StructArray.from_arrays(parts, fields=list(rows.type)))


def replaced(cls: type[Message], **types: pa.DataType | None) -> pa.StructArray:
    """Return rows of defaults, some of whose columns have another type, or are left out."""
    rows = columns.decode(cls, [cls().encode()] * 3)
    made = {one.name: rows.field(one.name) for one in rows.type}
    for name, type_ in types.items():
        column = made.pop(name, None)
        if type_ is not None:
            values = [None] * 3 if column is None or type_ == pa.null() else column.to_pylist()
            made[name] = pa.array(values, type_)
    return pa.StructArray.from_arrays([*made.values()], [*made])


@pytest.mark.parametrize(
    ("types", "error"),
    [
        ({"group_id": None}, "group_id: the column is missing"),
        ({"group": pa.string()}, "group: this version has no such field"),
        ({"generation_id": pa.float64()}, "generation_id: must be a column of int32, not double"),
        ({"group_id": pa.binary()}, "group_id: must be a column of string, not binary"),
        ({"unknown_tagged_fields": pa.list_(pa.int32())}, "unknown_tagged_fields: must be a map from int32 to binary"),
    ],
)
def test_columns_of_other_names_or_types_are_refused(types: dict[str, Any], error: str) -> None:
    for rows in (replaced(HeartbeatRequest, **types), replaced(HeartbeatRequest, **types).slice(3)):
        with pytest.raises(EncodeError) as caught:
            columns.encode(HeartbeatRequest, rows)
        assert str(caught.value).startswith(f"HeartbeatRequest v4: {error}")


def test_columns_of_other_types_with_the_same_values_are_written(way: Way) -> None:
    expected = [HeartbeatRequest().encode()] * 3
    entries = pa.struct([pa.field("key", pa.int64()), pa.field("value", pa.large_binary())])
    for types in (
        {"group_id": pa.large_string(), "member_id": pa.string_view(), "generation_id": pa.int64()},
        {"generation_id": pa.uint8(), "group_instance_id": pa.null()},
        {"unknown_tagged_fields": pa.large_list(entries)},
        {"unknown_tagged_fields": None},
        {"unknown_tagged_fields": pa.null()},
    ):
        assert columns.encode(HeartbeatRequest, replaced(HeartbeatRequest, **types)).to_pylist() == expected
    value = kafka_messages.message("OffsetCommitValue", 4)
    for types in ({"topic_id": pa.binary()}, {"topic_id": None}, {"topic_id": pa.uuid(), "offset": pa.int8()}):
        assert columns.encode(value, replaced(value, **types)).to_pylist() == [value().encode()] * 3


def test_number_out_of_range_in_a_wider_column_is_refused(way: Way) -> None:
    rows = replaced(HeartbeatRequest, generation_id=pa.int64())
    numbers = pa.array([0, 2**31, 0])
    parts = [numbers if one.name == "generation_id" else rows.field(one.name) for one in rows.type]
    with pytest.raises(columns.RowEncodeError, match=r"row 1: .*generation_id: 2147483648 is out of range: int32"):
        columns.encode(HeartbeatRequest, pa.StructArray.from_arrays(parts, [one.name for one in rows.type]))


def test_uuid_of_other_than_16_bytes_is_refused(way: Way) -> None:
    value: Any = kafka_messages.message("OffsetCommitValue", 4)
    rows = replaced(value, topic_id=pa.binary())
    parts = [pa.array([bytes(16), b"a", None]) if one.name == "topic_id" else rows.field(one.name) for one in rows.type]
    with pytest.raises(columns.RowEncodeError, match=r"row 1: .*topic_id: a uuid has 16 bytes, not 1"):
        columns.encode(value, pa.StructArray.from_arrays(parts, [one.name for one in rows.type]))


def test_tagged_fields_at_their_defaults_are_left_out(way: Way) -> None:
    response: Any = import_module("kafka_messages.fetch_response.v17")
    plain = response.FetchResponse(responses=[response.FetchableTopicResponse(partitions=[response.PartitionData()])])
    spelt_out = response.FetchResponse.decode(plain.encode())
    assert spelt_out.responses[0].partitions[0].current_leader.leader_id == -1
    rows = columns.decode(response.FetchResponse, [plain.encode()])
    (row,) = rows.to_pylist()
    assert row["responses"][0]["partitions"][0]["current_leader"]["leader_id"] == -1
    assert columns.encode(response.FetchResponse, rows).to_pylist() == [plain.encode()]


def test_unknown_tags_are_written_in_their_order(way: Way) -> None:
    message = metadata()
    expected = message.encode()
    rows = changed("topics.1.unknown_tagged_fields", [(300, b""), (7, b"seven")])
    assert columns.encode(MetadataResponse, rows).to_pylist() == [expected, expected]


def test_batches_and_tables_are_rows(way: Way) -> None:
    data = [metadata().encode()] * 4
    rows = columns.decode(MetadataResponse, data)
    batch = pa.RecordBatch.from_struct_array(rows)
    assert batch.schema == columns.schema(MetadataResponse)
    assert columns.encode(MetadataResponse, batch).to_pylist() == data
    table = pa.Table.from_batches([batch, batch.slice(1, 2)])
    assert columns.encode(MetadataResponse, table).to_pylist() == [*data, *data[:2]]
    assert columns.encode(MetadataResponse, rows.take(pa.array([2, 0]))).to_pylist() == data[:2]
    with pytest.raises(columns.ColumnError, match="not list"):
        columns.encode(MetadataResponse, data)


def test_importing_kipwire_does_not_import_pyarrow() -> None:
    code = "import sys, kipwire, kafka_messages; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_pyarrow_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import kipwire.columns"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    needed = 'kipwire.columns needs pyarrow, which is not installed: pip install "kipwire[columns]"'
    assert done.stderr.splitlines()[-1] == f"kipwire.model.errors.MissingExtraError: {needed}"


def test_example_of_the_documentation_works() -> None:
    text = (EXAMPLES.parent / "docs" / "columns.md").read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    assert "columns.encode" in example
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["commits"].num_rows == 2

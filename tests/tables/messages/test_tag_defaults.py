"""Rows without values of tagged fields, as an earlier release of the specs stored them, are written with defaults."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kafka_messages
from kipwire import columns
from kipwire.model.structs import Struct
from kipwire.tables.messages.encoding import encode
from kipwire.tables.messages.selection import KAFKA, Selection


def tagged_columns(cls: type[Struct], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of the tagged columns of a message that may not be null, at every level."""
    found = []
    for field in cls.ATTRIBUTES:
        where = (*path, field.name)
        if field.tag is not None and not field.nullable:
            found.append(where)
        elif field.struct is not None:
            found += tagged_columns(field.struct, where)
    return found


def emptied(value: object, path: tuple[str, ...]) -> object:
    """Return a value of a row with null at a path."""
    if not path:
        return None
    if isinstance(value, list):
        return [emptied(one, path) for one in value]
    return value if value is None else {**value, path[0]: emptied(value[path[0]], path[1:])}  # type: ignore[dict-item,index]


def plain(cls: type[Struct]) -> Struct:
    """Return a struct with one element in each array of structs, and defaults elsewhere."""
    arrays = [field for field in cls.ATTRIBUTES if field.array and field.tag is None]
    return cls(**{field.name: [plain(field.struct)] for field in arrays if field.struct is not None})


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("OffsetCommitValue", 4),
        ("TransactionLogValue", 1),
        ("FetchRequest", 18),
        ("FetchResponse", 17),
        ("ApiVersionsResponse", 4),
    ],
)
def test_null_in_a_tagged_column_is_its_default(name: str, version: int) -> None:
    cls = kafka_messages.message(name, version)
    data = plain(cls).encode()  # type: ignore[attr-defined]
    rows = columns.decode(cls, pa.array([data, None, data]))
    paths = tagged_columns(cls)
    assert paths
    for path in paths:
        some = pa.array([emptied(row, path) for row in rows.to_pylist()], _nullable(rows.type))
        assert some.to_pylist() != rows.to_pylist()
        for given in (some, some.slice(1)):
            found = encode(Selection(KAFKA, name, version), given)
            assert (found.data.to_pylist(), found.errors) == ([data, None, data][-len(given) :], {})


def _nullable(type_: pa.DataType) -> pa.DataType:
    """Return the type with everything in it nullable, as tables have it."""
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _nullable(field.type)) for field in type_])
    return pa.list_(_nullable(type_.value_type)) if pa.types.is_list(type_) else type_


def test_null_where_no_tag_is_stays_an_error() -> None:
    cls = kafka_messages.message("OffsetCommitValue", 4)
    (row,) = columns.decode(cls, pa.array([plain(cls).encode()])).to_pylist()  # type: ignore[attr-defined]
    rows = pa.array([row | {"offset": None}], _nullable(columns.decode(cls, pa.array([], pa.binary())).type))
    found = encode(Selection(KAFKA, "OffsetCommitValue", 4), rows)
    assert found.errors == {0: "OffsetCommitValue v4: offset: must not be null in this version"}

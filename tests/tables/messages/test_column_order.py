"""The columns of all versions of a message, as the classes and as the specs give them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kipwire.model.types import TYPES
from kipwire.tables.messages.selection import KAFKA, Selection, all_versions_type
from tests.support.stored_columns import Column, recorded

_ARROW = {row.arrow: pa.type_for_alias(row.arrow) for row in TYPES.values() if row.arrow != "binary16"} | {
    "binary16": pa.binary(),
    "map": pa.map_(pa.int32(), pa.field("value", pa.binary(), nullable=False)),
    "uint16": pa.int32(),
    "uint32": pa.int64(),
}
"""The types of columns in Spark."""


def recorded_type(columns: Sequence[Column]) -> pa.StructType:
    return pa.struct([(column.name, _type(column)) for column in columns])


def _type(column: Column) -> pa.DataType:
    element = column.type.removeprefix("list of ")
    type_ = recorded_type(column.inner) if element == "struct" else _ARROW[element]
    return pa.list_(type_) if element != column.type else type_


def test_classes_give_the_columns_that_the_specs_give() -> None:
    for name, entry in recorded().items():
        versions = pa.field("_version", pa.int16())
        assert all_versions_type(Selection(KAFKA, name)) == pa.struct([versions, *recorded_type(entry.columns)]), name


def test_chosen_fields_keep_the_order_of_all() -> None:
    chosen = ("throttle_time_ms", "cluster_id", "brokers.rack", "brokers.node_id")
    type_ = all_versions_type(Selection(KAFKA, "MetadataResponse", fields=chosen))
    assert [field.name for field in type_] == ["_version", "brokers", "cluster_id", "throttle_time_ms"]
    assert [field.name for field in type_.field("brokers").type.value_type] == ["node_id", "rack"]

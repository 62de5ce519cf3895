"""Arrow's types as Spark has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import pyarrow as pa
from pyspark.sql import types as spark

from kipwire.tables.arrow import TIMESTAMP

_PRIMITIVES: dict[pa.DataType, Callable[[], spark.DataType]] = {
    pa.bool_(): spark.BooleanType,
    pa.int8(): spark.ByteType,
    pa.int16(): spark.ShortType,
    pa.int32(): spark.IntegerType,
    pa.int64(): spark.LongType,
    pa.float64(): spark.DoubleType,
    pa.string(): spark.StringType,
    pa.binary(): spark.BinaryType,
    TIMESTAMP: spark.TimestampType,
}


def struct_type(fields: pa.Schema | pa.StructType) -> spark.StructType:
    """Return the Spark type of columns; every column is nullable, as all results of functions are.

    Raises:
        KeyError: Spark has no such type.
    """
    return spark.StructType([spark.StructField(field.name, spark_type(field.type)) for field in fields])


def spark_type(type_: pa.DataType) -> spark.DataType:
    """Return the Spark type of one Arrow type.

    Raises:
        KeyError: Spark has no such type.
    """
    if pa.types.is_struct(type_):
        return struct_type(type_)
    if pa.types.is_list(type_):
        return spark.ArrayType(spark_type(type_.value_type))
    if pa.types.is_map(type_):
        return spark.MapType(spark_type(type_.key_type), spark_type(type_.item_type))
    return _PRIMITIVES[type_]()


def with_spark_maps(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with the type of maps that Spark expects: one whose values may be null; nothing is copied."""
    for batch in rows:
        types = {field.name: _with_spark_maps(field.type) for field in batch.schema}
        schema = pa.schema(list(types.items()))
        yield batch if schema.equals(batch.schema) else batch.cast(schema)


@lru_cache
def _with_spark_maps(type_: pa.DataType) -> pa.DataType:
    """Return a type with Spark's own type of maps in it; cached, since each batch needs it."""
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _with_spark_maps(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(_with_spark_maps(type_.value_type))
    return pa.map_(type_.key_type, type_.item_type) if pa.types.is_map(type_) else type_

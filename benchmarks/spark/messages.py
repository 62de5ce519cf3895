"""The messages that are decoded: two kinds, as Kafka's bytes and as Avro's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import to_avro

import kafka_messages
import kipspark
from kafka_messages.metadata_response.v12 import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipwire import columns

DISTINCT = 10_000
"""Different messages; larger tables repeat them, which no decoder here exploits."""
FILES = 2
"""Files of a table: one for each task."""


@dataclass(frozen=True)
class Kind:
    """A message to time."""

    title: str
    message: str
    version: int
    make: Callable[[int], bytes]
    """Makes the bytes of the message with a number, as in a topic or on the wire."""
    given: int | None
    """The version to pass to `from_message`; None if the bytes include it."""
    times: int = 1
    """Factor on the number of rows, so that a sample takes a second."""

    def fields(self) -> tuple[str, ...]:
        """Return all fields, without unknown tagged ones, which Avro does not have."""
        return tuple(_leaves(self.type()))

    def type(self) -> pa.StructType:
        """Return all columns of the version."""
        return pa.struct(list(columns.schema(kafka_messages.message(self.message, self.version))))

    def avro_schema(self) -> str:
        """Return the schema of an Avro record with the same fields; only fields that may be null are nullable."""
        cls = kafka_messages.message(self.message, self.version)
        return json.dumps(_avro(pa.struct(list(columns.schema(cls, self.fields()))), self.message))


def _commit(number: int) -> bytes:
    message = OffsetCommitValue(offset=number, leader_epoch=3, metadata="", commit_timestamp=1_700_000_000_000)
    return b"\0\4" + message.encode()


def _metadata(number: int) -> bytes:
    partitions = [
        MetadataResponsePartition(
            partition_index=index, leader_id=number % 5, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3]
        )
        for index in range(10)
    ]
    brokers = [MetadataResponseBroker(node_id=node, host=f"broker-{node}.example", port=9092) for node in range(3)]
    topics = [MetadataResponseTopic(name=f"topic-{number}", partitions=partitions)]
    return MetadataResponse(brokers=brokers, topics=topics).encode()


COMMIT = Kind("OffsetCommitValue v4", "OffsetCommitValue", 4, _commit, None, times=4)
METADATA = Kind("MetadataResponse v12, 10 partitions", "MetadataResponse", 12, _metadata, 12)
KINDS = (COMMIT, METADATA)


def _leaves(type_: pa.DataType) -> Iterator[str]:
    """Yield the paths of fields without inner fields."""
    for field in type_:
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            yield from (f"{field.name}.{path}" for path in _leaves(inner))
        elif not pa.types.is_map(inner):
            yield field.name


_AVRO = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.string(): "string",
}


def _avro(type_: pa.DataType, name: str) -> Any:
    if pa.types.is_list(type_):
        return {"type": "array", "items": _avro(type_.value_type, name)}
    if not pa.types.is_struct(type_):
        return _AVRO.get(type_, "bytes")
    fields = []
    for field in type_:
        inner = _avro(field.type, f"{name}_{field.name}")
        fields.append({"name": field.name, "type": ["null", inner] if field.nullable else inner})
    return {"type": "record", "name": name, "fields": fields}


def write_messages(folder: Path, data: Iterator[bytes], count: int) -> None:
    """Write a Parquet table with one column of messages, as bytes that the file does not share among rows."""
    schema = pa.schema([("data", pa.binary())])
    for number in range(FILES):
        with pq.ParquetWriter(folder / f"{number}.parquet", schema, use_dictionary=False) as file:
            left = count // FILES
            while left:
                some = list(islice(data, min(DISTINCT, left)))
                file.write_table(pa.table({"data": pa.array(some, pa.binary())}))
                left -= len(some)


def write_wire(folder: Path, kind: Kind, count: int) -> None:
    """Write a table of `count` messages as Kafka's bytes."""
    write_messages(folder, cycle([kind.make(number) for number in range(DISTINCT)]), count)


def write_avro(spark: SparkSession, wire: Path, folder: Path, kind: Kind) -> None:
    """Write a table of the same messages as Avro's bytes."""
    decoded = spark.read.parquet(str(wire)).select(
        kipspark.from_message("data", kind.message, kind.given, fields=kind.fields()).alias("m")
    )
    names = dict.fromkeys(f"m.{path.partition('.')[0]}" for path in kind.fields())
    as_avro = decoded.select(to_avro(sf.struct(*names), kind.avro_schema()).alias("data"))
    as_avro.write.mode("overwrite").option("parquet.enable.dictionary", "false").parquet(str(folder))


def read_kind(spark: SparkSession, wire: Path, avro: Path) -> tuple[DataFrame, DataFrame]:
    """Read the tables that were written."""
    return spark.read.parquet(str(wire)), spark.read.parquet(str(avro))

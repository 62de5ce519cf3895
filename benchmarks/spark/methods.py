"""The ways from bytes to columns that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructType

import kafka_messages
import kipspark
from benchmarks.spark.messages import COMMIT, Kind
from kipspark.arrow import struct_type
from kipwire.tables.messages.decoding import decode_strictly
from kipwire.tables.messages.selection import Selection, all_versions_type

FLOOR = "identity mapInArrow"
READY = "the columns ready in memory, from mapInArrow"
NATIVE = "with_message"
FUNCTION = "from_message"
FILTERED = "from_message, where on its field"
INTERPRETED = "with_message without the compiled kernel"
AVRO = "from_avro"
AVRO_FILTERED = "from_avro, where on its field"
UDF = "plain UDF"


class Tables(NamedTuple):
    """Equal messages in two forms."""

    wire: DataFrame
    """Messages as Kafka's bytes."""
    avro: DataFrame


def fast(kind: Kind, tables: Tables) -> dict[str, DataFrame]:
    """Return tables by name, each with a column of the whole content; the floors have the bytes."""
    wire, avro = tables
    fields = kind.fields()
    of_function = wire.select(kipspark.from_message("data", kind.message, kind.given, fields=fields).alias("m"))
    of_avro = avro.select(from_avro("data", kind.avro_schema()).alias("m"))
    every = sf.col(f"m.{fields[0].partition('.')[0]}").isNotNull()  # true for every row
    return {
        "read Parquet": wire,
        FLOOR: wire.mapInArrow(lambda batches: batches, wire.schema),
        READY: _ready(kind, wire),
        NATIVE: _decoded(kind, wire, fields),
        f"{NATIVE}, unknown tags too": _decoded(kind, wire),
        FUNCTION: of_function,
        FILTERED: of_function.where(every),
        "read Parquet of Avro": avro,
        AVRO: of_avro,
        AVRO_FILTERED: of_avro.where(every),
    }


def slow(spark: SparkSession, kind: Kind, tables: Tables) -> dict[str, DataFrame]:
    """Do as `fast` for the ways that take many times as long, for which fewer rows are enough."""
    wire, _ = tables
    return {
        INTERPRETED: _without_kernel(spark, lambda: _decoded(kind, wire, kind.fields())),
        UDF: wire.select(_plain_udf(kind)("data")),
    }


def _decoded(kind: Kind, wire: DataFrame, fields: Iterable[str] | None = None) -> DataFrame:
    return kipspark.with_message(wire, "data", "data", kind.message, kind.given, fields=fields)


def _ready(kind: Kind, wire: DataFrame) -> DataFrame:
    """Return a query that measures Spark's own cost of such columns: Arrow batches of one size get the same columns."""
    selection = Selection("kafka_messages", kind.message, kind.given, kind.fields())

    def ready(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made: dict[int, pa.RecordBatch] = {}
        for batch in batches:
            if len(batch) not in made:
                rows = decode_strictly(selection, batch.column("data"))
                made[len(batch)] = pa.RecordBatch.from_arrays([rows], ["data"])
            yield made[len(batch)]

    return wire.mapInArrow(ready, _decoded(kind, wire, kind.fields()).schema)


def equal_content(kind: Kind, tables: Tables) -> bool:
    """True if the columns of kipspark, Avro and the plain UDF have the same values."""
    wire, avro = tables
    ours = _decoded(kind, wire, kind.fields()).withColumnRenamed("data", "m")
    of_avro = avro.select(from_avro("data", kind.avro_schema()).alias("m"))
    of_function = wire.select(kipspark.from_message("data", kind.message, kind.given, fields=kind.fields()).alias("m"))
    of_udf = wire.select(_plain_udf(kind)("data").alias("m"))
    type_ = _content_type(kind)
    found = [
        one.select(sf.struct(*(f"m.{name}" for name in type_.names)).cast(type_).alias("m"))
        for one in (of_avro, ours, of_function, of_udf)
    ]
    return all(one.exceptAll(found[0]).isEmpty() and found[0].exceptAll(one).isEmpty() for one in found[1:])


def _content_type(kind: Kind) -> StructType:
    return struct_type(all_versions_type(Selection("kafka_messages", kind.message, kind.version, kind.fields())))


def _without_kernel(spark: SparkSession, make: Callable[[], DataFrame]) -> DataFrame:
    """Return a table whose Python workers run without the compiled kernel."""
    environment = spark.sparkContext.environment  # used by the workers of all functions made from now on
    environment["KIPWIRE_NATIVE"] = "0"
    try:
        return make()
    finally:
        del environment["KIPWIRE_NATIVE"]


def _plain_udf(kind: Kind) -> Any:
    """Return a UDF as written by a user of the classes without `kipspark`: a message to nested tuples, row by row."""
    return sf.udf(_commit_row if kind is COMMIT else _metadata_row, _content_type(kind))


def _commit_row(data: bytes) -> tuple[object, ...]:
    message: Any = kafka_messages.message("OffsetCommitValue", int.from_bytes(data[:2])).decode(data[2:])
    return (
        message.offset,
        message.leader_epoch,
        message.metadata,
        message.commit_timestamp,
        message.topic_id.bytes,
    )


def _metadata_row(data: bytes) -> tuple[object, ...]:
    message: Any = kafka_messages.message("MetadataResponse", 12).decode(data)
    brokers = [(one.node_id, one.host, one.port, one.rack) for one in message.brokers]
    topics = [
        (
            topic.error_code,
            topic.name,
            topic.topic_id.bytes,
            topic.is_internal,
            [
                (
                    one.error_code,
                    one.partition_index,
                    one.leader_id,
                    one.leader_epoch,
                    one.replica_nodes,
                    one.isr_nodes,
                    one.offline_replicas,
                )
                for one in topic.partitions
            ],
            topic.topic_authorized_operations,
        )
        for topic in message.topics
    ]
    return (message.throttle_time_ms, brokers, message.cluster_id, message.controller_id, topics)

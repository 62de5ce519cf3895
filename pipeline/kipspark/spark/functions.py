"""Columns of bytes to columns of messages and back, as functions for `select` and `withColumn`, and for whole tables.

    from kipspark import from_message, with_message

    df.select(from_message("value", "OffsetCommitValue").alias("commit")).select("commit.offset", "commit.metadata")
    responses = frames.select("timestamp", "body").transform(with_message, "response", "body", "MetadataResponse", 12)

They work on executors and through Spark Connect alike; kipwire has to be installed where Python workers run.

With PERMISSIVE, `with_message` is faster than `from_message`: whole batches go to Python and back. For a column
function Spark keeps the rows of all other columns and, unless rows are made first as with FAILFAST, copies its results
more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, StructField, StructType

from kafka_messages.enums import ErrorCode
from kipspark.arrow import struct_type
from kipspark.spark.column_functions import STRUCTS, ColumnFunction, ColumnOrName, column_function, compute_once
from kipwire.tables.errors import FAILFAST, PERMISSIVE, JobError, Mode
from kipwire.tables.messages.decoding import check_mode, check_selection, decode, decode_strictly, raise_first
from kipwire.tables.messages.encoding import encode, encode_strictly
from kipwire.tables.messages.records import (
    Records,
    decode_coordinator,
    decode_metadata,
    raise_first_record,
    records_type,
)
from kipwire.tables.messages.row_errors import ERROR_TYPE, error_array
from kipwire.tables.messages.selection import KAFKA, Selection, all_versions_type

Columns = dict[str, pa.Array]
"""The columns of a batch by name, in their order."""


def from_message(
    data: ColumnOrName,
    message: str,
    version: int | None = None,
    *,
    package: str = KAFKA,
    fields: Iterable[str] | None = None,
    mode: Mode = "FAILFAST",
) -> Column:
    """Decode the messages in a column of bytes to structs.

    Args:
        data: a binary column.
        message: name of the message, such as `OffsetCommitValue`.
        version: of all messages, whose bytes are then the message alone. None: each message has its own,
            which the bytes before it give: the version before a coordinator's value, the type before its key, the frame
            of a metadata record, the header before a request. The struct then has every field of every version, null
            where a version does not have it, and `_version`.
        package: the generated package that has the message.
        fields: only these, as paths such as `topics.partitions.leader_id`; all bytes are checked anyway.
        mode: the reaction to a broken message. FAILFAST stops with its location. PERMISSIVE gives null;
            `error_of_message` gives the reason, without a second decoding. Case does not matter.

    Call it once for each column of bytes and use the fields of its result, in filters, too: two calls with FAILFAST
    decode twice. Before Spark 4.2 conditions of joins, and aggregates, take only the result in a column of its own.

    Raises:
        JobError: the package cannot be imported, a field does not exist, or the bytes do not include a version.
        UnsupportedVersionError: there is no such message, or not in that version.
    """
    selection = check_selection(package, message, version, fields)
    if check_mode(mode) == FAILFAST:
        return compute_once(strict_decoder(selection), "from_message", {"data": data}, from_rows=True)
    return compute_once(lenient_decoder(selection), "from_message", {"data": data}, part="message")


def error_of_message(
    data: ColumnOrName,
    message: str,
    version: int | None = None,
    *,
    package: str = KAFKA,
    fields: Iterable[str] | None = None,
) -> Column:
    """Return the errors in the messages of a column: a struct of message, version, path, offset, reason, is_unknown.

    Null for valid messages. `is_unknown` is true where the bytes may be intact: their type or version is not known, as
    of a later Kafka, or they have none. Else a known message is damaged. Together with a `from_message` of the same
    arguments in the mode PERMISSIVE, Spark decodes once. The offset counts from the start of the given bytes.

    Raises:
        KipwireError: as `from_message`.
    """
    selection = check_selection(package, message, version, fields)
    return compute_once(lenient_decoder(selection), "error_of_message", {"data": data}, part="error")


def to_message(
    rows: ColumnOrName, message: str, version: int | None = None, *, package: str = KAFKA, mode: Mode = "FAILFAST"
) -> Column:
    """Encode a column of structs to bytes, the reverse of `from_message` with the same arguments.

    Args:
        rows: structs with the columns of the message. Columns of tagged fields may be missing. A field that a version
            does not have must be null or have its default, or be ignorable, by the rule of `kipwire.convert`.
        message: name of the message.
        version: of all rows. None: each row's `_version`; the bytes that give it are written before the message, but of
            a request its body alone, since no column has what its header has.
        package: the generated package that has the message.
        mode: FAILFAST stops at a row that cannot be written, with the field's path. PERMISSIVE gives null for it.

    Raises:
        KipwireError: as `from_message`.
    """
    selection = check_selection(package, message, version, None)
    return compute_once(encoder(selection, check_mode(mode)), "to_message", {"rows": rows}, takes=STRUCTS)


def schema_of_message(
    message: str, version: int | None = None, *, package: str = KAFKA, fields: Iterable[str] | None = None
) -> StructType:
    """Return the type of the column that `from_message` makes with these arguments.

    Raises:
        KipwireError: as `from_message`.
    """
    return struct_type(all_versions_type(check_selection(package, message, version, fields)))


def from_coordinator(
    key: ColumnOrName,
    value: ColumnOrName,
    *,
    coordinator: str = "group",
    types: Iterable[str] = (),
    mode: Mode = "FAILFAST",
) -> Column:
    """Decode the records of a coordinator's topic to structs of `type`, `key` and `value`.

    `key` and `value` have a column for each type of record, such as `key.offset_commit.group`. Only the columns of the
    record's own type are not null, and the value of a tombstone is null, too.

    Args:
        key: a binary column.
        value: a binary column.
        coordinator: `group` for `__consumer_offsets`, `transaction` for `__transaction_state`, `share` for
            `__share_group_state`.
        types: only these are decoded, by names such as `OffsetCommit`; other records have only `type`.
        mode: FAILFAST stops at a broken record with its location. PERMISSIVE gives null; see `error_of_coordinator`.

    Raises:
        JobError: there is no such coordinator or type.
    """
    records = Records(coordinator, tuple(types))
    records_type(records)
    both = {"key": key, "value": value}
    if check_mode(mode) == FAILFAST:
        return compute_once(strict_record_decoder(records), "from_coordinator", both, from_rows=True)
    return compute_once(lenient_record_decoder(records), "from_coordinator", both, part="message")


def error_of_coordinator(
    key: ColumnOrName, value: ColumnOrName, *, coordinator: str = "group", types: Iterable[str] = ()
) -> Column:
    """Return the errors in the records of a coordinator's topic, as `error_of_message` does."""
    records = Records(coordinator, tuple(types))
    records_type(records)
    both = {"key": key, "value": value}
    return compute_once(lenient_record_decoder(records), "error_of_coordinator", both, part="error")


def from_metadata(value: ColumnOrName, *, types: Iterable[str] = (), mode: Mode = "FAILFAST") -> Column:
    """Decode the records of `__cluster_metadata` to structs of `type` and a column by type, such as `topic_record`.

    Args:
        value: a binary column.
        types: only these are decoded, by names such as `TopicRecord`; other records have only `type`.
        mode: FAILFAST stops at a broken record with its location. PERMISSIVE gives null; see `error_of_metadata`.

    Raises:
        JobError: there is no such type.
    """
    records = Records("metadata", tuple(types))
    records_type(records)
    if check_mode(mode) == FAILFAST:
        return compute_once(strict_record_decoder(records), "from_metadata", {"value": value}, from_rows=True)
    return compute_once(lenient_record_decoder(records), "from_metadata", {"value": value}, part="message")


def error_of_metadata(value: ColumnOrName, *, types: Iterable[str] = ()) -> Column:
    """Return the errors in the records of `__cluster_metadata`, as `error_of_message` does."""
    records = Records("metadata", tuple(types))
    records_type(records)
    return compute_once(lenient_record_decoder(records), "error_of_metadata", {"value": value}, part="error")


def counted(rows: DataFrame, error: ColumnOrName, observation: Observation) -> DataFrame:
    """Count rows as they are computed: afterwards, `observation.get` has the numbers of `rows` and of `broken` ones.

    Args:
        rows: a data frame.
        error: a column of it, such as one of `error_of_message`; a row is broken if it is not null.
        observation: receives the numbers.
    """
    column = sf.col(error) if isinstance(error, str) else error
    return rows.observe(observation, sf.count(sf.lit(1)).alias("rows"), sf.count(column).alias("broken"))


# One function object for each selection: Spark compares them to see that two columns come from the same decoding.


@lru_cache
def strict_decoder(selection: Selection) -> ColumnFunction:
    """Return the function from bytes to messages that stops at a broken one."""

    def decoded(data: pa.Array) -> pa.Array:
        return decode_strictly(selection, data)

    return column_function(decoded, "from_message", struct_type(all_versions_type(selection)))


@lru_cache
def lenient_decoder(selection: Selection) -> ColumnFunction:
    """Return the function from bytes to structs of a message and the error in its place."""
    whole = _with_error(all_versions_type(selection))

    def decoded(data: pa.Array) -> pa.Array:
        rows, errors = decode(selection, data)
        return pa.StructArray.from_arrays([rows, error_array(errors, len(data))], fields=list(whole))

    return column_function(decoded, "from_message", struct_type(whole))


@lru_cache
def encoder(selection: Selection, mode: Mode) -> ColumnFunction:
    """Return the function from messages to bytes; in PERMISSIVE mode a message that cannot be written is null."""
    if mode == PERMISSIVE:

        def encoded(rows: pa.Array) -> pa.Array:
            return encode(selection, rows).data

    else:

        def encoded(rows: pa.Array) -> pa.Array:
            return encode_strictly(selection, rows)

    return column_function(encoded, "to_message", "binary")


@lru_cache
def strict_record_decoder(records: Records) -> ColumnFunction:
    """Return the function from keys and values, or from values, to records that stops at a broken one."""
    if records.family == "metadata":

        def decoded(value: pa.Array) -> pa.Array:
            rows, errors = decode_metadata(records, value)
            raise_first(errors, value)
            return rows

        return column_function(decoded, "from_metadata", struct_type(records_type(records)))

    def decoded_pairs(key: pa.Array, value: pa.Array) -> pa.Array:
        rows, errors = decode_coordinator(records, key, value)
        raise_first_record(errors, key, value)
        return rows

    return column_function(decoded_pairs, "from_coordinator", struct_type(records_type(records)))


@lru_cache
def passing_record_decoder(records: Records) -> ColumnFunction:
    """Return the function to records that gives null for those that cannot be read, without the reasons."""
    if records.family == "metadata":

        def decoded(value: pa.Array) -> pa.Array:
            return decode_metadata(records, value).rows

        return column_function(decoded, "from_metadata", struct_type(records_type(records)))

    def decoded_pairs(key: pa.Array, value: pa.Array) -> pa.Array:
        return decode_coordinator(records, key, value).rows

    return column_function(decoded_pairs, "from_coordinator", struct_type(records_type(records)))


@lru_cache
def lenient_record_decoder(records: Records) -> ColumnFunction:
    """Return the function from keys and values, or from values, to structs of a record and the error in its place."""
    whole = _with_error(records_type(records))
    if records.family == "metadata":

        def decoded(value: pa.Array) -> pa.Array:
            rows, errors = decode_metadata(records, value)
            return pa.StructArray.from_arrays([rows, error_array(errors, len(rows))], fields=list(whole))

        return column_function(decoded, "from_metadata", struct_type(whole))

    def decoded_pairs(key: pa.Array, value: pa.Array) -> pa.Array:
        rows, errors = decode_coordinator(records, key, value)
        return pa.StructArray.from_arrays([rows, error_array(errors, len(rows))], fields=list(whole))

    return column_function(decoded_pairs, "from_coordinator", struct_type(whole))


def _with_error(type_: pa.StructType) -> pa.StructType:
    return pa.struct([("message", type_), ("error", ERROR_TYPE)])


def error_name(code: Column | str) -> Column:
    """Return Kafka's names of error codes, such as `NOT_COORDINATOR` for 16; null for other numbers.

    Args:
        code: a column of integers.
    """
    names = sf.create_map(*chain.from_iterable((sf.lit(int(one)), sf.lit(one.name)) for one in ErrorCode))
    return sf.try_element_at(names, (sf.col(code) if isinstance(code, str) else code).cast("int"))


def with_message(
    frame: DataFrame,
    name: str,
    data: str,
    message: str,
    version: int | None = None,
    *,
    package: str = KAFKA,
    fields: Iterable[str] | None = None,
    mode: Mode = "FAILFAST",
    error: str | None = None,
) -> DataFrame:
    """Return the same table with a column of messages, as `from_message` makes it.

    All columns of the table go through Python, so select the needed ones first.

    Args:
        frame: a table with a binary column.
        name: of the new column; a column of this name, such as the bytes, is replaced.
        data: name of the column of bytes.
        message: as in `from_message`.
        version: as in `from_message`.
        package: as in `from_message`.
        fields: as in `from_message`.
        mode: as in `from_message`.
        error: with the mode PERMISSIVE, the name of a second new column with the reason why a message is broken, as
            from `error_of_message`.

    Raises:
        JobError: as `from_message`; or there is no such column of bytes, or an `error` without PERMISSIVE.
        UnsupportedVersionError: as `from_message`.
    """
    selection = check_selection(package, message, version, fields)
    _check_columns(frame, name, data, error)
    if check_mode(mode) == FAILFAST:
        if error is not None:
            raise JobError(
                f"FAILFAST stops at a broken message, so {error!r} would be empty; set PERMISSIVE or drop {error!r}"
            )
        make = _strict_columns(selection, name, data)
    else:
        make = _lenient_columns(selection, name, data, error)
    new = {name: struct_type(all_versions_type(selection))} | (
        {} if error is None else {error: struct_type(ERROR_TYPE)}
    )
    whole = {field.name: field for field in frame.schema} | {one: StructField(one, type_) for one, type_ in new.items()}

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = make(dict(zip(batch.schema.names, batch.columns, strict=True)))
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return frame.mapInArrow(decoded, StructType(list(whole.values())))


def _check_columns(frame: DataFrame, name: str, data: str, error: str | None) -> None:
    names = frame.columns
    if data not in names or not isinstance(frame.schema[data].dataType, BinaryType):
        raise JobError(f"there is no binary column {data!r}; the columns are {', '.join(names)}")
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise JobError(f"there are several columns {twice[0]!r}; rename or drop one")
    if error == name:
        raise JobError(f"name and error are both {name!r}; the messages and their errors need different columns")


def _strict_columns(selection: Selection, name: str, data: str) -> Callable[[Columns], Columns]:
    return lambda columns: columns | {name: decode_strictly(selection, columns[data])}


def _lenient_columns(selection: Selection, name: str, data: str, error: str | None) -> Callable[[Columns], Columns]:
    def decoded(columns: Columns) -> Columns:
        rows, errors = decode(selection, columns[data])
        if error is None:
            return columns | {name: rows}
        return columns | {name: rows, error: error_array(errors, len(rows))}

    return decoded

"""Records that are decoded as a source reads them: the options that choose their content, and their columns and rows.

Every source of records has these options, with the names and rules of `kipwire.tables.scan`: `content_of` checks them,
`columns_of` gives the columns, and `Decoding` says what to read for them and finishes the rows. So bytes never leave
the process that reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from kipwire import KipwireError
from kipwire.message.registry import registry_of
from kipwire.tables.arrow import pc
from kipwire.tables.errors import FAILFAST, MODES, BrokenMessageError, JobError
from kipwire.tables.messages.content import Content, check_values, message_content, topic_content, topic_of
from kipwire.tables.messages.row_errors import RowError
from kipwire.tables.messages.selection import KAFKA
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS
from kipwire.tables.sources.options import Chosen, Options

CONTENT_OPTIONS = ("message", "version", "fields", "decode", "types", "package", "failOnBrokenMessages")
"""The options of a source that decodes; `level` and `mode` are also read here."""

BESIDE_CONTENT = ("topic", "partition", "offset", "timestamp")
"""The columns beside decoded content, unless others are named."""
_PLACE = ("topic", "partition", "offset")


class Decoding(NamedTuple):
    """Rows of records with a column of their decoded content."""

    content: Content
    schema: pa.Schema
    """The columns, in their order, of `with_content`."""
    fails: bool
    """True if content that cannot be decoded is an error; else it is null, with the reason in `error`."""
    has_control: bool = False
    """True if control records are rows; their content is null."""

    @property
    def read(self) -> pa.Schema:
        """The columns of `ALL_LOG_COLUMNS` that a source makes: those that are wanted or that decoding needs."""
        names = [name for name in self.schema.names if name != self.content.column]
        names += [*self.content.needs, *_PLACE, *(["is_control"] if self.has_control else [])]
        return pa.schema([ALL_LOG_COLUMNS.field(name) for name in dict.fromkeys(names)])

    def finish(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Decode rows with the columns of `read`, and return them with the columns of the schema.

        Raises:
            BrokenMessageError: one has other content, and that is an error.
        """
        decoded, errors = self.content.decode(_data_of(rows, self.content) if self.has_control else rows)
        if errors and self.fails:
            row = min(errors)
            topic, partition, offset = (rows.column(name)[row].as_py() for name in _PLACE)
            raise BrokenMessageError(f"{topic}/{partition} offset {offset}: {errors[row]}")
        made = {self.content.column: decoded}
        if errors and "error" in self.schema.names:
            texts = pa.array([_text(errors.get(row)) for row in range(len(rows))], pa.string())
            made["error"] = pc.coalesce(rows.column("error"), texts)
        arrays = [made[name] if name in made else rows.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _data_of(rows: pa.RecordBatch, content: Content) -> pa.RecordBatch:
    """Return the columns of bytes to decode, null for control records, whose bytes are no message of a topic."""
    is_control = pc.fill_null(rows.column("is_control"), False)
    columns = {name: rows.column(name) for name in content.needs}
    if is_control.true_count:
        columns = {name: pc.if_else(is_control, None, column) for name, column in columns.items()}
    return pa.RecordBatch.from_pydict(columns)


def _text(error: RowError | None) -> str | None:
    return None if error is None else str(error)


def with_content(whole: pa.Schema, content: Content | None) -> pa.Schema:
    """Return the columns that records may have, with one for their content if it is decoded."""
    return whole if content is None else whole.append(pa.field(content.column, content.type))


def columns_of(content: Content, damage_is_rows: bool) -> pa.Schema:
    """Return the columns of decoded records, unless others are named."""
    names = [*BESIDE_CONTENT, content.column, *(["error"] if damage_is_rows else [])]
    whole = with_content(ALL_LOG_COLUMNS, content)
    return pa.schema([whole.field(name) for name in names])


def check_arguments(
    message: str | None, version: int | None, fields: object, decode: str | None, types: tuple[str, ...]
) -> None:
    """Check that arguments fit each other; all may be None, and types empty.

    Raises:
        JobError: they do not.
    """
    if message is not None and decode is not None:
        raise JobError("message and decode exclude each other; give one of them")
    if message is None and (version is not None or fields is not None):
        raise JobError("version and fields are of a message; give its name as message")
    if decode is None and types:
        raise JobError("types are of an internal topic; give decode")


def content_of(options: Options) -> Content | None:
    """Return the content that options choose; None if records are not decoded.

    Raises:
        SourceError: one of them is not valid; the text names it.
    """
    message, topics = options.text("message"), options.texts("topics")
    decode = (options.text("decode") or "").lower() or None
    version, package, types = options.number("version", 0), options.text("package") or KAFKA, options.texts("types")
    fields = None if options.text("fields") is None else options.texts("fields")
    try:
        check_arguments(message, version, fields, decode, types)
    except JobError as error:
        raise options.error(str(error)) from None
    if message is None and decode is None:
        for name in ("package", "failOnBrokenMessages"):
            if options.text(name) is not None:
                raise options.error(f"option {name} is of decoded records; give message or decode")
        return None
    if (level := options.text("level") or "records").lower() != "records":
        raise options.error(f"option level is {level!r}; message and decode need records")
    if fields == ():
        raise options.error("option fields is empty; name some, or leave it out for all")
    steps: dict[str, Callable[[], object]] = {"package": lambda: registry_of(package)}
    if message is not None:
        steps["message"] = lambda: check_values(message, package, topics)
        steps["version"] = lambda: message_content(message, version, None, package)
        steps["fields"] = lambda: message_content(message, version, fields, package, topics)
    if decode is not None:
        steps["decode"] = lambda: topic_content(decode, topics, (), package)
        steps["types"] = lambda: topic_content(decode, topics, types, package)
    found: object = None
    for name, step in steps.items():
        try:
            found = step()
        except KipwireError as error:
            raise options.error(f"option {name}: {error}") from None
    assert isinstance(found, Content)
    return found


def decoding_of(options: Options, content: Content | None, schema: pa.Schema, has_control: bool) -> Decoding | None:
    """Return the decoding of the records of a source with these columns; None if they are not decoded."""
    if content is None:
        return None
    is_strict = options.one_of("mode", MODES, FAILFAST) == FAILFAST
    return Decoding(content, schema, options.truth("failOnBrokenMessages", default=is_strict), has_control)


def topics_of(chosen: Chosen, content: Content | None) -> Chosen:
    """Return chosen partitions, of the topic alone whose records these are."""
    topic = None if content is None else topic_of(content)
    return chosen if topic is None else chosen._replace(topics=(topic,))

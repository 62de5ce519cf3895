"""The content of records as one column: messages of one name, or the records of an internal topic.

A source decodes as it reads, so rows do not leave the process as bytes and come back. What cannot be decoded is null,
with an error; whoever reads decides if that ends the reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from kipwire.logs.internal_topics import COORDINATORS as COORDINATOR_TOPICS
from kipwire.logs.internal_topics import INTERNAL_TOPICS, METADATA
from kipwire.tables.errors import JobError
from kipwire.tables.messages.decoding import check_selection, decode
from kipwire.tables.messages.records import (
    COORDINATORS,
    REMOTE,
    Records,
    decode_coordinator,
    decode_metadata,
    records_type,
    types_of,
)
from kipwire.tables.messages.row_errors import RowError
from kipwire.tables.messages.selection import KAFKA, Selection, all_versions_type

FAMILIES = dict(zip(INTERNAL_TOPICS, (*COORDINATORS, "metadata", REMOTE), strict=True))
"""Families of records, by topic."""
DECODES = ("coordinator", "metadata")


class Content(NamedTuple):
    """The messages that records hold."""

    of: Selection | Records

    def __str__(self) -> str:
        if isinstance(self.of, Records):
            return f"{self.of.package} {self.of.family} {','.join(self.of.types)}".rstrip()
        version = "" if self.of.version is None else f" v{self.of.version}"
        return f"{self.of.package} {self.of.message}{version} {','.join(self.of.fields or ())}".rstrip()

    @property
    def column(self) -> str:
        """The name of the decoded column."""
        return "message" if isinstance(self.of, Selection) else "record"

    @property
    def type(self) -> pa.StructType:
        """The type of the decoded column."""
        return all_versions_type(self.of) if isinstance(self.of, Selection) else records_type(self.of)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of bytes that are decoded."""
        return ("key", "value") if isinstance(self.of, Records) and self.of.family in COORDINATORS else ("value",)

    def decode(self, rows: pa.RecordBatch) -> tuple[pa.StructArray, dict[int, RowError]]:
        """Decode rows with the columns of bytes; errors are by row."""
        values = rows.column("value")
        if isinstance(self.of, Selection):
            return decode(self.of, values)
        if self.of.family in COORDINATORS:
            return decode_coordinator(self.of, rows.column("key"), values)
        return decode_metadata(self.of, values)


def message_content(
    message: str,
    version: int | None = None,
    fields: Iterable[str] | None = None,
    package: str = KAFKA,
    topics: tuple[str, ...] = (),
) -> Content:
    """Return the content of records whose values are messages.

    Raises:
        JobError: the arguments do not fit, or an internal topic has no such values; the text says how.
        KipwireError: there is no such message.
    """
    check_values(message, package, topics)
    return Content(check_selection(package, message, version, fields))


def check_values(message: str, package: str, topics: tuple[str, ...]) -> None:
    """Check that topics may have a message as values; of internal ones that is known.

    Raises:
        JobError: one has other values.
        KipwireError: there is no such message.
    """
    Selection(package, message).classes  # noqa: B018  raises
    for topic in topics if package == KAFKA else ():
        family = FAMILIES.get(topic)
        values = [record.value.message for record in types_of(family).values()] if family is not None else [message]
        if message not in values:
            raise JobError(f"the values of {topic} are no {message}; they are {', '.join(sorted(values))}")


def topic_content(decode: str, topics: tuple[str, ...], types: Iterable[str] = (), package: str = KAFKA) -> Content:
    """Return the content of an internal topic's records.

    Args:
        decode: one of `DECODES`.
        topics: that are read, of which there must be one, or none for the usual one.
        types: of records; see `Records`.
        package: of the messages.

    Raises:
        JobError: there is no such content, or the topics have others.
    """
    if decode not in DECODES:
        raise JobError(f"decode must be {' or '.join(DECODES)}, not {decode!r}; message decodes values of other topics")
    usual = tuple(COORDINATOR_TOPICS) if decode == "coordinator" else tuple(set(FAMILIES) - set(COORDINATOR_TOPICS))
    topic, *others = topics or (next(iter(COORDINATOR_TOPICS)) if decode == "coordinator" else METADATA,)
    if others or topic not in usual:
        raise JobError(f"decode={decode!r} reads one topic, of {', '.join(sorted(usual))}, not {', '.join(topics)}")
    records = Records(FAMILIES[topic], tuple(types), package)
    records_type(records)
    return Content(records)


def topic_of(content: Content) -> str | None:
    """Return the topic whose records these are; None for messages, which any topic may have."""
    if isinstance(content.of, Selection):
        return None
    return next(topic for topic, family in FAMILIES.items() if family == content.of.family)

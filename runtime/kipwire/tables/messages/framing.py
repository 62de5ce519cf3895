"""The envelope of a stored or sent message: the bytes before it, which give its type and version.

| message | before it |
|---|---|
| value of a coordinator's record | its version, as int16 |
| key of a coordinator's record | the type of the record, as int16; the message is of version 0 |
| record of the metadata log | the version of this frame (1), type and version, as unsigned varints |
| request | its header, whose version follows from the request's |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from kipwire import DecodeError, Message, UnsupportedVersionError
from kipwire.description.fields import in_version
from kipwire.logs.internal_topics import (
    ENVELOPES,
    LARGEST_ENVELOPE,
    Envelope,
    UnknownRecordError,
    pack_envelope,
    smallest_envelope,
    unpack_envelope,
)
from kipwire.message.frames import class_of_answer, key_and_version, may_answer_in_version_0
from kipwire.message.registry import registry_of
from kipwire.model.api_keys import UNSUPPORTED_VERSION
from kipwire.model.errors import unknown_version
from kipwire.tables.arrow import pc
from kipwire.tables.errors import JobError
from kipwire.tables.messages.row_errors import RowError, row_error_of
from kipwire.tables.messages.selection import Selection

_INT16_SIZE = 2
_LONGEST = 2**31 - 1
"""Highest number of bytes of a value in a column; passed to Arrow, whose own default overflows with many rows."""


class Group(NamedTuple):
    """The messages of one class in a column."""

    cls: type[Message]
    rows: pa.Array
    """Their row numbers in the column, ascending."""
    bodies: pa.Array
    """The messages, without the bytes before them."""
    starts: list[int] | int
    """Position of each body in its given bytes; one number if all have the same."""

    def start(self, index: int) -> int:
        """Return the position at which one of the bodies begins in its given bytes."""
        return self.starts if isinstance(self.starts, int) else self.starts[index]


class Grouped(NamedTuple):
    """The rows of a column by class; nulls are in no group."""

    groups: list[Group]
    errors: dict[int, RowError]
    """Errors of messages whose class is not known, by row."""


class EnvelopeError(Exception):
    """The bytes before a message do not give a known message."""

    def __init__(self, row_error: RowError) -> None:
        super().__init__(row_error)
        self.row_error = row_error


def group_by_version(selection: Selection, data: pa.Array) -> Grouped:
    """Group a column of messages by version.

    Raises:
        JobError: the bytes of such messages do not include their version.
        KipwireError: as `Selection.classes`.
    """
    classes = {cls.VERSION: cls for cls in selection.classes}
    if selection.version is not None:
        return Grouped(_by_answer(classes[selection.version], data), {})
    kind = next(iter(classes.values())).TYPE
    if kind == "request":
        return _by_header(selection, data)
    if kind not in ENVELOPES:
        raise JobError(f"the bytes of {selection.message} do not include the version; give one")

    def find(envelope: bytes) -> type[Message]:
        type_, version, at, _ = read_envelope(kind, selection.message, envelope)
        cls = next(iter(classes.values()))
        if type_ not in (None, cls.API_KEY):
            reason = f"is {type_}, which is the type of another message; {selection.message} has {cls.API_KEY}"
            raise EnvelopeError(RowError(selection.message, None, "type", 0, reason, True))
        if version not in classes:
            raise EnvelopeError(version_error(selection.package, selection.message, version, at))
        return classes[version]

    return by_envelope(data, kind, find)


def _by_answer(asked: type[Message], data: pa.Array) -> list[Group]:
    """Group response bodies of one version; a response that refuses that version has version 0 (KIP-511)."""
    rows = pc.indices_nonzero(data.is_valid())
    refused: list[int] = []
    if may_answer_in_version_0(asked):
        candidates = pc.indices_nonzero(pc.starts_with(data, UNSUPPORTED_VERSION.to_bytes(2, "big"))).to_pylist()
        refused = [row for row in candidates if class_of_answer(asked, data[row].as_py(), 0) is not asked]
    if not refused:
        return [Group(asked, rows, data.take(rows) if data.null_count else data, 0)]
    apart = pa.array(refused, pa.uint64())
    others = rows.filter(pc.invert(pc.is_in(rows, apart)))
    return [Group(asked, others, data.take(others), 0), Group(in_version(asked, 0), apart, data.take(apart), 0)]


def read_envelope(kind: str, message: str, envelope: bytes) -> Envelope:
    """Return the type, if the bytes include it, the version, and the number of these bytes.

    Args:
        kind: the type of the message's spec.
        message: the message's name, for the error.
        envelope: the first bytes of the message; a short message gives fewer than an envelope has.

    Raises:
        EnvelopeError: there are too few bytes, or they are invalid.
    """
    try:
        return unpack_envelope(kind, envelope)
    except UnknownRecordError as error:
        raise EnvelopeError(RowError(message, None, error.path, error.offset, error.reason, True)) from None


def write_envelope(cls: type[Message]) -> bytes:
    """Return the bytes before a message of a class; the reverse of `read_envelope`.

    None are before a request: its header has a correlation id and a client id, which no column of the request has.

    Raises:
        JobError: such messages are stored without a version, or with more than the class says.
    """
    envelope = b"" if cls.TYPE == "request" else pack_envelope(cls)
    if envelope is None:
        raise JobError(
            f"{cls.NAME} is not stored with its version, and a row does not say which one to write; give a version"
        )
    return envelope


def by_envelope(data: pa.Array, kind: str, find: Callable[[bytes], type[Message]]) -> Grouped:
    """Group a column by the class that the first bytes give.

    Args:
        data: the column.
        kind: the type of the messages' specs, which says what is before a message.
        find: the class for these bytes, which may be fewer; it raises EnvelopeError if there is none.
    """
    rows_of: dict[tuple[type[Message], int], list[pa.Array]] = {}
    errors: dict[int, RowError] = {}
    for envelope, rows in _rows_by_envelope(data, kind):
        try:
            rows_of.setdefault((find(envelope), len(envelope)), []).append(rows)
        except EnvelopeError as error:
            errors.update(dict.fromkeys(rows.to_pylist(), error.row_error))
    groups = []
    for (cls, size), parts in rows_of.items():
        rows = pa.concat_arrays(parts) if len(parts) > 1 else parts[0]
        some = data if len(rows) == len(data) else data.take(rows)
        groups.append(Group(cls, rows, pc.binary_slice(some, size, _LONGEST), size))
    return Grouped(groups, errors)


def _rows_by_envelope(data: pa.Array, kind: str) -> Iterator[tuple[bytes, pa.Array]]:
    """Yield each envelope, with the numbers of the rows that begin with it; of shorter rows, all of their bytes."""
    size = smallest_envelope(kind)
    first = data[0].as_py()[:size] if len(data) and not data.null_count else b""
    if len(first) == size and not _may_be_longer(kind, first) and pc.all(pc.starts_with(data, first)).as_py():
        yield first, pc.indices_nonzero(data.is_valid())  # the usual case, in a quarter of the time
        return
    envelopes = pc.binary_slice(data, 0, size).dictionary_encode()
    for code, envelope in enumerate(envelopes.dictionary.to_pylist()):
        rows = pc.indices_nonzero(pc.equal(envelopes.indices, code))
        if _may_be_longer(kind, envelope):
            yield from _rows_by_long_envelope(data.take(rows), kind, rows.to_pylist())
        else:
            yield envelope, rows


def _may_be_longer(kind: str, envelope: bytes) -> bool:
    """True if bytes of the smallest envelope have the start of a varint of several bytes; no type of Kafka needs it."""
    return kind == "metadata" and max(envelope, default=0) > 0x7F


def _rows_by_long_envelope(data: pa.Array, kind: str, numbers: list[int]) -> Iterator[tuple[bytes, pa.Array]]:
    rows_of: dict[bytes, list[int]] = {}
    for number, start in zip(numbers, pc.binary_slice(data, 0, LARGEST_ENVELOPE).to_pylist(), strict=True):
        try:
            envelope = start[: unpack_envelope(kind, start).size]
        except UnknownRecordError:
            envelope = start
        rows_of.setdefault(envelope, []).append(number)
    for envelope, rows in rows_of.items():
        yield envelope, pa.array(rows, pa.uint64())


def version_error(package: str, message: str, version: int, start: int) -> RowError:
    """Return the error of a message in a version without a class, which stands at byte `start`."""
    reason = unknown_version(version, registry_of(package).versions(message))
    return RowError(message, None, "version", start, reason, True)


def _by_header(selection: Selection, data: pa.Array) -> Grouped:
    """Group request frames by version; the headers are read one by one, since their sizes differ."""
    found = registry_of(selection.package)
    headers = found.with_header("RequestHeader")
    api_key = selection.classes[0].API_KEY
    rows_of_version: dict[int, list[tuple[int, int]]] = {}
    errors = {}
    frames = data.to_pylist()
    for row, frame in enumerate(frames):
        if frame is None:
            continue
        try:
            key, version = key_and_version(frame)
        except DecodeError as error:
            errors[row] = row_error_of(error, 0)._replace(version=None)
            continue
        if key != api_key:
            reason = f"is {key}, which is the key of another request; {selection.message} has {api_key}"
            errors[row] = RowError("RequestHeader", None, "request_api_key", 0, reason, True)
            continue
        try:
            header_version = found.request_header_version(key, version)
            _, start = headers.message("RequestHeader", header_version).read(frame)
        except UnsupportedVersionError as error:
            errors[row] = RowError("RequestHeader", None, "request_api_version", _INT16_SIZE, str(error), True)
        except DecodeError as error:
            errors[row] = row_error_of(error, 0)
        else:
            rows_of_version.setdefault(version, []).append((row, start))
    groups = []
    for version, some in rows_of_version.items():
        bodies = pa.array([frames[row][start:] for row, start in some], pa.large_binary())
        rows = pa.array([row for row, _ in some], pa.uint64())
        groups.append(Group(found.message(selection.message, version), rows, bodies, [start for _, start in some]))
    return Grouped(groups, errors)

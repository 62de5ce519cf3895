"""Records of internal topics, whose first bytes give the type of each record.

A family is the content of one kind of topic: `group` is `__consumer_offsets`, `transaction` is `__transaction_state`,
`share` is `__share_group_state`; `metadata` is the cluster's own log, `__cluster_metadata`. The family
`remote`, for jobs alone, is `__remote_log_metadata`, whose records begin as in `metadata`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from kipwire import Message
from kipwire.logs.internal_topics import LARGEST_ENVELOPE, UnknownRecordError, unpack_envelope
from kipwire.message.registry import registry_of
from kipwire.tables.arrow import pc
from kipwire.tables.errors import JobError
from kipwire.tables.messages.decoding import decode_group, group_errors, raise_first, scatter
from kipwire.tables.messages.framing import (
    EnvelopeError,
    Group,
    Grouped,
    by_envelope,
    read_envelope,
    version_error,
)
from kipwire.tables.messages.row_errors import RowError, by_row_of_column
from kipwire.tables.messages.selection import Selection, all_versions_type

COORDINATORS = ("group", "transaction", "share")

_OF_OTHER_TOPICS = {"TransactionLog": "transaction", "ShareSnapshot": "share", "ShareUpdate": "share"}
"""Records of coordinators that are not in `__consumer_offsets`."""
REMOTE = "remote"
_REMOTE = "Remote"
"""The start of the names of records that are in the log of tiered storage, not in the cluster's metadata log."""


@dataclass(frozen=True)
class Records:
    """Records of one family."""

    family: str
    """One of `COORDINATORS`, or `metadata`, or `REMOTE`."""
    types: tuple[str, ...] = ()
    """Only these are decoded, by names such as `OffsetCommit` or `TopicRecord`; all if empty."""
    package: str = "kafka_messages"


class Record(NamedTuple):
    """One type of record."""

    name: str
    column: str
    key: Selection | None
    """None in the metadata log, whose records have no keys."""
    value: Selection


class DecodedRecords(NamedTuple):
    """A column of records."""

    rows: pa.StructArray
    """Records; null if a record is broken, or has no key."""
    errors: dict[int, RowError]


@lru_cache
def types_of(family: str, package: str = "kafka_messages") -> dict[int, Record]:
    """Return all types of records of a family, by number."""
    found: dict[int, Record] = {}
    known = registry_of(package)
    for name in known.names():
        entry = known.entry(name)
        if not entry.versions or entry.api_key is None:
            continue
        if entry.type == "metadata" and family == (REMOTE if name.startswith(_REMOTE) else "metadata"):
            found[entry.api_key] = Record(name, entry.module, None, Selection(package, name))
        elif entry.type == "coordinator-value":
            short = name.removesuffix("Value")
            if _OF_OTHER_TOPICS.get(short, "group") == family:
                key = Selection(package, f"{short}Key")
                column = entry.module.removesuffix("_value")
                found[entry.api_key] = Record(short, column, key, Selection(package, name))
    return dict(sorted(found.items()))


def chosen_types(records: Records) -> dict[int, Record]:
    """Return the types of records that are decoded, by number.

    Raises:
        JobError: there is no such family, or it has no such type.
    """
    if records.family not in (*COORDINATORS, "metadata", REMOTE):
        raise JobError(f"unknown coordinator {records.family!r}; the coordinators are {', '.join(COORDINATORS)}")
    types = types_of(records.family, records.package)
    names = {record.name for record in types.values()}
    for name in records.types:
        if name not in names:
            raise JobError(f"{records.family} records have no type {name!r}; the types are {', '.join(sorted(names))}")
    return {number: record for number, record in types.items() if not records.types or record.name in records.types}


@lru_cache
def records_type(records: Records) -> pa.StructType:
    """Return the columns of records: the name of each record's type, and a column of messages for each type.

    Raises:
        JobError: as `chosen_types`.
    """
    types = chosen_types(records).values()
    values = [(record.column, all_versions_type(record.value)) for record in types]
    if records.family not in COORDINATORS:
        return pa.struct([("type", pa.string()), *values])
    keys = [(record.column, all_versions_type(record.key)) for record in types if record.key]
    return pa.struct([("type", pa.string()), ("key", pa.struct(keys)), ("value", pa.struct(values))])


def decode_coordinator(records: Records, keys: pa.Array, values: pa.Array) -> DecodedRecords:
    """Decode keys and values of a coordinator's topic.

    Raises:
        JobError: as `chosen_types`.
    """
    types, chosen = types_of(records.family, records.package), chosen_types(records)
    of_keys, of_values, errors = _group_pairs(records, keys, values)
    names = _names(types, of_keys, len(keys))
    whole = records_type(records)
    key = _structs(whole.field("key").type, chosen, of_keys, len(keys), errors, lambda one: one.key)
    value = _structs(whole.field("value").type, chosen, of_values, len(keys), errors, lambda one: one.value)
    return _assemble(whole, [names, key, value], errors)


class _Pairs(NamedTuple):
    """Keys and values by class: all known keys, and the values of chosen types."""

    keys: list[Group]
    values: list[Group]
    errors: dict[int, RowError]


def _group_pairs(records: Records, keys: pa.Array, values: pa.Array) -> _Pairs:
    types, chosen = types_of(records.family, records.package), chosen_types(records)
    of_keys = _group_by_type(types, keys, "coordinator-key", lambda record: record.key)
    errors = dict(of_keys.errors)
    groups: list[Group] = []
    # The key has the type of the value: the value's own first bytes give only the version.
    for group in of_keys.groups:
        if group.cls.API_KEY in chosen:
            some = _group_values(types[group.cls.API_KEY], values.take(group.rows))
            groups += [one._replace(rows=group.rows.take(one.rows)) for one in some.groups]
            errors.update(by_row_of_column(some.errors, group.rows))
    return _Pairs(of_keys.groups, groups, errors)


class Unreadable(NamedTuple):
    """A record that is not among the decoded ones."""

    row: int
    type: str | None
    """Name of its type, the number of an unknown one, or None if it has none."""
    version: int | None
    """Version of its value; None if the bytes do not give it."""
    is_unknown: bool
    """True if it may be intact: its type or version is not known, or it has none. Else it is damaged."""
    reason: str


def unreadable_records(records: Records, keys: pa.Array, values: pa.Array) -> list[Unreadable]:
    """Find the records of unknown types, and the records of chosen types that cannot be decoded.

    Args:
        records: the records; of other types than the chosen ones nothing is looked at.
        keys: of a coordinator's topic; ignored in logs of metadata.
        values: of the same rows.

    Raises:
        JobError: as `chosen_types`.
    """
    types, chosen = types_of(records.family, records.package), chosen_types(records)
    is_coordinator = records.family in COORDINATORS
    if is_coordinator:
        groups = _group_pairs(records, keys, values)
        some, errors = [*groups.keys, *groups.values], groups.errors
    else:
        some, errors = _group_by_type(types, values, "metadata", lambda record: record.value)
    for group in some:
        if group.cls.API_KEY in chosen:
            errors.update(by_row_of_column(group_errors(group), group.rows))
    first = keys if is_coordinator else values
    what = "key" if is_coordinator else "value"
    missing = RowError("record", None, what, 0, "is null, but every record here has one", True)
    errors.update(dict.fromkeys(pc.indices_nonzero(first.is_null()).to_pylist(), missing))
    found = []
    for row, error in sorted(errors.items()):
        number, version = _type_and_version(is_coordinator, _start(first, row), _start(values, row))
        known = None if number is None else types.get(number)
        if known is None or number in chosen:
            name = None if number is None else str(number) if known is None else known.name
            found.append(Unreadable(row, name, version, error.is_unknown, str(error)))
    return found


def _start(data: pa.Array, row: int) -> bytes:
    return (data[row].as_py() or b"")[:LARGEST_ENVELOPE]


def _type_and_version(is_coordinator: bool, first: bytes, value: bytes) -> tuple[int | None, int | None]:
    """Return the type and the version in the first bytes of a record, as far as they are there."""
    try:
        if not is_coordinator:
            number, version, _, _ = unpack_envelope("metadata", first)
            return number, version
        number = unpack_envelope("coordinator-key", first).type_id
    except UnknownRecordError:
        return None, None
    try:
        return number, unpack_envelope("coordinator-value", value).version
    except UnknownRecordError:
        return number, None


def raise_first_record(errors: dict[int, RowError], keys: pa.Array, values: pa.Array) -> None:
    """Raise the error of the first record that has one, if any.

    Raises:
        BrokenMessageError: that one, with the bytes of the key or the value.
    """
    is_value = bool(errors) and errors[min(errors)].message.endswith("Value")
    raise_first(errors, values if is_value else keys)


def decode_metadata(records: Records, values: pa.Array) -> DecodedRecords:
    """Decode values of the cluster's metadata log.

    Raises:
        JobError: as `chosen_types`.
    """
    types = types_of(records.family, records.package)
    of_value = _group_by_type(types, values, "metadata", lambda record: record.value)
    names = _names(types, of_value.groups, len(values))
    errors = dict(of_value.errors)
    whole = records_type(records)
    part = _structs(whole, chosen_types(records), of_value.groups, len(values), errors, lambda one: one.value)
    return _assemble(whole, [names, *part.flatten()[1:]], errors)


def _group_by_type(
    types: dict[int, Record], data: pa.Array, kind: str, selection: Callable[[Record], Selection | None]
) -> Grouped:
    """Group a column by type and version of its records."""

    def find(envelope: bytes) -> type[Message]:
        number, version, at, _ = read_envelope(kind, "record", envelope)
        assert number is not None  # these kinds have it
        record = types.get(number)
        if record is None:
            start = 1 if kind == "metadata" else 0
            raise EnvelopeError(RowError("record", None, "type", start, f"there is no type {number}", True))
        return _class(selection(record) or record.value, version, at)

    return by_envelope(data, kind, find)


def _group_values(record: Record, values: pa.Array) -> Grouped:
    """Group the values of one type of record by version."""

    def find(envelope: bytes) -> type[Message]:
        _, version, at, _ = read_envelope("coordinator-value", record.value.message, envelope)
        return _class(record.value, version, at)

    return by_envelope(values, "coordinator-value", find)


def _class(selection: Selection, version: int, at: int) -> type[Message]:
    """Return the class of a version, which stands at byte `at`."""
    known = registry_of(selection.package)
    if version not in known.versions(selection.message):
        raise EnvelopeError(version_error(selection.package, selection.message, version, at))
    return known.message(selection.message, version)


def _names(types: dict[int, Record], groups: list[Group], count: int) -> pa.Array:
    """Return the name of each record's type, even of records that are not decoded."""
    parts = [pa.repeat(pa.scalar(types[group.cls.API_KEY].name), len(group.rows)) for group in groups]
    return scatter(count, pa.string(), groups, parts)


def _structs(
    whole: pa.StructType,
    types: dict[int, Record],
    groups: list[Group],
    count: int,
    errors: dict[int, RowError],
    selection: Callable[[Record], Selection | None],
) -> pa.StructArray:
    """Return structs with a column for each type; errors of broken records are added to `errors`."""
    children = {field.name: pa.nulls(count, field.type) for field in whole}
    for number, record in types.items():
        message = selection(record)
        some = [group for group in groups if number == group.cls.API_KEY]
        if message is None or not some:
            continue
        parts = []
        for group in some:
            rows, wrong = decode_group(message, group)
            parts.append(rows)
            errors.update(by_row_of_column(wrong, group.rows))
        children[record.column] = scatter(count, all_versions_type(message), some, parts)
    return pa.StructArray.from_arrays([children[field.name] for field in whole], fields=list(whole))


def _assemble(whole: pa.StructType, children: list[pa.Array], errors: dict[int, RowError]) -> DecodedRecords:
    """Return the whole rows; a row is null if it is broken or has no type."""
    names = children[0]
    broken = pa.array([row in errors for row in range(len(names))]) if errors else pa.repeat(False, len(names))
    rows = pa.StructArray.from_arrays(children, fields=list(whole), mask=pc.or_(broken, names.is_null()))
    return DecodedRecords(rows, errors)

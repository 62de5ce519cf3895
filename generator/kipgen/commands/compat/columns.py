"""The columns of a message over all its versions, old and new: whether tables of the old ones fit the new ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kipgen.commands.compat.change import Change, Spot
from kipgen.language.names import class_name
from kipgen.language.spec import FieldSpec, Location, MessageSpec
from kipgen.resolve.wire import WireField, WireMessage, WireStruct, resolve
from kipwire.description.column_order import UNKNOWN, ordered, places
from kipwire.types import TYPES

Renamed = Collection[tuple[Location, Location]]
"""The fields that were only renamed, by their locations in the old and in the new spec."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column of a message or struct over all versions."""

    name: str
    """The attribute's name."""
    spec_name: str
    location: Location
    type: str
    """In words; `struct` for one with columns of its own."""
    versions: frozenset[int]
    inner: StoredColumns | None


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """The columns of a message or struct over all versions."""

    location: Location
    common_name: str
    """Of a common struct, whose fields are the same wherever it is used; else empty."""
    columns: tuple[StoredColumn, ...]
    """In the order of `kipwire.description.column_order`."""


def stored_columns(spec: MessageSpec) -> StoredColumns:
    """The columns of a message. A struct that contains itself has none, since no column can hold it."""
    messages = [resolve(spec, version) for version in spec.valid_versions.each()]
    return _columns(spec, [(message, message.root) for message in messages], ())


def _columns(
    spec: MessageSpec, versions: Sequence[tuple[WireMessage, WireStruct]], outer: tuple[str, ...]
) -> StoredColumns:
    struct_name = versions[0][1].class_name if versions else ""
    struct = next((struct for struct in spec.structs if outer and class_name(struct.name) == struct_name), None)
    fields = {field.name: field for field in (struct or spec).fields}
    found: dict[str, list[tuple[WireMessage, WireField]]] = {}
    names = []
    for message, one in versions:
        entries = [(field.attribute, field.tag) for field in one.fields]
        names.append(places(message.version, [*entries, *([(UNKNOWN, None)] if one.flexible else [])]))
        for field in one.fields:
            found.setdefault(field.attribute, []).append((message, field))
    owner = struct or spec
    common_name = struct.name if struct is not None and struct.is_common else ""
    columns = [
        _column(spec, found[name], fields, (*outer, struct_name)) if name in found else _unknown(owner.location)
        for name in ordered(names)
    ]
    return StoredColumns(owner.location, common_name, tuple(columns))


def _column(
    spec: MessageSpec,
    versions: Sequence[tuple[WireMessage, WireField]],
    fields: dict[str, FieldSpec],
    outer: tuple[str, ...],
) -> StoredColumn:
    _, field = versions[0]
    inner = None
    if field.type.has_struct and field.struct not in outer:
        structs = [(message, _struct_of(message, field)) for message, field in versions]
        inner = _columns(spec, structs, outer)
    element = "struct" if field.type.has_struct else TYPES[field.type.element].arrow
    written = fields.get(field.spec_name)
    return StoredColumn(
        name=field.attribute,
        spec_name=field.spec_name,
        location=written.location if written is not None else _integer_of(field, fields),
        type=f"list of {element}" if field.type.is_array else element,
        versions=frozenset(message.version for message, _ in versions),
        inner=inner,
    )


def _integer_of(bit: WireField, fields: dict[str, FieldSpec]) -> Location:
    """Where the integer is that has a named bit."""
    return next(
        field.location for field in fields.values() if any(one.name == bit.spec_name for one in field.wire.bits or ())
    )


def _struct_of(message: WireMessage, field: WireField) -> WireStruct:
    return next(struct for struct in message.structs if struct.class_name == field.struct)


def _unknown(location: Location) -> StoredColumn:
    return StoredColumn(UNKNOWN, UNKNOWN, location, "map", frozenset(), None)


def compare_columns(old: MessageSpec, new: MessageSpec, renamed: Renamed) -> Iterator[Change]:
    """What tables with the columns of the old spec do not find in the new one; nothing if one has no versions."""
    if not old.valid_versions.is_empty and not new.valid_versions.is_empty:
        yield from _compare(new.name, new.name, stored_columns(old), stored_columns(new), renamed)


def _compare(message: str, path: str, old: StoredColumns, new: StoredColumns, renamed: Renamed) -> Iterator[Change]:
    later = {column.name: column for column in new.columns}
    by_location = {column.location: column for column in new.columns if column.name != UNKNOWN}
    heirs = {was: by_location.get(now) for was, now in renamed}
    pairs: list[tuple[StoredColumn, StoredColumn]] = []
    for column in old.columns:
        heir = None if column.name in later else heirs.get(column.location)
        match = later.get(column.name) or heir
        if match is None:
            text = f"the column {column.name} is gone"
            spots = Spot(new.location), Spot(column.location)
            yield Change("column-removed", f"{path}.{column.spec_name}", text, *spots, column.versions)
            continue
        pairs.append((column, match))
        if heir is not None:
            text = f"the column {column.name} is now {heir.name}"
            yield _change("column-renamed", path, column, heir, text)
    yield from _compare_order(path, old, new, pairs)
    for column, match in pairs:
        if column.type != match.type:
            text = f"the column was {column.type}, is now {match.type}"
            yield _change("column-type-changed", path, column, match, text)
        elif column.inner is not None and match.inner is not None:
            common = match.inner.common_name
            inner_path = f"{message}.{common}" if common else f"{path}.{match.spec_name}"
            yield from _compare(message, inner_path, column.inner, match.inner, renamed)


def _compare_order(
    path: str, old: StoredColumns, new: StoredColumns, pairs: Sequence[tuple[StoredColumn, StoredColumn]]
) -> Iterator[Change]:
    """The columns that moved among the others, and the new ones that do not come after them."""
    kept = {match.name for _, match in pairs}
    before = [match.name for _, match in pairs]
    after = [column.name for column in new.columns if column.name in kept]
    for column, match in pairs:
        if _leading(before, match.name) - _leading(after, match.name):
            text = f"the column was {_position(column, old)}, is now {_position(match, new)}"
            yield _change("column-moved", path, column, match, text)
    last = max((number for number, column in enumerate(new.columns) if column.name in kept), default=-1)
    for column in new.columns[: last + 1]:
        if column.name not in kept:
            text = f"the new column {column.name} comes before {new.columns[last].name}, which tables already have"
            yield Change(
                "column-not-last", f"{path}.{column.spec_name}", text, Spot(column.location), Spot(old.location)
            )


def _leading(names: Sequence[str], name: str) -> frozenset[str]:
    return frozenset(names[: names.index(name)])


def _position(column: StoredColumn, columns: StoredColumns) -> str:
    index = columns.columns.index(column)
    return f"after {columns.columns[index - 1].name}" if index else "first"


def _change(rule: str, path: str, old: StoredColumn, new: StoredColumn, text: str) -> Change:
    return Change(rule, f"{path}.{new.spec_name}", text, Spot(new.location), Spot(old.location), old.versions)

"""The columns of a message over all its versions, old and new: whether tables of the old ones fit the new ones.

A table has the columns of all versions that an earlier revision of a spec had. So columns are compared over all
versions at once, in the order of `kipwire.description.column_order`, in which a release of specs can only add columns
after the others.

A column is found again by its name, else by the place of a field that was only renamed. `compare.compare_stored` leaves
out what a finding about bytes or code explains already. Nothing of this is reported without `--columns`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kipgen.commands.compat.model import Change, Spot
from kipgen.language.names import class_name
from kipgen.language.spec import Location, MessageSpec, StructSpec
from kipgen.resolve.wire import resolve
from kipwire.description.column_order import UNKNOWN, merge_order, places
from kipwire.model.structs import Field, Struct
from kipwire.model.types import TYPES

Renamed = Collection[tuple[Location, Location]]
"""The fields that were only renamed, by their locations in the old and in the new spec."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumn:
    """One column of a message or struct over all versions."""

    name: str
    """The attribute's name."""
    spec_name: str
    location: Location
    type: str
    """Name of the type; `struct` for one with its own columns."""
    versions: frozenset[int]
    inner: StoredColumns | None


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """The columns of a message or struct over all versions."""

    location: Location
    common_name: str
    """Name of a common struct, whose fields are the same wherever it is used; else empty."""
    columns: tuple[StoredColumn, ...]
    """Columns, in the order of `kipwire.description.column_order`."""


def stored_columns(spec: MessageSpec) -> StoredColumns:
    """Find the columns of a message. A struct that contains itself has none, since no column can hold it."""
    return _Columns(spec).of([(version, resolve(spec, version)) for version in spec.valid_versions.each()], ())


class _Columns:
    """Finds the columns of the structs of one message."""

    def __init__(self, spec: MessageSpec) -> None:
        self._spec = spec
        self._specs = {class_name(struct.name): struct for struct in reversed(spec.structs)}
        self._known: dict[tuple[str, tuple[int, ...]], StoredColumns] = {}
        """Columns of structs that are already known, by a struct and the versions that use it."""

    def of(self, versions: Sequence[tuple[int, type[Struct]]], outer: tuple[str, ...]) -> StoredColumns:
        """Find the columns of a struct in some versions; `outer` names the structs around it."""
        struct_name = versions[0][1].__name__ if versions else ""
        # Used in other versions, a common struct may have other columns.
        key = struct_name, tuple(version for version, _ in versions)
        known = self._known.get(key)
        if known is None:
            struct = self._specs.get(struct_name) if outer else None
            known = self._known[key] = self._find(struct, versions, (*outer, struct_name))
        return known

    def _find(
        self,
        struct: StructSpec | None,
        versions: Sequence[tuple[int, type[Struct]]],
        outer: tuple[str, ...],
    ) -> StoredColumns:
        owner = struct or self._spec
        locations = {bit.name: field.location for field in owner.fields for bit in field.layout.bits or ()}
        locations |= {field.name: field.location for field in owner.fields}
        found: dict[str, list[tuple[int, Field]]] = {}
        names = []
        for version, one in versions:
            entries = [(field.name, field.tag) for field in one.ATTRIBUTES]
            names.append(places(version, [*entries, *([(UNKNOWN, None)] if one.FLEXIBLE else [])]))
            for field in one.ATTRIBUTES:
                found.setdefault(field.name, []).append((version, field))
        common_name = struct.name if struct is not None and struct.is_common else ""
        columns = [
            self._column(found[name], locations, outer) if name in found else _unknown(owner.location)
            for name in merge_order(names)
        ]
        return StoredColumns(owner.location, common_name, tuple(columns))

    def _column(
        self,
        versions: Sequence[tuple[int, Field]],
        locations: dict[str, Location],
        outer: tuple[str, ...],
    ) -> StoredColumn:
        _, field = versions[0]
        inner = None
        if field.struct is not None and field.struct.__name__ not in outer:
            inner = self.of([(version, one.struct) for version, one in versions if one.struct is not None], outer)
        element = "struct" if field.struct is not None else TYPES[field.element].arrow
        return StoredColumn(
            name=field.name,
            spec_name=field.spec_name,
            location=locations[field.spec_name],  # for a named bit, its integer's
            type=f"list of {element}" if field.array else element,
            versions=frozenset(version for version, _ in versions),
            inner=inner,
        )


def _unknown(location: Location) -> StoredColumn:
    return StoredColumn(UNKNOWN, UNKNOWN, location, "map", frozenset(), None)


def compare_columns(old: MessageSpec, new: MessageSpec, renamed: Renamed) -> Iterator[Change]:
    """Find what tables with the columns of the old spec lack in the new one; nothing if a spec has no versions."""
    if not old.valid_versions.is_empty and not new.valid_versions.is_empty:
        yield from _compare(new.name, new.name, stored_columns(old), stored_columns(new), renamed, set())


_Seen = set[tuple[str, StoredColumns, StoredColumns]]
"""The structs that have been compared, with their path: a common struct is compared once."""


def _compare(
    message: str, path: str, old: StoredColumns, new: StoredColumns, renamed: Renamed, seen: _Seen
) -> Iterator[Change]:
    if (path, old, new) in seen:
        return
    seen.add((path, old, new))
    later = {column.name: column for column in new.columns}
    by_location = {column.location: column for column in new.columns if column.name != UNKNOWN}
    heirs = {was: by_location.get(now) for was, now in renamed}
    pairs: list[tuple[StoredColumn, StoredColumn]] = []
    for column in old.columns:
        heir = None if column.name in later else heirs.get(column.location)
        match = later.get(column.name) or heir
        if match is None:
            text = f"the column {column.name} was removed"
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
            yield from _compare(message, inner_path, column.inner, match.inner, renamed, seen)


def _compare_order(
    path: str, old: StoredColumns, new: StoredColumns, pairs: Sequence[tuple[StoredColumn, StoredColumn]]
) -> Iterator[Change]:
    """Find the columns that moved among the others, and the new ones that do not come after them."""
    # INSERT and UNION go by position, so the order among the columns that both have is what counts.
    kept = {match.name for _, match in pairs}
    after = [column.name for column in new.columns if column.name in kept]
    number_of = {name: number for number, name in enumerate(after)}
    was_after, is_after = _predecessors(old), _predecessors(new)
    furthest = -1  # of the columns before it, the place of the last one now
    for column, match in pairs:
        if furthest > number_of[match.name]:
            text = f"the column was {was_after[column.name]}, is now {is_after[match.name]}"
            yield _change("column-moved", path, column, match, text)
        furthest = max(furthest, number_of[match.name])
    last = max((number for number, column in enumerate(new.columns) if column.name in kept), default=-1)
    for column in new.columns[: last + 1]:
        if column.name not in kept:
            text = f"the new column {column.name} comes before {new.columns[last].name}, which tables already have"
            yield Change(
                "column-not-last", f"{path}.{column.spec_name}", text, Spot(column.location), Spot(old.location)
            )


def _predecessors(columns: StoredColumns) -> dict[str, str]:
    """Describe the place of each column, by its name."""
    names = [column.name for column in columns.columns]
    return dict(zip(names, ["first", *(f"after {name}" for name in names)], strict=False))


def _change(rule: str, path: str, old: StoredColumn, new: StoredColumn, text: str) -> Change:
    return Change(rule, f"{path}.{new.spec_name}", text, Spot(new.location), Spot(old.location), old.versions)

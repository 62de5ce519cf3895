"""Versions side by side: which field is in which version, and how; and what each version changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kipgen.language import names
from kipgen.language.defaults import type_default
from kipgen.language.spec import FieldSpec, MessageSpec, enum_of
from kipgen.language.versions import Versions


@dataclass(frozen=True, slots=True)
class Cell:
    """A field in one version."""

    is_there: bool
    may_be_null: bool = False
    tag: int | None = None
    """Its tag where it is tagged."""


@dataclass(frozen=True, slots=True)
class Row:
    """A field in all versions."""

    depth: int
    """Number of structs around it, not counting the message."""
    name: str
    attribute: str
    type: str
    default: str
    """The default as Python writes it; "" where it is the type's own."""
    about: str
    enum: str
    """The enum that names its numbers; "" if there is none."""
    is_enum_bits: bool
    """True if the names belong to the bits that are set."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change of a version."""

    kind: str
    """Such as `new` or `no longer there`."""
    fields: tuple[str, ...]
    """Paths of fields, such as `Topics.Name`; none for a change of the whole message."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """Changes of one version since the one before it."""

    version: int
    changes: tuple[Change, ...]
    """Empty where no field changed."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Numbers of fields of one version."""

    version: int
    kept: int
    """Fields that the version before it has, too; all of the first version."""
    new: int
    gone: int
    """Fields of the version before it that it lacks."""
    kept_share: float
    """Percent of the most fields that any version has."""
    new_share: float


def growth(spec: MessageSpec, rows: Sequence[Row]) -> tuple[Growth, ...]:
    """Count the fields of each version, the oldest first.

    Args:
        spec: a message that has versions.
        rows: its rows.
    """
    versions = spec.valid_versions.each()
    there = [{number for number, row in enumerate(rows) if row.cells[at].is_there} for at in range(len(versions))]
    most = max(map(len, there)) or 1
    found = []
    for version, before, now in zip(versions, (there[0], *there), there, strict=False):
        kept, new = len(now & before), len(now - before)
        found.append(
            Growth(version, kept, new, len(before - now), round(100 * kept / most, 1), round(100 * new / most, 1))
        )
    return tuple(found)


def version_changes(spec: MessageSpec, rows: Sequence[Row]) -> tuple[VersionChanges, ...]:
    """List what each version but the first changed, the newest first.

    Args:
        spec: a message that has versions.
        rows: its rows.
    """
    first = spec.valid_versions.lowest
    paths = _paths(rows)
    found = []
    for version in reversed(spec.valid_versions.each()[1:]):
        kinds: dict[str, list[str]] = {}
        if (version in spec.flexible_versions) > (version - 1 in spec.flexible_versions):
            kinds["flexible: compact lengths, and a section of tagged fields after each struct"] = []
        whole: list[int] = []
        for row, path in zip(rows, paths, strict=True):
            while whole and whole[-1] >= row.depth:
                whole.pop()
            before, after = row.cells[version - 1 - first], row.cells[version - first]
            is_part = bool(whole)  # of a struct that came or went as a whole
            if before.is_there != after.is_there:
                whole.append(row.depth)
            if not is_part:
                for kind in _kinds(before, after):
                    kinds.setdefault(kind, []).append(path)
        found.append(VersionChanges(version, tuple(Change(kind, tuple(names)) for kind, names in kinds.items())))
    return tuple(found)


def _kinds(before: Cell, after: Cell) -> Iterator[str]:
    if not (before.is_there and after.is_there):
        if after.is_there:
            yield "new" if after.tag is None else "new, tagged"
        elif before.is_there:
            yield "no longer there"
        return
    if before.may_be_null != after.may_be_null:
        yield "may be null" if after.may_be_null else "no longer null"
    if before.tag != after.tag:
        yield "no longer tagged" if after.tag is None else "tagged now"


def _paths(rows: Sequence[Row]) -> list[str]:
    around: list[str] = []
    found = []
    for row in rows:
        around[row.depth :] = [row.name]
        found.append(".".join(around))
    return found


def version_rows(spec: MessageSpec) -> tuple[Row, ...]:
    """Make a row for each field in the order of the wire, the fields of a struct after the field that has it.

    Args:
        spec: a message that has versions.
    """
    return tuple(_rows(spec, spec.fields, spec.valid_versions, ()))


def _rows(spec: MessageSpec, fields: tuple[FieldSpec, ...], within: Versions, around: tuple[str, ...]) -> Iterator[Row]:
    for field in fields:
        present = within.intersect(field.versions)
        if present.is_empty:
            continue
        yield Row(
            len(around),
            field.name,
            names.attribute_name(field.name),
            str(field.type),
            "" if field.default == type_default(field.type) else repr(field.default),
            field.about,
            enum_of(field) or "",
            field.enum_bits,
            tuple(_cell(field, version, present) for version in spec.valid_versions.each()),
        )
        struct = field.type.element
        if field.type.has_struct and struct not in around:
            yield from _rows(spec, spec.struct(struct).fields, present, (*around, struct))


def _cell(field: FieldSpec, version: int, present: Versions) -> Cell:
    if version not in present:
        return Cell(False)
    return Cell(True, version in field.nullable_versions, field.tag if version in field.tagged_versions else None)

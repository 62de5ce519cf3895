"""Versions side by side: which field is in which version, and how."""

from __future__ import annotations

from collections.abc import Iterator
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

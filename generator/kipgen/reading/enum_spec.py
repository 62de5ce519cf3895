"""Enums, the names of numbers: the content of a file `*.enum.json`, and its reading.

A register of header keys is an enum whose file has `keyAreas`, and more columns for each number.

Kafka's specs have no enums: what a number means is in Java. An enum is data about the protocol beside the messages and
changes no byte. A number without a name stays valid.

Reading works as in `parse`: it goes on after a mistake, with marks on what is broken. `rules.enums` and
`rules.registers` judge the result, and `python` makes classes of it, in which names are constants. A header's name is
no constant (`client.id`), so a register has both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kipgen.language.names import header_constant
from kipgen.language.problems import Problem
from kipgen.reading.draft import SpecPart
from kipgen.reading.schema_check import abbreviate, check_schema
from kipgen.reading.source import Document
from kipgen.reading.spec_object import Reading, SpecObject, control_character
from kipgen.resources import enum_schema_path

ENUM_SUFFIX = ".enum.json"
"""Suffix of files that contain an enum, not a message."""

_CLASS = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)
_MEMBER = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_MEMBER_FORM = "start with a capital, then use capitals, digits and underscores"
_HEADER_FORM = "start with a letter, then use letters and digits, with single dots, hyphens or underscores between them"
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class HeaderKeySpec:
    """Entry of a register of header keys for a key, beyond the facts that every enum has for a number."""

    name: str
    """The header's name, such as `client.id`."""
    by: str
    """The party that registered the key."""
    url: str | None = None
    """Address of the header's documentation."""
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A number with its name."""

    number: int
    name: str
    about: str
    kip: int | None = None
    retriable: bool | None = None
    """True if a client may retry after the error; None if the enum is not one of errors."""
    header_key: HeaderKeySpec | None = None
    """Entry in a register of header keys, in which `name` is the constant for the key; None for other enums."""

    @property
    def given_name(self) -> str:
        """The name as the file has it."""
        return self.name if self.header_key is None else self.header_key.name


@dataclass(frozen=True, slots=True)
class ValuesFrom:
    """The messages whose API keys are the numbers, which are then in their specs alone."""

    type: str
    folder: str | None = None
    """Name of the folder of their specs; None if they are for all."""


@dataclass(frozen=True, slots=True)
class EnumSpec:
    """An enum. It has its own values, or those that follow from messages."""

    name: str
    about: str
    values: tuple[EnumValue, ...] = ()
    values_from: ValuesFrom | None = None
    key_areas: tuple[str, ...] | None = None
    """Areas whose keys a register of header keys may have; None for other enums."""
    reserved_values: tuple[int, ...] = ()
    """Numbers of removed values, never to be used again."""
    reserved_names: tuple[str, ...] = ()
    """Names of removed and renamed values, never to be used again; in a register, the constants of the headers."""


@dataclass(frozen=True, slots=True)
class EnumDraft:
    """An enum with the locations of its parts, for the rules."""

    spec: EnumSpec
    part: SpecPart
    values: tuple[SpecPart, ...]
    """One for each value of the spec."""


def is_enum_file(path: Path | str) -> bool:
    """True if a file in a folder of specs contains an enum."""
    return Path(path).name.endswith(ENUM_SUFFIX)


def parse_enum(document: Document) -> tuple[EnumDraft | None, tuple[Problem, ...]]:
    """Read a document as an enum; what cannot be read is a problem, and reading goes on.

    Returns:
        The enum, unless the document is not an object or its values cannot be read; and what is wrong.
    """
    checked = check_schema(document, enum_schema_path())
    if not isinstance(document.value, dict):
        return None, checked.problems
    reading = Reading(document, checked)
    obj = SpecObject(reading, (), document.value)
    name = obj.name(_CLASS, "start with a capital, then use letters and digits")
    about = _read_about(obj)
    rows = tuple(obj.objects("values"))
    # The column counts, too: a register whose keyAreas is missing or misspelt had several misleading problems in each
    # row when it was read as another enum.
    is_register = "keyAreas" in document.value or any("by" in row for _, row in rows)  # as the JSON Schema has it
    values, parts = [], []
    for path, value in rows:
        one = SpecObject(reading, path, value)
        number = _whole(one, "value")
        # A row is read to its end even without its number, for the problems in it; then it is left out.
        row = _header_key(one, number or 0) if is_register else _read_value(one, number or 0)
        if number is not None and "name" not in one.broken:
            values.append(row)
            parts.append(one.part())
    source = document.value.get("valuesFrom")
    origin = None
    if isinstance(source, dict):
        below = SpecObject(reading, ("valuesFrom",), source)
        origin = ValuesFrom(below.text("type") or "request", below.text("folder"))
    areas = _areas(obj) if is_register else None
    reserved = obj.integers("reservedValues"), _reserved_names(obj, is_register)
    spec = EnumSpec(name, about, tuple(values), origin, areas, *reserved)
    return EnumDraft(spec, obj.part(), tuple(parts)), (*checked.problems, *reading.problems)


def _read_value(obj: SpecObject, number: int) -> EnumValue:
    name = obj.name(_MEMBER, _MEMBER_FORM)
    kip, retriable = _whole(obj, "kip"), obj.value.get("retriable")
    return EnumValue(number, name, _read_about(obj), kip, retriable if isinstance(retriable, bool) else None)


def _header_key(obj: SpecObject, key: int) -> EnumValue:
    """Read a row of a register."""
    name = obj.name(_HEADER, _HEADER_FORM)
    by, url, notes = (_column(obj, column) for column in ("by", "url", "notes"))
    return EnumValue(key, header_constant(name), _read_about(obj), header_key=HeaderKeySpec(name, by or "", url, notes))


def _areas(obj: SpecObject) -> tuple[str, ...]:
    """Read the areas of a register; empty, and broken, if one of them is not known."""
    if obj.reading.broken_by_parent.get(("keyAreas",)):
        obj.broken.add("keyAreas")
    areas = obj.value.get("keyAreas")
    return tuple(map(str, areas)) if isinstance(areas, list) and "keyAreas" not in obj.broken else ()


def _reserved_names(obj: SpecObject, is_register: bool) -> tuple[str, ...]:
    """Read the reserved names as constants; empty, and broken, if one of them is not a name."""
    if obj.reading.broken_by_parent.get(("reservedNames",)):
        obj.broken.add("reservedNames")
    given = obj.value.get("reservedNames")
    if not isinstance(given, list) or "reservedNames" in obj.broken:
        return ()
    grammar, form = (_HEADER, _HEADER_FORM) if is_register else (_MEMBER, _MEMBER_FORM)
    for index, name in enumerate(given):
        if not grammar.fullmatch(name):
            obj.report("reservedNames", "name-form", f"{abbreviate(name)} is not a valid name; {form}", index)
    if "reservedNames" in obj.broken:
        return ()
    return tuple(header_constant(name) if is_register else name for name in given)


def _column(obj: SpecObject, name: str) -> str | None:
    """Read a text of a register's row, which must not be blank; None if it is absent or broken."""
    text = obj.text(name)
    if text is not None and (fault := control_character(text)):
        obj.report(name, "control-character", f"{name!r} {fault}")
    elif text is not None and not text.strip():
        obj.report(name, "enum-text", f"{name!r} is blank; write the text, or leave the property out")
    return text


def _read_about(obj: SpecObject) -> str:
    """Read the `about` of an object, which must not be blank."""
    about = obj.about()
    if "about" not in obj.broken and "about" in obj.value and not about.strip():
        obj.report("about", "enum-text", "'about' is blank; say what it means")
    return about


def _whole(obj: SpecObject, name: str) -> int | None:
    """Read a property as a whole number; None if it is absent or broken."""
    value = obj.value.get(name)
    if value is None or name in obj.broken:
        return None
    if isinstance(value, int):
        return value
    obj.report(name, "wrong-kind", f"{name!r} is the number {abbreviate(value)}; write a whole number")  # such as 1.0
    return None

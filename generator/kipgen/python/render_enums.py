"""Enums and templates -> the text of a package's module `enums`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kipgen.code import Code, comment, literal
from kipgen.language import names
from kipgen.python.pymodel import LINE_LENGTH, Declaration, docstring_text, text_below
from kipgen.python.render import EnumField, RegistryEntry, render, whole_module
from kipgen.reading.enum_spec import EnumSpec, EnumValue, HeaderKeySpec, ValuesFrom

_SUFFIXES = {"request": "Request", "coordinator-key": "Key"}
"""Suffix of a message's name, by its type, which is left out of the name of its number in an enum."""


@dataclass(frozen=True, slots=True)
class _PyEnum:
    """An enum as a class."""

    name: str
    base: str
    """The class of `kipwire.model.enums` that it is made from."""
    docstring: Code
    members: tuple[Declaration, ...]


def render_enums(package: str, enums: Sequence[EnumSpec], entries: Sequence[RegistryEntry]) -> str:
    """Render the module of a package that has enums.

    Args:
        package: its dotted name.
        enums: the enums by name, which have no problems.
        entries: its messages by name.
    """
    classes = tuple(_class(enum, entries) for enum in enums)
    given = {enum.name for enum in enums}
    fields, bits = (tuple(_fields(entries, given, is_bits)) for is_bits in (False, True))
    head = render("enums.py.j2", package=comment(package), classes=classes)
    parts = [render("enum.py.j2", enum=one) for one in classes]
    return whole_module(package, [head, *parts, render("enum_fields.py.j2", fields=fields, bits=bits)])


def _fields(entries: Iterable[RegistryEntry], given: set[str], is_bits: bool) -> Iterator[EnumField]:
    for entry in entries:
        for field in entry.enum_fields:
            # `given` lacks only the enum of error codes in a package without names for them.
            if field.enum in given and field.is_bits == is_bits:
                yield EnumField(f"{entry.module}.{field.key}", names.class_name(field.enum), is_bits)


def _class(enum: EnumSpec, entries: Iterable[RegistryEntry]) -> _PyEnum:
    if enum.values_from is not None:
        base = "MessageNumber"
        members = tuple(_message_number(entry) for entry in numbered_messages(enum.values_from, entries))
    elif enum.key_areas is not None:
        base = "HeaderKey"
        members = tuple(_header_key(value, value.header_key) for value in enum.values if value.header_key)
    else:
        has_retriable = any(value.retriable is not None for value in enum.values)
        base = "ErrorNumber" if has_retriable else "NamedNumber"
        members = tuple(_name_number(value) for value in enum.values)
    lines = textwrap.wrap(enum.about, LINE_LENGTH - 7) or [enum.name]
    return _PyEnum(names.class_name(enum.name), base, docstring_text(lines), members)


def _name_number(value: EnumValue) -> Declaration:
    facts: list[object] = [] if value.retriable is None else [value.retriable]
    facts.append(literal(value.about))
    if value.kip is not None:
        facts.append(value.kip)
    return _declaration(value.name, value.number, facts, value.about)


def _header_key(value: EnumValue, row: HeaderKeySpec) -> Declaration:
    columns = [None if text is None else literal(text) for text in (row.name, value.about, row.by, row.url, row.notes)]
    return _declaration(value.name, value.number, columns, value.about)


def _declaration(name: str, number: int | None, facts: Iterable[object], about: str = "") -> Declaration:
    """Write a member of an enum, with its text below it for editors, which do not read arguments."""
    arguments = ", ".join(map(str, (number, *facts)))
    return Declaration(Code(f"{name} = enums.number({arguments})"), text_below(about))


def numbered_messages(wanted: ValuesFrom, entries: Iterable[RegistryEntry]) -> list[RegistryEntry]:
    """Find the messages that an enum has its values from, by API key, without former names of served ones."""
    found = [
        entry
        for entry in entries
        if entry.type == wanted.type and entry.api_key is not None and wanted.folder in (None, entry.folder)
    ]
    # Kafka gave the key of AlterIsr to its successor AlterPartition: a number has one name, and the current one counts.
    served = {entry.api_key for entry in found if not entry.is_former}
    named = (entry for entry in found if not (entry.is_former and entry.api_key in served))
    return sorted(named, key=lambda entry: entry.api_key or 0)


def message_number_name(entry: RegistryEntry) -> str:
    """Name the number of a message, such as `API_VERSIONS` for `ApiVersionsRequest`."""
    return names.snake_case(entry.name.removesuffix(_SUFFIXES.get(entry.type, ""))).upper()


def _message_number(entry: RegistryEntry) -> Declaration:
    versions = (entry.lowest, entry.highest) if entry.lowest <= entry.highest else ()
    return _declaration(message_number_name(entry), entry.api_key, (literal(entry.name), *versions))

"""How a struct looks in Python, for templates to print: fields, reading and writing, docstring and `FIELDS`."""

from __future__ import annotations

import inspect
import re
import textwrap
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kipgen.code import Code, quoted
from kipgen.language.spec import Default
from kipgen.language.wire_form import REST
from kipgen.python.steps import (
    FixedFields,
    Step,
    read_formats,
    read_steps,
    write_formats,
    write_steps,
)
from kipgen.resolve.wire import WireField, WireMessage, WireStruct
from kipwire.model.structs import Field

LINE_LENGTH = 120


@dataclass(frozen=True, slots=True)
class PyTaggedField:
    """A tagged field with the steps that read and write its value alone."""

    field: WireField
    read: tuple[Step, ...]
    write: tuple[Step, ...]

    @property
    def packed(self) -> FixedFields | None:
        """The call that writes its value, where it is one number of a fixed width."""
        return self.write[0].run if self.write[0].kind == "run" else None


@dataclass(frozen=True, slots=True)
class PyStruct:
    """A struct as a class."""

    class_name: str
    flexible: bool
    is_bounded: bool
    """Whether reading it gets a bound: where the bytes end that it may take."""
    other_tags: tuple[int, ...]
    """The tags that only other versions have fields for, ascending."""
    docstring: Code
    items: tuple[WireField, ...]
    """What is on the wire."""
    fields: tuple[WireField, ...]
    """What attributes hold."""
    tagged: tuple[PyTaggedField, ...]
    """In the order of their tags."""
    read: tuple[Step, ...]
    """The steps that read the positional fields and the tag section."""
    write: tuple[Step, ...]
    """The steps that write the positional fields and the tag section."""
    has_empty_elements: bool
    """Whether it has arrays of structs that can take no byte, at any depth."""

    @property
    def lazy(self) -> tuple[WireField, ...]:
        """The structs that are made when first asked for."""
        return tuple(field for field in self.fields if field.is_lazy)

    @property
    def metadata(self) -> tuple[Code, ...]:
        """The content of `FIELDS`."""
        return fields_metadata(self.items, flexible=self.flexible, is_bounded=self.is_bounded)

    @property
    def computed(self) -> tuple[WireField, ...]:
        """The sizes and checksums, the last one first: each covers only what comes after it or is not computed."""
        return tuple(item for item in reversed(self.items) if item.role in ("size", "checksum"))

    @property
    def checksums_before(self) -> tuple[WireField, ...]:
        """The checksums that come before what they cover."""
        return tuple(item for item in self.items if item.role == "checksum" and not item.is_after)

    @property
    def is_framed(self) -> bool:
        """Whether it starts with its own size and has nothing else to compute."""
        return len(self.computed) == 1 and self.items[0].role == "size"

    @property
    def checks_its_end(self) -> bool:
        """Whether to check that the struct ends where its size says; not needed if a value takes the rest."""
        takes_the_rest = any(item.prefix == REST and not item.presence for item in self.items)
        return any(item.role == "size" for item in self.items) and not takes_the_rest

    @property
    def all_read(self) -> tuple[Step, ...]:
        """The steps that read it, those of tagged fields among them."""
        return self.read + tuple(step for tagged in self.tagged for step in tagged.read)

    @property
    def all_written(self) -> tuple[Step, ...]:
        """The steps that write it, those of tagged fields among them."""
        return self.write + tuple(step for tagged in self.tagged for step in tagged.write)


def python_structs(message: WireMessage) -> tuple[PyStruct, ...]:
    """The classes of a message, its own last."""
    structs = (*message.structs, message.root)
    attributes = attribute_names(message)
    holding: set[str | None] = set()  # the classes with arrays of structs in them that can take no byte
    classes = []
    for struct in structs:
        if any(field.elements_may_be_empty or field.struct in holding for field in struct.fields):
            holding.add(struct.class_name)
        classes.append(_struct(struct, attributes, holds_empty=struct.class_name in holding))
    return tuple(classes)


def formats(structs: Iterable[PyStruct]) -> tuple[list[str], list[str]]:
    """The formats of the `struct` module that the classes read and write with, each sorted."""
    read = {code for struct in structs for code in read_formats(struct.all_read)}
    write = {code for struct in structs for code in write_formats(struct.all_written)}
    return sorted(read), sorted(write)


def _struct(struct: WireStruct, attributes: dict[str, str], *, holds_empty: bool) -> PyStruct:
    items, fields = struct.items, struct.fields
    positional = tuple(item for item in items if item.tag is None)
    tagged = sorted((item for item in items if item.tag is not None), key=lambda item: item.tag or 0)
    own_tags = {field.tag for field in tagged}
    return PyStruct(
        class_name=struct.class_name,
        flexible=struct.flexible,
        is_bounded=struct.is_bounded,
        other_tags=tuple(tag for tag in struct.declared_tags if tag not in own_tags),
        docstring=_docstring(struct, fields, attributes),
        items=items,
        fields=fields,
        tagged=tuple(
            PyTaggedField(field, read_steps((field,), tag_section=False), write_steps((field,), tag_section=False))
            for field in tagged
        ),
        read=read_steps(positional, tag_section=struct.flexible, is_bounded=struct.is_bounded),
        write=write_steps(positional, tag_section=struct.flexible, is_bounded=struct.is_bounded),
        has_empty_elements=holds_empty,
    )


def attribute_names(message: WireMessage) -> dict[str, str]:
    """The attributes of a message by their names in the spec, except names that occur as plain words in texts."""
    fields = (field for struct in (*message.structs, message.root) for field in struct.fields)
    return {field.spec_name: field.attribute for field in fields if "_" in field.attribute.rstrip("_")}


def _docstring(struct: WireStruct, fields: tuple[WireField, ...], attributes: dict[str, str]) -> Code:
    """What the struct is for, then its fields with type, meaning and default. Unindented, without quotes.

    Texts of specs speak of fields by their names there; here they are called as the attributes are.
    """

    def in_python(text: str) -> str:
        return re.sub(r"\w+", lambda word: attributes.get(word[0], word[0]), text).strip()

    lines = _wrap(in_python(struct.about) or f"{struct.class_name}.", "", "")
    entries = [f"{field.attribute} ({_type_note(field)}): {in_python(_meaning(field))}" for field in fields]
    for field, note in computed_fields(struct.items):
        about = in_python(field.about) or "See the spec."
        entries.append(f"{field.attribute} ({field.type}, {note}): {about}")
    if entries:
        lines += ["", "Attributes:", *(line for entry in entries for line in _wrap(entry, "    ", "        "))]
    return docstring_text(lines)


def docstring_text(lines: list[str], indent: str = "    ") -> Code:
    """Lines as the text between the quotes of a docstring; after several lines, the last quotes have one of their own.

    It is as black formats it: with plain spaces between words, and a space between quotes of the text and around it.
    """
    first, *more = map(_docstring_line, [lines[0].lstrip(), *lines[1:]])
    first = f" {first}" if first.startswith('"') else first
    if any(more):
        return Code("\n".join([first, *(f"{indent}{line}" if line else "" for line in more), indent]))
    return Code(f"{first} " if first.endswith('"') else first)


def _docstring_line(line: str) -> str:
    """A line with spaces for all other white space, but the same indentation, escaped."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    text = " ".join(line.split()).replace("\\", "\\\\").replace('"""', "'''")
    return f"{indent}{text}" if text else ""


def _type_note(field: WireField) -> str:
    notes = [str(field.type)]
    if field.encoding is not None:
        notes.append(str(field.encoding))
    if field.bits is not None:
        notes.append(f"{field.bits} bits")
    if field.nullable:
        notes.append("nullable")
    if field.tag is not None:
        notes.append(f"tag {field.tag}")
    return ", ".join(notes)


def _meaning(field: WireField) -> str:
    default = "" if field.default in _UNREMARKABLE else f"Default: {_spoken_default(field)}."
    return f"{field.about} {default}".strip() or "See the spec."


_UNREMARKABLE: tuple[Default, ...] = (0, False, "", (), 0.0, uuid.UUID(int=0))
"""Defaults that are what a reader expects of their types."""


def _spoken_default(field: WireField) -> str:
    if field.is_required:
        return "none, a value is required"
    return "null" if field.default is None else field.default_expression


def _wrap(text: str, indent: str, more: str) -> list[str]:
    return textwrap.wrap(
        text,
        LINE_LENGTH - 4,
        initial_indent=indent,
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )


# The `FIELDS` of a generated class: calls of `kipwire.Field`, and the lines of the docstring.


_ARGUMENTS = [one.name for one in inspect.signature(Field).parameters.values() if one.kind is one.KEYWORD_ONLY]


class Computed(NamedTuple):
    """Something on the wire that no attribute holds, as the docstring explains it."""

    field: WireField
    note: str
    """Why it is not an attribute, in a word or two."""


def fields_metadata(items: Iterable[WireField], *, flexible: bool, is_bounded: bool) -> tuple[Code, ...]:
    """The calls for the items of a struct, bits after their integers."""
    return tuple(_field_call(one, flexible, is_bounded) for item in items for one in (item, *item.inner))


def computed_fields(items: Iterable[WireField]) -> Iterator[Computed]:
    """The items of a struct that are not attributes, in the order of the wire."""
    for item in items:
        note = {
            "size": "computed size",
            "checksum": f"computed {item.algorithm}",
            "constant": f"always {item.default}",
            "bits": "made of bits",
            "presence": "computed bit",
        }.get(item.role)
        if note:
            yield Computed(item, note)
        yield from computed_fields(item.inner)


def _field_call(field: WireField, flexible: bool, is_bounded: bool) -> Code:
    """The call of `kipwire.Field`; an argument that is None, False, empty or `()` is the default.

    Prefixes that follow from types are left out, and so is `compact` where it follows from the struct.
    """
    default = Code("()") if field.is_mutable else field.default_expression
    derived = {
        "default": default if field.role in ("value", "constant") else None,
        "compact": Code(field.compact) if field.is_sized and field.compact != flexible else None,
        "encoding": field.encoding and str(field.encoding),
        "role": field.role if field.role != "value" else None,
        "prefix": field.prefix if is_bounded else None,
    }
    arguments = {name: derived[name] if name in derived else getattr(field, name) for name in _ARGUMENTS}
    given = [f"{name}={_expression(value)}" for name, value in arguments.items() if _is_given(value)]
    names = map(quoted, (field.attribute, field.spec_name, str(field.type)))
    return Code(f"kipwire.Field({', '.join([*names, *given])})")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ("", "()")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else quoted(value) if isinstance(value, str) else repr(value)

"""How a layout looks in Python: names, annotations, default expressions, docstrings, for templates to print."""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
import uuid
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from kipgen.code import Code, quoted
from kipgen.layout import FieldLayout, MessageLayout, StructLayout
from kipgen.metadata import computed_fields, fields_metadata
from kipgen.rows import has_rows, row_codes
from kipgen.runtime_names import RUNTIME_NAMES
from kipgen.spec import Default
from kipgen.steps import CODES, WIDTHS, ReadStep, Run, Varints, WriteStep, read_steps, write_steps
from kipwire.types import TYPES

LINE_LENGTH = 120

_TAKEN_LOCALS = frozenset[str]().union(*RUNTIME_NAMES.values()) | frozenset("""
    add byte bytes data encoded end fields float frozenset item items kipwire len list number parts pos rows self size
    struct tag tagged tuple type typing uuid zip
    """.split())
"""Names that generated functions use themselves, so that no local variable may be named after a field of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PyField(FieldLayout):
    """A field as an attribute."""

    slot: str
    """Where its value is kept: under the attribute's name, or under another one where a property makes it lazily."""
    local: str
    """A local variable named after it."""
    is_lazy: bool
    """Whether it is a struct that is made when first asked for."""
    elements_may_be_empty: bool
    """Whether it is an array of structs that can take no byte at all."""
    holds_empty_elements: bool
    """Whether there are such arrays in its struct."""
    annotation: str
    default_expression: Code
    """Gives the default value, made anew where it is mutable."""
    parameter_default: Code
    """What stands for the default in the signature of `__init__`."""
    metadata_default: Code
    """What stands for the default in the field's metadata."""
    element_kind: str
    """The type of fixed width that stands on the wire for an element, where there is one."""
    element_width: int
    """Bytes of such an element; 0 for others."""


@dataclass(frozen=True, slots=True)
class PyTaggedField:
    """A tagged field with the steps that read and write its value alone."""

    field: PyField
    read: tuple[ReadStep, ...]
    write: tuple[WriteStep, ...]


@dataclass(frozen=True, slots=True)
class PyStruct:
    """A struct as a class."""

    class_name: str
    flexible: bool
    other_tags: tuple[int, ...]
    """The tags that only other versions have fields for, ascending."""
    docstring: Code
    fields: tuple[PyField, ...]
    tagged: tuple[PyTaggedField, ...]
    """In the order of their tags."""
    read: tuple[ReadStep, ...]
    """The steps that read the positional fields and the tag section."""
    write: tuple[WriteStep, ...]
    """The steps that write the positional fields and the tag section."""
    has_rows: bool
    """Whether it is an element of arrays whose neighbours can have equal shape."""
    packed: tuple[str, ...]
    """What each field is to `kipwire.arrays.RowPackers`, where one call writes the whole struct; else empty."""

    @property
    def lazy(self) -> tuple[PyField, ...]:
        """The structs that are made when first asked for."""
        return tuple(field for field in self.fields if field.is_lazy)

    @property
    def has_empty_elements(self) -> bool:
        """Whether it has arrays of structs that can take no byte, at any depth."""
        return any(field.elements_may_be_empty or field.holds_empty_elements for field in self.fields)

    @property
    def metadata(self) -> tuple[Code, ...]:
        """What stands in `FIELDS`."""
        return fields_metadata((field, field.metadata_default) for field in self.fields)


class Emptiness(NamedTuple):
    """Which structs, by the names of their classes, have to do with elements that take no byte."""

    empty: AbstractSet[str]
    """Those that can take no byte."""
    holding: AbstractSet[str]
    """Those with arrays of such structs in them, at any depth."""


NO_EMPTINESS = Emptiness(frozenset(), frozenset())


def python_structs(message: MessageLayout) -> tuple[PyStruct, ...]:
    """The classes of a message, its own last."""
    structs = (*message.structs, message.root)
    elements = {field.struct for struct in structs for field in struct.fields if field.type.is_array}
    attributes = attribute_names(message)
    empty: set[str] = set()
    holding: set[str] = set()
    emptiness = Emptiness(empty, holding)
    classes = []
    for struct in structs:
        if _may_be_empty(struct, empty):
            empty.add(struct.class_name)
        made = _struct(struct, emptiness, attributes, is_element=struct.class_name in elements)
        if made.has_empty_elements:
            holding.add(struct.class_name)
        classes.append(made)
    return tuple(classes)


def formats(structs: tuple[PyStruct, ...]) -> tuple[list[str], list[str]]:
    """The formats of the `struct` module that the classes read and write with, each sorted."""
    read: set[str] = set()
    write: set[str] = set()
    for struct in structs:
        for step in (*struct.read, *(step for tagged in struct.tagged for step in tagged.read)):
            if isinstance(step, Run):
                if not step.is_one_byte:
                    read.add(step.format)
            elif isinstance(step, Varints) and len(step.fields) > 1:
                read.add(step.format)
        for written in (*struct.write, *(step for tagged in struct.tagged for step in tagged.write)):
            if written.run:
                write.add(written.run.format)
            if isinstance(written.step, Varints):
                if len(written.step.fields) > 1:
                    write.add(written.step.format)
            elif written.step and written.step.own_prefix:
                write.add(written.step.own_prefix)
    return sorted(read), sorted(write)


def _may_be_empty(struct: StructLayout, may_be_empty: set[str]) -> bool:
    """Whether it can take no byte: a struct without tag section in which all fields are such structs."""
    return not struct.flexible and all(
        field.type.is_struct and not field.nullable and field.struct in may_be_empty for field in struct.fields
    )


def _struct(struct: StructLayout, emptiness: Emptiness, attributes: dict[str, str], *, is_element: bool) -> PyStruct:
    fields = tuple(python_field(field, emptiness) for field in struct.fields)
    positional = tuple(field for field in fields if field.tag is None)
    tagged = sorted((field for field in fields if field.tag is not None), key=lambda field: field.tag or 0)
    return PyStruct(
        class_name=struct.class_name,
        flexible=struct.flexible,
        other_tags=tuple(tag for tag in struct.declared_tags if tag not in {field.tag for field in tagged}),
        docstring=struct_docstring(struct, fields, attributes),
        fields=fields,
        tagged=tuple(
            PyTaggedField(field, read_steps((field,), tag_section=False), write_steps((field,), tag_section=False))
            for field in tagged
        ),
        read=read_steps(positional, tag_section=struct.flexible),
        write=write_steps(positional, tag_section=struct.flexible),
        has_rows=is_element and has_rows(fields, flexible=struct.flexible),
        packed=row_codes(fields) if is_element and struct.flexible else (),
    )


def python_field(field: FieldLayout, emptiness: Emptiness = NO_EMPTINESS) -> PyField:
    """A field as an attribute."""
    is_lazy = field.tag is not None and field.type.is_struct and field.default is not None
    default = _default_expression(field)
    kind = f"int{field.encoding.bits}" if field.encoding is not None else field.type.element
    made_anew = field.default == () and (field.type.is_array or field.type.is_struct)
    return PyField(
        **{part.name: getattr(field, part.name) for part in dataclasses.fields(FieldLayout)},
        slot=f"_lazy_{field.attribute}" if is_lazy else field.attribute,
        local=local_name(field.attribute),
        is_lazy=is_lazy,
        elements_may_be_empty=field.type.is_array and field.struct in emptiness.empty,
        holds_empty_elements=field.struct in emptiness.holding,
        annotation=_annotation(field),
        default_expression=default,
        parameter_default=Code("DEFAULT") if made_anew else default,
        metadata_default=Code("()") if made_anew else default,
        element_kind=kind,
        element_width=WIDTHS[CODES[kind]] if kind in CODES else 0,
    )


def local_name(attribute: str) -> str:
    """A local variable for the value of an attribute; functions named after `struct` formats are taken, too."""
    is_size = attribute.startswith("size") and attribute[4:].isdecimal()
    is_taken = is_size or attribute in _TAKEN_LOCALS or attribute.startswith(("pack_", "unpack_"))
    return f"{attribute}_" if is_taken else attribute


def _annotation(field: FieldLayout) -> str:
    element = field.struct or TYPES[field.type.element].annotation
    annotation = f"list[{element}]" if field.type.is_array else element
    return f"{annotation} | None" if field.nullable else annotation


def _default_expression(field: FieldLayout) -> Code:
    default: Default = field.default
    if default == ():
        if field.type.is_array:
            return Code("[]")
        return Code(f"{field.struct}()" if field.struct else 'b""')
    if isinstance(default, uuid.UUID):
        return Code(f'uuid.UUID("{default}")' if default.int else "ZERO_UUID")
    if isinstance(default, float) and not math.isfinite(default):
        return Code(f'float("{default}")')
    return quoted(default) if isinstance(default, str) else Code(repr(default))


def attribute_names(message: MessageLayout) -> dict[str, str]:
    """The attributes of a message by their names in the spec, of those names that no text has as a plain word."""
    fields = (field for struct in (*message.structs, message.root) for field in struct.fields)
    return {field.spec_name: field.attribute for field in fields if "_" in field.attribute.rstrip("_")}


def struct_docstring(struct: StructLayout, fields: tuple[PyField, ...], attributes: dict[str, str]) -> Code:
    """What the struct is for, then its fields with type, meaning and default. Unindented, without quotes.

    Texts of specs speak of fields by their names there; here they are called as the attributes are.
    """

    def in_python(text: str) -> str:
        return re.sub(r"\w+", lambda word: attributes.get(word[0], word[0]), text)

    lines = _wrap(in_python(struct.about) or f"{struct.class_name}.", "", "")
    entries = [f"{field.attribute} ({_type_note(field)}): {in_python(_meaning(field))}" for field in fields]
    for field, note in computed_fields(struct.parts):
        about = in_python(field.about) or "See the spec."
        entries.append(f"{field.attribute} ({field.type}, {note}): {about}")
    if entries:
        lines += ["", "Attributes:", *(line for entry in entries for line in _wrap(entry, "    ", "        "))]
    return docstring_text(lines)


def docstring_text(lines: list[str]) -> Code:
    """Lines as they may stand between the quotes of a docstring."""
    return Code("\n".join(lines).replace("\\", "\\\\").replace('"""', "'''"))


def _type_note(field: PyField) -> str:
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


def _meaning(field: PyField) -> str:
    default = "" if field.default in _UNREMARKABLE else f"Default: {_spoken_default(field)}."
    return f"{field.about} {default}".strip() or "See the spec."


_UNREMARKABLE: tuple[Default, ...] = (0, False, "", (), 0.0, uuid.UUID(int=0))
"""Defaults that are what a reader expects of their types."""


def _spoken_default(field: PyField) -> str:
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

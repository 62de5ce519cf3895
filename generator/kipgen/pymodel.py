"""How a layout looks in Python: names, annotations, default expressions, docstrings, for templates to print."""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
import uuid
from dataclasses import dataclass

from kipgen.layout import FieldLayout, MessageLayout, StructLayout
from kipgen.rows import has_rows, row_codes
from kipgen.runtime_names import RUNTIME_NAMES
from kipgen.spec import Default
from kipgen.steps import CODES, WIDTHS, ReadStep, Run, Varints, WriteStep, read_steps, write_steps
from kipgen.types import INTEGER_RANGES

LINE_LENGTH = 120

_ANNOTATIONS = {
    **dict.fromkeys(INTEGER_RANGES, "int"),
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "uuid": "uuid.UUID",
    "bytes": "bytes",
    "records": "bytes",
}

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
    annotation: str
    default_expression: str
    """Gives the default value, made anew where it is mutable."""
    parameter_default: str
    """What stands for the default in the signature of `__init__`."""
    metadata_default: str
    """What stands for the default in the field's metadata."""
    about_literal: str
    """The field's meaning as a string literal, in several pieces where it is long."""
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
    docstring: str
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


def python_structs(message: MessageLayout) -> tuple[PyStruct, ...]:
    """The classes of a message, its own last."""
    structs = (*message.structs, message.root)
    elements = {field.struct for struct in structs for field in struct.fields if field.type.is_array}
    attributes = attribute_names(message)
    return tuple(_struct(struct, attributes, is_element=struct.class_name in elements) for struct in structs)


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


def _struct(struct: StructLayout, attributes: dict[str, str], *, is_element: bool) -> PyStruct:
    fields = tuple(python_field(field) for field in struct.fields)
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


def python_field(field: FieldLayout) -> PyField:
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
        annotation=_annotation(field),
        default_expression=default,
        parameter_default="DEFAULT" if made_anew else default,
        metadata_default="()" if made_anew else default,
        about_literal=_literal(field.about),
        element_kind=kind,
        element_width=WIDTHS[CODES[kind]] if kind in CODES else 0,
    )


def local_name(attribute: str) -> str:
    """A local variable for the value of an attribute; functions named after `struct` formats are taken, too."""
    is_size = attribute.startswith("size") and attribute[4:].isdecimal()
    is_taken = is_size or attribute in _TAKEN_LOCALS or attribute.startswith(("pack_", "unpack_"))
    return f"{attribute}_" if is_taken else attribute


def _annotation(field: FieldLayout) -> str:
    element = field.struct or _ANNOTATIONS[field.type.element]
    annotation = f"list[{element}]" if field.type.is_array else element
    return f"{annotation} | None" if field.nullable else annotation


def _default_expression(field: FieldLayout) -> str:
    default: Default = field.default
    if default == ():
        if field.type.is_array:
            return "[]"
        return f"{field.struct}()" if field.struct else 'b""'
    if isinstance(default, uuid.UUID):
        return f'uuid.UUID("{default}")' if default.int else "ZERO_UUID"
    if isinstance(default, float) and not math.isfinite(default):
        return f'float("{default}")'
    return quoted(default) if isinstance(default, str) else repr(default)


def quoted(text: str) -> str:
    """A string literal in double quotes, as black would have it."""
    literal = repr(text)
    if literal.startswith('"') or '"' in literal:
        return literal
    return '"' + literal[1:-1].replace("\\'", "'") + '"'


def _literal(text: str) -> str:
    """A string literal that fits the line length, in adjacent pieces if need be."""
    pieces = textwrap.wrap(text, LINE_LENGTH - 22, break_long_words=False, drop_whitespace=False) or [""]
    return " ".join(quoted(piece) for piece in pieces) if len(pieces) == 1 else f"({' '.join(map(quoted, pieces))})"


def attribute_names(message: MessageLayout) -> dict[str, str]:
    """The attributes of a message by their names in the spec, of those names that no text has as a plain word."""
    fields = (field for struct in (*message.structs, message.root) for field in struct.fields)
    return {field.spec_name: field.attribute for field in fields if "_" in field.attribute.rstrip("_")}


def struct_docstring(struct: StructLayout, fields: tuple[PyField, ...], attributes: dict[str, str]) -> str:
    """What the struct is for, then its fields with type, meaning and default. Unindented, without quotes.

    Texts of specs speak of fields by their names there; here they are called as the attributes are.
    """

    def in_python(text: str) -> str:
        return re.sub(r"\w+", lambda word: attributes.get(word[0], word[0]), text)

    lines = _wrap(in_python(struct.about) or f"{struct.class_name}.", "", "")
    if fields:
        lines += ["", "Attributes:"]
        for field in fields:
            lines += _wrap(f"{field.attribute} ({_type_note(field)}): {in_python(_meaning(field))}", "    ", "        ")
    return docstring_text(lines)


def docstring_text(lines: list[str]) -> str:
    """Lines as they may stand between the quotes of a docstring."""
    return "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")


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

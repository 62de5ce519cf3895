"""A struct as Python, for templates to print: its fields with their texts, `FIELDS`, reading and writing.

Templates decide nothing: a `PyStruct` has every text and every step ready to print, as `Code`, whose texts from specs
are escaped here. The body of a class is a scope of its own, in which a field may hide a type or a builtin that
annotations and defaults use; `_in_body` writes such names so that they still mean the builtin.

`python_structs` takes the structs of one version, each after those that it uses, and makes the `PyStruct`s that
class.py.j2 prints. The steps come from `python.steps`, the fields from `resolve.wire`; a question that a template would
have to answer becomes a property here or there.

Two things must stay true. `FIELDS` is complete: the kernel, JSON, columns and the places of errors read a class by it
alone, so a property that changes bytes or values must reach `WireField.arguments`. And a string becomes `Code` only
where `literal` or `docstring_text` has escaped it, or where it is made of names that the language restricts to word
characters: another string in `Code` is a way from a spec into Python.
"""

from __future__ import annotations

import re
import textwrap
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kipgen.code import Code, literal
from kipgen.language.layout_properties import REST
from kipgen.python.steps import (
    FixedFields,
    Step,
    read_formats,
    read_steps,
    write_formats,
    write_steps,
)
from kipgen.resolve.wire import WireField, WireMessage, WireStruct

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
        # One expression then makes its bytes, without a list of parts that is joined for one number.
        return self.write[0].run if self.write[0].kind == "run" else None


class Declaration(NamedTuple):
    """A statement in the body of a class that declares an attribute."""

    statement: Code
    text: Code
    """Description of its field, between the quotes of a docstring; empty if the spec has none."""


@dataclass(frozen=True, slots=True)
class PyStruct:
    """A struct as a class."""

    class_name: str
    flexible: bool
    is_bounded: bool
    """True if reading it gets a bound: the end of the bytes that it may take."""
    other_tags: tuple[int, ...]
    docstring: Code
    declarations: tuple[Declaration, ...]
    """Declarations of the attributes."""
    items: tuple[WireField, ...]
    """Items on the wire."""
    fields: tuple[WireField, ...]
    """Fields with attributes."""
    tagged: tuple[PyTaggedField, ...]
    """Tagged fields, in the order of their tags."""
    read: tuple[Step, ...]
    """The steps that read the positional fields and the tag section."""
    write: tuple[Step, ...]
    """The steps that write the positional fields and the tag section."""
    has_empty_elements: bool
    """True if it has arrays of structs that can take no byte, at any depth."""

    @property
    def lazy(self) -> tuple[WireField, ...]:
        """The structs that are made when first asked for."""
        return tuple(field for field in self.fields if field.is_lazy)

    @property
    def builtins(self) -> dict[str, Code]:
        """Names in the body of the class for the builtins that templates use there."""
        hidden = _hidden_by(self.fields)
        return {name: _in_body(Code(name), hidden) for name in _BUILTINS}

    @property
    def parameters(self) -> tuple[Code, ...]:
        """The parameters of `__init__` after `self`."""
        hidden = _hidden_by(self.fields)
        return tuple(Code(f"{field.attribute}: {_parameter(field, hidden)}") for field in self.fields)

    @property
    def metadata(self) -> tuple[Code, ...]:
        """The content of `FIELDS`."""
        hidden = _hidden_by(self.fields)
        return tuple(_field_call(one, self, hidden) for item in self.items for one in (item, *item.inner))

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
        """True if it starts with its own size and has nothing else to compute."""
        # Its size is then the length of one joined body, so no place is kept among the pieces, and none are counted.
        return len(self.computed) == 1 and self.items[0].role == "size"

    @property
    def checks_its_end(self) -> bool:
        """True if reading must check that the struct ends where its size says; not needed if a value takes the rest."""
        takes_the_rest = any(item.prefix == REST and not item.presence for item in self.items)
        return any(item.role == "size" for item in self.items) and not takes_the_rest

    @property
    def all_read(self) -> tuple[Step, ...]:
        """The steps that read it, including its tagged fields."""
        return self.read + tuple(step for tagged in self.tagged for step in tagged.read)

    @property
    def all_written(self) -> tuple[Step, ...]:
        """The steps that write it, including its tagged fields."""
        return self.write + tuple(step for tagged in self.tagged for step in tagged.write)


def python_structs(message: WireMessage) -> tuple[PyStruct, ...]:
    """Model the classes of a message, its own last."""
    structs = (*message.structs, message.root)
    attributes = attribute_names(message)
    # The structs come in the order of use, so one pass finds arrays at any depth.
    holding: set[str | None] = set()  # the classes with arrays of structs in them that can take no byte
    classes = []
    for struct in structs:
        if any(field.elements_may_be_empty or field.struct in holding for field in struct.fields):
            holding.add(struct.class_name)
        classes.append(_struct(struct, attributes, holds_empty=struct.class_name in holding))
    return tuple(classes)


def formats(structs: Iterable[PyStruct]) -> tuple[list[str], list[str]]:
    """Collect the formats of the `struct` module that the classes read and write with, each sorted."""
    read = {code for struct in structs for code in read_formats(struct.all_read)}
    write = {code for struct in structs for code in write_formats(struct.all_written)}
    return sorted(read), sorted(write)


def _struct(struct: WireStruct, attributes: dict[str, str], *, holds_empty: bool) -> PyStruct:
    items, fields = struct.items, struct.fields
    hidden = _hidden_by(fields)
    positional = tuple(item for item in items if item.tag is None)
    tagged = sorted((item for item in items if item.tag is not None), key=lambda item: item.tag or 0)
    return PyStruct(
        class_name=struct.class_name,
        flexible=struct.flexible,
        is_bounded=struct.is_bounded,
        other_tags=struct.other_tags,
        docstring=_docstring(struct, attributes),
        declarations=tuple(_declaration(field, hidden, attributes) for field in fields),
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
    """Map the names in the spec to attributes of a message, except names that occur as plain words in texts."""
    fields = (field for struct in (*message.structs, message.root) for field in struct.fields)
    return {field.spec_name: field.attribute for field in fields if "_" in field.attribute.rstrip("_")}


def _docstring(struct: WireStruct, attributes: dict[str, str]) -> Code:
    """Make the docstring: the purpose of the struct, then its computed fields. Unindented, without quotes."""
    lines = _between_quotes(_in_python(struct.about, attributes) or f"{struct.class_name}.")
    computed = [
        f"{field.attribute} ({field.type}, {note}): {_in_python(field.about, attributes)}".removesuffix(": ")
        for field, note in computed_fields(struct.items)
    ]
    if computed:
        lines += ["", "Computed:", *(line for entry in computed for line in _wrap(entry, "    ", "        "))]
    return docstring_text(lines)


def _in_python(text: str, attributes: dict[str, str]) -> str:
    """Replace the names of fields in the text of a spec with the names of the attributes."""
    return re.sub(r"\w+", lambda word: attributes.get(word[0], word[0]), text).strip()


def _declaration(field: WireField, hidden: frozenset[str], attributes: dict[str, str]) -> Declaration:
    """Declare one of the fields of a class: its type, or of a lazy struct the descriptor that has it."""
    text = _in_python(field.about, attributes)
    if field.is_lazy:
        of_type = f"[{field.annotation}]" if field.nullable else ""
        statement = Code(f"{field.attribute} = kipwire.LazyStruct{of_type}({field.struct})")
    else:
        statement = Code(f"{field.attribute}: {_in_body(Code(field.annotation), hidden)}")
    if not text:
        return Declaration(statement, Code(""))
    return Declaration(statement, docstring_text(_between_quotes(text), last_quotes_apart=False))


_BUILTINS = ("bool", "bytes", "float", "frozenset", "int", "list", "object", "str", "tuple", "type")
"""Builtins that annotations and defaults are made of."""
_OUTER = re.compile(rf"\b(?:{'|'.join(_BUILTINS)}|uuid)\b")


def _hidden_by(fields: Iterable[WireField]) -> frozenset[str]:
    """Return the names that mean a field in the body of a class; made once for all of its fields."""
    return frozenset(field.attribute for field in fields)


def _in_body(code: Code, hidden: frozenset[str]) -> Code:
    """Write an annotation or a default as it stands in the body of a class.

    A field named `bytes` hides that builtin there, so it is written `_builtins.bytes`. No field's name begins with `_`.
    """

    def outer(name: re.Match[str]) -> str:
        if name[0] not in hidden:
            return name[0]
        # `uuid` is a module and no builtin; a module of generated code imports it under this name, too, if a field
        # hides it.
        return "_uuid" if name[0] == "uuid" else f"_builtins.{name[0]}"

    return Code(_OUTER.sub(outer, code))


def _default(field: WireField, hidden: frozenset[str]) -> Code:
    """Write the default of a field for the body of its class; a text may contain any word, so it is left as it is."""
    is_called = isinstance(field.default, uuid.UUID | float)
    return _in_body(field.default_expression, hidden) if is_called else field.default_expression


def _parameter(field: WireField, hidden: frozenset[str]) -> Code:
    """Write the annotation in the signature of `__init__`, and the default if it has one."""
    annotation = _in_body(Code(field.annotation), hidden)
    if field.is_required:
        return annotation
    return Code(f"{annotation} = {'DEFAULT' if field.is_mutable else _default(field, hidden)}")


def docstring_text(lines: list[str], indent: str = "    ", *, last_quotes_apart: bool = True) -> Code:
    """Lines as the text between the quotes of a docstring.

    It is as black formats it: with plain spaces between words, and a space between quotes of the text and around it.

    Args:
        lines: of which the first one is not indented.
        indent: the indentation of all others.
        last_quotes_apart: whether the last quotes have a line of their own, after several lines.
    """
    # `render.format_code` gives docstrings to no formatter, so they must be here what black would leave.
    first, *more = map(_docstring_line, [lines[0].lstrip(), *lines[1:]])
    first = f" {first}" if first.startswith('"') else first
    text = "\n".join([first, *(f"{indent}{line}" if line else "" for line in more)])
    if any(more) and last_quotes_apart:
        return Code(f"{text}\n{indent}")
    return Code(f"{text} " if text.endswith('"') else text)


def _docstring_line(line: str) -> str:
    """Write a line with spaces for all other white space, but the same indentation, escaped."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    text = " ".join(line.split()).replace("\\", "\\\\").replace('"""', "'''")
    return f"{indent}{text}" if text else ""


def _between_quotes(text: str) -> list[str]:
    """Wrap a text that has quotes before and after it, which take room, too."""
    *lines, last = _wrap(f'"""{text}"""')
    first, *more = [*lines, last.removesuffix('"""')]
    return [first.removeprefix('"""'), *more]


def _wrap(text: str, indent: str = "", more: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        LINE_LENGTH - 4,
        initial_indent=indent,
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )


# The `FIELDS` of a generated class: calls of `kipwire.Field`, and what the docstring says of those that are computed.


class Computed(NamedTuple):
    """Something on the wire that no attribute holds, as the docstring explains it."""

    field: WireField
    note: str
    """Reason why it is not an attribute, in a word or two."""


def computed_fields(items: Iterable[WireField]) -> Iterator[Computed]:
    """Yield the items of a struct that are not attributes, in the order of the wire."""
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


def _field_call(field: WireField, struct: PyStruct, hidden: frozenset[str]) -> Code:
    """Write the call of `kipwire.Field`."""
    arguments = field.arguments(flexible=struct.flexible, is_bounded=struct.is_bounded)
    if "default" in arguments:
        arguments["default"] = _default(field, hidden)
    given = [f"{name}={_expression(value)}" for name, value in arguments.items()]
    names = map(literal, (field.attribute, field.spec_name, str(field.type)))
    return Code(f"kipwire.Field({', '.join([*names, *given])})")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else literal(value) if isinstance(value, str) else repr(value)

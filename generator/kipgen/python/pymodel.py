"""A struct as Python, for templates to print: its fields with their texts, `FIELDS`, reading and writing.

Templates decide nothing: a `PyStruct` has every text and every step ready to print, as `Code`, whose texts from specs
are escaped here. The body of a class is a scope of its own, in which a field may hide a type or a builtin that
annotations and defaults use; `_in_body` writes such names so that they still mean the builtin.

`python_structs` takes the classes of one version, each after those that it uses, and makes the `PyStruct`s that
class.py.j2 prints. A plan of each has its items, here as `PyField`s, with their names in Python. The steps come from
`python.steps`; a question that a template would have to answer becomes a property here or there.

Two things must stay true. `FIELDS` is complete: the kernel, JSON, columns and the places of errors read a class by it
alone, so a property that changes bytes or values must be an argument of `Field`. And a string becomes `Code` only
where `literal` or `docstring_text` has escaped it, or where it is made of names that the language restricts to word
characters: another string in `Code` is a way from a spec into Python.
"""

from __future__ import annotations

import math
import re
import textwrap
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from kipgen.code import Code, literal
from kipgen.language import names
from kipgen.python.steps import FixedFields, Step, read_steps, step_formats, write_steps
from kipgen.resolve.wire import WireMessage, WireStruct
from kipwire.description.fields import is_required
from kipwire.description.plan import Item, Plan
from kipwire.model.structs import Field, Struct
from kipwire.model.types import TYPES

LINE_LENGTH = 120


class PyField(Item):
    """An item of a plan with its names in Python."""

    def __init__(self, field: Field, enum: str | None = None) -> None:
        super().__init__(field)
        self.enum = enum
        """Class of the enum that names its numbers, if the package has one."""

    @property
    def slot(self) -> str:
        """Name of the slot with its value."""
        return self.field.slot

    @property
    def local(self) -> str:
        """A local variable named after it."""
        return names.local_name(self.name)

    @property
    def struct(self) -> Code | None:
        """The class of the struct or of an array's elements."""
        return None if self.field.struct is None else Code(self.field.struct.__name__)

    @property
    def annotation(self) -> Code:
        element = self.struct or TYPES[self.field.element].annotation
        if self.enum is not None:
            element = Code(f"_enums.{self.enum} | {element}")
        annotation = f"list[{element}]" if self.array else element
        return Code(f"{annotation} | None" if self.nullable else annotation)

    @property
    def is_mutable(self) -> bool:
        """True if its default is mutable."""
        return self.default == ()

    @property
    def default_expression(self) -> Code:
        """An expression for the default value; a mutable one is created each time."""
        default = self.default
        if default == ():
            return Code("[]" if self.array else f"{self.struct}()")
        if isinstance(default, uuid.UUID):
            return Code(f'uuid.UUID("{default}")' if default.int else "ZERO_UUID")
        if isinstance(default, float) and not math.isfinite(default):
            return Code(f'float("{default}")')
        if isinstance(default, float):
            return Code(repr(default).replace("e+", "e"))  # as black writes it
        if isinstance(default, bytes):
            return Code('b""')
        return literal(default) if isinstance(default, str) else Code(repr(default))

    @property
    def limit(self) -> int:
        """The highest number that bits hold."""
        return self.mask >> self.lowest

    def faults(self, size: str) -> Iterator[Code]:
        """Expressions that are true if a value breaks the spec; `size` is its number of bytes or elements."""
        if self.field.same_length_as:
            yield Code(f"{size} != len(self.{self.field.same_length_as})")


@dataclass(frozen=True, slots=True)
class PyTaggedField:
    """A tagged field with the steps that read and write its value alone."""

    field: PyField
    read: tuple[Step, ...]
    write: tuple[Step, ...]

    @property
    def packed(self) -> FixedFields | None:
        """The call that writes its value, where it is one number of a fixed width."""
        # One expression then makes its bytes, without a list of parts that is joined for one number.
        return self.write[0].run if self.write[0].kind == "run" else None


class Declaration(NamedTuple):
    """A statement in the body of a class that declares an attribute, or the member of an enum."""

    statement: Code
    text: Code
    """Description of it, between the quotes of a docstring; empty if the spec has none."""


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
    items: Sequence[PyField]
    """Items on the wire."""
    fields: Sequence[PyField]
    """Fields with attributes."""
    metadata: tuple[Code, ...]
    """The content of `FIELDS`."""
    tagged: tuple[PyTaggedField, ...]
    """Tagged fields, in the order of their tags."""
    read: tuple[Step, ...]
    """The steps that read the positional fields and the tag section."""
    write: tuple[Step, ...]
    """The steps that write the positional fields and the tag section."""
    has_empty_elements: bool
    """True if it has arrays of structs that can take no byte, at any depth."""
    checks_its_end: bool
    """True if reading must check that the struct ends where its size says; not needed if a value takes the rest."""

    @property
    def lazy(self) -> tuple[PyField, ...]:
        """The structs that are made when first asked for."""
        return tuple(field for field in self.fields if field.field.is_lazy)

    @property
    def builtins(self) -> dict[str, Code]:
        """Names in the body of the class for the builtins that templates use there."""
        hidden = _hidden_by(self.fields)
        return {name: _in_body(Code(name), hidden) for name in _BUILTINS}

    @property
    def parameters(self) -> tuple[Code, ...]:
        """The parameters of `__init__` after `self`."""
        hidden = _hidden_by(self.fields)
        return tuple(Code(f"{field.name}: {_parameter(field, hidden)}") for field in self.fields)

    @property
    def computed(self) -> tuple[PyField, ...]:
        """The sizes and checksums, the last one first: each covers only what comes after it or is not computed."""
        return tuple(item for item in reversed(self.items) if item.role in ("size", "checksum"))

    @property
    def checksums_before(self) -> tuple[PyField, ...]:
        """The checksums that come before what they cover."""
        return tuple(item for item in self.items if item.role == "checksum" and not item.is_after)

    @property
    def is_framed(self) -> bool:
        """True if it starts with its own size and has nothing else to compute."""
        # Its size is then the length of one joined body, so no place is kept among the pieces, and none are counted.
        return len(self.computed) == 1 and self.items[0].role == "size"

    @property
    def all_read(self) -> tuple[Step, ...]:
        """The steps that read it, including its tagged fields."""
        return self.read + tuple(step for tagged in self.tagged for step in tagged.read)

    @property
    def all_written(self) -> tuple[Step, ...]:
        """The steps that write it, including its tagged fields."""
        return self.write + tuple(step for tagged in self.tagged for step in tagged.write)


def python_structs(message: type[WireMessage], enums: Mapping[str, str] | None = None) -> tuple[PyStruct, ...]:
    """Model the classes of a message, its own last.

    Args:
        message: one version.
        enums: classes of the enums that name the numbers of attributes, by the names of class and attribute, as in
            `Broker.rack`.
    """
    attributes = attribute_names(message)
    # The structs come in the order of use, so one pass finds arrays at any depth.
    holding: set[type[Struct] | None] = set()  # the classes with arrays of structs in them that can take no byte
    classes = []
    for struct in (*message.STRUCTS, message):
        plan = Plan(struct, partial(_field, struct, enums or {}))
        # In a record format, what bounds the bytes bounds such arrays.
        is_bounded = message.SPEC.is_layout
        if not is_bounded and any(one.has_empty_elements or one.field.struct in holding for one in plan.attributes):
            holding.add(struct)
        classes.append(_struct(struct, plan, attributes, is_bounded=is_bounded, holds_empty=struct in holding))
    return tuple(classes)


def _field(struct: type[WireStruct], enums: Mapping[str, str], field: Field) -> PyField:
    return PyField(field, enums.get(f"{struct.__name__}.{field.name}"))


def formats(structs: Iterable[PyStruct]) -> tuple[list[str], list[str]]:
    """Collect the formats of the `struct` module that the classes read and write with, each sorted."""
    read = {code for struct in structs for code in step_formats(struct.all_read)}
    write = {code for struct in structs for code in step_formats(struct.all_written)}
    return sorted(read), sorted(write)


def _struct(
    struct: type[WireStruct], plan: Plan, attributes: dict[str, str], *, is_bounded: bool, holds_empty: bool
) -> PyStruct:
    items, fields, tagged = (cast("list[PyField]", some) for some in (plan.in_order, plan.attributes, plan.tagged))
    hidden = _hidden_by(fields)
    return PyStruct(
        class_name=struct.__name__,
        flexible=plan.flexible,
        is_bounded=is_bounded,
        other_tags=tuple(sorted(struct.OTHER_TAGS)),
        docstring=_docstring(struct, items, attributes),
        declarations=tuple(
            _declaration(field, struct.TEXTS[field.field.spec_name], hidden, attributes) for field in fields
        ),
        items=items,
        fields=fields,
        metadata=tuple(_field_call(one, hidden) for item in items for one in (item, *cast("list[PyField]", item.bits))),
        tagged=tuple(
            PyTaggedField(field, read_steps((field,), tag_section=False), write_steps((field,), tag_section=False))
            for field in tagged
        ),
        read=read_steps(plan.items, tag_section=plan.flexible, is_bounded=is_bounded),
        write=write_steps(plan.items, tag_section=plan.flexible, is_bounded=is_bounded),
        has_empty_elements=holds_empty,
        checks_its_end=any(item.role == "size" for item in items) and not plan.ends_at_limit,
    )


def attribute_names(message: type[WireMessage]) -> dict[str, str]:
    """Map the names in the spec to attributes of a message, except names that occur as plain words in texts."""
    fields = (field for struct in (*message.STRUCTS, message) for field in struct.ATTRIBUTES)
    return {field.spec_name: field.name for field in fields if "_" in field.name.rstrip("_")}


def _docstring(struct: type[WireStruct], items: Sequence[PyField], attributes: dict[str, str]) -> Code:
    """Make the docstring: the purpose of the struct, then its computed fields. Unindented, without quotes."""
    lines = _between_quotes(_in_python(struct.ABOUT, attributes) or f"{struct.__name__}.")
    computed = []
    for one, note in computed_fields(items):
        text = _in_python(struct.TEXTS[one.field.spec_name], attributes)
        computed.append(f"{one.name} ({one.field.type}, {note}): {text}".removesuffix(": "))
    if computed:
        lines += ["", "Computed:", *(line for entry in computed for line in _wrap(entry, "    ", "        "))]
    return docstring_text(lines)


def _in_python(text: str, attributes: dict[str, str]) -> str:
    """Replace the names of fields in the text of a spec with the names of the attributes."""
    return re.sub(r"\w+", lambda word: attributes.get(word[0], word[0]), text).strip()


def _declaration(field: PyField, about: str, hidden: frozenset[str], attributes: dict[str, str]) -> Declaration:
    """Declare one of the fields of a class: its type, or of a lazy struct the descriptor that has it."""
    text = _in_python(about, attributes)
    if field.field.is_lazy:
        of_type = f"[{field.annotation}]" if field.nullable else ""
        statement = Code(f"{field.name} = kipwire.LazyStruct{of_type}({field.struct})")
    else:
        statement = Code(f"{field.name}: {_in_body(field.annotation, hidden)}")
    return Declaration(statement, text_below(text))


def text_below(text: str) -> Code:
    """Write a text as the docstring below a declaration; empty if there is none."""
    return docstring_text(_between_quotes(text), last_quotes_apart=False) if text.strip() else Code("")


_BUILTINS = ("bool", "bytes", "float", "frozenset", "int", "list", "object", "str", "tuple", "type")
"""Builtins that annotations and defaults are made of."""
_OUTER = re.compile(rf"\b(?:{'|'.join(_BUILTINS)}|uuid)\b")


def _hidden_by(fields: Iterable[PyField]) -> frozenset[str]:
    """Return the names that mean a field in the body of a class; made once for all of its fields."""
    return frozenset(field.name for field in fields)


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


def _default(field: PyField, hidden: frozenset[str]) -> Code:
    """Write the default of a field for the body of its class; a text may contain any word, so it is left as it is."""
    is_called = isinstance(field.default, uuid.UUID | float)
    return _in_body(field.default_expression, hidden) if is_called else field.default_expression


def _parameter(field: PyField, hidden: frozenset[str]) -> Code:
    """Write the annotation in the signature of `__init__`, and the default if it has one."""
    annotation = _in_body(field.annotation, hidden)
    if is_required(field.field):
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

    item: Item
    note: str
    """Reason why it is not an attribute, in a word or two."""


def computed_fields(items: Iterable[Item]) -> Iterator[Computed]:
    """Yield the items of a struct that are not attributes, in the order of the wire."""
    for item in items:
        note = {
            "size": "computed size",
            "checksum": f"computed {item.field.algorithm}",
            "constant": f"always {item.default!r}",
            "bits": "made of bits",
            "presence": "computed bit",
        }.get(item.role)
        if note:
            yield Computed(item, note)
        yield from computed_fields(item.bits)


def _field_call(item: PyField, hidden: frozenset[str]) -> Code:
    """Write the call of `kipwire.Field`."""
    field, arguments = item.field, item.field.arguments()
    if "default" in arguments:
        arguments["default"] = _default(item, hidden)
    if "struct" in arguments:
        arguments["struct"] = item.struct
    given = [f"{name}={_expression(value)}" for name, value in arguments.items()]
    texts = map(literal, (field.name, field.spec_name, field.type))
    return Code(f"kipwire.Field({', '.join([*texts, *given])})")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else literal(value) if isinstance(value, str) else repr(value)

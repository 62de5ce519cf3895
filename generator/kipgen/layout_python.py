"""How a layout's structs look in Python, for templates to print; what they share with other messages is in pymodel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kipgen.code import Code
from kipgen.layout import MessageLayout, StructLayout
from kipgen.layout_parts import BitsPart, ChecksumPart, Part, Presence, SizePart, ValuePart
from kipgen.layout_steps import LayoutStep, formats_of, read_steps, write_steps
from kipgen.metadata import parts_metadata
from kipgen.pymodel import PyField, attribute_names, local_name, python_field, struct_docstring

_TAKEN_LOCALS = frozenset(
    "body bool bound checksums give in_order is_in_order layouts limit map section stop sum".split()
)


@dataclass(frozen=True, slots=True)
class PyLayout:
    """A struct of a layout as a class."""

    class_name: str
    docstring: Code
    fields: tuple[PyField, ...]
    parts: tuple[Part, ...]
    """Their fields are `PyField`s."""
    read: tuple[LayoutStep, ...]
    write: tuple[LayoutStep, ...]
    packed: tuple[str, ...] = ()

    @property
    def metadata(self) -> tuple[Code, ...]:
        """What stands in `FIELDS`."""
        return parts_metadata(self.parts, ((field, field.metadata_default) for field in self.fields))

    @property
    def has_size(self) -> bool:
        """Whether the struct tells its own size."""
        return any(isinstance(part, SizePart) for part in self.parts)

    @property
    def checks_its_end(self) -> bool:
        """Whether it has to be seen that the struct ends where its size says: not where a value goes on to there."""
        return self.has_size and not any(step.kind == "value" and step.takes_the_rest for step in self.read)

    @property
    def is_framed(self) -> bool:
        """Whether it starts with its own size and has nothing else to compute."""
        return len(self.computed) == 1 and self.computed[0] is self.parts[0] and self.has_size

    @property
    def computed(self) -> tuple[SizePart | ChecksumPart, ...]:
        """The sizes and checksums, the last one first: each covers only what stands behind it or is not computed."""
        return tuple(part for part in reversed(self.parts) if isinstance(part, SizePart | ChecksumPart))

    @property
    def checksums_before(self) -> tuple[ChecksumPart, ...]:
        """The checksums that stand before what they cover."""
        return tuple(part for part in self.parts if isinstance(part, ChecksumPart) and not part.is_behind)

    def value_of(self, name: str) -> ValuePart:
        """The part of an attribute."""
        return next(part for part in self.parts if isinstance(part, ValuePart) and part.name == name)

    def presence_of(self, name: str) -> Presence:
        """The bit that tells whether an attribute's value is there; it must have one."""
        presence = self.value_of(name).presence
        assert presence is not None
        return presence


def python_layouts(message: MessageLayout) -> tuple[PyLayout, ...]:
    """The classes of a layout, its own last."""
    attributes = attribute_names(message)
    return tuple(_struct(struct, attributes) for struct in (*message.structs, message.root))


def layout_formats(structs: tuple[PyLayout, ...]) -> tuple[list[str], list[str]]:
    """The formats of the `struct` module that the classes read and write with, each sorted."""
    read = {code for struct in structs for code in formats_of(struct.read)}
    write = {code for struct in structs for code in formats_of(struct.write)}
    return sorted(read), sorted(write)


def layout_local(name: str) -> str:
    """A local variable for a part of that name; names in `_at` are kept free for places."""
    local = local_name(name)
    return f"{local}_" if local in _TAKEN_LOCALS or local.endswith("_at") else local


def _struct(struct: StructLayout, attributes: dict[str, str]) -> PyLayout:
    fields = tuple(_field(python_field(field)) for field in struct.fields)
    by_name = {field.attribute: field for field in fields}
    parts = tuple(_with_python_fields(part, by_name) for part in struct.parts)
    return PyLayout(
        class_name=struct.class_name,
        docstring=struct_docstring(struct, fields, attributes),
        fields=fields,
        parts=parts,
        read=read_steps(parts),
        write=write_steps(parts),
    )


def _field(field: PyField) -> PyField:
    return replace(field, local=layout_local(field.attribute))


def _with_python_fields(part: Part, by_name: dict[str, PyField]) -> Part:
    if isinstance(part, ValuePart):
        return replace(part, field=by_name[part.field.attribute])
    if isinstance(part, BitsPart):
        bits = (
            replace(bit, presence_of=by_name[bit.presence_of.attribute]) if bit.presence_of else bit
            for bit in part.bits
        )
        return replace(part, bits=tuple(bits))
    return part

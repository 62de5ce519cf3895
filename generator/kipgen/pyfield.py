"""How a field looks in Python: its names, its annotation, the expressions for its default."""

from __future__ import annotations

import dataclasses
import math
import uuid
from dataclasses import dataclass
from typing import Any

from kipgen.code import Code, quoted
from kipgen.layout import FieldLayout
from kipgen.runtime_names import RUNTIME_NAMES
from kipwire.types import TYPES

_TAKEN_LOCALS = frozenset[str]().union(*RUNTIME_NAMES.values()) | frozenset("""
    add body bool bound byte bytes checksums data encoded end fields float frozenset give item items kipwire len limit
    list map number packed parts pos rows self size struct sum tag tagged tuple type typing uuid zip
    """.split())
"""Names that generated functions use themselves, so that no local variable may be named after a field of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PyField(FieldLayout):
    """A field as an attribute, or what no attribute holds as a local variable."""

    inner: tuple[PyField, ...] = ()
    elements_may_be_empty: bool = False
    """Whether it is an array of structs that can take no byte at all."""
    holds_empty_elements: bool = False
    """Whether there are such arrays in its struct."""

    @property
    def is_lazy(self) -> bool:
        """Whether it is a struct that is made when first asked for."""
        return self.tag is not None and self.type.is_struct and self.default is not None

    @property
    def slot(self) -> str:
        """Where its value is kept: under the attribute's name, or under another one where a property makes it."""
        return f"_lazy_{self.attribute}" if self.is_lazy else self.attribute

    @property
    def local(self) -> str:
        """A local variable named after it."""
        return local_name(self.attribute)

    @property
    def annotation(self) -> str:
        element = self.struct or TYPES[self.type.element].annotation
        annotation = f"list[{element}]" if self.type.is_array else element
        return f"{annotation} | None" if self.nullable else annotation

    @property
    def default_expression(self) -> Code:
        """Gives the default value, made anew where it is mutable."""
        default = self.default
        if default == ():
            if self.type.is_array:
                return Code("[]")
            return Code(f"{self.struct}()" if self.struct else 'b""')
        if isinstance(default, uuid.UUID):
            return Code(f'uuid.UUID("{default}")' if default.int else "ZERO_UUID")
        if isinstance(default, float) and not math.isfinite(default):
            return Code(f'float("{default}")')
        return quoted(default) if isinstance(default, str) else Code(repr(default))

    @property
    def is_made_anew(self) -> bool:
        """Whether its default is mutable."""
        return self.default == () and (self.type.is_array or self.type.is_struct)

    @property
    def parameter_default(self) -> Code:
        """What stands for the default in the signature of `__init__`."""
        return Code("DEFAULT") if self.is_made_anew else self.default_expression

    @property
    def metadata_default(self) -> Code:
        """What stands for the default in the field's metadata."""
        return Code("()") if self.is_made_anew else self.default_expression

    @property
    def element_kind(self) -> str:
        """The type of fixed width that stands on the wire for an element, where there is one."""
        return f"int{self.encoding.bits}" if self.encoding is not None else self.type.element

    @property
    def element_width(self) -> int:
        """Bytes of such an element; 0 for others."""
        return TYPES[self.element_kind].width if self.element_kind in TYPES else 0


def python_field(field: FieldLayout, *, elements_may_be_empty: bool, holds_empty_elements: bool) -> PyField:
    """A field as Python has it."""
    values: dict[str, Any] = {part.name: getattr(field, part.name) for part in dataclasses.fields(FieldLayout)}
    inner = [python_field(bit, elements_may_be_empty=False, holds_empty_elements=False) for bit in field.inner]
    values["inner"] = tuple(inner)
    return PyField(**values, elements_may_be_empty=elements_may_be_empty, holds_empty_elements=holds_empty_elements)


def local_name(attribute: str) -> str:
    """A local variable for a value or a part of that name; functions named after `struct` formats are taken, too.

    So are names in `_at`, which are those of places.
    """
    is_size = attribute.startswith("size") and attribute[4:].isdecimal()
    is_taken = is_size or attribute in _TAKEN_LOCALS or attribute.startswith(("pack_", "unpack_"))
    return f"{attribute}_" if is_taken or attribute.endswith("_at") else attribute

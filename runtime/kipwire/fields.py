"""Field metadata: what a generated class knows about each of its fields, as plain data.

Everything generic reads it: JSON, conversion between versions, the places of errors, test strategies. It is complete
enough to read and write a message from it alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import uuid
    from typing import Any

    from kipwire.structs import Struct

    Default = bool | int | float | str | bytes | uuid.UUID | tuple[()] | None


class Field:
    """One field of a struct in one version."""

    __slots__ = (
        "about",
        "array",
        "bits",
        "compact",
        "default",
        "element",
        "encoding",
        "entity_type",
        "ignorable",
        "map_key",
        "name",
        "nullable",
        "spec_name",
        "struct",
        "tag",
        "type",
    )

    def __init__(
        self,
        name: str,
        spec_name: str,
        type: str,  # the spec language's own word
        *,
        default: Default,
        about: str = "",
        struct: type[Struct] | None = None,
        nullable: bool = False,
        compact: bool = False,
        tag: int | None = None,
        encoding: str | None = None,
        bits: int | None = None,
        ignorable: bool = False,
        map_key: bool = False,
        entity_type: str | None = None,
    ) -> None:
        self.name = name
        """The attribute's name."""
        self.spec_name = spec_name
        """The field's name in the spec; JSON uses it with its first letter lowered."""
        self.type = type
        """The spec's type: a primitive such as `int32`, a struct's name, or `[]` and one of these."""
        self.array = type.startswith("[]")
        self.element = type[2:] if self.array else type
        """The type without `[]`."""
        self.struct = struct
        """The class of the struct or of an array's elements; None for primitives."""
        self.default = default
        """The default value; `()` stands for a new empty array or a new struct of defaults."""
        self.nullable = nullable
        self.compact = compact
        """Whether lengths and counts are unsigned varints of n + 1 (KIP-482) rather than fixed-width integers of n."""
        self.tag = tag
        """Number of a tagged field; None for a positional one."""
        self.encoding = encoding
        """KIP-625 encoding of an integer; None for the fixed form of the type's width."""
        self.bits = bits
        """How many bits of an integer of that type the value has, without a sign; None where it has the integer."""
        self.ignorable = ignorable
        """Whether a value may be dropped where a version does not have the field."""
        self.map_key = map_key
        """Whether the field is (part of) the key of its struct in an array."""
        self.entity_type = entity_type
        """What kind of thing is meant, such as `brokerId`; None where the spec does not tell."""
        self.about = about
        """What the field means, from the spec."""

    @property
    def json_name(self) -> str:
        return self.spec_name[0].lower() + self.spec_name[1:]

    @property
    def slot(self) -> str:
        """Where its value is kept: under its name, or under another one where a property makes a tagged struct."""
        is_lazy = self.tag is not None and self.struct is not None and not self.array and self.default is not None
        return f"_lazy_{self.name}" if is_lazy else self.name

    @property
    def is_varint(self) -> bool:
        """Whether its integers are varints (KIP-625)."""
        return self.encoding is not None and not self.encoding.startswith("fixed")

    def default_value(self) -> object:
        """The default, made anew where it is mutable."""
        if self.default != ():
            return self.default
        return self.struct() if self.struct is not None and not self.array else []

    def is_default(self, value: Any) -> bool:
        """Whether a tagged field of this value is left out, by Kafka's rules: NaN never is, -0.0 is where 0.0 is."""
        if value is None or self.default is None:
            return value is None and self.default is None
        if self.array or self.element in ("bytes", "records"):
            return isinstance(value, (list, tuple, bytes, bytearray, memoryview)) and len(value) == 0
        return bool(value == self.default_value())

    def __repr__(self) -> str:
        return f"<Field {self.spec_name}: {self.type}>"


def slots_of(fields: tuple[Field, ...]) -> tuple[str, ...]:
    """The `__slots__` of a class with these fields."""
    return tuple([field.slot for field in fields])

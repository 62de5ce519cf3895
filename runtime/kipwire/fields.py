"""Field metadata: what a generated class knows about each of its fields, as plain data.

Everything generic reads it: JSON, conversion between versions, the places of errors, test strategies. It is complete
enough to read and write a message from it alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import uuid
    from typing import Any, Literal

    from kipwire.structs import Struct

    Default = bool | int | float | str | bytes | uuid.UUID | tuple[()] | None
    Owner = type[Struct] | None
    Role = Literal["value", "size", "checksum", "constant", "bits", "presence"]


class Field:
    """What stands in one place of a struct in one version: a value or, in record formats, something computed."""

    __slots__ = (
        "absent_if",
        "algorithm",
        "array",
        "bit",
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
        "owner",
        "prefix",
        "present_if",
        "role",
        "same_length_as",
        "size_only_with",
        "sized",
        "sorted_by",
        "spec_name",
        "start",
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
        default: Default = None,
        struct: type[Struct] | None = None,
        nullable: bool = False,
        compact: bool = False,
        tag: int | None = None,
        encoding: str | None = None,
        ignorable: bool = False,
        map_key: bool = False,
        entity_type: str | None = None,
        role: Role = "value",
        bit: int | None = None,
        bits: int | None = None,
        prefix: str = "",
        sized: bool = False,
        size_only_with: str = "",
        present_if: str = "",
        absent_if: str = "",
        sorted_by: str = "",
        same_length_as: str = "",
        algorithm: str = "",
        start: str = "",
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
        """The default value; `()` stands for a new empty array or a new struct of defaults. The value of a constant."""
        self.nullable = nullable
        self.compact = compact
        """Whether lengths and counts are unsigned varints of n + 1 (KIP-482) rather than fixed-width integers of n."""
        self.tag = tag
        """Number of a tagged field; None for a positional one."""
        self.encoding = encoding
        """KIP-625 encoding of an integer; None for the fixed form of the type's width."""
        self.ignorable = ignorable
        """Whether a value may be dropped where a version does not have the field."""
        self.map_key = map_key
        """Whether the field is (part of) the key of its struct in an array."""
        self.entity_type = entity_type
        """What kind of thing is meant, such as `brokerId`; None where the spec does not say."""
        self.owner: Owner = None
        """The class that it is a field of."""
        # The rest is of record formats alone.
        self.role = role
        """`value`, an attribute; or what no attribute holds, since it is computed: the `size` in bytes of what follows
        up to the end of the struct, a `checksum`, a `constant`, an integer made of `bits`, the bit that says whether a
        value is there (`presence`)."""
        self.bit = bit
        """Of one bit or several of the `bits` before it: the lowest, where 0 is that of the integer; else None."""
        self.bits = bits
        """Of several bits with one value: how many, without a sign; None for one bit and all other fields."""
        self.prefix = prefix
        """What says how long it is: a number before it of the form `int16`, `int32`, `varint` (zigzag) or `uvarint`; or
        `rest`: it goes on to the end of its struct, less what stands after it. Empty where its type says it."""
        self.sized = sized
        """Whether that number is the bytes of all elements of an array; else it is how many there are."""
        self.size_only_with = size_only_with
        """The attribute together with which the prefix stands there; where that is absent, the value takes the rest."""
        self.present_if = present_if
        """The bit, by its name, that is 1 where the value is there."""
        self.absent_if = absent_if
        """The bit, by its name, that is 0 where the value is there."""
        self.sorted_by = sorted_by
        """The attribute of the elements by which they strictly ascend; empty for an array that is not a set."""
        self.same_length_as = same_length_as
        """The attribute of an earlier array that has as many elements."""
        self.algorithm = algorithm
        """Of a checksum: `crc32` or `crc32c`."""
        self.start = start
        """The name of what a checksum covers first: everything from there to the end of the struct or, where that
        stands before the checksum, to the checksum itself."""

    @property
    def is_attribute(self) -> bool:
        return self.role == "value"

    @property
    def about(self) -> str:
        """What the field means, from the spec; "" where Python was told to drop docstrings."""
        from kipwire.docstrings import about  # here, since few programs ask

        return about(self)

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
        if self.array:
            return isinstance(value, (list, tuple)) and len(value) == 0
        if self.element in ("bytes", "records"):
            return isinstance(value, (bytes, bytearray, memoryview)) and len(value) == 0
        return bool(value == self.default_value())

    def __repr__(self) -> str:
        return f"<Field {self.spec_name}: {self.type}>"


def slots_of(fields: tuple[Field, ...]) -> tuple[str, ...]:
    """The `__slots__` of a class with these fields."""
    return tuple([field.slot for field in fields if field.role == "value"])

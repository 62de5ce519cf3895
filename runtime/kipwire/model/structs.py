"""The data model of generated classes: a `Struct` has `FIELDS`, and a `Field` may have a `Struct`.

Everything generic reads the fields, which suffice to read and write a message: JSON, conversion, errors, strategies.
"""

from __future__ import annotations

from math import isnan

from kipwire import model
from kipwire.model.lazy import DEFAULT as DEFAULT
from kipwire.model.lazy import LazyStruct as LazyStruct
from kipwire.model.lazy import UnknownTaggedFields, get_or_set, lazy_slot
from kipwire.model.types import KINDS, SIZED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar, Literal, Self, TypeAlias

    from kipwire.model.enums import NamedNumber

    Owner = type["Struct"] | None
    Default = bool | int | float | str | bytes | uuid.UUID | tuple[()] | None

Role: TypeAlias = 'Literal["value", "size", "checksum", "constant", "bits", "presence"]'


class _DeclaredTags:
    """Gives a class its `DECLARED_TAGS`, made when they are first asked for."""

    def __get__(self, instance: Struct | None, owner: type[Struct]) -> frozenset[int]:
        tags = owner.OTHER_TAGS.union(field.tag for field in owner.FIELDS if field.tag is not None)
        setattr(owner, "DECLARED_TAGS", tags)  # noqa: B010 - a type checker would take it for an instance's
        return tags


class Field:
    """One item of a struct in one version: a value or, in record formats, something computed."""

    __slots__ = (
        "_compact",
        "absent_if",
        "algorithm",
        "array",
        "bit",
        "bits",
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
        "required_if",
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
        default: Default = (),
        struct: type[Struct] | None = None,
        nullable: bool = False,
        compact: bool | None = None,
        tag: int | None = None,
        encoding: str | None = None,
        role: Role = "value",
        bits: int | None = None,
        bit: int | None = None,
        ignorable: bool = False,
        map_key: bool = False,
        entity_type: str | None = None,
        prefix: str = "",
        sized: bool = False,
        size_only_with: str = "",
        present_if: str = "",
        absent_if: str = "",
        required_if: str = "",
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
        """The default value; `()` means a new empty array or a new struct of defaults. The value of a constant.
        None is null; of a field that is not nullable, that it has no default and `__init__` demands a value."""
        self.nullable = nullable
        self._compact = compact
        self.tag = tag
        """Number of a tagged field; None for a positional one."""
        self.encoding = encoding
        """KIP-625 encoding of an integer; None for the fixed form of the type's width."""
        self.ignorable = ignorable
        """True if a value may be dropped where a version lacks the field."""
        self.map_key = map_key
        """True if the field is (part of) the key of its struct in an array."""
        self.entity_type = entity_type
        """Kind of entity, such as `brokerId`; None if the spec names none."""
        self.owner: Owner = None
        """The class that has the field."""
        # The rest is of record formats alone.
        self.role = role
        """`value` for an attribute. Other fields are computed and have no attribute: the `size` in bytes of the rest of
        the struct, a `checksum`, a `constant`, an integer made of `bits`, the bit that says if a value is present
        (`presence`)."""
        self.bit = bit
        """The lowest bit, for one or several of the `bits` before it (0 is the lowest of the integer); else None."""
        self.bits = bits
        """The number of bits, for several with one value without a sign; None for one bit and all other fields."""
        self.prefix = prefix
        """Length prefix: `int16`, `int32`, `varint` (zigzag) or `uvarint`; `rest` means up to the end of the struct,
        minus the fields that follow. Empty if the type implies the length.
        """
        self.sized = sized
        """True if the prefix of an array is its size in bytes; else it is the number of elements."""
        self.size_only_with = size_only_with
        """The attribute that the prefix comes with; if that is absent, the value takes the rest."""
        self.present_if = present_if
        """The bit, by its name, that is 1 where the value is there."""
        self.absent_if = absent_if
        """The bit, by its name, that is 0 where the value is there."""
        self.required_if = required_if
        """The bit, by its name, that is 1 where the value must not be null."""
        self.sorted_by = sorted_by
        """The attribute of the elements by which they strictly ascend; empty for an array that is not a set."""
        self.same_length_as = same_length_as
        """The attribute of an earlier array that has as many elements."""
        self.algorithm = algorithm
        """The algorithm of a checksum: `crc32` or `crc32c`."""
        self.start = start
        """The name of the first field that a checksum covers. It covers everything from there to the end of the struct
        or, if that field comes before the checksum, to the checksum itself."""

    @property
    def is_attribute(self) -> bool:
        return self.role == "value"

    @property
    def about(self) -> str:
        """Description of the field, from the spec; "" if the spec has none, or if there is no source."""
        if self.owner is None:
            return ""
        return model.docstrings.about(self.owner, self.name, self.default if self.is_attribute else ())

    @property
    def compact(self) -> bool:
        """True if lengths and counts are unsigned varints of n + 1 (KIP-482), as in flexible structs by default."""
        if self._compact is not None:
            return self._compact
        is_sized = self.array or self.element in SIZED
        return is_sized and self.owner is not None and self.owner.FLEXIBLE

    @property
    def enum(self) -> type[NamedNumber] | None:
        """The enum that names its numbers, or the numbers of its elements; None if the package has no such enum."""
        return None if self.owner is None else model.enums.enum_of(self.owner, self.name)

    @property
    def enum_of_bits(self) -> type[NamedNumber] | None:
        """The enum that names its bits, of which bit n is set if the number n is meant; None as in `enum`."""
        return None if self.owner is None else model.enums.enum_of_bits(self.owner, self.name)

    def named(self, number: int) -> tuple[NamedNumber, ...]:
        """Name a number by the enum of the field: one member, one for each bit that is set, or none."""
        return () if self.owner is None else model.enums.named(self.owner, self.name, number)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that make it, those at their defaults left out."""
        defaults = Field.__init__.__kwdefaults__ or {}
        found = {name: getattr(self, "_compact" if name == "compact" else name) for name in defaults}
        return {name: value for name, value in found.items() if value != defaults[name]}

    @property
    def json_name(self) -> str:
        return self.spec_name[0].lower() + self.spec_name[1:]

    @property
    def is_lazy(self) -> bool:
        """True for a struct that is made on first use: most tagged ones are never sent or read."""
        return self.tag is not None and self.struct is not None and not self.array and self.default is not None

    @property
    def slot(self) -> str:
        """Name of the slot with the value: the field's name, or another one if a property makes a tagged struct."""
        return lazy_slot(self.name) if self.is_lazy else self.name

    @property
    def is_varint(self) -> bool:
        """True if its integers are varints (KIP-625)."""
        return self.encoding is not None and not self.encoding.startswith("fixed")

    def is_unmade(self, struct: Struct) -> bool:
        """True if the field is a struct that was never used in this instance; then it is at its default."""
        return self.is_lazy and getattr(struct, self.slot) is DEFAULT

    @property
    def has_equal_defaults(self) -> bool:
        """True if two structs of defaults are equal; false if a default is NaN, at any depth."""
        return self.struct is None or _has_equal_defaults(self.struct)

    def default_value(self) -> object:
        """Return the default, made afresh if it is mutable; None where there is none."""
        if self.default != ():
            return self.default
        return self.struct() if self.struct is not None and not self.array else []

    def is_default(self, value: Any) -> bool:
        """True if a tagged field of this value is left out, by Kafka's rules.

        NaN is never left out; -0.0 is, if the default is 0.0.
        """
        if value is None or self.default is None:
            return value is None and self.default is None
        if self.array:
            return isinstance(value, (list, tuple)) and len(value) == 0
        if KINDS.get(self.element) == "blob":
            return isinstance(value, (bytes, bytearray, memoryview)) and len(value) == 0
        return bool(value == self.default_value())

    def __repr__(self) -> str:
        return f"<Field {self.spec_name}: {self.type}>"


def _has_equal_defaults(cls: type[Struct]) -> bool:
    """True if two structs of defaults of a class are equal, which is found out once."""
    known: bool | None = vars(cls).get("_has_equal_defaults")
    if known is None:
        made = [field for field in cls.ATTRIBUTES if not field.array and field.default is not None]
        is_any_nan = any(field.element == "float64" and isnan(field.default) for field in made)  # type: ignore[arg-type]
        is_known = not is_any_nan and all(field.has_equal_defaults for field in made)
        known = get_or_set(cls, "_has_equal_defaults", is_known)
    return known


class _Slots(dict[str, "Any"]):
    """The slots of a class with their fields; `help` asks it for the text of each, which is read then."""

    __slots__ = ()

    def __getitem__(self, slot: str) -> str:
        text: str = super().__getitem__(slot).about
        return text


def slots_of(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Make the `__slots__` of a class with these fields."""
    return _Slots({field.slot: field for field in fields if field.role == "value"})


class Struct:
    """A struct of one message in one version. Generated classes add the attributes, `__init__` and the codec."""

    # Only flexible structs set it; None is the same as no unknown field.
    __slots__ = ("_unknown_tagged_fields",)
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        FIELDS: ClassVar[tuple[Field, ...]]
        """The fields of this version in the order of the spec; in record formats also the computed ones."""
        ATTRIBUTES: ClassVar[tuple[Field, ...]]
        """The members of `FIELDS` that are attributes."""
        FLEXIBLE: ClassVar[bool]
        """True if the version is flexible (KIP-482): compact lengths, and a tag section after the fields."""
        OTHER_TAGS: ClassVar[frozenset[int]]
        """The tags that only other versions have fields for; they are errors here, not unknown tags."""
        _plan: ClassVar[Any]
        """The `kipwire.description.plan` of the class, made on first use."""
        _unknown_tagged_fields: dict[int, bytes] | None
        _read: ClassVar[Callable[..., int]]
        """Sets every slot from the bytes at a position; gives the position after them."""
        _write: ClassVar[Callable[..., None]]
        """Appends the bytes to a list, part by part."""

    FLEXIBLE = False
    OTHER_TAGS = frozenset()
    DECLARED_TAGS = _DeclaredTags()
    """The tags that any version has fields for."""

    def __init_subclass__(cls) -> None:
        """Give a generated class its attributes, with their types for `typing.get_type_hints`."""
        fields = cls.__dict__.get("FIELDS")
        if fields is None:
            return
        cls.ATTRIBUTES = tuple([field for field in fields if field.role == "value"])
        for field in fields:
            field.owner = cls
        if "__init__" in vars(cls):
            types = vars(cls)["__init__"].__annotations__
            cls.__annotations__ = {name: types[name] for name in types if name != "return"}

    def _read_tagged_field(self, tag: int, data: bytes, pos: int) -> int | None:
        """Read one field of the tag section; the position after it, or None if the tag is unknown."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or type(self) is not type(other):
            return NotImplemented
        for field in self.ATTRIBUTES:
            if field.tag is not None and field.is_unmade(self) and field.is_unmade(other) and field.has_equal_defaults:
                continue  # unused structs stay unmade: they may contain very many structs
            if getattr(self, field.name) != getattr(other, field.name):
                return False
        return not self.FLEXIBLE or (self._unknown_tagged_fields or {}) == (other._unknown_tagged_fields or {})

    def __repr__(self) -> str:
        text: str = model.presentation.one_line(self)
        return text

    def __rich_repr__(self) -> Iterable[tuple[str, object]]:
        values: Iterable[tuple[str, object]] = model.presentation.shown_values(self)
        return values

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        model.presentation.pretty(self, printer)

    def __replace__(self, **changes: Any) -> Self:
        """Copy the struct with other values, for `copy.replace`."""
        values = {field.name: getattr(self, field.name) for field in self.ATTRIBUTES}
        unknown = {"unknown_tagged_fields": dict(self._unknown_tagged_fields or {})} if self.FLEXIBLE else {}
        unknown_changes = {name: changes.pop(name) for name in unknown if name in changes}
        copy = type(self)(**{**values, **changes})
        for name, fields in {**unknown, **unknown_changes}.items():
            setattr(copy, name, fields)
        return copy


class FlexibleStruct(Struct):
    """A struct of a flexible version, which alone has unknown tagged fields."""

    __slots__ = ()

    FLEXIBLE = True
    unknown_tagged_fields = UnknownTaggedFields()


class Root(Struct):
    """The outermost struct of a message, with the facts of the message and its version."""

    __slots__ = ()

    if TYPE_CHECKING:
        NAME: ClassVar[str]
        """The message's name in its spec."""
        TYPE: ClassVar[str]
        """The spec's `type`, such as `request`."""
        API_KEY: ClassVar[Any]
        """An int; None where the spec has none."""
        HEADER_VERSION: ClassVar[Any]
        """An int, of requests and responses only: the version of the header before them."""
        VERSION: ClassVar[int]
        MIN_VERSION: ClassVar[int]
        """The lowest version of this message that there is a class for."""
        MAX_VERSION: ClassVar[int]

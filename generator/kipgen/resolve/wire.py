"""Resolving: a spec and one version -> its wire description, and its names in Python.

All version logic ends here: later stages see no version ranges. Messages and record formats have the same result: in
a message, the prefix of a value follows from its type and the version; in a record format, the spec has it.

A `WireStruct` has all that is on the wire in one version, and not the version itself. `python.render` and `data`
compare the structs of versions (`same_form`), and a version that equals the one before gets no code of its own. So an
attribute that differs without need doubles generated code. An attribute that is missing is worse: versions would share
code although their bytes differ.

Here nothing is checked. The rules have refused whatever has no result, and lookups may fail with a KeyError if they
have not; the remedy is a rule, not a test here.

`python.steps` and `python.pymodel` make code of the result, `data` makes JSON, `commands.compat` compares revisions by
it. To add a property, see the head of `kipgen` and CONTRIBUTING.md.
"""

from __future__ import annotations

import inspect
import math
import uuid
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from kipgen.code import Code, literal
from kipgen.language import names
from kipgen.language.layout_properties import REST, VERSION, BitsSpec
from kipgen.language.spec import Default, FieldSpec, MessageSpec, StructSpec
from kipgen.language.types import Encoding, FieldType
from kipwire.model.structs import Field, Role
from kipwire.model.types import PLUS_ONE, TYPES

_ARGUMENTS = {
    one.name: one.default for one in inspect.signature(Field).parameters.values() if one.kind is one.KEYWORD_ONLY
}
"""Arguments of `Field` with their defaults; a new one needs an attribute of its name in `WireField`, and no more."""


@dataclass(frozen=True, slots=True)
class Presence:
    """The bit that says if a value is present."""

    bits: str
    """The name of the integer that holds the bit."""
    name: str
    """The bit's own name."""
    mask: int
    means_present: bool
    """True if the value is present where the bit is 1; else it is present where the bit is 0."""
    value: str
    """The attribute whose presence it is."""
    nullable: bool
    """True if the value is absent where it is null; else it is absent where it is empty."""


@dataclass(frozen=True, slots=True)
class WireField:
    """An item of a wire description: a field or, in record formats, a computed value.

    Attributes that are arguments of `kipwire.Field` have the argument's name.
    """

    attribute: str
    """The attribute that holds the value, or the name of an item without one."""
    spec_name: str
    type: FieldType
    about: str
    default: Default
    """`()` for a new array or struct and for empty bytes. The value of a constant. None is null; of a field that is
    not nullable, that it has no default."""
    nullable: bool
    compact: bool
    """True if lengths and counts are unsigned varints of n + 1 (KIP-482)."""
    tag: int | None
    """The tag where the field is tagged in this version; None where it is positional."""
    encoding: Encoding | None
    """KIP-625, of an integer or of an array's elements; None for the fixed form of the type's own width."""
    ignorable: bool
    map_key: bool
    entity_type: str | None
    prefix: str | None
    """Length prefix: one of `PREFIX_TYPES` or `PLUS_ONE`; or `REST`. None if the type implies the length."""
    struct_may_be_empty: bool
    """True if it has a struct that can take no byte."""
    # The rest is of record formats alone.
    role: Role = "value"
    sized: bool = False
    """True if the prefix is the bytes of all elements of an array; else it is their number."""
    partner: Presence | None = None
    """The bit that says if the prefix is present; if it is not, the value takes the rest. None if it always is."""
    presence: Presence | None = None
    """The bit that says if the value is present; for such a bit, itself."""
    sorted_by: str | None = None
    """The attribute of the elements that orders them, of a set."""
    required_if: str | None = None
    same_length_as: str | None = None
    """The attribute of an earlier array."""
    inner: tuple[WireField, ...] = ()
    """The named bits, for an integer made of bits."""
    bit: int | None = None
    """The lowest bit, for one bit or several."""
    bits: int | None = None
    """The number of bits, for several with one value."""
    algorithm: str | None = None
    """The algorithm of a checksum."""
    start: str | None = None
    """The name of the first field that a checksum covers."""
    is_after: bool = False
    """True if a checksum comes after what it covers; else it covers everything from `start` to the end."""

    @property
    def is_sized(self) -> bool:
        """True if its value has a length or a count before it."""
        return self.type.prefix is not None

    @property
    def elements_may_be_empty(self) -> bool:
        """True for an array of structs that can take no byte at all."""
        return self.type.is_array and self.struct_may_be_empty

    @property
    def struct(self) -> Code | None:
        """The class of the struct or of an array's elements."""
        return Code(names.class_name(self.type.element)) if self.type.has_struct else None

    @property
    def element_kind(self) -> str:
        """The type of fixed width by which an element is written, if it has one."""
        return f"int{self.encoding.bits}" if self.encoding is not None else self.type.element

    @property
    def element_width(self) -> int:
        """Bytes of such an element; 0 for others."""
        return TYPES[self.element_kind].width if self.element_kind in TYPES else 0

    # In Python.

    @property
    def is_lazy(self) -> bool:
        """True for a struct that is created on first access.

        Most tagged structs are never sent or read, so most messages do without the object.
        """
        return self.tag is not None and self.type.is_struct and self.default is not None

    @property
    def slot(self) -> str:
        """Name of the slot with its value: the attribute's name, or another one if a property makes the value."""
        return f"_lazy_{self.attribute}" if self.is_lazy else self.attribute

    @property
    def local(self) -> str:
        """A local variable named after it."""
        return names.local_name(self.attribute)

    @property
    def annotation(self) -> str:
        element = self.struct or TYPES[self.type.element].annotation
        annotation = f"list[{element}]" if self.type.is_array else element
        return f"{annotation} | None" if self.nullable else annotation

    @property
    def default_expression(self) -> Code:
        """An expression for the default value; a mutable one is created each time."""
        default = self.default
        if default == ():
            if self.type.is_array:
                return Code("[]")
            return Code(f"{self.struct}()" if self.struct else 'b""')
        if isinstance(default, uuid.UUID):
            return Code(f'uuid.UUID("{default}")' if default.int else "ZERO_UUID")
        if isinstance(default, float) and not math.isfinite(default):
            return Code(f'float("{default}")')
        if isinstance(default, float):
            return Code(repr(default).replace("e+", "e"))  # as black writes it
        return literal(default) if isinstance(default, str) else Code(repr(default))

    @property
    def is_required(self) -> bool:
        """True if it has no default, so that `__init__` demands a value."""
        return self.default is None and not self.nullable and self.role == "value"

    @property
    def is_mutable(self) -> bool:
        """True if its default is mutable."""
        return self.default == () and (self.type.is_array or self.type.is_struct)

    def faults(self, size: str) -> Iterator[Code]:
        """Expressions that are true if a value breaks the spec; `size` is its number of bytes or elements."""
        if self.same_length_as:
            yield Code(f"{size} != len(self.{self.same_length_as})")

    # As arguments of `kipwire.Field`.

    def arguments(self, *, flexible: bool, is_bounded: bool) -> dict[str, object]:
        """Return the arguments of its `kipwire.Field` that are not the default; in place of a class its name.

        Prefixes that follow from types are left out, and so is `compact` where it follows from the struct around it.
        """
        of_bytes = self.default == () and not self.is_mutable
        derived = {
            "default": () if self.role not in ("value", "constant") else b"" if of_bytes else self.default,
            "compact": self.compact if self.is_sized and self.compact != flexible else None,
            "encoding": self.encoding and str(self.encoding),
            "prefix": self.prefix if is_bounded else None,
        }
        found = {name: derived[name] if name in derived else getattr(self, name) for name in _ARGUMENTS}
        # None is no value of any argument but the default, where it is null.
        return {
            name: value
            for name, value in found.items()
            if value != _ARGUMENTS[name] and (value is not None or name == "default")
        }

    @property
    def size_only_with(self) -> str | None:
        return self.partner.value if self.partner else None

    @property
    def present_if(self) -> str | None:
        return self.presence.name if self.role == "value" and self.presence and self.presence.means_present else None

    @property
    def absent_if(self) -> str | None:
        return self.presence.name if self.role == "value" and self.presence and not self.present_if else None

    @property
    def limit(self) -> int:
        """The highest number that bits hold."""
        return (1 << (self.bits or 1)) - 1

    @property
    def mask(self) -> int:
        """The bits, at their position in the integer."""
        return self.limit << (self.bit or 0)

    @property
    def unnamed(self) -> int:
        """The mask of the bits that must be zero, for an integer made of bits."""
        return (1 << self.type.bits) - 1 - sum(bit.mask for bit in self.inner)


# Without slots, which leave no room for what is computed once; so is `WireMessage`.
@dataclass(frozen=True)
class WireStruct:
    """A struct in one version; the message itself is one too."""

    class_name: str
    about: str
    flexible: bool
    """True if a tag section ends it."""
    items: tuple[WireField, ...]
    """Fields in the order of the spec, including tagged ones; bits are within their integers."""
    declared_tags: tuple[int, ...]
    """The tags that no unknown field can have, ascending: those that any version has fields for.

    As in Kafka, a tag of other versions is a mistake, not an unknown field to keep. With `extensibleTaggedVersions` it
    is one to keep, and only the tags of this version are here."""
    is_bounded: bool
    """True if a bound determines the end of its bytes, as in record formats; else the fields alone do."""

    @property
    def fields(self) -> tuple[WireField, ...]:
        """Fields with attributes."""
        return tuple(one for item in self.items for one in item.inner or (item,) if one.role == "value")

    @property
    def other_tags(self) -> tuple[int, ...]:
        """The tags that only other versions have fields for, ascending; none without a tag section."""
        own = {item.tag for item in self.items}
        # Kafka's readers refuse them, so they are not kept among the unknown ones.
        return tuple(tag for tag in self.declared_tags if tag not in own) if self.flexible else ()

    # Found by name once: to search the items for each field took quadratic time with thousands of fields.

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each item, by its attribute."""
        return {item.attribute: number for number, item in enumerate(self.items)}

    @cached_property
    def bit_masks(self) -> dict[str, tuple[int, int]]:
        """Position of each named bit, by its attribute: the position of its integer, and its mask."""
        return {bit.attribute: (number, bit.mask) for number, item in enumerate(self.items) for bit in item.inner}

    @cached_property
    def field_positions(self) -> dict[str, int]:
        """The position of each field among what attributes hold, by its attribute."""
        return {field.attribute: number for number, field in enumerate(self.fields)}

    @property
    def may_be_empty(self) -> bool:
        """True if it can take no byte: a struct without tag section in which all fields are such structs.

        The bytes of an array bound the number of its elements, but not of these, so generated code counts them. Kafka
        refuses such arrays as too long for their bytes, its own included.
        """
        return not (self.flexible or self.is_bounded) and all(
            field.type.is_struct and not field.nullable and field.struct_may_be_empty for field in self.fields
        )


@dataclass(frozen=True)
class WireMessage:
    """A message in one version."""

    spec: MessageSpec
    version: int
    structs: tuple[WireStruct, ...]
    """Each after those that it uses."""
    root: WireStruct
    header_version: int | None
    """The version of the header before it, for a request or a response."""

    def struct(self, class_name: str) -> WireStruct:
        """Return the struct of a class, by its name.

        Raises:
            KeyError: the version has none.
        """
        return self._by_class[class_name]

    @cached_property
    def _by_class(self) -> dict[str, WireStruct]:
        return {struct.class_name: struct for struct in self.structs}

    def same_form(self, other: WireMessage) -> bool:
        """True if both versions have the same fields and the same wire form."""
        return (self.structs, self.root, self.header_version) == (other.structs, other.root, other.header_version)


def resolve(spec: MessageSpec, version: int, header_version: int | None = None) -> WireMessage:
    """Make the wire description of one version, which must be one of the message's."""
    # The structs of a spec come after those that they use, so `empty` is complete when a struct is resolved.
    reachable = _reachable_structs(spec, version)
    structs: list[WireStruct] = []
    empty: set[str] = set()  # those that can take no byte
    for struct in spec.structs:
        if struct.name in reachable:
            structs.append(_struct(spec, version, struct, empty))
            if structs[-1].may_be_empty:
                empty.add(struct.name)
    return WireMessage(spec, version, tuple(structs), _struct(spec, version, spec, empty), header_version)


def _reachable_structs(spec: MessageSpec, version: int) -> set[str]:
    """Find the structs that the version uses, and the common ones that exist in it.

    A common struct has versions of its own, so its class exists by these, also without a use. An inline struct exists
    only within the structs around it.
    """
    structs = {struct.name: struct for struct in spec.structs}
    found = {struct.name for struct in spec.structs if struct.is_common and version in struct.versions}
    pending = [spec.fields, *(structs[name].fields for name in found)]
    while pending:
        for field in pending.pop():
            if version in field.versions and field.type.has_struct and field.type.element not in found:
                found.add(field.type.element)
                pending.append(structs[field.type.element].fields)
    return found


def _struct(spec: MessageSpec, version: int, struct: StructSpec | MessageSpec, empty: AbstractSet[str]) -> WireStruct:
    # All fields before any item: a bit of presence needs the attribute and the nullability of a later field.
    present = [field for field in struct.fields if version in field.versions]
    by_name = {field.name: _field(spec, version, field, field.type.element in empty) for field in present}
    return WireStruct(
        class_name=names.class_name(struct.name),
        about=struct.about,
        flexible=version in spec.flexible_versions and not spec.is_layout,
        items=tuple(_items(spec, version, present, by_name)),
        declared_tags=tuple(
            sorted(
                field.tag
                for field in struct.fields
                if field.tag is not None and (version in field.tagged_versions or not spec.extensible_tagged_versions)
            )
        ),
        is_bounded=spec.is_layout,
    )


def _items(
    spec: MessageSpec, version: int, fields: Sequence[FieldSpec], by_name: dict[str, WireField]
) -> Iterator[WireField]:
    """Yield the items of a struct."""
    # One pass is enough, because a rule puts the bit before the field whose presence it states. Only a checksum may
    # come on either side of what it covers, as `before` shows.
    values = {field.layout.presence_bit: field for field in fields if field.layout.presence_bit}
    presences: dict[str, Presence] = {}  # by the attribute that is there or not
    before: set[str] = set()
    for field in fields:
        item, layout = by_name[field.name], field.layout
        if layout.size_of:
            item = replace(item, role="size")
        elif layout.checksum is not None:
            start = by_name[layout.checksum.start].attribute
            is_after = start in before
            item = replace(item, role="checksum", algorithm=layout.checksum.algorithm, start=start, is_after=is_after)
        elif layout.constant is not None:
            item = replace(
                item, role="constant", default=version if layout.constant == VERSION else int(layout.constant)
            )
        elif layout.bits:
            inner = [_bit(item, bit, values.get(bit.name), by_name) for bit in layout.bits]
            presences |= {bit.presence.value: bit.presence for bit in inner if bit.presence}
            item = replace(item, role="bits", inner=tuple(inner))
        elif spec.is_layout:
            item = _with_layout_properties(spec, field, item, presences)
        before.add(item.attribute)
        yield item


def _bit(integer: WireField, bit: BitsSpec, owner: FieldSpec | None, by_name: dict[str, WireField]) -> WireField:
    """Resolve a named bit, or several, of an integer; `owner` is the field whose presence it states."""
    flag = bit.width == 1
    field = replace(
        integer,
        attribute=names.attribute_name(bit.name),
        spec_name=bit.name,
        type=replace(integer.type, element="bool") if flag else integer.type,
        about=bit.about,
        default=False if flag else 0,
        bit=bit.lowest,
        bits=None if flag else bit.width,
    )
    # Without an owner, the bit is an attribute. With one it is computed, because the owner's value determines it.
    if owner is None:
        return field
    value, means_present = by_name[owner.name], owner.layout.present_if == bit.name
    presence = Presence(integer.attribute, field.attribute, field.mask, means_present, value.attribute, value.nullable)
    return replace(field, role="presence", presence=presence)


def _with_layout_properties(
    spec: MessageSpec, field: FieldSpec, item: WireField, presences: dict[str, Presence]
) -> WireField:
    """Apply the properties that only fields of record formats have."""
    layout = field.layout
    key = None
    if layout.is_sorted:
        elements = spec.struct(field.type.element).fields
        key = next(names.attribute_name(element.name) for element in elements if element.map_key)
    return replace(
        item,
        default=None if layout.is_required else item.default,
        prefix=layout.size or layout.count or item.prefix,
        sized=field.type.is_array and layout.size not in (None, REST),
        partner=presences[names.attribute_name(layout.size_only_with)] if layout.size_only_with else None,
        presence=presences.get(item.attribute),
        sorted_by=key,
        required_if=names.attribute_name(layout.required_if) if layout.required_if else None,
        same_length_as=names.attribute_name(layout.same_length_as) if layout.same_length_as else None,
    )


def _field(spec: MessageSpec, version: int, field: FieldSpec, struct_may_be_empty: bool) -> WireField:
    # The field's own ranges are enough, for only fields of structs that exist in the version get here.
    nullable = version in field.nullable_versions
    compact = version in (spec.flexible_versions if field.flexible_versions is None else field.flexible_versions)
    default = field.default
    if default is None and not nullable:
        default = ()  # records default to null even in versions where they must not be null
    return WireField(
        attribute=names.attribute_name(field.name),
        spec_name=field.name,
        type=field.type,
        about=field.about,
        default=default,
        nullable=nullable,
        compact=compact,
        tag=field.tag if version in field.tagged_versions else None,
        encoding=_encoding(field, version),
        ignorable=field.ignorable,
        map_key=field.map_key,
        entity_type=field.entity_type,
        prefix=PLUS_ONE if compact and field.type.prefix else field.type.prefix,
        struct_may_be_empty=struct_may_be_empty,
    )


def _encoding(field: FieldSpec, version: int) -> Encoding | None:
    """Find the encoding in a version; None for the fixed one of the type's own width, which is what no encoding means.

    So a version that names it has the same form as one that leaves it out (KIP-625).
    """
    for versions, encoding in field.encodings:
        if version in versions:
            own_width = Encoding("fixed", field.type.bits)
            return None if encoding == own_width else encoding
    return None

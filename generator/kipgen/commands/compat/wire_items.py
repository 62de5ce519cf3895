"""The wire items of one version of a message, for comparing; the same for record formats and all other messages.

Two items with the same `fingerprint` have the same bytes for the same values, even if their names differ. Structs that
share structs are described once, however many ways lead to them.

What no peer can see is not in a form: names, struct names, and the version ranges that lead to the same bytes. A
property of record formats that this module has no case for is compared as it is written (`_IN_OTHER_WORDS` has the
exceptions), so that a new property can at worst be reported too often.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate

from kipgen.commands.compat.direction import Side
from kipgen.commands.compat.enums import NO_ENUMS, EnumPairs
from kipgen.commands.compat.model import Change, Spot
from kipgen.language.layout_properties import PROPERTIES, REST
from kipgen.language.names import attribute_name, class_name
from kipgen.language.spec import FieldSpec, Location, MessageSpec, StructSpec
from kipgen.language.types import Encoding, FieldType
from kipgen.language.versions import Versions
from kipgen.resolve.wire import WireMessage, WireStruct
from kipwire.description.plan import Item, struct_plan
from kipwire.model.structs import Field, Struct
from kipwire.model.types import ENCODINGS, TYPES

Fingerprint = tuple[int, int]
"""Fingerprint of a sequence of wire forms: equal where the bytes are, whatever structs hold them.

It is a polynomial over a prime field, so that two sequences are joined at the cost of one multiplication, however long
they are: structs that share structs may have 2**31 fields one after the other. Different ones are equal with a chance
of less than 2**-90, which no spec can better: the key is new in every process.
"""
_PRIME = 2**127 - 1
_KEY = os.urandom(16)
_BASE = int.from_bytes(os.urandom(16)) % (_PRIME - 2) + 2
_NOTHING: Fingerprint = (0, 1)
Properties = tuple[tuple[str, object], ...]
"""Properties of the spec language with their values; other items are given by position, so that names do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class WireItem:
    """A named item: a field, or bits."""

    name: str
    """Name of a field or of bits, as in the spec."""
    spec: FieldSpec
    """The field; of bits, the integer that they are part of."""
    type: FieldType | None
    """Type of the field; None for bits, and for computed items."""
    tag: int | None
    """Tag, if the item is tagged in this version."""
    nullable: bool
    compact: bool | None
    """True if its length is a varint (KIP-482); None if it has none."""
    encoding: Encoding | None
    """Encoding of an integer that KIP-625 has encodings for, or of such elements, in every case."""
    rest: Properties
    """Properties that only layouts have: sizes, bits, checksums."""
    attribute: Field | None
    """The value's attribute in Python; None if it has none."""
    inner: WireItems | None
    """The items of a struct, or of an array's structs; of an integer with named bits, the bits."""

    @property
    def key(self) -> str:
        """The attribute's name, by which two items are one: letter case that does not change it is no other name."""
        return attribute_name(self.name)


@dataclass(frozen=True, eq=False)
class WireItems:
    """The items of a message, a struct or an integer with named bits; a struct has the same wherever it is used."""

    struct: StructSpec | None
    """Spec of the struct; None for the message itself and for bits."""
    flexible: bool
    """True if a tag section ends it."""
    plain: tuple[WireItem, ...]
    """Items that are not tagged, in the order of the wire."""
    tagged: tuple[WireItem, ...]

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the plain items, and then of the tag section."""
        plain = fingerprint(self.plain)
        if not self.flexible:
            return plain
        return _concatenate((plain, _single("tags", *((field.tag, _item_fingerprint(field)) for field in self.tagged))))


def wire_items(message: type[WireMessage]) -> WireItems:
    """List the items of one version of a message."""
    specs = {class_name(struct.name): struct for struct in message.SPEC.structs}
    known: dict[type[Struct], WireItems] = {}
    for struct in message.STRUCTS:  # each after those that it uses
        known[struct] = _items(message.SPEC, struct, specs[struct.__name__], known)
    return _items(message.SPEC, message, None, known)


def fingerprint(items: Iterable[WireItem]) -> Fingerprint:
    """Return the fingerprint of consecutive items; equal if and only if the bytes are.

    A struct is its items and its tag section.
    """
    return _concatenate(_item_fingerprint(item) for item in items)


def prefixes(items: Iterable[WireItem]) -> Iterator[Fingerprint]:
    """Yield the fingerprint of the first item, of the first two, and so on."""
    return accumulate(map(_item_fingerprint, items), lambda one, other: _concatenate((one, other)))


def _item_fingerprint(item: WireItem) -> Fingerprint:
    is_array = item.type is not None and item.type.is_array
    value = _value_fingerprint(item)
    if item.inner is None and is_array:
        value = _single(value, False, False, item.compact if _has_length(item) else None, ())
    # A struct that is neither null nor an element has no bytes of its own: it is the items in it, in a row.
    elif item.inner is not None and not (is_array or item.nullable or item.rest):
        return value
    return _single(value, is_array, item.nullable, item.compact, item.rest)


def _has_length(item: WireItem) -> bool:
    return item.type is not None and item.type.element in ("string", "bytes")


def _value_fingerprint(item: WireItem) -> Fingerprint:
    """Return the fingerprint of the value itself, or of an element, without its prefix."""
    if item.inner is not None:
        return item.inner.fingerprint
    if item.encoding is not None:
        return _single(str(item.encoding))
    if item.type is None:
        return _NOTHING
    # Records are bytes to a peer; only the name of the type differs.
    return _single("bytes" if item.type.element == "records" else item.type.element)


def _single(*parts: object) -> Fingerprint:
    """Return the fingerprint of one thing, which is equal where its parts are."""
    digest = blake2b(repr(parts).encode(), digest_size=16, key=_KEY).digest()
    return int.from_bytes(digest) % _PRIME, _BASE


def _concatenate(fingerprints: Iterable[Fingerprint]) -> Fingerprint:
    """Return the fingerprint of several, one after the other."""
    number, power = _NOTHING
    for next_number, next_power in fingerprints:
        number, power = (number * next_power + next_number) % _PRIME, power * next_power % _PRIME
    return number, power


def _items(
    message: MessageSpec, struct: type[WireStruct], spec: StructSpec | None, known: dict[type[Struct], WireItems]
) -> WireItems:
    """Collect the items of a struct, or of the message itself; `known` has the items of the structs that it uses."""
    fields = {field.name: field for field in (spec or message).fields}
    plan = struct_plan(struct)
    places = {one.name: (at, one.mask) for at, item in enumerate(plan.in_order) for one in (item, *item.bits)}
    items = []
    for item in plan.in_order:
        field = fields[item.field.spec_name]
        items.append(_item(item, field, _rest(item, field, places) if message.is_layout else (), known))
    return WireItems(
        struct=spec,
        flexible=plan.flexible,
        plain=tuple(item for item in items if item.tag is None),
        tagged=tuple(item for item in items if item.tag is not None),
    )


def _item(item: Item, spec: FieldSpec, rest: Properties, known: dict[type[Struct], WireItems]) -> WireItem:
    inner = None if item.field.struct is None else known[item.field.struct]
    if item.role == "bits":
        bits = sorted(item.bits, key=lambda bit: bit.lowest)
        inner = WireItems(None, False, tuple(_bit(bit, spec) for bit in bits), ())
    return WireItem(
        name=spec.name,
        spec=spec,
        type=None if item.role == "bits" else spec.type,
        tag=item.tag,
        nullable=item.nullable,
        compact=item.compact if spec.type.prefix is not None else None,
        encoding=_encoding(item, spec),
        rest=rest,
        attribute=item.field if item.role == "value" else None,
        inner=inner,
    )


def _encoding(item: Item, spec: FieldSpec) -> Encoding | None:
    if not spec.type.is_encodable or item.role == "bits":
        return None
    return ENCODINGS[item.field.encoding or f"fixed{spec.type.bits}"]


def _bit(bit: Item, spec: FieldSpec) -> WireItem:
    rest: Properties = (("bits", (bit.lowest, bit.bit_count)),)
    attribute = bit.field if bit.role == "value" else None
    return WireItem(bit.field.spec_name, spec, None, None, False, None, None, rest, attribute, None)


_IN_OTHER_WORDS = frozenset({"bits", "presentIf", "absentIf", "required"})
"""The properties that `_rest` does not list by their own names, or that do not change what is written. All others count
as written in the spec."""


def _rest(item: Item, spec: FieldSpec, places: dict[str, tuple[int, int]]) -> Properties:
    """Collect the properties beyond types and versions.

    Items name each other; here they point at each other by position. `places` have the position of each item and, of
    bits, the position of their integer and their mask.
    """
    field = item.field
    presence = field.present_if or field.absent_if
    elements = field.struct.ATTRIBUTES if field.sorted_by and field.struct is not None else ()
    is_size = field.sized or item.prefix == REST or not item.array
    pairs: dict[str, object] = {
        "sizeOf": "rest" if item.role == "size" else None,
        "checksum": (field.algorithm, item.start) if item.role == "checksum" else None,
        "constant": item.default if item.role == "constant" else None,
        "integer": f"of {TYPES[item.kind].bits} bits" if item.role == "bits" else None,  # its sign is not seen
        "size": item.prefix or None if is_size else None,
        "count": None if is_size else item.prefix,
        "sizeOnlyWith": places[field.size_only_with][0] if field.size_only_with else None,
        "presence": (*places[presence], bool(field.present_if)) if presence else None,
        "sorted": next((at for at, one in enumerate(elements) if one.name == field.sorted_by), None),
        "requiredIf": places.get(field.required_if),
        "sameLengthAs": places[field.same_length_as][0] if field.same_length_as else None,
    }
    for attribute, property_ in PROPERTIES.items():
        if property_.name not in pairs and property_.name not in _IN_OTHER_WORDS:
            pairs[property_.name] = getattr(spec.layout, attribute)
    return tuple((name, value) for name, value in pairs.items() if value is not None and value is not False)


@dataclass(frozen=True)
class Owner:
    """The owner of a list of fields: a message, a struct, or an integer with named bits."""

    location: Location
    fields: tuple[FieldSpec, ...]
    """The fields of all versions; an integer with named bits has none."""

    def field(self, key: str) -> FieldSpec | None:
        """Return the field of an attribute's name, in any versions; None if there is none."""
        return self._by_key.get(key)

    @cached_property
    def _by_key(self) -> dict[str, FieldSpec]:
        return {attribute_name(field.name): field for field in reversed(self.fields)}  # the first of a name counts


@dataclass(frozen=True, slots=True)
class Pair:
    """An owner of fields, old and new, in one version."""

    path: str
    """Path with the names of the new spec."""
    old: Owner
    new: Owner
    version: int
    present: Versions
    """The versions of the new spec that have the owner."""
    is_left_out: bool = False
    """True if all of it is left out of the bytes where every field has its default, as with a tagged struct."""
    keeps_other_tags: bool = False
    """True if peers of the old revision keep a tag that they know from other versions alone."""
    enums: EnumPairs = NO_ENUMS
    """The enums of both revisions, which name numbers of fields."""

    def change(self, rule: str, name: str, text: str, old: Spot, new: Spot, first: Side | None = None) -> Change:
        """Make a change of one of the fields."""
        return Change(rule, f"{self.path}.{name}", text, new, old, frozenset({self.version}), first)

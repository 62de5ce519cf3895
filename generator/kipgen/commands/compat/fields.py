"""The fields of one version, old and new: what became of each, by its name, its place and its form."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from kipgen.commands.compat.change import Change, Spot
from kipgen.commands.compat.form import wire_form
from kipgen.language.types import encoding_property

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kipgen.commands.compat.form import Body, Slot
    from kipgen.language.spec import FieldSpec, Place, StructSpec


@dataclass(frozen=True, slots=True)
class Owner:
    """What a list of fields belongs to: a message, a struct, or an integer with named bits."""

    place: Place
    fields: tuple[FieldSpec, ...]
    """Those of all versions; an integer with named bits has none."""
    names: frozenset[str]
    """The names of the fields, or of the bits."""

    @classmethod
    def of_struct(cls, place: Place, fields: tuple[FieldSpec, ...]) -> Owner:
        return cls(place, fields, frozenset(field.name for field in fields))

    def field(self, name: str) -> FieldSpec | None:
        """The field of that name, whatever its versions."""
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Pair:
    """An owner of fields, old and new, in one version."""

    path: str
    """By the names in the new spec."""
    old: Owner
    new: Owner
    version: int

    def change(self, rule: str, name: str, text: str, old: Spot, new: Spot) -> Change:
        """A change of one of the fields."""
        return Change(rule, f"{self.path}.{name}", text, new, old, frozenset({self.version}))


def compare_bodies(pair: Pair, old: Body, new: Body) -> Iterator[Change]:
    """What is different between two bodies in one version, and in all that stands in them."""
    yield from _switched(pair, old, new)
    yield from _compare_plain(pair, old, new)
    yield from _compare_tagged(pair, old, new)


def _switched(pair: Pair, old: Body, new: Body) -> Iterator[Change]:
    """The fields that are tagged on one side and plain on the other."""
    for before, after, text in (
        (old.tagged, new.plain, "a tagged field before, a plain one now"),
        (old.plain, new.tagged, "a plain field before, a tagged one now"),
    ):
        later = {slot.name: slot for slot in after}
        for slot in before:
            if slot.name in later:
                yield pair.change(
                    "tagged-and-plain", slot.name, text, *_spots(slot, later[slot.name], "taggedVersions")
                )


def _compare_plain(pair: Pair, old: Body, new: Body) -> Iterator[Change]:
    tagged = {slot.name for slot in (*old.tagged, *new.tagged)}
    before = [slot for slot in old.plain if slot.name not in tagged]
    after = [slot for slot in new.plain if slot.name not in tagged]
    later = {slot.name: slot for slot in after}
    both = [(slot, later[slot.name]) for slot in before if slot.name in later]
    names = {slot.name for slot, _ in both}
    moved = _moved([slot.name for slot, _ in both], [slot.name for slot in after if slot.name in names])
    for slot, now in both:
        if slot.name in moved:
            text = f"stood {_position(slot, before)}, now stands {_position(now, after)}"
            yield pair.change("field-moved", slot.name, text, *_spots(slot, now))
    stays = names - moved
    for gone, come in zip(_gaps(before, stays, names), _gaps(after, stays, names), strict=True):
        renamed = _renamed(gone, come)
        both += renamed
        yield from _replaced(pair, gone, come, renamed)
    for slot, now in both:
        yield from _compare_slots(pair, slot, now)


def _moved(before: list[str], after: list[str]) -> set[str]:
    """The names that do not stand where they did among the others."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return set(before).difference(*(before[block.a : block.a + block.size] for block in blocks))


def _position(slot: Slot, slots: Sequence[Slot]) -> str:
    index = slots.index(slot)
    return f"behind {slots[index - 1].name}" if index else "first"


def _gaps(slots: list[Slot], stays: Collection[str], known: Collection[str]) -> list[list[Slot]]:
    """The slots that only one side has, in runs: before, between and behind those that stay in their places."""
    runs: list[list[Slot]] = [[]]
    for slot in slots:
        if slot.name in stays:
            runs.append([])
        elif slot.name not in known:
            runs[-1].append(slot)
    return runs


def _renamed(gone: list[Slot], come: list[Slot]) -> list[tuple[Slot, Slot]]:
    """Those of a run that only have another name: the same bytes in the same place."""
    before, after = ([wire_form((slot,)) for slot in slots] for slots in (gone, come))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return [
        (slot, now)
        for block in blocks
        for slot, now in zip(gone[block.a :][: block.size], come[block.b :][: block.size], strict=True)
    ]


def _replaced(pair: Pair, gone: list[Slot], come: list[Slot], renamed: list[tuple[Slot, Slot]]) -> Iterator[Change]:
    """What became of a run of fields that only one side has."""
    for slot, now in renamed:
        text = f"was {slot.name}; the bytes are the same"
        yield pair.change("field-renamed", now.name, text, *_spots(slot, now))
    if gone and come and len(renamed) < len(gone) and wire_form(tuple(gone)) == wire_form(tuple(come)):
        text = f"{_listed(gone)} became {_listed(come)}, with the same bytes"
        yield pair.change("type-same-bytes", come[0].name, text, *_spots(gone[0], come[0]))
        return
    old_names, new_names = {slot.name for slot, _ in renamed}, {now.name for _, now in renamed}
    for slot in gone:
        if slot.name not in old_names:
            spot = _spot_in(pair.new, slot.name)
            yield pair.change("field-removed", slot.name, "the field is gone", Spot(slot.spec.place), spot)
    for slot in come:
        if slot.name not in new_names:
            spot = Spot(slot.spec.place, "versions" if slot.name in pair.old.names else "name")
            yield pair.change("field-added", slot.name, "the field is new", _spot_in(pair.old, slot.name), spot)


def _spot_in(owner: Owner, name: str) -> Spot:
    """Where a field would be that a version lacks: at its versions, or anywhere in its owner."""
    field = owner.field(name)
    return Spot(field.place, "versions") if field else Spot(owner.place)


def _listed(slots: list[Slot]) -> str:
    return ", ".join(slot.name for slot in slots)


def _compare_tagged(pair: Pair, old: Body, new: Body) -> Iterator[Change]:
    """The fields that are tagged on both sides; the tags themselves are judged for all versions at once."""
    before, after = ({slot.name: slot for slot in body.tagged} for body in (old, new))
    plain = {slot.name for slot in (*old.plain, *new.plain)}
    for name in {**before, **after}:
        was, now = pair.old.field(name), pair.new.field(name)
        if name in plain or was is None or now is None or was.tag != now.tag:
            continue
        if name in before and name in after:
            yield from _compare_slots(pair, before[name], after[name])
        else:
            text = f"taggedVersions {was.tagged_versions} became {now.tagged_versions}"
            spots = Spot(was.place, "taggedVersions"), Spot(now.place, "taggedVersions")
            yield pair.change("tagged-versions-changed", name, text, *spots)


def _compare_slots(pair: Pair, old: Slot, new: Slot) -> Iterator[Change]:
    """What is different between two slots that are the same field."""
    if _kind(old) != _kind(new):
        text = f"type {_type_text(old)} became {_type_text(new)}"
        is_same = wire_form((old,)) == wire_form((new,))
        rule, text = ("type-same-bytes", f"{text}, with the same bytes") if is_same else ("type-changed", text)
        yield pair.change(rule, new.name, text, *_spots(old, new, "type"))
        return
    yield from _compare_forms(pair, old, new)
    yield from _compare_attributes(pair, old, new)
    if old.body is not None and new.body is not None:
        yield from _compare_structs(pair, old, new)
        yield from compare_bodies(_inner_pair(pair, old, new), old.body, new.body)


def _kind(slot: Slot) -> object:
    """What two slots must have in common to be compared further; structs may have other names."""
    return (slot.type.is_array, slot.body is not None or slot.type.element) if slot.type else slot.body is not None


def _type_text(slot: Slot) -> str:
    if slot.type is None:
        return f"{slot.spec.type} with named bits"
    return f"{slot.type} ({slot.encoding})" if slot.encoding and slot.spec.encodings else str(slot.type)


def _compare_forms(pair: Pair, old: Slot, new: Slot) -> Iterator[Change]:
    if old.nullable != new.nullable:
        text = "may no longer be null" if old.nullable else "may be null now"
        yield pair.change("nullability-changed", new.name, text, *_spots(old, new, "nullableVersions"))
    if old.compact != new.compact:
        text = f"its length was {_length(old)}, now is {_length(new)}"
        yield pair.change("length-form-changed", new.name, text, *_spots(old, new, "flexibleVersions"))
    if old.encoding != new.encoding and old.type and new.type:
        text = f"encoding {old.encoding} became {new.encoding}"
        yield pair.change("encoding-changed", new.name, text, *_spots(old, new, encoding_property(new.type)))
    if old.rest != new.rest:
        before, after = dict(old.rest), dict(new.rest)
        for property_ in sorted({*before, *after}):
            if before.get(property_) != after.get(property_):
                text = f"{property_} {before.get(property_)} became {after.get(property_)}"
                yield pair.change("part-changed", new.name, text, *_spots(old, new, property_))


def _length(slot: Slot) -> str:
    return "a varint" if slot.compact else "of fixed width"


def _compare_attributes(pair: Pair, old: Slot, new: Slot) -> Iterator[Change]:
    """What Python, and whoever fills in the message, sees of a field."""
    was, now = old.attribute, new.attribute
    if was is None or now is None:
        return
    if old.nullable == new.nullable and repr(was.default) != repr(now.default):
        rule = "default-changed" if new.tag is None else "tagged-default-changed"
        text = f"default {_default_text(was.default)} became {_default_text(now.default)}"
        yield pair.change(rule, new.name, text, *_spots(old, new, "default"))
    if was.ignorable != now.ignorable:
        text = "is ignorable now" if now.ignorable else "is no longer ignorable"
        yield pair.change("ignorable-changed", new.name, text, *_spots(old, new, "ignorable"))
    if was.map_key != now.map_key:
        text = "is part of the key now" if now.map_key else "is no longer part of the key"
        yield pair.change("map-key-changed", new.name, text, *_spots(old, new, "mapKey"))
    if was.entity_type != now.entity_type:
        text = f"entityType {was.entity_type or 'unknown'} became {now.entity_type or 'unknown'}"
        yield pair.change("entity-type-changed", new.name, text, *_spots(old, new, "entityType"))


def _default_text(default: object) -> str:
    if default == ():
        return "empty"
    if isinstance(default, bool) or default is None:
        return {True: "true", False: "false", None: "null"}[default]
    return repr(default) if isinstance(default, str) else str(default)


def _compare_structs(pair: Pair, old: Slot, new: Slot) -> Iterator[Change]:
    was, now = _struct(old), _struct(new)
    if was is None or now is None or was.name == now.name:
        return
    text = f"struct {was.name} became {now.name}; the bytes do not tell its name"
    if now.is_common:
        path = f"{_message(pair)}.{now.name}"
        yield Change("struct-renamed", path, text, Spot(now.place), Spot(was.place), frozenset({pair.version}))
    else:
        yield pair.change("struct-renamed", new.name, text, *_spots(old, new, "type"))


def _inner_pair(pair: Pair, old: Slot, new: Slot) -> Pair:
    struct = _struct(new)
    path = f"{_message(pair)}.{struct.name}" if struct is not None and struct.is_common else f"{pair.path}.{new.name}"
    return Pair(path, _owner(old), _owner(new), pair.version)


def _owner(slot: Slot) -> Owner:
    struct = _struct(slot)
    if struct is None:
        return Owner(slot.spec.place, (), frozenset(bits.name for bits in slot.spec.wire.bits))
    return Owner.of_struct(struct.place, struct.fields)


def _struct(slot: Slot) -> StructSpec | None:
    return slot.body.struct if slot.body is not None else None


def _message(pair: Pair) -> str:
    return pair.path.partition(".")[0]


def _spots(old: Slot, new: Slot, property_: str = "name") -> tuple[Spot, Spot]:
    return Spot(old.spec.place, property_), Spot(new.spec.place, property_)

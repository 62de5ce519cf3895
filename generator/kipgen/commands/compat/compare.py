"""Two revisions of one message: what changed, in each version that both have and in all versions at once.

Each version that both revisions have is compared by its resolved wire items, not by the text of the specs: so two ways
to write the same bytes are no change. A change that touches several versions is one `Change` with all of them; `_Seen`
keeps a struct that many fields share from being compared, and reported, more than once.

One change must be one finding: hence `_Seen`, and the places where one difference hides another that follows from it.
`wire_items` has what is compared, `messages` what changed in a message as a whole, `gaps` what only one side has,
`tags` what must hold over all versions, `columns` what tables need, `rules` whom a change breaks, and `package` which
two messages belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kipgen.commands.compat.columns import compare_columns
from kipgen.commands.compat.direction import CONDITIONS, narrowed
from kipgen.commands.compat.enums import NO_ENUMS, EnumPairs, compare_field_enums
from kipgen.commands.compat.gaps import (
    explain_gap,
    gaps,
    match_gap,
    merge_replacements,
    names_of_moves,
    predecessors,
    renamed_items,
    takes_no_bytes,
)
from kipgen.commands.compat.messages import OF_NEW_FIELDS, compare_wholes, version_shift
from kipgen.commands.compat.model import Change, Spot, merge_versions
from kipgen.commands.compat.rules import BY_ID
from kipgen.commands.compat.tags import UsedTags, compare_tagged_data, compare_tags
from kipgen.commands.compat.wire_items import Owner, Pair, WireItem, WireItems, fingerprint, wire_items
from kipgen.language.spec import MessageSpec, StructSpec
from kipgen.language.types import encoding_property
from kipgen.language.versions import Versions
from kipgen.resolve.wire import resolve
from kipwire.description.fields import is_required
from kipwire.model.structs import Field

_NEVER_USED: UsedTags = {}


def compare_messages(
    old: MessageSpec, new: MessageSpec, used: UsedTags = _NEVER_USED, enums: EnumPairs = NO_ENUMS
) -> tuple[Change, ...]:
    """Find every change between two revisions of a message, each once, with all versions that it touches.

    Args:
        old: the released spec.
        new: the spec as it is now.
        used: the tags of the history.
        enums: the enums of both revisions.
    """
    # Without versions it reads no tag; if it comes back, git's history is the witness.
    tagged = () if new.valid_versions.is_empty else (*compare_tags(old, new, used), *compare_tagged_data(old, new))
    changes = (*compare_wholes(old, new), *tagged, *merge_replacements(compare_versions(old, new, enums)))
    # What is only renamed, or harms released versions, is told as such.
    told = {path for change in changes if change.rule not in OF_NEW_FIELDS for path in change.paths}
    return merge_versions(one for one in changes if one.rule not in OF_NEW_FIELDS or one.path not in told)


def compare_stored(old: MessageSpec, new: MessageSpec) -> tuple[Change, ...]:
    """Find every change of all versions' columns that no change of bytes or code explains: one change, one finding."""
    changes = compare_messages(old, new)
    renamed = {(one.old.name, one.new.name) for one in changes if one.rule in ("field-renamed", "tag-reused")}
    worse = {one.path for one in changes if BY_ID[one.rule].severity in ("wire", "source")}
    return merge_versions(change for change in compare_columns(old, new, renamed) if change.path not in worse)


def compare_versions(old: MessageSpec, new: MessageSpec, enums: EnumPairs = NO_ENUMS) -> Iterator[Change]:
    """Compare the bytes of each version that both have; findings have the version of the old spec.

    The tags themselves are judged for all versions at once, by `tags`.
    """
    shift = version_shift(old, new)
    # One change is one finding: lengths and tag sections are compared as if the flexible versions were the same.
    aligned = replace(new, flexible_versions=old.flexible_versions)
    owners = Owner(old.location, old.fields), Owner(new.location, new.fields)
    for version in old.valid_versions.each():
        later = version - shift
        if later not in new.valid_versions:
            continue
        if (version in old.flexible_versions) != (later in new.flexible_versions):
            text = f"flexibleVersions {old.flexible_versions} became {new.flexible_versions}"
            spots = Spot(new.location, "flexibleVersions"), Spot(old.location, "flexibleVersions")
            yield Change("flexible-versions-changed", new.name, text, *spots, frozenset({version}))
        items = wire_items(resolve(old, version)), wire_items(resolve(aligned, later))
        keeps_other_tags = old.extensible_tagged_versions
        pair = Pair(new.name, *owners, version, new.valid_versions, keeps_other_tags=keeps_other_tags, enums=enums)
        yield from compare_items(pair, *items)


_Seen = set[tuple[str, Versions, bool, WireItems, WireItems]]
"""The structs that have been compared, with their path, their versions and whether they may be left out: a common
struct is compared once, since its path does not say where it is used."""


def compare_items(pair: Pair, old: WireItems, new: WireItems) -> Iterator[Change]:
    """Find the differences between the items of one version, nested ones included; each once."""
    return _compare_items(pair, old, new, set())


def _compare_items(pair: Pair, old: WireItems, new: WireItems, seen: _Seen) -> Iterator[Change]:
    key = pair.path, pair.present, pair.is_left_out, old, new
    if key in seen:
        return
    seen.add(key)
    yield from _tag_switches(pair, old, new)
    yield from _compare_plain(pair, old, new, seen)
    yield from _compare_tagged(pair, old, new, seen)


def _tag_switches(pair: Pair, old: WireItems, new: WireItems) -> Iterator[Change]:
    """Find the fields that are tagged on one side and plain on the other."""
    for before, after, text in (
        (old.tagged, new.plain, "was a tagged field, is now a plain one"),
        (old.plain, new.tagged, "was a plain field, is now a tagged one"),
    ):
        later = {item.key: item for item in after}
        for item in before:
            if now := later.get(item.key):
                yield pair.change("tagged-and-plain", now.name, text, *_spots(item, now, "taggedVersions"))


def _compare_plain(pair: Pair, old: WireItems, new: WireItems, seen: _Seen) -> Iterator[Change]:
    tagged = {item.key for item in (*old.tagged, *new.tagged)}
    before = [item for item in old.plain if item.key not in tagged]
    after = [item for item in new.plain if item.key not in tagged]
    later = {item.key: item for item in after}
    both = [(item, later[item.key]) for item in before if item.key in later]
    names = {item.key for item, _ in both}
    # What takes no bytes has no place among them.
    solid = {item.key for item, now in both if not (takes_no_bytes(item) and takes_no_bytes(now))}
    moved = names_of_moves(*([item.key for item in items if item.key in solid] for items in (before, after)))
    was_after, is_after = predecessors(before), predecessors(after)
    for item, now in both:
        if item.key in moved:
            text = f"was {was_after[item.key]}, is now {is_after[item.key]}"
            yield pair.change("field-moved", now.name, text, *_spots(item, now))
    stays = solid - moved
    for gone, come in zip(gaps(before, stays, names), gaps(after, stays, names), strict=True):
        groups = match_gap(gone, come)
        both += renamed_items(groups)
        yield from explain_gap(pair, groups)
    for item, now in both:
        yield from _compare_item(pair, item, now, seen)


def _compare_tagged(pair: Pair, old: WireItems, new: WireItems, seen: _Seen) -> Iterator[Change]:
    """Compare the fields that are tagged on both sides; the tags themselves are judged for all versions at once."""
    before, after = ({item.key: item for item in items.tagged} for items in (old, new))
    plain = {item.key for item in (*old.plain, *new.plain)}
    for key in {**before, **after}:
        was, now = pair.old.field(key), pair.new.field(key)
        if key in plain or was is None or now is None or was.tag != now.tag:
            continue
        if key in before and key in after:
            yield from _compare_item(pair, before[key], after[key], seen)
        elif key in before or not pair.keeps_other_tags:
            text = f"taggedVersions {was.tagged_versions} became {now.tagged_versions}"
            spots = Spot(was.location, "taggedVersions"), Spot(now.location, "taggedVersions")
            yield pair.change("tagged-versions-changed", now.name, text, *spots, narrowed(key in before))


def _compare_item(pair: Pair, old: WireItem, new: WireItem, seen: _Seen) -> Iterator[Change]:
    """Find the differences between two items that are the same field."""
    if old.name != new.name and old.key == new.key:
        text = f"was {old.name}; attribute and bytes are the same"
        yield pair.change("field-respelled", new.name, text, *_spots(old, new))
    if _kind(old) != _kind(new):
        text = f"type {_type_text(old)} became {_type_text(new)}"
        is_same = fingerprint((old,)) == fingerprint((new,))
        rule, text = ("type-same-bytes", f"{text}, with the same bytes") if is_same else ("type-changed", text)
        yield pair.change(rule, new.name, text, *_spots(old, new, "type"))
        if is_same:
            yield from _compare_enums(pair, old, new)
        return
    yield from _compare_enums(pair, old, new)
    yield from _compare_encodings(pair, old, new)
    yield from _compare_attributes(pair, old, new)
    if old.inner is not None and new.inner is not None:
        yield from _compare_structs(pair, old, new)
        yield from _compare_items(_inner_pair(pair, old, new), old.inner, new.inner, seen)


def _compare_enums(pair: Pair, old: WireItem, new: WireItem) -> Iterator[Change]:
    """Compare the names of the numbers of a field."""
    are_numbers = all(item.type is not None and item.type.kind == "integer" for item in (old, new))
    change = compare_field_enums(pair.enums, old.spec, new.spec) if are_numbers else None
    if change is not None:
        yield pair.change(change.rule, new.name, change.text, *_spots(old, new, change.property))


def _kind(item: WireItem) -> object:
    """Key that two items must share to be compared further; structs may have other names."""
    return (item.type.is_array, item.inner is not None or item.type.element) if item.type else item.inner is not None


def _type_text(item: WireItem) -> str:
    if item.type is None:
        return f"{item.spec.type} with named bits"
    return f"{item.type} ({item.encoding})" if item.encoding and item.spec.encodings else str(item.type)


def _compare_encodings(pair: Pair, old: WireItem, new: WireItem) -> Iterator[Change]:
    if old.nullable != new.nullable:
        text = "may no longer be null" if old.nullable else "may now be null"
        # A struct that may be null has a byte for it, so neither side reads the other.
        has_byte = old.inner is not None and old.type is not None and not old.type.is_array
        first = None if has_byte else narrowed(old.nullable)
        yield pair.change("nullability-changed", new.name, text, *_spots(old, new, "nullableVersions"), first)
    if old.compact != new.compact:
        text = f"its length was {_length(old)}, is now {_length(new)}"
        yield pair.change("length-form-changed", new.name, text, *_spots(old, new, "flexibleVersions"))
    if old.encoding != new.encoding and old.type and new.type:
        text = f"encoding {old.encoding} became {new.encoding}"
        yield pair.change("encoding-changed", new.name, text, *_spots(old, new, encoding_property(new.type)))
    if old.rest != new.rest:
        before, after = dict(old.rest), dict(new.rest)
        for property_ in sorted({*before, *after}):
            if before.get(property_) != after.get(property_):
                was, now = (_part_text(property_, parts.get(property_)) for parts in (before, after))
                text = f"{was} became {now}" if property_ == "bits" else f"{property_} {was} became {now}"
                is_dropped, is_new = after.get(property_) is None, before.get(property_) is None
                first = narrowed(is_new) if property_ in CONDITIONS and (is_new or is_dropped) else None
                yield pair.change("part-changed", new.name, text, *_spots(old, new, property_), first)


def _part_text(property_: str, value: Any) -> str:
    """Put into words what `wire_items` makes of a property of layouts; items are counted from 1, as people do."""
    match property_, value:
        case _, None:
            return "none"
        case "bits", (lowest, number):
            return _bits_text(lowest, number)
        case "presence", (position, mask, means_present):
            return f"if {_mask_text(position, mask)} is {int(means_present)}"
        case "requiredIf", (position, mask):
            return _mask_text(position, mask)
        case "checksum", (algorithm, position):
            return f"{algorithm} from item {position + 1}"
        case "sizeOnlyWith" | "sorted" | "sameLengthAs", int():
            return f"item {value + 1}"
        case _:
            return "true" if value is True else str(value)


def _bits_text(lowest: int, number: int) -> str:
    return f"bit {lowest}" if number == 1 else f"bits {lowest}-{lowest + number - 1}"


def _mask_text(position: int, mask: int) -> str:
    lowest = (mask & -mask).bit_length() - 1
    return f"{_bits_text(lowest, mask.bit_count())} of item {position + 1}"


def _length(item: WireItem) -> str:
    return "a varint" if item.compact else "of fixed width"


def _compare_attributes(pair: Pair, old: WireItem, new: WireItem) -> Iterator[Change]:
    """Compare the attributes of a field in Python code."""
    was, now = old.attribute, new.attribute
    if was is None or now is None:
        return
    # With nullability the default mostly changes between null and empty, which follows from it. By their texts: -0.0
    # equals 0.0, and NaN not even itself.
    if old.nullable == new.nullable and repr(was.default) != repr(now.default):
        rule = "default-changed" if new.tag is None and not pair.is_left_out else "tagged-default-changed"
        text = f"default {_default_text(was)} became {_default_text(now)}"
        yield pair.change(rule, new.name, text, *_spots(old, new, "required" if is_required(now) else "default"))
    # Without an effect where every version has the field.
    if was.ignorable != now.ignorable and not new.spec.versions.contains(pair.present):
        text = "is now ignorable" if now.ignorable else "is no longer ignorable"
        yield pair.change("ignorable-changed", new.name, text, *_spots(old, new, "ignorable"))
    if was.map_key != now.map_key:
        text = "is now part of the key" if now.map_key else "is no longer part of the key"
        yield pair.change("map-key-changed", new.name, text, *_spots(old, new, "mapKey"))
    if was.entity_type != now.entity_type:
        text = f"entityType {was.entity_type or 'unknown'} became {now.entity_type or 'unknown'}"
        yield pair.change("entity-type-changed", new.name, text, *_spots(old, new, "entityType"))


def _default_text(field: Field) -> str:
    default = field.default
    if is_required(field):
        return "none"
    if default == () or default == b"":
        return "empty"
    if isinstance(default, bool) or default is None:
        return {True: "true", False: "false", None: "null"}[default]
    return repr(default) if isinstance(default, str) else str(default)


def _compare_structs(pair: Pair, old: WireItem, new: WireItem) -> Iterator[Change]:
    was, now = _struct(old), _struct(new)
    if was is None or now is None or was.name == now.name:
        return
    text = f"struct {was.name} became {now.name}; the name is not part of the bytes"
    # A common struct is renamed once, in whatever fields it is used.
    if now.is_common:
        path = f"{_message(pair)}.{now.name}"
        yield Change("struct-renamed", path, text, Spot(now.location), Spot(was.location), frozenset({pair.version}))
    else:
        yield pair.change("struct-renamed", new.name, text, *_spots(old, new, "type"))


def _inner_pair(pair: Pair, old: WireItem, new: WireItem) -> Pair:
    struct = _struct(new)
    path = f"{_message(pair)}.{struct.name}" if struct is not None and struct.is_common else f"{pair.path}.{new.name}"
    # A tagged struct is left out where all its fields have their defaults, so these are part of what peers agree on.
    is_default = new.type is not None and new.type.is_struct and new.spec.default is not None
    is_left_out = is_default and (new.tag is not None or pair.is_left_out)
    present = pair.present.intersect(new.spec.versions)
    return replace(pair, path=path, old=_owner(old), new=_owner(new), present=present, is_left_out=is_left_out)


def _owner(item: WireItem) -> Owner:
    struct = _struct(item)
    return Owner(item.spec.location, ()) if struct is None else Owner(struct.location, struct.fields)


def _struct(item: WireItem) -> StructSpec | None:
    return item.inner.struct if item.inner is not None else None


def _message(pair: Pair) -> str:
    return pair.path.partition(".")[0]


def _spots(old: WireItem, new: WireItem, property_: str = "name") -> tuple[Spot, Spot]:
    return Spot(old.spec.location, property_), Spot(new.spec.location, property_)

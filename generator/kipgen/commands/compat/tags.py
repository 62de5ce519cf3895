"""The tags of a message and its structs in all versions at once: a tag is a field's for ever, in one form (KIP-482).

Tags are compared apart from the items of a version, because a version does not bound them: a peer reads a tagged field
by its tag in whatever version has it, and keeps an unknown tag. So a tag that is gone in one version is still used by
peers of all others, and by what was stored.

A tag goes by the name of its field. A tagged field that was only renamed is therefore a finding: it looks like a field
that took over the tag of another, and only the author can distinguish the two. `compare_tags` looks at the versions
that were released, `compare_tagged_data` at those that only the new spec has, with the last released version that has
the field as the measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from dataclasses import field as field_with
from functools import cached_property

from kipgen.commands.compat.model import Change, Spot
from kipgen.language.names import attribute_name
from kipgen.language.spec import FieldSpec, Location, MessageSpec
from kipgen.language.tagged_forms import StructFields, WireForm, form_in, lowest_free_tag, plain_form
from kipgen.language.types import encoding_property
from kipwire.tools.text import count_of

NO_TAGS: frozenset[int] = frozenset()
UsedTags = Mapping[str, frozenset[int]]
"""Tags that were used in the history, by `TagSpace.below_message`."""


@dataclass(frozen=True)
class TagSpace:
    """The fields among which a tag is unique: the fields of a message or of a struct."""

    path: str
    """Path in messages: `Message.Field` for an inline struct, `Message.Struct` for a common one."""
    location: Location
    fields: tuple[FieldSpec, ...]
    reserved: tuple[int, ...]

    @cached_property
    def by_tag(self) -> dict[int, FieldSpec]:
        return {field.tag: field for field in self.fields if field.tag is not None}

    @cached_property
    def by_attribute(self) -> dict[str, FieldSpec]:
        return {attribute_name(field.name): field for field in self.fields}

    def same(self, field: FieldSpec) -> FieldSpec | None:
        """Return the field of the same name, but for letter case that changes no attribute; None if there is none."""
        return self.by_attribute.get(attribute_name(field.name))

    @cached_property
    def all_reserved(self) -> frozenset[int]:
        return frozenset(self.reserved)

    @property
    def below_message(self) -> str:
        """The path below the message; empty for the message itself."""
        return self.path.partition(".")[2]

    @property
    def taken(self) -> frozenset[int]:
        """The tags that no other field can get, as far as the spec says."""
        return self.all_reserved | self.by_tag.keys()

    def lowest_free(self, used: Set[int] = NO_TAGS) -> int:
        """Return the lowest tag that no field has, had by `reservedTags`, or had among those used otherwise."""
        return lowest_free_tag(self.taken | used)


def compare_tags(old: MessageSpec, new: MessageSpec, used: UsedTags) -> Iterator[Change]:
    """Compare every tag that the released versions of the old spec have.

    Args:
        old: the released spec.
        new: the spec as it is now.
        used: the tags of the history, which new fields must not get, either.
    """
    for before, after in tag_space_pairs(old, new):
        free = after.lowest_free(before.taken | used.get(after.below_message, NO_TAGS))
        yield from _compare_spaces(old, before, after, free)


def tag_spaces(message: MessageSpec) -> Iterator[TagSpace]:
    """Yield the message's own tags and the tags of every struct that it uses."""
    for space, _ in tag_space_pairs(message, message):
        yield space


def tag_space_pairs(old: MessageSpec, new: MessageSpec) -> Iterator[tuple[TagSpace, TagSpace]]:
    """Yield the tag spaces of two revisions of a message that belong together."""
    return _pairs(old, new, _message_space(old), _message_space(new), set())


def _message_space(message: MessageSpec) -> TagSpace:
    return TagSpace(message.name, message.location, message.fields, message.reserved_tags)


def _pairs(
    old: MessageSpec, new: MessageSpec, before: TagSpace, after: TagSpace, seen: set[tuple[str, str]]
) -> Iterator[tuple[TagSpace, TagSpace]]:
    """Yield a pair of spaces and all below it; the structs of fields with one name belong together."""
    yield before, after
    for field in before.fields:
        now = after.same(field)
        if now is None or not field.type.has_struct or not now.type.has_struct:
            continue
        key = field.type.element, now.type.element
        if key not in seen:
            seen.add(key)
            yield from _pairs(old, new, _struct_space(old, before, field), _struct_space(new, after, now), seen)


def _struct_space(message: MessageSpec, around: TagSpace, field: FieldSpec) -> TagSpace:
    struct = message.struct(field.type.element)
    path = f"{message.name}.{struct.name}" if struct.is_common else f"{around.path}.{field.name}"
    return TagSpace(path, struct.location, struct.fields, struct.reserved_tags)


def _compare_spaces(message: MessageSpec, old: TagSpace, new: TagSpace, free: int) -> Iterator[Change]:
    for tag, field in old.by_tag.items():
        versions = frozenset(message.valid_versions.intersect(field.tagged_versions).each())
        taken = new.by_tag.get(tag)
        # Peers refuse a tag in versions other than they know it from, even if they know it from none that is valid.
        if taken is not None and taken is not new.same(field) and not message.extensible_tagged_versions:
            versions |= set(message.valid_versions.intersect(taken.tagged_versions).each())
        if versions:
            yield from _compare_tag(tag, field, new, versions, free)
    yield from _compare_reserved(old, new, free)


def _compare_tag(tag: int, field: FieldSpec, new: TagSpace, versions: frozenset[int], free: int) -> Iterator[Change]:
    """Compare one tag of a field in the released versions in which it matters."""
    spot, taken = Spot(field.location, "tag"), new.by_tag.get(tag)
    same = new.same(field)
    if taken is not None and taken is not same:
        text = f"tag {tag} belonged to {field.name}; the lowest free tag is {free}"
        yield Change("tag-reused", f"{new.path}.{taken.name}", text, Spot(taken.location, "tag"), spot, versions)
    elif taken is None and same is not None and same.tag is not None:
        text = f"tag {tag} became {same.tag}"
        yield Change("tag-changed", f"{new.path}.{same.name}", text, Spot(same.location, "tag"), spot, versions)
    elif taken is None and not _is_plain(same, versions):
        is_reserved = tag in new.all_reserved
        rule = "tagged-field-removed" if is_reserved else "tag-forgotten"
        text = f"the field with tag {tag} was removed{'' if is_reserved else ', and its tag is not reserved'}"
        yield Change(rule, f"{new.path}.{field.name}", text, Spot(new.location, "reservedTags"), spot, versions)


def _is_plain(field: FieldSpec | None, versions: frozenset[int]) -> bool:
    """True if one of these versions has the field without a tag, which is a finding about the version."""
    return field is not None and any(version in field.versions for version in versions)


def _compare_reserved(old: TagSpace, new: TagSpace, free: int) -> Iterator[Change]:
    spot = Spot(old.location, "reservedTags")
    for tag in old.reserved:
        field = new.by_tag.get(tag)
        if field is not None:
            text = f"tag {tag} was reserved: it once belonged to another field; the lowest free tag is {free}"
            yield Change("tag-reused", f"{new.path}.{field.name}", text, Spot(field.location, "tag"), spot)
        elif tag not in new.all_reserved:
            text = f"tag {tag} is no longer reserved"
            yield Change("tag-forgotten", new.path, text, Spot(new.location, "reservedTags"), spot)


def compare_tagged_data(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """Compare the form of each tagged field in the versions that only the new spec has."""
    same: set[_Compared] = set()
    for before, after in tag_space_pairs(old, new):
        for tag, was in before.by_tag.items():
            released = old.valid_versions.intersect(was.tagged_versions)
            now = after.by_tag.get(tag)
            if not released.is_empty and now is not None and now is after.same(was):
                yield from _compare_field(old, new, after, was, now, same)


_Compared = tuple[bool, tuple[int, int], str, str]
"""Two structs that have been compared: whether the first is of the old spec, the two versions, and their names."""


def _compare_field(
    old: MessageSpec, new: MessageSpec, space: TagSpace, was: FieldSpec, now: FieldSpec, same: set[_Compared]
) -> Iterator[Change]:
    released = old.valid_versions.intersect(was.tagged_versions)
    kept = released.intersect(new.valid_versions.intersect(now.tagged_versions))
    # What changed in a released version is a finding about it; from there on, the new spec is its own measure.
    first, before, last = (old, was, released.highest) if kept.is_empty else (new, now, kept.highest)
    for version in new.valid_versions.intersect(now.tagged_versions).each():
        if version not in old.valid_versions:
            spot = Spot(was.location, "tag")
            structs = first.struct_fields, new.struct_fields
            data = _Data(structs, (last, version), spot, frozenset(released.each()), first is old, same)
            changes = list(data.compare(space.path, before, now, form_in(before, last), form_in(now, version)))
            yield from changes
            if changes:
                return  # the versions after it repeat them
            same |= data.seen


@dataclass(frozen=True, slots=True)
class _Data:
    """The data of one tagged field: in the last released version that has it, and in a new one."""

    structs: tuple[StructFields, StructFields]
    versions: tuple[int, int]
    was: Spot
    released: frozenset[int]
    is_first_old: bool
    same: set[_Compared]
    """The structs that have been found to be the same, as the data of other fields."""
    seen: set[_Compared] = field_with(default_factory=set)
    """The structs that have been compared as the data of this field."""

    def compare(self, path: str, was: FieldSpec, now: FieldSpec, before: WireForm, after: WireForm) -> Iterator[Change]:
        """Find the differences between the tagged field, or a plain field in its data, and what it has become."""
        path = f"{path}.{now.name}"
        if before != after:
            yield self._change(path, now, before, after)
        key = self.is_first_old, self.versions, was.type.element, now.type.element
        if was.type.has_struct and now.type.has_struct and key not in self.seen and key not in self.same:
            self.seen.add(key)
            yield from self._compare_structs(path, was, now)

    def _change(self, path: str, now: FieldSpec, before: WireForm, after: WireForm) -> Change:
        first, second = self.versions
        if str(before) == str(after):
            text, property_ = f"version {second} has another default", "default"
        else:
            text = f"{before} in version {first} is {after} in version {second}"
            property_ = encoding_property(now.type) if before.written != after.written else "nullableVersions"
        return Change("tagged-form-changed", path, text, Spot(now.location, property_), self.was, self.released)

    def _compare_structs(self, path: str, was: FieldSpec, now: FieldSpec) -> Iterator[Change]:
        names = was.type.element, now.type.element
        old, new = (
            [(one, form) for one in structs[name] if (form := plain_form(one, version))]
            for structs, name, version in zip(self.structs, names, self.versions, strict=True)
        )
        for (one, before), (later, after) in zip(old, new, strict=False):
            yield from self.compare(path, one, later, before, after)
        if len(old) != len(new):
            first, second = self.versions
            text = (
                f"its data has {count_of(len(old), 'plain field')} in version {first}, {len(new)} in version {second}"
            )
            yield Change("tagged-form-changed", path, text, Spot(now.location, "fields"), self.was, self.released)

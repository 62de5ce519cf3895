"""The form of a tagged field in versions that are new: it is the one that it had before (KIP-482)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kipgen.commands.compat.model import Change, Spot
from kipgen.commands.compat.tags import TagSpace, tag_space_pairs
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.tagged_forms import Form, StructFields, form_in, plain_form
from kipgen.language.types import encoding_property
from kipwire.tools.words import counted


def compare_tagged_data(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """What became of the form of each tagged field in the versions that only the new spec has."""
    same: set[_Compared] = set()
    for before, after in tag_space_pairs(old, new):
        for tag, was in before.by_tag.items():
            released = old.valid_versions.intersect(was.tagged_versions)
            now = after.by_tag.get(tag)
            if not released.is_empty and now is not None and now.name == was.name:
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
    seen: set[_Compared] = field(default_factory=set)
    """The structs that have been compared as the data of this one."""

    def compare(self, path: str, was: FieldSpec, now: FieldSpec, before: Form, after: Form) -> Iterator[Change]:
        """The differences between the tagged field, or a plain field in its data, and what it has become."""
        path = f"{path}.{now.name}"
        if before != after:
            yield self._change(path, now, before, after)
        key = self.is_first_old, self.versions, was.type.element, now.type.element
        if was.type.has_struct and now.type.has_struct and key not in self.seen and key not in self.same:
            self.seen.add(key)
            yield from self._compare_structs(path, was, now)

    def _change(self, path: str, now: FieldSpec, before: Form, after: Form) -> Change:
        first, second = self.versions
        if str(before) == str(after):
            text, property_ = f"the default in version {second} is another one", "default"
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
            text = f"its data has {counted(len(old), 'plain field')} in version {first}, {len(new)} in version {second}"
            yield Change("tagged-form-changed", path, text, Spot(now.location, "fields"), self.was, self.released)

"""The form of a tagged field in versions that are new: it is the one that it had before (KIP-482)."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.commands.compat.change import Change, Spot
from kipgen.commands.compat.tags import TagSpace, tag_space_pairs
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.tagged_forms import Form, form_in, plain_form
from kipgen.language.types import encoding_property


def compare_tagged_data(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """What became of the form of each tagged field in the versions that only the new spec has."""
    for before, after in tag_space_pairs(old, new):
        for tag, was in before.by_tag.items():
            released = old.valid_versions.intersect(was.tagged_versions)
            now = after.by_tag.get(tag)
            if released.is_empty or now is None or now.name != was.name:
                continue
            for version in new.valid_versions.intersect(now.tagged_versions).each():
                if version not in old.valid_versions:
                    data = _Data(old, new, released.highest, version, frozenset(released.each()))
                    changes = list(data.tagged(after, was, now))
                    yield from changes
                    if changes:
                        break  # the next versions repeat it


class _Data:
    """The data of one tagged field: in the last released version, and in a new one."""

    def __init__(self, old: MessageSpec, new: MessageSpec, before: int, after: int, released: frozenset[int]) -> None:
        self.structs = old.struct_fields, new.struct_fields
        self.versions = before, after
        self.released = released
        self.seen: set[tuple[str, str]] = set()

    def tagged(self, space: TagSpace, was: FieldSpec, now: FieldSpec) -> Iterator[Change]:
        before, after = self.versions
        yield from self._compare(space.path, was, now, form_in(was, before), form_in(now, after))

    def _compare(self, path: str, was: FieldSpec, now: FieldSpec, before: Form, after: Form) -> Iterator[Change]:
        path = f"{path}.{now.name}"
        if before != after:
            property_ = encoding_property(now.type) if before.written != after.written else "nullableVersions"
            text = f"{before} in version {self.versions[0]} is {after} in version {self.versions[1]}"
            if str(before) == str(after):
                property_, text = "default", f"the default in version {self.versions[1]} is another one"
            spots = Spot(now.location, property_), Spot(was.location, property_)
            yield Change("tagged-form-changed", path, text, *spots, self.released)
        key = was.type.element, now.type.element
        if was.type.has_struct and now.type.has_struct and key not in self.seen:
            self.seen.add(key)
            yield from self._compare_structs(path, was, now)

    def _compare_structs(self, path: str, was: FieldSpec, now: FieldSpec) -> Iterator[Change]:
        old, new = (
            [(field, form) for field in structs[name] if (form := plain_form(field, version))]
            for structs, name, version in zip(
                self.structs, (was.type.element, now.type.element), self.versions, strict=True
            )
        )
        for (inner, before), (later, after) in zip(old, new, strict=False):
            yield from self._compare(path, inner, later, before, after)
        if len(old) != len(new):
            text = f"its data has {len(old)} plain fields in version {self.versions[0]}, {len(new)} in version "
            spots = Spot(now.location, "fields"), Spot(was.location, "fields")
            yield Change("tagged-form-changed", path, f"{text}{self.versions[1]}", *spots, self.released)

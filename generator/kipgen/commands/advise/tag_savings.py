"""Advice on tags (KIP-482): which plain fields would be shorter as tagged ones, from counted messages and the spec.

Advice is about the next version alone, as with encodings: a released version keeps its bytes. `_reason` has the fields
that cannot be tagged there. A tagged field at its default takes no bytes; any other value takes more than before, by
its tag and its size. So each field has two figures, of which the first must be larger.

Fields are chosen one by one, the one that saves most first. No field in or around a chosen one is chosen, so the
savings of all can be added up. Tags are the lowest ones that no field of the struct has or had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, count

from kipgen.commands.advise.savings import AdviceError, expect_advisable, fields_with_paths, form_of_tagged
from kipgen.commands.advise.tag_counts import FieldUse, Forms, TagCounts
from kipgen.commands.compat.tags import NO_TAGS, UsedTags, tag_spaces
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.tagged_forms import kept_forms, lowest_free_tag
from kipgen.language.versions import Versions

WITHOUT_TAGS = {"layout": "a record format", "coordinator-key": "a coordinator's key"}
"""Types of messages that are never flexible."""


@dataclass(frozen=True, slots=True)
class TagAdvice:
    """Advice for one field of the spec."""

    paths: tuple[str, ...]
    """Paths of the field, such as `Topics.Partitions.LeaderId`; a field of a common struct may have several."""
    field: FieldSpec
    use: FieldUse
    tag: int
    """The field's tag, or the one that it would get."""
    is_tagged: bool
    """True if the field has the tag already; then the figures are what the tag has saved and cost."""
    text: str = ""
    """The properties to write into the spec; empty if nothing should change."""
    note: str = ""
    """Reason why the field gets no tag; mostly empty."""

    @property
    def path(self) -> str:
        """The first of the paths."""
        return self.paths[0]

    @property
    def saves(self) -> int:
        """Bytes that the values at the default take in a plain field."""
        return self.use.default_bytes

    @property
    def costs(self) -> int:
        """Bytes that the other values take for tag and size."""
        return self.use.cost(self.tag)

    @property
    def net(self) -> int:
        """Bytes that the tag saves; negative if it costs more."""
        return self.saves - self.costs


@dataclass(frozen=True, slots=True)
class MessageAdvice:
    """Advice for a message."""

    spec: MessageSpec
    counts: TagCounts
    fields: tuple[TagAdvice, ...]
    """Every field that the samples have, the one that a tag makes shortest first, then in the order of the spec."""

    @property
    def next_version(self) -> int:
        """The first version that is not released yet."""
        return self.spec.valid_versions.highest + 1

    @property
    def is_flexible_next(self) -> bool:
        """True if the next version is flexible, so that fields can be tagged in it."""
        return self.next_version in self.spec.flexible_versions

    @property
    def messages(self) -> int:
        """Number of messages counted."""
        return self.forms.messages

    @property
    def forms(self) -> Forms:
        """Bytes of all messages, of flexible versions and others."""
        both = Forms()
        both.add(self.counts.flexible)
        both.add(self.counts.others)
        return both

    @property
    def saved(self) -> int:
        """Bytes that all tags of the advice save together."""
        return sum(field.net for field in self.fields if field.text)


def advise_on_tags(spec: MessageSpec, counts: TagCounts, used: UsedTags) -> MessageAdvice:
    """Choose the fields of a message that should be tagged in its next version.

    Args:
        spec: the message, with at least one version that is served.
        counts: of its sample messages.
        used: tags that fields of its history had.

    Raises:
        AdviceError: the samples have fields that the spec has not, none of its versions is served, its type has no
            tags, or its fields have too many paths.
    """
    expect_advisable(spec)
    if spec.type in WITHOUT_TAGS:
        raise AdviceError(f"{spec.name} is {WITHOUT_TAGS[spec.type]}, and those have no tags")
    spaces = [_FreeTags(space.taken | used.get(space.below_message, NO_TAGS)) for space in tag_spaces(spec)]
    free = {field: one for space, one in zip(tag_spaces(spec), spaces, strict=True) for field in space.fields}
    paths: dict[FieldSpec, list[tuple[str, Versions]]] = {}
    for path, versions, field in fields_with_paths(spec, spec.fields, "", Versions.ALL):
        paths.setdefault(field, []).append((path, versions))
    uses, fields = dict(counts.fields), []
    kept = kept_forms(spec.struct_fields, spec.valid_versions)
    for field, where in paths.items():
        found = [uses.pop(path) for path, _ in where if path in uses]
        if found:
            tag = field.tag if field.tag is not None else free[field].lowest
            use = reduce(FieldUse.merged, found, FieldUse())
            note = _reason(spec, field, where, kept)
            one = TagAdvice(tuple(path for path, _ in where), field, use, tag, field.tag is not None, note=note)
            fields.append(one)
    if uses:
        raise AdviceError(f"the samples have the fields {', '.join(uses)}, but the spec of {spec.name} has not")
    fields.sort(key=lambda one: -one.net)
    chosen = {one.path: one for one in _choose(spec, fields, free)}
    final = [chosen.get(one.path) or one for one in fields]
    return MessageAdvice(spec, counts, tuple(sorted(final, key=lambda one: -one.net)))


def _reason(
    spec: MessageSpec, field: FieldSpec, paths: list[tuple[str, Versions]], kept: dict[FieldSpec, FieldSpec]
) -> str:
    """Say why a field cannot get a tag in the next version; "" if it can."""
    next_version = spec.valid_versions.highest + 1
    if field in kept:
        # "a tagged field" itself has its tag; a plain field in the data of one is part of its form.
        return "tagged already" if kept[field] is field else form_of_tagged(field.name, kept[field].name)
    if field.tag is not None:
        return "tagged already"
    if not any(next_version in versions for _, versions in paths):
        return f"not in version {next_version}, the next one"
    if not field.versions.is_open and not spec.closed_tagged_versions:
        return "its versions have an end, and tags have none (without closedTaggedVersions)"
    if field.map_key:
        return "a key, which is never left out"
    if field.flexible_versions is not None:
        return "has flexibleVersions of its own"
    if field.type.element == "records":
        return "records, which Kafka's generator cannot tag"
    return ""


class _FreeTags:
    """The tags of a struct that no field of it has or had; each is given once."""

    def __init__(self, taken: frozenset[int]) -> None:
        self.lowest = lowest_free_tag(taken)
        self._taken = taken

    def take(self) -> None:
        """Give the lowest tag away."""
        # Always on from here: from 0 each time, thousands of fields would take the square of their steps.
        self.lowest = next(tag for tag in count(self.lowest + 1) if tag not in self._taken)


def _choose(spec: MessageSpec, fields: list[TagAdvice], free: Mapping[FieldSpec, _FreeTags]) -> Iterator[TagAdvice]:
    """Yield the fields that should be tagged, and with a reason those that then cannot be.

    Args:
        spec: the message.
        fields: all, the one that saves most first.
        free: the tags that can be given.
    """
    next_version = spec.valid_versions.highest + 1
    chosen: dict[str, str] = {}
    """The paths of chosen fields, each with the first path of its field."""
    around: dict[str, str] = {}
    """The paths of the structs around chosen fields, each with the field that saves most."""
    for one in fields:
        tagged = replace(one, tag=free[one.field].lowest)
        if one.note or tagged.net <= 0:
            continue
        outer = [path for inner in one.paths for path in _outer_paths(inner)]
        others = (*(chosen.get(path) for path in outer), *(around.get(path) for path in one.paths))
        if other := next(filter(None, others), None):
            yield replace(one, note=f"not together with {other}, which saves more")
            continue
        versions = one.field.versions.intersect(Versions(next_version, Versions.ALL.highest))
        properties = {"taggedVersions": str(versions), "tag": tagged.tag}
        tagged = replace(tagged, text=json.dumps(properties)[1:-1])
        free[one.field].take()
        chosen |= dict.fromkeys(one.paths, one.path)
        for path in outer:
            around.setdefault(path, one.path)
        yield tagged


def _outer_paths(path: str) -> list[str]:
    """List the paths of the structs around a field, the outermost first."""
    return list(accumulate(path.split(".")[:-1], lambda outer, name: f"{outer}.{name}"))

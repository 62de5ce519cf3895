"""Two revisions of a message as a whole: its name, type and key, its versions, and the fields that come with them.

A new version harms no peers that negotiate, so this is about its readers and its writers. Records and data are read by
whoever finds them, also after a downgrade; `noNewVersions` in a spec rules new versions out for them. Code that sets a
new field meets the versions that lack it: `kipwire.convert` drops only what is ignorable or a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter

from kipgen.commands.compat.model import Change, Spot
from kipgen.language.defaults import type_default
from kipgen.language.names import attribute_name
from kipgen.language.spec import HEADERS, FieldSpec, Location, MessageSpec
from kipgen.language.versions import Versions

_NEGOTIATED = ("request", "response")
_WITHOUT_HEADER = ("data", "metadata", "coordinator-key", "coordinator-value")
_WITHOUT_NUMBER = frozenset({"data", "header", "layout"})
"""The types whose apiKey is not written."""
OF_NEW_FIELDS = ("new-field-not-ignorable", "new-field-reads-empty")
"""The rules of a field that no version of the old spec has."""
_MOST_NAMES = 12
"""Limit for the names of new fields in one finding."""


def compare_wholes(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """Compare the properties of the messages themselves, and find the fields that are new."""
    fields = list(_new_fields(old, new))
    yield from compare_identity(old, new)
    yield from _compare_ranges(old, new, fields)
    # A layout is converted by functions of its own, as a record batch is, if at all.
    if not new.is_layout:
        yield from _judge_new_fields(fields)


def version_shift(old: MessageSpec, new: MessageSpec) -> int:
    """Return by how much the versions of the new spec are lower: 0, except for the key of a coordinator's record.

    The log has one number before a key: of data its version, of a coordinator key its apiKey.
    """
    if (old.type, new.type) == ("data", "coordinator-key") and (new.api_key or 0) in old.valid_versions:
        return new.api_key or 0
    if (old.type, new.type) == ("coordinator-key", "data") and (old.api_key or 0) in new.valid_versions:
        return -(old.api_key or 0)
    return 0


def _change(
    old: MessageSpec, new: MessageSpec, rule: str, property_: str, text: str, versions: Iterable[int] = ()
) -> Change:
    spots = Spot(new.location, property_), Spot(old.location, property_)
    return Change(rule, new.name, text, *spots, frozenset(versions))


def compare_identity(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """Compare names, types and keys."""
    if old.name != new.name:
        yield _change(old, new, "message-renamed", "name", f"was {old.name}")
    is_record = old.type in _WITHOUT_HEADER and new.type in _WITHOUT_HEADER
    if old.type != new.type:
        rule = "message-type-changed"
        if is_record:
            rule = "data-type-given" if old.type == "data" else "record-type-changed"
        yield _change(old, new, rule, "type", f"type {old.type} became {new.type}")
    # With another header the apiKey mostly changes, too; that is no second finding.
    is_numbered = _WITHOUT_NUMBER.isdisjoint((old.type, new.type))
    if is_numbered and (is_record or old.type == new.type) and old.api_key != new.api_key:
        keys = ("none" if key is None else str(key) for key in (old.api_key, new.api_key))
        yield _change(old, new, "api-key-changed", "apiKey", f"apiKey {' became '.join(keys)}")


def _compare_ranges(old: MessageSpec, new: MessageSpec, fields: list[_NewField]) -> Iterator[Change]:
    """Compare the versions, in the numbers of the new spec; findings have the old numbers."""
    shift = version_shift(old, new)
    before, after = _lower(old.valid_versions, shift), new.valid_versions
    text = f"validVersions {old.valid_versions} became {after}"
    if after.is_empty and not before.is_empty:
        yield _change(old, new, "message-retired", "validVersions", text, old.valid_versions.each())
    elif not before.is_empty:
        if after.highest < before.highest:
            gone = Versions(after.highest + 1, before.highest).intersect(before)
            yield _change(old, new, "highest-version-lowered", "validVersions", text, _lower(gone, -shift).each())
        elif after.highest > before.highest:
            coming = _list_new_fields(fields, before.highest)
            yield _change(old, new, _rule_of_new_version(old, new), "validVersions", f"{text}; {coming}")
        if after.lowest < before.lowest <= after.highest:
            gained = Versions(after.lowest, before.lowest - 1)
            is_spoken = not gained.intersect(new.served_versions).is_empty
            rule = "lowest-version-lowered" if is_spoken else "old-versions-added"
            yield _change(old, new, rule, "validVersions", text)
        elif after.lowest > before.lowest:
            yield _change(old, new, "lowest-version-raised", "validVersions", text)
    elif not after.is_empty:
        rule = "old-versions-added" if new.served_versions.is_empty else "versions-added"
        yield _change(old, new, rule, "validVersions", text)
    if not new.served_versions.contains(_lower(old.served_versions, shift).intersect(after)):
        text = f"servedVersions {old.served_versions} became {new.served_versions}"
        yield _change(old, new, "served-versions-narrowed", "servedVersions", text)
    lost = sorted(set(old.listeners).difference(new.listeners))
    if lost and not new.served_versions.is_empty:
        text = f"the listeners no longer have {' and '.join(lost)}"
        yield _change(old, new, "listeners-narrowed", "listeners", text)
    if new.latest_version_unstable and not old.latest_version_unstable and after.highest <= before.highest:
        text = f"version {after.highest} was released and is now marked unstable"
        yield _change(old, new, "released-made-unstable", "latestVersionUnstable", text)
    if old.no_new_versions and not (new.no_new_versions or after.is_empty):
        yield _change(old, new, "new-versions-allowed", "noNewVersions", "noNewVersions true became false")


def _lower(versions: Versions, shift: int) -> Versions:
    return versions if versions.is_empty else Versions(versions.lowest - shift, versions.highest - shift)


def _rule_of_new_version(old: MessageSpec, new: MessageSpec) -> str:
    # By the old mark: what was promised to readers is not taken back by the change that breaks it.
    if old.no_new_versions:
        return "new-version-refused"
    # A request says which header comes before it and its response, so their versions are agreed on with its own.
    is_negotiated = new.type in _NEGOTIATED or new.name in HEADERS.values()
    return "versions-added" if is_negotiated else "version-not-negotiated"


@dataclass(frozen=True, slots=True)
class _NewField:
    """A field that no version of the old spec has, in a message or struct that was there."""

    path: str
    spec: FieldSpec
    owner: Location
    """The message or struct in the old spec."""
    present: frozenset[int]
    """The versions that have it."""
    lacking: frozenset[int]
    """The versions that have its message or struct, but not the field."""


def _new_fields(old: MessageSpec, new: MessageSpec) -> Iterator[_NewField]:
    """Find the fields that are new, without those in structs that come with them; none if nothing was released."""
    if old.valid_versions.is_empty:
        return
    # By a struct's name in the new spec: its path, its name in the old one, and the versions that use it.
    uses: dict[str, dict[tuple[str, str], list[Versions]]] = {new.name: {(new.name, old.name): [new.valid_versions]}}
    # Users come before what they use, so each struct is looked at once, however many ways lead to it.
    for owner in (new.name, *(struct.name for struct in reversed(new.structs))):
        for (path, before), used in uses.get(owner, {}).items():
            within = _union(used)
            known = {
                attribute_name(field.name): field
                for field in old.struct_fields[before]
                if not field.versions.intersect(old.valid_versions).is_empty
            }
            for field in new.struct_fields[owner]:
                versions = [both for one in within if not (both := one.intersect(field.versions)).is_empty]
                was = known.get(attribute_name(field.name))
                if was is None and versions:
                    present = _each(versions)
                    location = old.location if before == old.name else old.struct(before).location
                    yield _NewField(f"{path}.{field.name}", field, location, present, _each(within) - present)
                elif was is not None and was.type.has_struct and field.type.has_struct:
                    struct = new.struct(field.type.element)
                    inner = f"{new.name}.{struct.name}" if struct.is_common else f"{path}.{field.name}"
                    uses.setdefault(struct.name, {}).setdefault((inner, was.type.element), []).extend(versions)


def _union(ranges: Iterable[Versions]) -> list[Versions]:
    """Merge ranges that overlap or follow each other."""
    merged: list[Versions] = []
    for one in sorted(ranges, key=attrgetter("lowest")):
        if merged and one.lowest <= merged[-1].highest + 1:
            merged[-1] = Versions(merged[-1].lowest, max(merged[-1].highest, one.highest))
        else:
            merged.append(one)
    return merged


def _each(ranges: Iterable[Versions]) -> frozenset[int]:
    return frozenset(version for one in ranges for version in one.each())


def _list_new_fields(fields: list[_NewField], highest: int) -> str:
    """List the fields that come with versions above the highest one so far, by version."""
    coming = sorted((min(field.present), field.path.partition(".")[2]) for field in fields)
    coming = [(version, name) for version, name in coming if version > highest]
    shown, more = coming[:_MOST_NAMES], len(coming) - _MOST_NAMES
    parts = [
        f"{', '.join(name for _, name in group)} in version {version}"
        for version, group in groupby(shown, key=itemgetter(0))
    ]
    return f"new: {'; '.join(parts)}{f'; {more} more' if more > 0 else ''}" if parts else "no new field"


def _judge_new_fields(fields: list[_NewField]) -> Iterator[Change]:
    for field in fields:
        spec = field.spec
        if field.lacking and not spec.ignorable:
            text = "a new field that is not ignorable, and that other versions lack"
            spot = Spot(spec.location, "ignorable")
            yield Change("new-field-not-ignorable", field.path, text, spot, Spot(field.owner), field.lacking)
        # One that is not null in all its versions cannot have null for a default.
        may_be_null = spec.nullable_versions.contains(spec.versions)
        is_left_out = field.lacking or not spec.tagged_versions.is_empty
        is_empty = spec.default is not None and spec.default == type_default(spec.type)
        if may_be_null and is_left_out and is_empty:
            default = "a struct of defaults" if spec.type.is_struct else "empty"
            text = f"a new field that may be null, but reads as {default} where it is absent"
            yield Change("new-field-reads-empty", field.path, text, Spot(spec.location, "default"), Spot(field.owner))

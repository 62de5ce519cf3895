"""Two revisions of one message: what changed, in the versions that both have and in all versions at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kipgen.commands.compat.columns import compare_columns
from kipgen.commands.compat.fields import Owner, Pair, compare_items
from kipgen.commands.compat.model import Change, Spot, merged
from kipgen.commands.compat.rules import BY_ID
from kipgen.commands.compat.tagged_data import compare_tagged_data
from kipgen.commands.compat.tags import compare_tags
from kipgen.commands.compat.wire_items import wire_items
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.resolve.wire import resolve


def compare_messages(old: MessageSpec, new: MessageSpec) -> tuple[Change, ...]:
    """Every change between two revisions of a message, each once, with all versions that it touches."""
    tagged = (*compare_tags(old, new), *compare_tagged_data(old, new))
    return merged((*_compare_heads(old, new), *tagged, *_compare_versions(old, new)))


def compare_stored(old: MessageSpec, new: MessageSpec) -> tuple[Change, ...]:
    """Every change of the columns of all versions that no change of bytes or code explains: one change, one finding."""
    changes = compare_messages(old, new)
    renamed = {(one.old.name, one.new.name) for one in changes if one.rule in ("field-renamed", "tag-reused")}
    worse = {one.path for one in changes if BY_ID[one.rule].severity in ("wire", "source")}
    return merged(change for change in compare_columns(old, new, renamed) if change.path not in worse)


def _compare_heads(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """What the messages say about themselves."""

    def change(rule: str, property_: str, text: str, versions: Versions = Versions.NONE) -> Change:
        spots = Spot(new.location, property_), Spot(old.location, property_)
        return Change(rule, new.name, text, *spots, frozenset(versions.each()))

    before, after = old.valid_versions, new.valid_versions
    if old.name != new.name:
        yield change("message-renamed", "name", f"was {old.name}")
    if old.type != new.type:
        yield change("message-type-changed", "type", f"type {old.type} became {new.type}")
    elif old.api_key != new.api_key:
        keys = ("none" if key is None else str(key) for key in (old.api_key, new.api_key))
        yield change("api-key-changed", "apiKey", f"apiKey {' became '.join(keys)}")
    if after.is_empty and not before.is_empty:
        yield change("message-retired", "validVersions", f"validVersions {before} became none", before)
    elif not before.is_empty:
        text = f"validVersions {before} became {after}"
        if after.highest < before.highest:
            gone = Versions(after.highest + 1, before.highest)
            yield change("highest-version-lowered", "validVersions", text, gone.intersect(before))
        elif after.highest > before.highest:
            yield change("versions-added", "validVersions", text)
        if after.lowest < before.lowest <= after.highest:
            gained = Versions(after.lowest, before.lowest - 1)
            is_spoken = not gained.intersect(new.served_versions).is_empty
            yield change("lowest-version-lowered" if is_spoken else "old-versions-added", "validVersions", text)
        elif after.lowest > before.lowest:
            yield change("lowest-version-raised", "validVersions", text)
    elif not after.is_empty:
        rule = "old-versions-added" if new.served_versions.is_empty else "versions-added"
        yield change(rule, "validVersions", f"validVersions none became {after}")
    if not new.served_versions.contains(old.served_versions.intersect(after)):
        text = f"servedVersions {old.served_versions} became {new.served_versions}"
        yield change("served-versions-narrowed", "servedVersions", text)
    if new.latest_version_unstable and not old.latest_version_unstable and after.highest <= before.highest:
        text = f"version {after.highest} was released and is now called unstable"
        yield change("released-made-unstable", "latestVersionUnstable", text)


def _compare_versions(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """The bytes of each version that both have."""
    common = old.valid_versions.intersect(new.valid_versions)
    # One change is one finding: lengths and tag sections are compared as if the flexible versions were the same.
    aligned = replace(new, flexible_versions=old.flexible_versions)
    owners = Owner(old.location, old.fields), Owner(new.location, new.fields)
    for version in common.each():
        if (version in old.flexible_versions) != (version in new.flexible_versions):
            text = f"flexibleVersions {old.flexible_versions} became {new.flexible_versions}"
            spots = Spot(new.location, "flexibleVersions"), Spot(old.location, "flexibleVersions")
            yield Change("flexible-versions-changed", new.name, text, *spots, frozenset({version}))
        items = wire_items(resolve(old, version)), wire_items(resolve(aligned, version))
        yield from compare_items(Pair(new.name, *owners, version), *items)

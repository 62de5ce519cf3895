"""Two revisions of a message as a whole: its name, type and key, and the versions that it has."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.commands.compat.model import Change, Spot
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions


def compare_wholes(old: MessageSpec, new: MessageSpec) -> Iterator[Change]:
    """Compare the properties of the messages themselves."""

    def change(rule: str, property_: str, text: str, versions: Versions = Versions.NONE) -> Change:
        spots = Spot(new.location, property_), Spot(old.location, property_)
        return Change(rule, new.name, text, *spots, frozenset(versions.each()))

    before, after = old.valid_versions, new.valid_versions
    if old.name != new.name:
        yield change("message-renamed", "name", f"was {old.name}")
    # With another type the apiKey is mostly another, too; that is no second finding.
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
        text = f"version {after.highest} was released and is now marked unstable"
        yield change("released-made-unstable", "latestVersionUnstable", text)

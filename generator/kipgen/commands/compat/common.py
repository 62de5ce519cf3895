"""The versions of each message that two sets of specs share, byte for byte (`kipgen compat --common`).

Neither set need be the older one here: a fork and its origin have both gone on. A version is shared if both sides have
it and nothing in it breaks peers, in the request and in its response alike. A tagged field that only one side has
breaks nothing, since the other skips it, nor do the names of a field and its numbers; all are notes, since another name
may well be another meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kipgen.commands.compat.compare import compare_versions
from kipgen.commands.compat.messages import compare_identity
from kipgen.commands.compat.package import Matched, Pairs, header_changes
from kipgen.commands.compat.rules import BY_ID
from kipgen.commands.compat.wire_items import WireItems, wire_items
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.resolve.wire import resolve
from kipwire.tools.text import Part, printable_line

_NOTES = ("field-renamed", "enum-changed")
"""The rules of changes that leave the bytes as they are, but may change their meaning."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the two sides, from the first to the second."""

    path: str
    text: str
    is_wire: bool
    """True if the bytes differ; else it is a note."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The versions that both sides have of a message, or of a request and its response."""

    name: str
    """Name of the message; of a request and its response, what their names have in common."""
    messages: tuple[str, ...]
    sides: tuple[Versions, Versions]
    """The versions of the first side and of the second."""
    versions: tuple[int, ...]
    """The versions with the same bytes on both sides."""
    next: int | None
    """The lowest version above these that both sides have, with other bytes on each; None if there is none."""
    differences: tuple[Difference, ...]
    """The differences of bytes in that version."""
    notes: tuple[Difference, ...]
    """Other names, and tagged fields of one side alone, in the newest shared version."""


def shared_versions(pairs: Pairs) -> list[Shared]:
    """Find the shared versions of all messages that both sides have, by name; a request is told with its response."""
    together: dict[object, list[Matched]] = {}
    for pair in sorted(pairs.messages, key=lambda it: it.old.spec.type):
        key = pair.old.spec.api_key if _is_spoken(pair.old.spec) else None
        together.setdefault(pair.old.spec.name if key is None else key, []).append(pair)
    return sorted((_shared(matched, pairs) for matched in together.values()), key=lambda it: it.name)


def _is_spoken(spec: MessageSpec) -> bool:
    return spec.type in ("request", "response")


def _shared(matched: Sequence[Matched], pairs: Pairs) -> Shared:
    names = [pair.old.spec.name for pair in matched]
    sides = _versions(pair.old.spec for pair in matched), _versions(pair.new.spec for pair in matched)
    found: dict[int, list[Difference]] = {version: [] for version in sides[0].intersect(sides[1]).each()}
    for pair in matched:
        _collect(pair.old.spec, pair.new.spec, pairs, found)
    versions = tuple(version for version, differences in found.items() if not any(one.is_wire for one in differences))
    newest = versions[-1] if versions else -1
    next_one = next((version for version in found if version > newest), None)
    return Shared(
        name=names[0].removesuffix("Request") if len(names) > 1 else names[0],
        messages=tuple(names),
        sides=sides,
        versions=versions,
        next=next_one,
        differences=tuple(one for one in found.get(-1 if next_one is None else next_one, ()) if one.is_wire),
        notes=tuple(found.get(newest, ())),
    )


def _versions(specs: Iterable[MessageSpec]) -> Versions:
    """Return the versions that all of the specs have; requests and responses have only their served versions."""
    found = Versions.ALL
    for spec in specs:
        found = found.intersect(spec.served_versions if _is_spoken(spec) else spec.valid_versions)
    return found


def _collect(old: MessageSpec, new: MessageSpec, pairs: Pairs, found: dict[int, list[Difference]]) -> None:
    """Add the differences of a message to each of the versions."""
    for change in compare_identity(old, new):
        if BY_ID[change.rule].severity == "wire":
            for differences in found.values():
                differences.append(Difference(new.name, f"{change.rule}: {change.text}", True))
    for change in (*header_changes(old, new, *pairs.headers), *compare_versions(old, new, pairs.enums)):
        is_note = change.rule in _NOTES
        is_wire = BY_ID[change.rule].severity == "wire" and not is_note
        if is_wire or is_note:
            for version in change.versions & found.keys():
                found[version].append(Difference(change.path, f"{change.rule}: {change.text}", is_wire))
    for version, differences in found.items():
        # Where other bytes differ, the items of the two sides do not stand side by side.
        if version in old.flexible_versions and not any(one.is_wire for one in differences):
            items = wire_items(resolve(old, version)), wire_items(resolve(new, version))
            differences += _compare_tags(new.name, *items, set())


def _compare_tags(
    path: str, old: WireItems, new: WireItems, seen: set[tuple[WireItems, WireItems]]
) -> Iterator[Difference]:
    """Compare the tags of two structs that have the same plain fields, and of the structs in them."""
    if (old, new) in seen:
        return
    seen.add((old, new))
    before, after = ({item.tag: item for item in items.tagged} for items in (old, new))
    both = {item.key for item in old.tagged} & {item.key for item in new.tagged}
    pairs = list(zip(old.plain, new.plain, strict=False))
    for tag in sorted({*before, *after}, key=lambda it: it or 0):
        was, now = before.get(tag), after.get(tag)
        if was is not None and now is not None:
            if was.key != now.key:
                yield Difference(f"{path}.{now.name}", f"tag {tag} is {was.name} on the first side", True)
            pairs.append((was, now))
        elif (one := was or now) is not None:
            side = "first" if was is not None else "second"
            yield Difference(f"{path}.{one.name}", f"has tag {tag} on the {side} side alone", one.key in both)
    for was, now in pairs:
        if was.inner is not None and now.inner is not None:
            yield from _compare_tags(f"{path}.{now.name}", was.inner, now.inner, seen)


def common_lines(found: Sequence[Shared]) -> Iterator[tuple[Part, ...]]:
    """Write the report, line by line: the newest shared version of each message, and what keeps peers from the next."""
    for one in found:
        first, second = one.sides
        newest = (f"version {one.versions[-1]}", "green") if one.versions else ("no version", "red")
        yield (printable_line(one.name), "bold"), ": ", newest, f" ({first} and {second})"
        for difference in one.differences:
            yield (printable_line(f"    version {one.next}: {difference.path}: {difference.text}"),)
        for note in one.notes:
            yield (printable_line(f"    note: {note.path}: {note.text}"),)


def common_json(found: Sequence[Shared], alone: tuple[Sequence[str], Sequence[str]]) -> dict[str, object]:
    """Convert the report to plain values, for other programs.

    Args:
        found: the messages that both sides have.
        alone: the messages that only the first or only the second has.
    """
    return {"messages": [_plain(one) for one in found], "alone": [list(side) for side in alone]}


def _plain(one: Shared) -> dict[str, object]:
    return {
        "name": one.name,
        "messages": list(one.messages),
        "newest": one.versions[-1] if one.versions else None,
        "versions": list(one.versions),
        "sides": [str(side) for side in one.sides],
        "next": one.next,
        "differences": [{"path": it.path, "text": it.text} for it in one.differences],
        "notes": [{"path": it.path, "text": it.text} for it in one.notes],
    }

"""Our specs compared with those of a Kafka release: every fact that differs, or that only one of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kipgen.commands.drift.facts import PROPERTIES, Node, Value, nodes
from kipgen.commands.drift.jars import Published
from kipgen.commands.drift.versions import oldest_version, since
from kipgen.language.spec import Location, MessageSpec
from kipgen.reading.draft import Draft

WHOLE = ("message", "struct", "field")
"""What may be missing as a whole."""
ORDER = "order"
"""The fact that says which of the fields that both sides have come first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that our specs and Kafka's do not share."""

    message: str
    path: str
    """What it is about, as in `Topics.Name` or `struct Cursor`; "" for the message itself."""
    fact: str
    """A property such as `nullableVersions`, `ORDER`, or one of `WHOLE`."""
    ours: Value | None
    """What our spec says; None if it says nothing, so that the language's default holds. Of a whole, its facts."""
    kafka: Value | None
    """Likewise what Kafka says."""
    location: Location
    """The location in our spec; if our specs lack it, the location in the jar."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Our specs and a release, compared."""

    differences: tuple[Difference, ...]
    """By message, and within one in the order of its fields."""
    messages: int
    """How many messages were compared: those of either side."""


def compare(ours: Mapping[Path, Draft], release: Mapping[str, Published]) -> Drift:
    """Compare specs with a release.

    A message that no jar has counts only if a jar has others of its folder: the jars may be some of a release. Layouts
    are left out, since Kafka has no specs of its record formats, and so are messages that are no longer served.

    Args:
        ours: our specs by file.
        release: Kafka's by name.
    """
    known = {draft.message.name: draft for draft in ours.values()}
    covered = covered_folders(ours, release)
    judged = [
        draft.message.name
        for file, draft in ours.items()
        if draft.message.name in release or (file.parent in covered and _is_due(draft.message))
    ]
    found: list[Difference] = []
    names = sorted({*judged, *release})
    for name in names:
        theirs = release[name].draft if name in release else None
        found += differences(known.get(name), theirs)
    return Drift(tuple(found), len(names))


def _is_due(message: MessageSpec) -> bool:
    """Whether a release is expected to have it."""
    return not message.is_layout and not message.served_versions.is_empty


def covered_folders(ours: Mapping[Path, Draft], release: Mapping[str, Published]) -> dict[Path, str]:
    """The folders that have messages of the release, each with the jar that has most of them."""
    counts: dict[Path, Counter[str]] = {}
    for file, draft in ours.items():
        if draft.message.name in release:
            counts.setdefault(file.parent, Counter())[release[draft.message.name].jar] += 1
    return {folder: jars.most_common(1)[0][0] for folder, jars in counts.items()}


def differences(ours: Draft | None, kafka: Draft | None) -> Iterator[Difference]:
    """What two specs of one message do not share in the versions that Kafka has; None is a spec that is not there."""
    there = ours or kafka
    assert there is not None
    message = there.message.name
    oldest = oldest_version(kafka)
    left = nodes(ours, oldest) if ours is not None else {}
    right = nodes(kafka, oldest) if kafka is not None else {}
    for path in _in_order(left, right):
        mine, yours = left.get(path), right.get(path)
        if mine is not None and yours is not None:
            yield from _of_one(message, mine, yours, oldest)
        elif not _is_within_a_whole(path, left, right):
            yield _whole(message, mine, yours)


def _in_order(left: Mapping[str, Node], right: Mapping[str, Node]) -> Iterator[str]:
    """The paths of both; a path that only the right has follows the path before it there."""
    following: dict[str, list[str]] = {"": []}
    last = ""
    for path in right:
        if path in left:
            last = path
        else:
            following.setdefault(last, []).append(path)
    for path in left or right:
        yield path
        if left:
            yield from following.get(path, ())


def _is_within_a_whole(path: str, left: Mapping[str, Node], right: Mapping[str, Node]) -> bool:
    """Whether its container is missing too, so that reporting it adds nothing."""
    if not path:
        return False
    outer = path.rpartition(".")[0]
    return outer not in left or outer not in right


def _whole(message: str, mine: Node | None, yours: Node | None) -> Difference:
    node = mine or yours
    assert node is not None
    mine_facts = dict(_plain(mine.facts)) if mine is not None else None
    your_facts = dict(_plain(yours.facts)) if yours is not None else None
    return Difference(message, node.path, node.kind, mine_facts, your_facts, node.part.location())


def _plain(facts: Mapping[str, Value]) -> Iterable[tuple[str, str]]:
    return ((name, value_text(facts[name])) for name in PROPERTIES if name in facts and name != "name")


def _of_one(message: str, mine: Node, yours: Node, oldest: int) -> Iterator[Difference]:
    for name in PROPERTIES:
        here, there = mine.facts.get(name), yours.facts.get(name)
        if since(name, here, oldest) != since(name, there, oldest):
            is_served = name == "validVersions" and "servedVersions" in mine.part.given
            location = mine.part.location("servedVersions" if is_served else name)
            yield Difference(message, mine.path, name, here, there, location)
    both = set(mine.children) & set(yours.children)
    shared = [path for path in mine.children if path in both]
    theirs = [path for path in yours.children if path in both]
    if shared != theirs:
        location = mine.part.location("fields")
        yield Difference(message, mine.path, ORDER, _names(shared), _names(theirs), location)


def _names(paths: list[str]) -> list[str]:
    return [path.rpartition(".")[2] for path in paths]


def value_text(value: Value) -> str:
    """A fact as people read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in value.items())
    return str(value)

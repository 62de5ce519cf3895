"""Our specs beside those of a Kafka release: every fact that only one side has, or that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kipgen.draft import Draft
from kipgen.drift_facts import PROPERTIES, Node, Value, nodes
from kipgen.drift_jars import Published
from kipgen.drift_versions import oldest_version, since
from kipgen.spec import MessageSpec, Place

WHOLE = ("message", "struct", "field")
"""What one side may lack altogether."""
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
    place: Place
    """Where it stands in our spec; of what our specs lack, where it stands in the jar."""


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
    """The paths of both, those of the right alone behind what is before them there."""
    behind: dict[str, list[str]] = {"": []}
    last = ""
    for path in right:
        if path in left:
            last = path
        else:
            behind.setdefault(last, []).append(path)
    for path in left or right:
        yield path
        if left:
            yield from behind.get(path, ())


def _is_within_a_whole(path: str, left: Mapping[str, Node], right: Mapping[str, Node]) -> bool:
    """Whether what is around it is missing too, so that this says nothing new."""
    if not path:
        return False
    outer, dot, _ = path.rpartition(".")
    parent = outer if dot else ""
    return parent not in left or parent not in right


def _whole(message: str, mine: Node | None, yours: Node | None) -> Difference:
    node = mine or yours
    assert node is not None
    mine_facts = dict(_plain(mine.facts)) if mine is not None else None
    your_facts = dict(_plain(yours.facts)) if yours is not None else None
    return Difference(message, node.path, node.kind, mine_facts, your_facts, node.part.place())


def _plain(facts: Mapping[str, Value]) -> Iterable[tuple[str, str]]:
    return ((name, value_text(facts[name])) for name in PROPERTIES if name in facts and name != "name")


def _of_one(message: str, mine: Node, yours: Node, oldest: int) -> Iterator[Difference]:
    for name in PROPERTIES:
        here, there = mine.facts.get(name), yours.facts.get(name)
        if since(name, here, oldest) != since(name, there, oldest):
            is_served = name == "validVersions" and "servedVersions" in mine.part.given
            place = mine.part.place("servedVersions" if is_served else name)
            yield Difference(message, mine.path, name, here, there, place)
    both = set(mine.children) & set(yours.children)
    shared = [path for path in mine.children if path in both]
    theirs = [path for path in yours.children if path in both]
    if shared != theirs:
        place = mine.part.place("fields")
        yield Difference(message, mine.path, ORDER, _names(shared), _names(theirs), place)


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

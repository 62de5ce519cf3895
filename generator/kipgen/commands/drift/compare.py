"""Comparison of specs with Kafka's jars: the facts of each, as plain values, and the differences.

A spec becomes `Node`s by path, each a flat dictionary of facts, so comparing two specs is comparing dictionaries.
Kafka's specs start at the oldest version that its release serves, and ours keep the older ones. So every fact that is a
range of versions is first restricted to the versions that Kafka has (`since`); else each dropped version would be a
difference.

A fact that equals the default of the language is left out of a node, since Kafka's specs and ours write some of them
out and others not. A property that is to be compared needs a place in `PROPERTIES` and its value in `_message_facts` or
`_field_facts`; `write` then writes it as well.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kipgen.commands.drift.jars import Published, Release
from kipgen.language.defaults import type_default
from kipgen.language.spec import Default, FieldSpec, Location, MessageSpec, StructSpec
from kipgen.language.types import encoding_property
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft, FieldDraft, SpecPart, StructDraft
from kipgen.resolve.headers import HeaderVersions, header_versions, numbers_of, ranges_of

Value = str | int | bool | list[str] | dict[str, str]
"""A fact as it is written in a spec."""

PROPERTIES = (
    *("apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions"),
    *(
        "headerVersions",
        "latestVersionUnstable",
        "versions",
        "tag",
        "taggedVersions",
        "nullableVersions",
        "default",
        "encoding",
    ),
    *("elementEncoding", "ignorable", "mapKey", "zeroCopy", "entityType"),
)
"""The properties that are facts, in the order in which they are written; of a field, the name goes first."""


@dataclass(frozen=True, slots=True)
class Node:
    """A message, a struct that several fields share, or a field."""

    kind: str
    """`message`, `struct` or `field`."""
    path: str
    """The names that lead to the node, such as `Topics.Name` or `struct Cursor.TopicName`; "" for the message."""
    facts: Mapping[str, Value]
    """Values by property; values equal to the language's default are left out."""
    part: SpecPart
    children: tuple[str, ...]
    """The paths of its own fields, in their order."""


def nodes(draft: Draft, oldest: int = 0) -> dict[str, Node]:
    """Everything that a spec has, by path: outer before inner, the message first.

    Args:
        draft: a spec that could be read as a whole.
        oldest: what only versions below this one have is left out.
    """
    # An inline struct is found at its field; a common one, which several fields may share, has a path of its own.
    structs = {struct.spec.name: struct for struct in draft.structs if struct.kind == "inline"}
    found: dict[str, Node] = {}

    def add(kind: str, path: str, facts: dict[str, Value], part: SpecPart, struct: StructDraft | None) -> None:
        fields = [field for field in struct.fields if _exists(field.spec, oldest)] if struct is not None else []
        inner = [(f"{path}.{field.spec.name}" if path else field.spec.name, field) for field in fields]
        found[path] = Node(kind, path, _stated_facts(facts), part, tuple(one for one, _ in inner))
        for one, field in inner:
            add("field", one, _field_facts(field.spec), field.part, _own_struct(field, structs))

    for struct in draft.structs:
        if struct.kind == "message":
            add("message", "", _message_facts(draft.message), struct.part, struct)
        elif struct.kind == "common" and _exists(struct.spec, oldest):
            facts: dict[str, Value] = {"name": struct.spec.name, "versions": str(struct.spec.versions)}
            add("struct", f"struct {struct.spec.name}", facts, struct.part, struct)
    return found


def _exists(spec: FieldSpec | StructSpec, oldest: int) -> bool:
    """True if some version from the oldest on has the field or struct, or if no version has it."""
    return spec.versions.is_empty or spec.versions.highest >= oldest


def _own_struct(field: FieldDraft, structs: Mapping[str, StructDraft]) -> StructDraft | None:
    """Find the struct that a field defines, which shares the field's location in the document."""
    struct = structs.get(field.spec.type.element)
    return struct if struct is not None and struct.part.path == field.part.path else None


def _message_facts(spec: MessageSpec) -> dict[str, Value]:
    """Collect the facts of a message itself. Kafka's valid versions are the served ones; it leaves out earlier ones."""
    return {
        "name": spec.name,
        "type": spec.type,
        "apiKey": "" if spec.api_key is None else spec.api_key,
        "validVersions": str(spec.served_versions),
        "flexibleVersions": "" if spec.valid_versions.is_empty else str(spec.flexible_versions),
        "deprecatedVersions": "" if spec.deprecated_versions.is_empty else str(spec.deprecated_versions),
        "headerVersions": {str(versions): str(number) for versions, number in spec.header_versions},
        "listeners": sorted(spec.listeners),
        "latestVersionUnstable": spec.latest_version_unstable,
    }


def _field_facts(spec: FieldSpec) -> dict[str, Value]:
    return {
        "name": spec.name,
        "type": str(spec.type),
        "versions": str(spec.versions),
        "tag": "" if spec.tag is None else spec.tag,
        "taggedVersions": "" if spec.tagged_versions.is_empty else str(spec.tagged_versions),
        "flexibleVersions": "" if spec.flexible_versions is None else str(spec.flexible_versions),
        "nullableVersions": "" if spec.nullable_versions.is_empty else str(spec.nullable_versions),
        # By their texts: -0.0 equals 0.0, and NaN not even itself.
        "default": "" if repr(spec.default) == repr(type_default(spec.type)) else _default_text(spec.default),
        encoding_property(spec.type): {str(versions): str(encoding) for versions, encoding in spec.encodings},
        "ignorable": spec.ignorable,
        "mapKey": spec.map_key,
        "zeroCopy": spec.zero_copy,
        "entityType": spec.entity_type or "",
    }


def _stated_facts(facts: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in facts.items() if value is not False and value not in ("", [], {})}


def _default_text(default: Default) -> str:
    if default is None:
        return "null"
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, UUID):
        return urlsafe_b64encode(default.bytes).decode().rstrip("=")
    return str(default)


RANGES = frozenset({"versions", "taggedVersions", "nullableVersions", "flexibleVersions", "deprecatedVersions"})
"""Properties of messages, structs and fields that are version ranges; validVersions are a fact of their own."""


OF_SERVED = frozenset({"listeners", "latestVersionUnstable"})
"""Properties that say nothing where no version is served."""


def oldest_version(kafka: Draft | None) -> int:
    """Find the lowest version of a message that a release has; beyond all if it has none, 0 if it lacks the message."""
    if kafka is None:
        return 0
    valid = kafka.message.valid_versions
    return MAX_VERSION + 1 if valid.is_empty else valid.lowest


def since(name: str, value: Value | None, oldest: int) -> Value | None:
    """Restrict a fact to a version and all later ones; None if nothing is left."""
    if name in OF_SERVED and oldest > MAX_VERSION:
        return None
    if name not in RANGES or value is None:
        return value
    versions = Versions.parse(str(value))
    later = versions.intersect(Versions(oldest, MAX_VERSION))
    return value if versions.is_empty else None if later.is_empty else str(later)


def with_older(name: str, ours: Value | None, kafka: Value | None, oldest: int) -> Value | None:
    """Merge a property: Kafka's value from its oldest version on, and our spec's value for older versions.

    Args:
        name: the property.
        ours: our spec's value.
        kafka: Kafka's value.
        oldest: the lowest version that Kafka has.
    """
    if name not in RANGES or ours is None:
        return kafka
    older = Versions.parse(str(ours)).intersect(Versions(0, oldest - 1))
    if older.is_empty:
        return kafka
    if kafka is None:
        return str(older)
    newer = Versions.parse(str(kafka))
    return str(Versions(older.lowest, newer.highest)) if newer.lowest <= oldest else kafka


def served_and_valid(ours: Versions, kafka: Versions) -> tuple[str | None, Versions]:
    """Make servedVersions (None if all are served) and validVersions for a release that serves other versions.

    Args:
        ours: the valid versions of our spec.
        kafka: the valid versions of Kafka's.
    """
    if kafka.is_empty:
        return (None if ours.is_empty else "none"), ours
    if ours.is_empty or kafka.lowest <= ours.lowest:
        return None, kafka
    # Kafka 4.0 dropped old versions (KIP-896), but what was written in them is still there to be read: they stay valid,
    # and are no longer served.
    return f"{kafka.lowest}+", Versions(ours.lowest, kafka.highest)


WHOLE = ("message", "struct", "field")
"""Elements that may be missing as a whole."""
ORDER = "order"
"""The fact for the order of the fields that both sides have."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that our specs and Kafka's do not share."""

    message: str
    path: str
    """Subject, such as `Topics.Name` or `struct Cursor`; "" for the message itself."""
    fact: str
    """A property such as `nullableVersions`, `ORDER`, or one of `WHOLE`."""
    ours: Value | None
    """Value in our spec; None if it has none, so that the language's default holds. For a whole element, its facts."""
    kafka: Value | None
    """Value in Kafka's spec, likewise."""
    location: Location
    """The location in our spec; if our specs lack it, the location in the jar."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Our specs and a release, compared."""

    differences: tuple[Difference, ...]
    """Differences, sorted by message, then in the order of its fields."""
    messages: int
    """Number of messages compared, of either side."""


class Headers(NamedTuple):
    """The headers of the package that our specs are, and of Kafka's release."""

    ours: HeaderVersions = HeaderVersions()
    kafka: HeaderVersions = HeaderVersions()


def compare(ours: Mapping[Path, Draft], release: Release) -> Drift:
    """Compare specs with a release.

    A message that no jar has counts only if a jar has others of its folder: the jars may be some of a release. Layouts
    are left out, since Kafka has no specs of its record formats, and so are messages that are no longer served.

    Args:
        ours: our specs by file.
        release: Kafka's; its messages with errors are not compared.
    """
    theirs, broken = release.messages, {one.message for one in release.broken}
    known = {draft.message.name: draft for draft in ours.values()}
    covered = covered_folders(ours, theirs)
    due = {draft.message.name for file, draft in ours.items() if file.parent in covered and _is_due(draft.message)}
    found: list[Difference] = []
    headers = Headers(
        header_versions(draft.message for draft in ours.values()),
        header_versions(one.draft.message for one in theirs.values()),
    )
    names = sorted({*(due - broken), *theirs})
    for name in names:
        found += differences(known.get(name), theirs[name].draft if name in theirs else None, headers)
    return Drift(tuple(found), len(names))


def _is_due(message: MessageSpec) -> bool:
    """True if a release is expected to have the message."""
    return not message.is_layout and not message.served_versions.is_empty


def covered_folders(ours: Mapping[Path, Draft], release: Mapping[str, Published]) -> dict[Path, str]:
    """Find the folders that have messages of the release, each with the jar that has most of them."""
    counts: dict[Path, Counter[str]] = {}
    for file, draft in ours.items():
        if draft.message.name in release:
            # A folder may have messages of several jars; the one with most of them counts.
            counts.setdefault(file.parent, Counter())[release[draft.message.name].jar] += 1
    return {folder: jars.most_common(1)[0][0] for folder, jars in counts.items()}


def differences(ours: Draft | None, kafka: Draft | None, headers: Headers) -> Iterator[Difference]:
    """Compare two specs of one message in the versions that Kafka has; None is a missing spec."""
    there = ours or kafka
    assert there is not None
    message = there.message.name
    oldest = oldest_version(kafka)
    left = nodes(ours, oldest) if ours is not None else {}
    right = nodes(kafka, oldest) if kafka is not None else {}
    if ours is not None and kafka is not None:
        stated = _stated_headers(ours.message, kafka.message, headers)
        for side, value in zip((left, right), stated, strict=True):
            side[""] = replace(side[""], facts={**side[""].facts, "headerVersions": value})
    for path in _in_order(left, right):
        mine, yours = left.get(path), right.get(path)
        if mine is not None and yours is not None:
            yield from _of_one(message, mine, yours, oldest)
        elif not _is_within_a_whole(path, left, right):
            yield _whole(message, mine, yours)


def _stated_headers(ours: MessageSpec, kafka: MessageSpec, headers: Headers) -> tuple[Value, Value]:
    """State the headers of both, by ranges; nothing where the versions that both have are preceded by the same ones.

    Kafka's specs say them since KIP-1313. Where a spec does not, they follow from the flexible versions, which are a
    fact of their own: so they are taken from the other spec here.
    """
    aligned = replace(ours, flexible_versions=kafka.flexible_versions)
    mine, yours = numbers_of(aligned, headers.ours), numbers_of(kafka, headers.kafka)
    if all(mine[version] == yours[version] for version in mine.keys() & yours.keys()):
        return {}, {}
    return ranges_of(ours, headers.ours), ranges_of(kafka, headers.kafka)


def _in_order(left: Mapping[str, Node], right: Mapping[str, Node]) -> Iterator[str]:
    """Yield the paths of both; a path that only the right has follows the path before it there."""
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
    """True if the struct or field around the path is missing too, so that a report of the path adds nothing."""
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
    """Format a fact for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in value.items())
    return str(value)

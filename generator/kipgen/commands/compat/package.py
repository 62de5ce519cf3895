"""Two revisions of all specs: which messages belong together, and what is found between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kipgen.commands.compat.compare import compare_messages, compare_stored
from kipgen.commands.compat.direction import first_side
from kipgen.commands.compat.enums import NO_ENUMS, EnumPairs, EnumRevision, enum_findings, match_enums
from kipgen.commands.compat.model import Change, Finding, Spot, merge_versions
from kipgen.commands.compat.rules import BY_ID
from kipgen.commands.compat.tags import UsedTags
from kipgen.language.spec import HEADERS, Location, MessageSpec
from kipgen.reading.draft import Draft, SpecPart
from kipgen.resolve.headers import HeaderVersions, header_versions, numbers_of
from kipwire.model.api_keys import VERSIONS_ANSWER
from kipwire.tools.text import count_of


@dataclass(frozen=True)
class Revision:
    """One spec without errors, old or new."""

    file: str
    """Name of the file in findings."""
    relative: str
    """The file below the folder of specs; its own name if it was given as a file."""
    package: str
    """The folder of its package; empty if that is not known."""
    spec: MessageSpec
    draft: Draft

    def location(self, spot: Spot) -> Location:
        """Location of a spot in the file."""
        part = self._parts.get(spot.name)
        return part.location(spot.property) if part is not None else spot.name

    @cached_property
    def _parts(self) -> dict[Location, SpecPart]:
        parts = [self.draft.part]
        for struct in self.draft.structs:
            parts += (struct.part, *(field.part for field in struct.fields))
        return {part.location(): part for part in parts}


@dataclass(frozen=True, slots=True)
class Specs:
    """All specs of one revision."""

    messages: Sequence[Revision]
    enums: Sequence[EnumRevision]

    @property
    def headers(self) -> HeaderVersions:
        """The headers before requests and responses."""
        return header_versions(one.spec for one in self.messages)


@dataclass(frozen=True, slots=True)
class Matched:
    """A message in both revisions."""

    old: Revision
    new: Revision


_NONE_MOVED: Mapping[str, Matched] = {}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two revisions: what belongs together, and what was removed."""

    messages: Sequence[Matched]
    """The messages that both revisions have."""
    gone: Sequence[Revision]
    """The messages that only the old revision has."""
    come: Sequence[Revision]
    """The messages that only the new revision has."""
    enums: EnumPairs
    headers: tuple[HeaderVersions, HeaderVersions]
    """The headers before requests and responses, old and new."""


NO_PAIRS = Pairs((), (), (), NO_ENUMS, (HeaderVersions(), HeaderVersions()))


@dataclass(frozen=True, slots=True)
class Packages:
    """The folders of specs that become packages."""

    folders: tuple[Path, ...] = ()
    parent: Path | None = None
    """A folder in which each folder is a package, also a folder that is gone now."""

    def of(self, file: str | Path) -> str:
        """Name the folder of a file's package; the innermost, if one holds another; empty if there is none."""
        full = Path(file).resolve()
        around = [folder for folder in self.folders if full.is_relative_to(folder.resolve())]
        if self.parent is not None and full.is_relative_to(top := self.parent.resolve()):
            first, *rest = full.relative_to(top).parts
            around += [self.parent / first] if rest else []
        return str(max(around, key=lambda folder: len(folder.resolve().parts), default=""))

    def others(self, path: Path) -> list[Path]:
        """List the packages that there are outside a folder."""
        below = [] if self.parent is None else sorted(one for one in self.parent.glob("*") if one.is_dir())
        return [one for one in (*self.folders, *below) if not one.resolve().is_relative_to(path.resolve())]


def match(old: Specs, new: Specs, moved: Mapping[str, Matched] = _NONE_MOVED, unknown: Collection[str] = ()) -> Pairs:
    """Match what both revisions have, and find what was removed.

    Args:
        old: what can be compared of the old revision.
        new: all of the new one.
        moved: messages that are known to have moved, by their names.
        unknown: names of messages and enums whose old spec cannot be compared.
    """
    matched, gone = _match_messages([one for one in old.messages if one.spec.name not in moved], new.messages, unknown)
    files = {pair.new.file for pair in matched}
    come = [one for one in new.messages if one.file not in files and one.spec.name not in unknown]
    enums = match_enums(old.enums, new.enums, unknown)
    # Where the old header has errors, nothing tells which versions of it came before messages.
    is_known = not any(name in unknown for name in HEADERS.values())
    headers = (old if is_known else new).headers, new.headers
    return Pairs([*matched, *moved.values()], gone, come, enums, headers)


def _match_messages(
    old: Sequence[Revision], new: Sequence[Revision], unknown: Collection[str]
) -> tuple[list[Matched], list[Revision]]:
    """Match the messages that both revisions have, and find the old ones that were removed.

    Messages belong together by their name, first in their package and then in any; of the others, those that alone have
    their type and apiKey on both sides, and two that alone are left.
    """
    new = [revision for revision in new if revision.spec.name not in unknown]
    matched, gone, come = _match_by(lambda one: (one.package, one.spec.name), old, new)
    moved, gone, come = _match_by(lambda one: one.spec.name, gone, come)
    matched += moved
    # Two files that were given as old and new belong together, whatever is in them.
    if len(old) == len(new) == len(gone) == 1 and not unknown:
        return [Matched(gone[0], come[0])], []
    for before in list(gone):
        same = [after for after in come if _number(after.spec) == _number(before.spec)]
        rivals = [other for other in gone if _number(other.spec) == _number(before.spec)]
        if before.spec.api_key is not None and len(same) == len(rivals) == 1:
            matched.append(Matched(before, same[0]))
            gone.remove(before)
            come.remove(same[0])
    return matched, gone


def _match_by(
    key: Callable[[Revision], object], old: Sequence[Revision], new: Sequence[Revision]
) -> tuple[list[Matched], list[Revision], list[Revision]]:
    """Match the revisions with equal keys; also return the others, old and new."""
    later = {key(revision): revision for revision in new}
    matched = [Matched(before, later[key(before)]) for before in old if key(before) in later]
    known = {key(pair.new) for pair in matched}
    gone = [before for before in old if key(before) not in known]
    return matched, gone, [after for after in new if key(after) not in known]


def _number(spec: MessageSpec) -> tuple[str, int | None]:
    return spec.type, spec.api_key


def findings(pairs: Pairs, folder: Path, used: Mapping[str, UsedTags]) -> list[Finding]:
    """Find all changes between two revisions, as their rules judge them.

    Args:
        pairs: the two revisions.
        folder: the place where the files of what was removed would be.
        used: the tags of the history, by the old file.
    """
    unstable = _unstable_versions([*(pair.old for pair in pairs.messages), *pairs.gone])
    agreeing = {pair.new.package for pair in pairs.messages if _tells_versions(pair)}
    found = [
        judge(change, pair, unstable)
        for pair in pairs.messages
        for change in _changes(pair, used.get(pair.old.file, {}), pairs.enums, pair.new.package in agreeing)
    ]
    found += [judge(change, pair, unstable) for pair, change in _compare_headers(pairs)]
    rule = BY_ID["message-removed"]
    for revision in pairs.gone:
        location = Location(str(folder / revision.relative), 1, 1)
        text = f"{revision.spec.name} was removed"
        found.append(
            Finding(
                rule=rule,
                severity="notice" if _was_never_released(revision.spec, unstable) else rule.severity,
                path=revision.spec.name,
                change=text,
                versions=frozenset(),
                location=location,
                was=revision.spec.location,
                first=first_side(rule.id, revision.spec, None),
            )
        )
    return [*found, *enum_findings(pairs.enums, folder)]


def _tells_versions(pair: Matched) -> bool:
    """True for the answer by which peers of both revisions agree on versions."""
    return all(
        one.spec.name == VERSIONS_ANSWER and not one.spec.served_versions.is_empty for one in (pair.old, pair.new)
    )


def _changes(pair: Matched, used: UsedTags, enums: EnumPairs, is_agreed: bool) -> Iterator[Change]:
    for change in compare_messages(pair.old.spec, pair.new.spec, used, enums):
        # A message alone does not say whether its peers can agree.
        is_alone = change.rule == "versions-added" and not is_agreed
        yield replace(change, rule="version-not-agreed") if is_alone else change
    before, after = pair.old.package, pair.new.package
    if before and after and before != after:
        spots = Spot(pair.new.spec.location), Spot(pair.old.spec.location)
        yield Change("message-moved", pair.new.spec.name, f"moved from {before} to {after}", *spots)


def header_changes(
    old: MessageSpec, new: MessageSpec, headers: HeaderVersions, new_headers: HeaderVersions
) -> Iterator[Change]:
    """Find the versions of a message that have another header, one by one.

    Args:
        old: the released spec.
        new: the spec as it is now.
        headers: the headers of the old package.
        new_headers: the headers of the new one.
    """
    before, after = numbers_of(old, headers), numbers_of(new, new_headers)
    for version in sorted(before.keys() & after.keys()) if old.type == new.type else ():
        # A version that is flexible on one side alone has another header, too, but that is no second finding.
        is_aligned = (version in old.flexible_versions) == (version in new.flexible_versions)
        if is_aligned and before[version] != after[version]:
            text = f"header version {before[version]} became {after[version]}"
            spots = Spot(new.location, "headerVersions"), Spot(old.location, "headerVersions")
            yield Change("header-changed", new.name, text, *spots, frozenset({version}))


def _compare_headers(both: Pairs) -> Iterator[tuple[Matched, Change]]:
    """Find the messages whose released versions have another header.

    A new version of the header changes all messages that do not state their own, and is one change: of the header.
    """
    pairs = {pair.new.spec.name: pair for pair in both.messages}
    derived: dict[str, dict[str, str]] = {}
    for pair in both.messages:
        old, new = pair.old.spec, pair.new.spec
        changes = list(header_changes(old, new, *both.headers))
        header = HEADERS.get(new.type)
        if header in pairs and not old.header_versions and not new.header_versions:
            if changes:
                derived.setdefault(header, {})[new.name] = changes[-1].text
        else:
            yield from ((pair, change) for change in merge_versions(changes))
    for name, texts in derived.items():
        (first, text), others = next(iter(texts.items())), len(texts) - 1
        whose = f"{first} and {count_of(others, 'other message')}" if others else first
        spots = Spot(pairs[name].new.spec.location, "validVersions"), Spot(pairs[name].old.spec.location)
        yield pairs[name], Change("header-changed", name, f"{text} of {whose} without headerVersions", *spots)


def column_findings(matched: Sequence[Matched]) -> list[Finding]:
    """Find changes that break tables stored with the columns of all versions of the messages."""
    unstable = _unstable_versions([pair.old for pair in matched])
    return [
        judge(change, pair, unstable) for pair in matched for change in compare_stored(pair.old.spec, pair.new.spec)
    ]


def judge(change: Change, pair: Matched, unstable: dict[str, int]) -> Finding:
    """Judge a change by its rule; one of an unstable version alone is a notice."""
    rule = BY_ID[change.rule]
    # A change that touches a released version, too, stays as it is judged.
    is_unstable = bool(change.versions) and change.versions <= {unstable.get(pair.old.spec.name)}
    return Finding(
        rule=rule,
        severity="notice" if is_unstable or _was_never_released(pair.old.spec, unstable) else rule.severity,
        path=change.path,
        change=change.text,
        versions=change.versions,
        location=pair.new.location(change.new),
        was=pair.old.location(change.old),
        first=change.first or first_side(rule.id, pair.old.spec, pair.new.spec),
    )


def _was_never_released(spec: MessageSpec, unstable: dict[str, int]) -> bool:
    """True if a message has no version but its unstable one."""
    return list(spec.valid_versions.each()) == [unstable.get(spec.name)]


def _unstable_versions(old: Sequence[Revision]) -> dict[str, int]:
    """Find the unstable version of each message that has one; a response shares its request's."""
    # Only requests can have the mark; Kafka's generator refuses it elsewhere.
    by_key = {
        revision.spec.api_key: revision.spec.valid_versions.highest
        for revision in old
        if revision.spec.latest_version_unstable
    }
    return {
        revision.spec.name: by_key[revision.spec.api_key]
        for revision in old
        if revision.spec.type in ("request", "response") and revision.spec.api_key in by_key
    }

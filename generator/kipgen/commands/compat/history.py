"""The tags and numbers that files had in the commits of their repository, also if all that had them is gone.

Only what was released bears witness: of a past content with errors no code was generated, and the unstable version of a
message was never promised. Structs go by the way to them, which a rename of the struct leaves alone; numbers of enums
by their names, which may have been renamed from commit to commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kipgen.commands.compat.enums import EnumRevision, make_finding, not_reserved
from kipgen.commands.compat.git import (
    Commit,
    GitError,
    PastContent,
    contents,
    find_commit,
    has_no_commit,
    past_contents,
    spec_blobs,
)
from kipgen.commands.compat.model import Change, Finding, Spot, merge_versions
from kipgen.commands.compat.tags import NO_TAGS, UsedTags, tag_spaces
from kipgen.language.names import attribute_name
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading.check import read_bytes
from kipgen.reading.enum_spec import ENUM_SUFFIX, EnumSpec, is_enum_file


class TagUse(NamedTuple):
    """A tag that a field had in a released version."""

    path: str
    """Path of the message's or struct's fields below the message; empty for the message itself."""
    tag: int
    field: str


TagHistory = Mapping[TagUse, str]
"""Every use of a tag in the history of a file, with the newest commit that has it; in newer commits it may be gone."""

EnumHistory = Sequence[tuple[str, EnumSpec]]
"""Every content of an enum's file, each with its commit, the newest first."""


class Histories(NamedTuple):
    """The histories of files, by their paths."""

    tags: Mapping[str, TagHistory]
    enums: Mapping[str, EnumHistory]


def read_histories(commit: Commit, files: Iterable[str]) -> Histories:
    """Find the tags that messages have had, and the numbers that enums have had.

    Args:
        commit: where to start; it and all before it are read.
        files: paths of messages and enums in that commit, from the root of the working tree.

    Raises:
        GitError: git fails.
    """
    past = past_contents(commit, files)
    data = contents(commit, (content.blob for revisions in past.values() for content in revisions))
    messages, enums = ([path for path in past if is_enum_file(path) == is_enum] for is_enum in (False, True))
    blobs, enum_blobs = ({content.blob for path in side for content in past[path]} for side in (messages, enums))
    uses = {blob: frozenset(_tag_uses(data[blob])) for blob in blobs}
    specs = {blob: spec for blob in enum_blobs if (spec := _past_enum(data[blob])) is not None}
    return Histories(
        tags={path: _newest(past[path], uses) for path in messages},
        enums={path: [(one.commit, specs[one.blob]) for one in past[path] if one.blob in specs] for path in enums},
    )


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The history of a spec file up to now, as far as there is one."""

    uses: TagHistory
    commit: Commit | None
    """The newest commit of the history; None without one."""
    lack: str = ""
    """Reason why there is no history, or not all of it; mostly empty."""


def histories_of(files: Sequence[Path]) -> dict[Path, FileHistory]:
    """Find the histories of files of one folder up to HEAD; a file outside of git has none."""
    places = {file: file.resolve() for file in files}
    first = next(iter(places.values()), None)
    try:
        if first is None or has_no_commit(first):
            return dict.fromkeys(files, FileHistory({}, None, "the repository has no commit yet"))
        commit = find_commit(first, "HEAD")
        names = {
            file: place.relative_to(commit.root).as_posix()
            for file, place in places.items()
            if place.is_relative_to(commit.root)
        }
        known = spec_blobs(commit, commit.root) if len(files) > 1 else spec_blobs(commit, first)
        past = read_histories(commit, [name for name in names.values() if name in known]).tags
    except GitError as error:
        return dict.fromkeys(files, FileHistory({}, None, str(error)))
    lack = "the clone is shallow; fetch the whole history" if commit.is_shallow else ""
    untracked = FileHistory({}, None, "the file is not in a commit yet")
    return {
        file: FileHistory(past[names[file]], commit, lack) if names.get(file) in past else untracked for file in files
    }


def _tag_uses(data: bytes) -> Iterator[TagUse]:
    """Yield the tags of the released versions of a spec; none for one with errors, which was never used."""
    spec = read_bytes(data, "").comparable if b'"tag"' in data else None
    if spec is None:
        return
    released = spec.valid_versions
    if spec.latest_version_unstable:
        released = released.intersect(Versions(0, released.highest - 1))
    for space in tag_spaces(spec):
        for tag, field in space.by_tag.items():
            if not field.tagged_versions.intersect(released).is_empty:
                yield TagUse(space.below_message, tag, field.name)


def _past_enum(data: bytes) -> EnumSpec | None:
    """Read the content of an enum's file; None for one with errors, of which no code was generated."""
    checked = read_bytes(data, ENUM_SUFFIX)
    has_errors = any(problem.severity == "error" for problem in checked.problems)
    return None if checked.enum is None or has_errors else checked.enum.spec


def _newest(revisions: Sequence[PastContent], uses: Mapping[str, frozenset[TagUse]]) -> TagHistory:
    newest: dict[TagUse, str] = {}
    for revision in revisions:
        for use in sorted(uses[revision.blob]):
            # The newest commit comes first, and is the one that a report names.
            newest.setdefault(use, revision.commit)
    return newest


def used_tags(history: TagHistory) -> UsedTags:
    """Collect the tags of a history by the paths of their spaces below the message."""
    used: dict[str, frozenset[int]] = {}
    for path, tag, _ in history:
        used[path] = used.get(path, NO_TAGS) | {tag}
    return used


def forgotten_tags(spec: MessageSpec, history: TagHistory) -> tuple[Change, ...]:
    """Find the tags that a file once used and that now are neither their field's nor reserved."""
    return merge_versions(_forgotten(spec, history))


def _forgotten(spec: MessageSpec, history: TagHistory) -> Iterator[Change]:
    # Without versions it reads no tag.
    spaces = {} if spec.valid_versions.is_empty else {_key(one.below_message): one for one in tag_spaces(spec)}
    used = used_tags(history)
    for (path, tag, name), commit in history.items():
        space = spaces.get(_key(path))
        now = space.by_tag.get(tag) if space is not None else None
        is_kept = now is not None and _key(now.name) == _key(name)
        if space is None or tag in space.all_reserved or is_kept:
            continue
        text = f"tag {tag} belonged to {name} up to commit {commit}"
        if now is None:
            spot = Spot(space.location, "reservedTags")
            yield Change("tag-forgotten", f"{space.path}.{name}", text, spot, Spot(space.location))
        else:
            spot = Spot(now.location, "tag")
            text += f"; the lowest free tag is {space.lowest_free(used.get(path, NO_TAGS))}"
            yield Change("tag-reused", f"{space.path}.{now.name}", text, spot, spot)


def forgotten_values(old: EnumRevision, new: EnumRevision, past: EnumHistory) -> Iterator[Finding]:
    """Find the numbers that once had a name and now have another meaning, or none without being reserved.

    Args:
        old: the enum in the commit that it is compared with.
        new: the enum as it is now.
        past: the history of its file up to that commit.
    """
    # A value that was renamed keeps its meaning, so whatever led to a name of today by renaming is known.
    known = set(new.names.items())
    later, later_numbers = new.names, new.numbers
    newest: dict[tuple[int, str], str] = {}
    for commit, one in past:
        names = {value.number: value.name for value in one.values}
        numbers = {value.name: value.number for value in one.values}
        for number, name in names.items():
            heir = later.get(number)
            is_renamed = heir is not None and heir not in numbers and name not in later_numbers
            if not not_reserved(new, number, name) or (is_renamed and (number, heir) in known):
                known.add((number, name))
            newest.setdefault((number, name), commit)
        later, later_numbers = names, numbers
    for (number, name), commit in newest.items():
        if (number, name) in known:
            continue
        path, now, heir = f"{new.spec.name}.{name}", new.numbers.get(name), new.names.get(number)
        text = f"{number} was {name} up to commit {commit}"
        if now is not None:
            text = f"was {number} up to commit {commit}, is now {now}"
            yield make_finding("enum-value-changed", path, text, new.value_location(now, "value"), old.location())
        elif heir is not None:
            path = f"{new.spec.name}.{heir}"
            yield make_finding("enum-value-reused", path, text, new.value_location(number, "value"), old.location())
        else:
            text = f"{text}, and {not_reserved(new, number, name)}"
            yield make_finding("enum-value-forgotten", path, text, new.location("reservedValues"), old.location())


def _key(path: str) -> str:
    """Return the attributes that a path names: letter case that does not change them is no other path."""
    return ".".join(map(attribute_name, path.split(".")))

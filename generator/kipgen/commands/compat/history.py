"""The tags that a spec file had in the commits of its repository, also if the field and its struct are gone.

Only released versions bear witness: a past content with errors was never generated from, and the unstable version was
never promised. Structs go by the way to them, which a rename of the struct leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
from kipgen.commands.compat.model import Change, Spot, merge_versions
from kipgen.commands.compat.tags import NO_TAGS, UsedTags, tag_spaces
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading.check import read_bytes


class TagUse(NamedTuple):
    """A tag that a field had in a released version."""

    path: str
    """Path of the message's or struct's fields below the message; empty for the message itself."""
    tag: int
    field: str


TagHistory = Mapping[TagUse, str]
"""Every use of a tag in the history of a file, with the newest commit that has it; in newer commits it may be gone."""


def tag_histories(commit: Commit, files: Iterable[str]) -> dict[str, TagHistory]:
    """Find the tags that files have had.

    Args:
        commit: where to start; it and all before it are read.
        files: their paths in that commit, from the root of the working tree.

    Raises:
        GitError: git fails.
    """
    past = past_contents(commit, files)
    data = contents(commit, (content.blob for revisions in past.values() for content in revisions))
    uses = {blob: frozenset(_tag_uses(text)) for blob, text in data.items()}
    return {path: _newest(revisions, uses) for path, revisions in past.items()}


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
        past = tag_histories(commit, [name for name in names.values() if name in known])
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
    spaces = {space.below_message: space for space in tag_spaces(spec)}
    used = used_tags(history)
    for (path, tag, name), commit in history.items():
        space = spaces.get(path)
        now = space.by_tag.get(tag) if space is not None else None
        if space is None or tag in space.all_reserved or (now is not None and now.name == name):
            continue
        text = f"tag {tag} belonged to {name} up to commit {commit}"
        if now is None:
            spot = Spot(space.location, "reservedTags")
            yield Change("tag-forgotten", f"{space.path}.{name}", text, spot, Spot(space.location))
        else:
            spot = Spot(now.location, "tag")
            text += f"; the lowest free tag is {space.lowest_free(used.get(path, NO_TAGS))}"
            yield Change("tag-reused", f"{space.path}.{now.name}", text, spot, spot)

"""The history of specs: tags that an earlier revision used and that have been forgotten since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipgen.commands.compat.git import Commit, PastContent, contents, past_contents
from kipgen.commands.compat.model import Change, Spot, merged
from kipgen.commands.compat.tags import TagSpace, tag_spaces
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading.check import read_bytes

_Use = tuple[str, int, str]
"""The path of a message's or struct's fields below the message, a tag, and the name of its field."""


def forgotten_tags(commit: Commit, specs: Mapping[str, MessageSpec]) -> dict[str, tuple[Change, ...]]:
    """The tags that a file once used and that now are neither their field's nor reserved.

    Args:
        commit: where to start; it and all before it are read.
        specs: the specs as they are now, by the paths that their files had in that commit.

    Returns:
        What was found, by the same paths.

    Raises:
        GitError: git fails.
    """
    past = past_contents(commit, specs)
    data = contents(commit, (content.blob for revisions in past.values() for content in revisions))
    uses = {blob: frozenset(_tag_uses(text)) for blob, text in data.items()}
    return {path: merged(_forgotten(specs[path], revisions, uses)) for path, revisions in past.items()}


def _tag_uses(data: bytes) -> Iterator[_Use]:
    """The tags of the released versions of a spec; none for one with errors, which was never used."""
    spec = read_bytes(data, "").comparable if b'"tag"' in data else None
    if spec is None:
        return
    released = spec.valid_versions
    if spec.latest_version_unstable:
        released = released.intersect(Versions(0, released.highest - 1))
    for space in tag_spaces(spec):
        for tag, field in space.by_tag.items():
            if not field.tagged_versions.intersect(released).is_empty:
                yield _below_message(space), tag, field.name


def _forgotten(
    spec: MessageSpec, revisions: list[PastContent], uses: Mapping[str, frozenset[_Use]]
) -> Iterator[Change]:
    spaces = {_below_message(space): space for space in tag_spaces(spec)}
    newest: dict[_Use, str] = {}
    for revision in revisions:
        for use in sorted(uses[revision.blob]):
            newest.setdefault(use, revision.commit)
    for (path, tag, name), commit in newest.items():
        space = spaces.get(path)
        now = space.by_tag.get(tag) if space is not None else None
        if space is None or tag in space.all_reserved or (now is not None and now.name == name):
            continue
        text = f"tag {tag} was {name}'s up to commit {commit}"
        if now is None:
            spot = Spot(space.location, "reservedTags")
            yield Change("tag-forgotten", f"{space.path}.{name}", text, spot, Spot(space.location))
        else:
            spot = Spot(now.location, "tag")
            yield Change("tag-reused", f"{space.path}.{now.name}", text, spot, spot)


def _below_message(space: TagSpace) -> str:
    return space.path.partition(".")[2]

"""The two revisions that are compared: specs from files, from folders, or from a commit in git.

Two files or folders are compared as they are. A commit is compared, too, and its history is a witness besides: a tag is
a field's for ever (KIP-482), also if neither of the two revisions has the field. The history begins with that commit,
not with HEAD, since what came and went after it was never released; a past content with errors bears no witness either,
since no code was generated from it.

`git` reads, `package` pairs messages and judges, `tags` has the spaces in which a tag is unique. A finding of the
history is dropped where the comparison has it already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

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
from kipgen.commands.compat.model import Change, Finding, Spot, merge_versions, sort_findings
from kipgen.commands.compat.package import Headers, Matched, Revision, column_findings, findings, judge, match
from kipgen.commands.compat.tags import TagSpace, tag_spaces
from kipgen.language.problems import Problem
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading.check import Checked, read_bytes, read_file, read_files
from kipgen.resolve.headers import header_versions


class SpecErrors(Exception):
    """Specs that cannot be compared because they have errors."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} errors")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison."""

    findings: tuple[Finding, ...]
    """Findings, sorted by file and location."""
    matched: tuple[Matched, ...]
    """The messages that both revisions have."""
    is_history_cut: bool = False
    """True if the repository lacks a part of its history."""
    is_first_commit: bool = False
    """True if the repository has no commit yet: nothing was released that a change could break."""

    @property
    def messages(self) -> int:
        """Number of messages that both revisions have."""
        return len(self.matched)

    @property
    def column_findings(self) -> tuple[Finding, ...]:
        """Changes that break stored tables but neither bytes nor code, by file and location."""
        return sort_findings(column_findings(self.matched))


def compare_paths(old: Path, new: Path) -> Compared:
    """Compare two files or two folders of specs.

    Raises:
        SpecErrors: a spec has errors, or cannot be read.
    """
    return _compare(_revisions(_read(old), str(old)), _revisions(_read(new), str(new)), new)


def compare_with_commit(path: Path, revision: str) -> Compared:
    """Compare a file or a folder of specs with a revision of its repository, and with the history before it.

    Raises:
        SpecErrors: a spec has errors, or cannot be read.
        GitError: git cannot give an answer.
    """
    new = _revisions(_read(path), str(path))
    try:
        commit = find_commit(path, revision)
    except GitError:
        # A hook compares with HEAD before the first commit, too.
        if revision == "HEAD" and has_no_commit(path):
            return Compared((), (), is_first_commit=True)
        raise
    blobs = spec_blobs(commit, path)
    data = contents(commit, blobs.values())
    prefix = f"{revision}:"
    folder = prefix + path.resolve().relative_to(commit.root).as_posix()
    old = _revisions([read_bytes(data[blob], prefix + name) for name, blob in blobs.items()], folder)
    compared = _compare(old, new, path)
    pairs = {pair.old.file.removeprefix(prefix): pair for pair in match(old, new)[0]}
    past = forgotten_tags(commit, {name: pair.new.spec for name, pair in pairs.items()})
    known = {(finding.path, finding.rule.id) for finding in compared.findings}
    witnessed = [
        # No version is unstable here: `_tag_uses` has left out what only such a version used.
        judge(change, pairs[name], {})
        for name, changes in past.items()
        for change in changes
        if (change.path, change.rule) not in known
    ]
    return Compared(sort_findings([*compared.findings, *witnessed]), compared.matched, commit.is_shallow)


def _read(path: Path) -> list[Checked]:
    if not path.is_dir():
        return [read_file(path)]
    checked, faults = read_files(path)
    if faults:
        raise SpecErrors(faults)
    return checked


def _revisions(checked: Sequence[Checked], base: str) -> list[Revision]:
    wrong = [one for one in checked if one.comparable is None]
    errors = [problem for one in wrong for problem in one.problems if problem.severity == "error"]
    if errors:
        raise SpecErrors(errors)
    return [
        Revision(
            one.file,
            PurePath(one.file).name if one.file == base else one.file.removeprefix(f"{base}/"),
            one.comparable,
            one.draft,
        )
        for one in checked
        if one.comparable is not None and one.draft is not None
    ]


def _compare(old: Sequence[Revision], new: Sequence[Revision], path: Path) -> Compared:
    matched, gone = match(old, new)
    folder = path if path.is_dir() else path.parent
    headers = Headers(header_versions(one.spec for one in old), header_versions(one.spec for one in new))
    return Compared(sort_findings(findings(matched, gone, folder, headers)), tuple(matched))


_Use = tuple[str, int, str]
"""The path of a message's or struct's fields below the message, a tag, and the name of its field."""


def forgotten_tags(commit: Commit, specs: Mapping[str, MessageSpec]) -> dict[str, tuple[Change, ...]]:
    """Find the tags that a file once used and that now are neither their field's nor reserved.

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
    return {path: merge_versions(_forgotten(specs[path], revisions, uses)) for path, revisions in past.items()}


def _tag_uses(data: bytes) -> Iterator[_Use]:
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
                yield _below_message(space), tag, field.name


def _forgotten(
    spec: MessageSpec, revisions: list[PastContent], uses: Mapping[str, frozenset[_Use]]
) -> Iterator[Change]:
    spaces = {_below_message(space): space for space in tag_spaces(spec)}
    newest: dict[_Use, str] = {}
    for revision in revisions:
        for use in sorted(uses[revision.blob]):
            # The newest commit comes first, and is the one that a report names.
            newest.setdefault(use, revision.commit)
    for (path, tag, name), commit in newest.items():
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
            yield Change("tag-reused", f"{space.path}.{now.name}", text, spot, spot)


def _below_message(space: TagSpace) -> str:
    return space.path.partition(".")[2]

"""The two revisions that are compared: specs from files, from folders, or from a commit in git.

Two files or folders are compared as they are. A commit is compared, too, and its history is a witness besides: a tag is
a field's for ever (KIP-482), also if neither of the two revisions has the field. The history begins with that commit,
not with HEAD, since what came and went after it was never released; a past content with errors bears no witness either,
since no code was generated from it.

`git` reads, `package` pairs messages and judges, `history` has the tags that files had. A finding of the history is
dropped where the comparison has it already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from kipgen.commands.compat.git import GitError, contents, find_commit, has_no_commit, spec_blobs
from kipgen.commands.compat.history import forgotten_tags, tag_histories, used_tags
from kipgen.commands.compat.model import Finding, sort_findings
from kipgen.commands.compat.package import Headers, Matched, Revision, column_findings, findings, judge, match
from kipgen.language.problems import Problem
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
    before, after = _revisions(_read(old), str(old)), _revisions(_read(new), str(new))
    matched, gone = match(before, after)
    found = findings(matched, gone, _folder_of(new), _headers(before, after), {})
    return Compared(sort_findings(found), tuple(matched))


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
    matched, gone = match(old, new)
    names = {pair.old.file: pair.old.file.removeprefix(prefix) for pair in matched}
    past = tag_histories(commit, names.values())
    histories = {file: past[name] for file, name in names.items()}
    used = {file: used_tags(history) for file, history in histories.items()}
    found = findings(matched, gone, _folder_of(path), _headers(old, new), used)
    known = {(finding.path, finding.rule.id) for finding in found}
    found += [
        # No version is unstable here: the history has left out what only such a version used.
        judge(change, pair, {})
        for pair in matched
        for change in forgotten_tags(pair.new.spec, histories[pair.old.file])
        if (change.path, change.rule) not in known
    ]
    return Compared(sort_findings(found), tuple(matched), commit.is_shallow)


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


def _headers(old: Sequence[Revision], new: Sequence[Revision]) -> Headers:
    return Headers(header_versions(one.spec for one in old), header_versions(one.spec for one in new))


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent

"""The two revisions that are compared: specs from files, from folders, or from a commit in git.

Two files or folders are compared as they are. A commit is compared, too, and its history is a witness besides: a tag is
a field's for ever (KIP-482), also if neither of the two revisions has the field, and so is a number of an enum. The
history begins with that commit, not with HEAD, since what came and went after it was never released. No code was
generated from an old content with errors, so it bears no witness, and its message or enum is not compared; all others
are.

`git` reads, `package` pairs messages and judges, `history` has the tags and numbers that files had. A finding of the
history is dropped where the comparison has it already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from kipgen.commands.compat.enums import EnumRevision
from kipgen.commands.compat.git import Commit, GitError, contents, find_commit, has_no_commit, spec_blobs
from kipgen.commands.compat.history import forgotten_tags, forgotten_values, read_histories, used_tags
from kipgen.commands.compat.model import Finding, NotCompared, sort_findings
from kipgen.commands.compat.package import (
    NO_PAIRS,
    Matched,
    Packages,
    Pairs,
    Revision,
    Specs,
    column_findings,
    findings,
    judge,
    match,
)
from kipgen.language.problems import Problem
from kipgen.reading.check import Checked, read_bytes, read_enum_files, read_file, read_files
from kipgen.reading.enum_spec import is_enum_file


class SpecErrors(Exception):
    """Specs that cannot be compared because they have errors: new ones, or all of a file or folder."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} errors")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison."""

    findings: tuple[Finding, ...]
    """Findings, sorted by file and location."""
    pairs: Pairs = NO_PAIRS
    """Both revisions."""
    against: tuple[str, ...] = ()
    """The old revision, if it was given by name."""
    not_compared: tuple[NotCompared, ...] = ()
    is_history_cut: bool = False
    """True if the repository lacks a part of its history."""
    is_first_commit: bool = False
    """True if the repository has no commit yet: nothing was released that a change could break."""

    @property
    def messages(self) -> int:
        """Number of messages that both revisions have."""
        return len(self.pairs.messages)

    @property
    def enums(self) -> int:
        """Number of enums that both revisions have."""
        return len(self.pairs.enums.matched)

    @property
    def column_findings(self) -> tuple[Finding, ...]:
        """Changes that break stored tables but neither bytes nor code, by file and location."""
        return sort_findings(replace(one, against=self.against) for one in column_findings(self.pairs.messages))


PackageOf = Callable[[str], str]
"""Gives the folder of a file's package; empty where that is not known."""


def compare_paths(old: Path, new: Path, *, package_of: PackageOf = lambda _: "") -> Compared:
    """Compare two files or two folders of specs.

    Raises:
        SpecErrors: a new spec has errors, or all old ones have; or a file or folder cannot be read.
    """
    before, after = _read(old), _specs(_without_errors(_read(new)), str(new), package_of)
    not_compared = _not_compared(before, str(old), after)
    if len(not_compared) == len(before):
        raise SpecErrors([error for one in not_compared for error in one.errors])
    pairs = match(_specs(before, str(old), package_of), after, unknown={one.path for one in not_compared})
    return Compared(sort_findings(findings(pairs, _folder_of(new), {})), pairs, not_compared=not_compared)


_UNKNOWN = Packages()


def compare_with_commit(path: Path, revision: str, packages: Packages = _UNKNOWN) -> Compared:
    """Compare a file or a folder of specs with a revision of its repository, and with the history before it.

    Args:
        path: the file or folder.
        revision: as git has it.
        packages: where specs may have moved from, and to.

    Raises:
        SpecErrors: a spec has errors now, or cannot be read.
        GitError: git cannot give an answer.
    """
    new = _specs(_without_errors(_read(path)), str(path), packages.of)
    try:
        commit = find_commit(path, revision)
    except GitError:
        # A hook compares with HEAD before the first commit, too.
        if revision == "HEAD" and has_no_commit(path):
            return Compared((), is_first_commit=True)
        raise
    prefix = f"{revision}:"
    folder = prefix + path.resolve().relative_to(commit.root).as_posix()
    read = _read_commit(commit, path)
    old = _specs(read, folder, lambda file: packages.of(commit.root / file.removeprefix(prefix)))
    not_compared = _not_compared(read, folder, new)
    moved = _moved(old.messages, new.messages, commit, packages, path)
    pairs = match(old, new, moved, {one.path for one in not_compared})
    messages = {pair.old.file.removeprefix(prefix): pair for pair in pairs.messages}
    enums = {before.location().file.removeprefix(prefix): (before, after) for before, after in pairs.enums.matched}
    past = read_histories(commit, [*messages, *enums])
    used = {prefix + name: used_tags(history) for name, history in past.tags.items()}
    found = findings(pairs, _folder_of(path), used)
    witnessed = [
        # No version is unstable here: the history has left out what only such a version used.
        judge(change, pair, {})
        for name, pair in messages.items()
        for change in forgotten_tags(pair.new.spec, past.tags[name])
    ]
    for name, (before, after) in enums.items():
        witnessed += forgotten_values(before, after, past.enums[name])
    known = {(finding.path, finding.rule.id) for finding in found}
    found += [finding for finding in witnessed if (finding.path, finding.rule.id) not in known]
    against = (revision,)
    found = [replace(one, against=against) for one in found]
    return Compared(sort_findings(found), pairs, against, not_compared, is_history_cut=commit.is_shallow)


def _read(path: Path) -> list[Checked]:
    if not path.is_dir():
        return [read_file(path)]
    checked, faults = read_files(path)
    if faults:
        raise SpecErrors(faults)
    return [*checked, *read_enum_files(path)]


def _read_commit(commit: Commit, path: Path) -> list[Checked]:
    blobs = spec_blobs(commit, path)
    data = contents(commit, blobs.values())
    return [read_bytes(data[blob], f"{commit.name}:{name}") for name, blob in blobs.items()]


def _moved(
    old: Sequence[Revision], new: Sequence[Revision], commit: Commit, packages: Packages, path: Path
) -> dict[str, Matched]:
    """Find, by their names, the messages that are gone from a folder and since the commit new in another package."""
    found: dict[str, Matched] = {}
    kept = {revision.spec.name for revision in new}
    lost = {revision.spec.name: revision for revision in old if revision.spec.name not in kept}
    for folder in packages.others(path) if lost else ():
        if not folder.resolve().is_relative_to(commit.root):
            continue
        later = {one.comparable.name: one for one in read_files(folder)[0] if one.comparable is not None}
        names = lost.keys() & later.keys() - found.keys()
        if not names:
            continue
        known = {one.comparable.name for one in _read_commit(commit, folder) if one.comparable is not None}
        after = _revisions([later[name] for name in sorted(names - known)], str(folder), packages.of)
        found |= {one.spec.name: Matched(lost[one.spec.name], one) for one in after}
    return found


def _without_errors(checked: Sequence[Checked]) -> Sequence[Checked]:
    errors = [error for one in checked for error in _errors(one)]
    if errors:
        raise SpecErrors(errors)
    return checked


def _errors(checked: Checked) -> tuple[Problem, ...]:
    """List the errors that keep a spec from being compared."""
    if checked.comparable is not None:
        return ()
    return tuple(problem for problem in checked.problems if problem.severity == "error")


def _specs(checked: Sequence[Checked], base: str, package_of: PackageOf) -> Specs:
    """Take the specs that can be compared."""
    messages = _revisions(checked, base, package_of)
    specs = tuple(message.spec for message in messages)
    return Specs(
        messages,
        enums=[
            EnumRevision(_relative(one.file, base), one.enum, specs)
            for one in checked
            if one.enum is not None and not _errors(one)
        ],
    )


def _revisions(checked: Sequence[Checked], base: str, package_of: PackageOf) -> list[Revision]:
    return [
        Revision(one.file, _relative(one.file, base), package_of(one.file), one.comparable, one.draft)
        for one in checked
        if one.comparable is not None and one.draft is not None
    ]


def _not_compared(old: Sequence[Checked], base: str, new: Specs) -> tuple[NotCompared, ...]:
    """List the old specs with errors, at their messages and enums as they are now."""
    messages = [(one.spec.name, one.relative, one.spec.location) for one in new.messages]
    enums = [(one.spec.name, one.relative, one.location()) for one in new.enums]
    found = []
    for broken in (one for one in old if _errors(one)):
        file, errors = _relative(broken.file, base), _errors(broken)
        name = _name(broken)
        known = enums if is_enum_file(broken.file) else messages
        # By its name, or else by its file.
        same = [one for one in known if one[0] == name] or [one for one in known if one[1] == file]
        path, _, location = same[0] if same else (name or broken.file, file, errors[0].location)
        found.append(NotCompared(path, location, errors))
    return tuple(found)


def _name(broken: Checked) -> str:
    """Return the name of a message or enum whose spec has errors, if that much could be read."""
    if broken.enum is not None:
        return "" if "name" in broken.enum.part.broken else broken.enum.spec.name
    is_known = broken.draft is not None and "name" not in broken.draft.part.broken
    return broken.draft.message.name if broken.draft is not None and is_known else ""


def _relative(file: str, base: str) -> str:
    return PurePath(file).name if file == base else file.removeprefix(f"{base}/")


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent

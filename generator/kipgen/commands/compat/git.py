"""Data from git: the spec files of a revision, and all their earlier contents.

Git is called as a program, for all files at once: one `log` has the history of every spec, one `cat-file` the sizes and
one the contents of all revisions, however many they are.

A repository may be anything, so commits, bytes and seconds have limits, and a path or a revision is never taken for an
option. The user's configuration and the environment of a hook must not change what is read: options that could are set
here, and output is split at NUL, which no path contains.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kipgen.reading.check import is_spec_file
from kipgen.reading.source import MAX_BYTES

MOST_COMMITS = 5_000
"""Limit for commits to spec files in the history, the newest first."""

MOST_BYTES = 2**28
"""Limit for the bytes of specs that are read, of all revisions together."""

_SECONDS = 120
_SHORT = 10
_REPOSITORY_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
# Of the tree's entries: links, submodules and folders are no specs.
_FILE_MODES = ("100644", "100755")


class GitError(Exception):
    """Git cannot give an answer; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the repository that specs live in."""

    root: Path
    """The working tree."""
    id: str
    name: str
    """The revision as the user wrote it."""
    is_shallow: bool
    """True if the repository lacks the ancestors of some commit."""


@dataclass(frozen=True, slots=True)
class PastContent:
    """Content of a file in an earlier commit."""

    commit: str
    """The short id."""
    blob: str


def has_no_commit(path: Path) -> bool:
    """True if the repository of a file or folder has no commit yet, so that nothing in it was ever released.

    Raises:
        GitError: the path is not in a repository.
    """
    folder = path if path.is_dir() else path.parent
    return not _run(folder, "rev-list", "--all", "--max-count=1").strip()


def find_commit(path: Path, name: str) -> Commit:
    """Find the commit that a revision names, in the repository of a file or folder.

    Raises:
        GitError: the path is not in a repository, or the repository does not have the revision.
    """
    folder = path if path.is_dir() else path.parent
    try:
        root = folder / _run(folder, "rev-parse", "--show-cdup").decode().strip()
    except GitError as error:
        raise GitError(f"{path}: cannot be compared with {name!r}: {error}") from None
    is_shallow = _run(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"
    try:
        # `^{commit}` peels a tag, and refuses what names a folder or a file.
        id_ = _run(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitError:
        hint = "the clone is shallow; fetch the whole history" if is_shallow else "give a commit, tag or branch of it"
        raise GitError(f"the repository of {path} has no revision {name!r}; {hint}") from None
    return Commit(root.resolve(), id_.decode().strip(), name, is_shallow)


def spec_blobs(commit: Commit, path: Path) -> dict[str, str]:
    """List the blobs of the `*.json` files at a path or below, by their paths from the root of the working tree.

    Raises:
        GitError: git fails, or a file is too long for a spec.
    """
    below = path.resolve().relative_to(commit.root).as_posix()
    paths = [] if below == "." else [below]
    listing = _run(commit.root, "ls-tree", "-r", "-z", "--long", "--full-tree", commit.id, "--", *paths)
    blobs = {}
    for entry in listing.split(b"\0")[:-1]:
        head, _, name = entry.partition(b"\t")
        mode, _, blob, size = head.decode().split()
        shown = name.decode(errors="surrogateescape")
        if mode in _FILE_MODES and is_spec_file(shown):
            if int(size) > MAX_BYTES:
                raise GitError(f"{name.decode(errors='replace')} has more than {MAX_BYTES} bytes in {commit.name}")
            blobs[shown] = blob
    return blobs


def contents(commit: Commit, blobs: Iterable[str]) -> dict[str, bytes]:
    """Read the contents of blobs; empty for one that the repository lacks, or that is too long for a spec.

    Raises:
        GitError: git fails, or all of them together are more than `MOST_BYTES`.
    """
    # Sizes first: the output for a blob that the repository lacks would have no size, and the memory would have no
    # bound.
    sizes = _sizes(commit, list(dict.fromkeys(blobs)))
    wanted = [blob for blob, size in sizes.items() if 0 <= size <= MAX_BYTES]
    if sum(sizes[blob] for blob in wanted) > MOST_BYTES:
        raise GitError(f"the specs of all revisions have more than {MOST_BYTES} bytes; compare two folders instead")
    output = _run(commit.root, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode())
    found, at = dict.fromkeys(sizes, b""), 0
    for blob in wanted:
        start = output.index(b"\n", at) + 1
        found[blob] = output[start : start + sizes[blob]]
        at = start + sizes[blob] + 1
    return found


def _sizes(commit: Commit, blobs: list[str]) -> dict[str, int]:
    """Read the sizes of blobs; -1 for one that the repository lacks."""
    output = _run(commit.root, "cat-file", "--batch-check", stdin="".join(f"{blob}\n" for blob in blobs).encode())
    heads = (line.split() for line in output.splitlines())
    return {blob: -1 if head[-1] == b"missing" else int(head[2]) for blob, head in zip(blobs, heads, strict=True)}


def past_contents(commit: Commit, paths: Iterable[str]) -> dict[str, list[PastContent]]:
    """List the contents of files in a commit and before it, the newest first; renamed files are followed.

    Raises:
        GitError: git fails.
    """
    # Not limited to the wanted paths: git finds a renamed file only if it looks at its old name, too, and `--follow`
    # takes a single file.
    log = _log(commit)
    past: dict[str, list[PastContent]] = {path: [] for path in paths}
    names = {path: path for path in past}
    tokens = iter(log.decode(errors="surrogateescape").split("\0"))
    short = ""
    for token in tokens:
        if ":" not in token:
            short = token.strip()[:_SHORT] or short
            continue
        *_, blob, status = token.split()
        before = after = next(tokens)
        if status.startswith("R"):
            after = next(tokens)
        if after in names and status != "D":
            past[names[after]].append(PastContent(short, blob))
        # Time goes backwards here: in older commits the file has the name from before.
        if before != after and after in names:
            names[before] = names.pop(after)
    return past


@lru_cache(maxsize=1)
def _log(commit: Commit) -> bytes:
    """List the changes of JSON files up to a commit: the same for messages and enums of all packages."""
    return _run(
        commit.root,
        *("-c", "log.showSignature=false", "-c", "diff.renames=true"),
        *("log", f"--max-count={MOST_COMMITS}", "--format=%h", "--raw", "-z", "--no-abbrev", "--find-renames"),
        *(commit.id, "--", ":(top,glob)**/*.json"),
    )


def _run(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    # The variables of a git hook would select the hook's repository, in any folder.
    environment = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=_SECONDS, env=environment)
    except FileNotFoundError:
        raise GitError("git is needed to compare with a revision, but it is not installed") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} takes more than {_SECONDS} seconds") from None
    if done.returncode:
        fault = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitError(f"git {arguments[0]}: {fault[-1] if fault else f'exit status {done.returncode}'}")
    return done.stdout

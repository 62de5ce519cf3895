"""The paths that are read together: one or several, each of which may be a pattern of names.

A path that exists is that path, whatever characters it has; only one that does not exist is a pattern. So a file named
`a[1].log` can be read. A pattern is resolved once, when work is planned, and what it found may be gone by then, which
is no error as long as something is left. A file below two paths, or below a link to one, is read once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.files.access import FoundFile, absolute, files_at, names_in
from kipwire.tables.files.stores import HERE, Storage, StoredFile, is_url

Roots = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path or URL, or several. One that does not exist is a pattern if it has `*`, `?`, `[...]` or `{a,b}`, whose
wildcards stand for characters of one name, but not for a dot that it begins with."""

_SPECIAL = re.compile(r"[*?\[{]")
_WILDCARD = re.compile(r"[*?\[]")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_MOST_CHOICES = 1000
_SHOWN = 3


class GivenFile(NamedTuple):
    """A file below one of the paths."""

    file: FoundFile
    is_root: bool
    """True if the path that was given is the file itself, not a folder or a pattern."""


def each_root(roots: Roots) -> tuple[str, ...]:
    """Return the paths, each as a text."""
    given = [roots] if isinstance(roots, (str, os.PathLike)) else roots
    return tuple(os.fspath(root) for root in given)


def roots_text(roots: Roots) -> str:
    """Return the paths for a message or a title; of many only the first ones, and the number of the others."""
    texts = each_root(roots)
    some = texts if len(texts) <= _SHOWN else (*texts[: _SHOWN - 1], f"{len(texts) - _SHOWN + 1} more")
    return " and ".join(part for part in (", ".join(some[:-1]), some[-1]) if part) if some else ""


def files_of(roots: Roots, is_chosen: Callable[[str], bool], storage: Storage = HERE) -> list[GivenFile]:
    """Find the regular files with chosen names below all paths, and the paths that are files; each file once.

    A file that is below two of the paths, also if one of them is a link to the other, is found below the first one.

    Args:
        roots: the paths.
        is_chosen: whether the file with that path is wanted; not asked for a file that is a path itself, unless by a
            pattern.
        storage: how to reach the store, for URLs.

    Raises:
        ListingError: a folder or a store cannot be listed, or has files that are never there.
        SourceError: nothing is at one of the paths, or it is neither a file nor a folder.
    """
    found: dict[str, GivenFile] = {}
    for root in each_root(roots):
        for place, files in _find_at(root, is_chosen, storage):
            start, real = absolute(place), place if is_url(place) else os.path.realpath(place)
            is_alone = [file.path for file in files] == [start]
            for file in files:
                given = GivenFile(file, is_alone and place == root)
                found.setdefault(real.rstrip("/") + file.path.removeprefix(start.rstrip("/")), given)
    return list(found.values())


def _find_at(root: str, is_chosen: Callable[[str], bool], storage: Storage) -> Iterator[tuple[str, list[FoundFile]]]:
    """Yield the files below a path, or below each path that fits the pattern; paths that disappear are skipped."""
    if not _is_pattern(root, storage):
        yield root, files_at(root, is_chosen, storage)
        return
    fits_something = False
    for place in matching(root, storage):
        try:
            files = files_at(place, is_chosen, storage)
        except ListingError:
            raise
        except SourceError:
            continue
        fits_something = True
        yield place, [file for file in files if file.path != absolute(place) or is_chosen(file.path)]
    if not fits_something:
        raise SourceError(f"{root}: there is no such file or folder, and nothing that fits this pattern")


def _is_pattern(root: str, storage: Storage) -> bool:
    if not _SPECIAL.search(root):
        return False
    if not is_url(root):
        return not os.path.lexists(root)
    try:
        return not StoredFile(root, storage).exists()
    except OSError as error:
        raise _listing_error(root, error) from None


def fitting(root: str, storage: Storage = HERE) -> list[str]:
    """Return the path itself; if it is a pattern, the paths that `matching` finds."""
    return matching(root, storage) if _is_pattern(root, storage) else [root]


def matching(pattern: str, storage: Storage = HERE) -> list[str]:
    """Find the paths whose names fit a pattern, sorted; if its last part has no wildcard, they need not exist.

    Raises:
        ListingError: a folder on the way cannot be listed.
        SourceError: the pattern has too many alternatives.
    """
    found: set[str] = set()
    for one in _choices(pattern):
        head = _WILDCARD.search(one)
        if head is None:
            found.add(one)
            continue
        base, _, rest = one[: head.start()].rpartition("/")
        begin = base if base or not one.startswith("/") else "/"
        level = [begin]
        for part in (rest + one[head.start() :]).split("/"):
            level = [_join(folder, name) for folder in level for name in _names(folder, part, storage)]
        found.update(level)
    return sorted(found)


def _choices(pattern: str) -> list[str]:
    """Expand `{a,b}`: return the patterns that one stands for."""
    waiting, done = [pattern], []
    while waiting:
        one = waiting.pop()
        choice = _CHOICE.search(one)
        if choice is None:
            done.append(one)
        else:
            waiting += [one[: choice.start()] + word + one[choice.end() :] for word in choice[1].split(",")]
        if len(waiting) + len(done) > _MOST_CHOICES:
            raise SourceError(f"{pattern}: has more than {_MOST_CHOICES:,} alternatives in braces; give fewer paths")
    return done


def _names(folder: str, part: str, storage: Storage) -> list[str]:
    """Return the names in a folder that fit a part of a pattern; a part without wildcards is a name."""
    if not _WILDCARD.search(part):
        return [part]
    wildcards = part.replace("[^", "[!")  # as Hadoop has it
    try:
        names = names_in(folder or ".", storage)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _listing_error(folder, error) from None
    return [
        name for name in names if fnmatchcase(name, wildcards) and (part.startswith(".") or not name.startswith("."))
    ]


def _join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name


def _listing_error(path: str, error: OSError) -> ListingError:
    return ListingError(f"{path}: cannot be listed: {error.strerror or error}")

"""The files that sources read: local files, and the objects of stores by their URLs.

A URL such as `s3://bucket/folder` is read through fsspec, an optional extra; any other path is of this machine.
Of an object only ranges are read, and one block of it is in memory at a time.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.files.stores import BLOCK, HERE, Storage, StoredFile, is_url
from kipwire.tools.io import ReadableFile, files_below

_MOST_TIMES = 20
"""Number of attempts to list a folder whose files are being removed."""
_FEW = 64 * 1024
"""Bytes of an object to request at once, if only some places in it are read."""

_PATTERN = re.compile(r"[\\{}\[\]*?]")
"""Characters that are special in the path patterns of Hadoop."""

ReadAt = Callable[[int, int], bytes]
"""Reads a number of bytes at a position, fewer at the end of the file."""


class FileVersion(NamedTuple):
    """Identity of a local file, to notice that another file has replaced it."""

    inode: int
    """Number of the file, which another file may get once it is deleted."""
    changed: int
    """Time of its last change, in nanoseconds since 1970."""
    folder_changed: int
    """Time at which a file was last added, renamed or removed in its folder; read before `changed`."""


class FoundFile(NamedTuple):
    """A file that exists."""

    path: str
    """Absolute, or a URL."""
    size: int
    """Bytes."""
    version: FileVersion | None = None
    """None for an object of a store, which does not change."""


def file_at(path: str | os.PathLike[str], storage: Storage = HERE) -> ReadableFile:
    """Return the file or object at a path or URL, which need not exist."""
    text = os.fspath(path)
    return StoredFile(text, storage) if is_url(text) else Path(text)


def absolute(path: str | os.PathLike[str]) -> str:
    """Return the absolute path; a URL stays as it is."""
    text = os.fspath(path)
    return text if is_url(text) else str(Path(text).absolute())


def path_text(path: str | os.PathLike[str]) -> str:
    """Return the path as text: a byte that is not UTF-8, which no column can hold, becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_path(path: str | os.PathLike[str]) -> str:
    """Escape the path for `spark.read.text` and the like, which would read special characters as a pattern."""
    return _PATTERN.sub(r"\\\g<0>", os.fspath(path))


def open_file(path: str, storage: Storage = HERE) -> io.BufferedReader:
    """Open a file that is read in order, from any position.

    Raises:
        OSError: it cannot be opened.
    """
    return file_at(path, storage).open("rb")


def open_to_look(path: str, storage: Storage = HERE) -> io.BufferedReader:
    """Open a file of which only a few bytes are read, in several places.

    Raises:
        OSError: it cannot be opened.
    """
    return StoredFile(path, storage).open("rb", block=_FEW) if is_url(path) else Path(path).open("rb")


def size_of(path: str, storage: Storage = HERE) -> int:
    """Return the number of bytes of a file.

    Raises:
        OSError: it cannot be opened.
    """
    with ranges_of(path, storage, 0) as (_, size):
        return size


def files_at(
    root: str | os.PathLike[str], is_chosen: Callable[[str], bool], storage: Storage = HERE
) -> list[FoundFile]:
    """Find the regular files with chosen names in a folder and all folders below it, or the file itself.

    If a file is removed while they are listed, all are listed again: another file may have its records since then.

    Args:
        root: a path or URL of a file or folder.
        is_chosen: whether the file with that path is wanted; not asked for `root` itself.
        storage: how to reach the store, for a URL.

    Raises:
        ListingError: a folder or a store cannot be listed, or has files that are never there.
        SourceError: nothing is there, or it is neither a file nor a folder.
    """
    text = os.fspath(root)
    if is_url(text):
        found = StoredFile(text, storage).below()
        if not found:
            raise SourceError(f"{text}: there is no such file or folder")
        return [FoundFile(*one) for one in found if one[0] == text or is_chosen(one[0])]
    path = absolute(text)
    if Path(path).is_file():
        return _regular([path])
    if not Path(path).is_dir():
        reason = "is neither a file nor a folder" if Path(path).exists() else "there is no such file or folder"
        raise SourceError(f"{text}: {reason}")
    missing = ""
    for _ in range(_MOST_TIMES):
        try:
            return _regular(file for file in files_below(path) if is_chosen(file))
        except FileNotFoundError as error:
            missing = error.filename
        except OSError as error:
            raise ListingError(f"{error.filename}: cannot be listed: {error.strerror or error}") from None
    what = "was removed while its folder was listed, or is a broken link"
    raise ListingError(f"{missing}: {what} ({_MOST_TIMES} attempts)")


def names_in(folder: str, storage: Storage = HERE) -> list[str]:
    """Return the names in a folder.

    Raises:
        OSError: it cannot be listed.
    """
    return StoredFile(folder, storage).names() if is_url(folder) else os.listdir(folder)  # noqa: PTH208


@contextmanager
def ranges_of(
    path: str | os.PathLike[str], storage: Storage = HERE, extent: int | None = None
) -> Iterator[tuple[ReadAt, int]]:
    """Open a file, and give a function that reads ranges of it, unbuffered for a local file, and its size.

    Args:
        path: of the file, or its URL.
        storage: how to reach the store, for a URL.
        extent: about how many bytes are wanted in all, if that is known; of an object not many more are asked for.

    Raises:
        OSError: the file cannot be read.
    """
    text = os.fspath(path)
    if is_url(text):
        block = BLOCK if extent is None else min(max(extent, _FEW), BLOCK)
        with StoredFile(text, storage).open("rb", block=block) as stored:
            yield partial(_read_at, stored), stored.seek(0, io.SEEK_END)
    else:
        with Path(text).open("rb", buffering=0) as file:
            yield partial(os.pread, file.fileno()), os.fstat(file.fileno()).st_size


def check_are_here(source: str, paths: Iterable[str]) -> None:
    """Check that all paths are local, since streams do not read from stores.

    Raises:
        SourceError: one is a URL.
    """
    for path in paths:
        if is_url(path):
            raise SourceError(
                f"{path}: {source} follows files that grow, which objects of a store do not; read them without a stream"
            )


def _read_at(file: io.BufferedReader, size: int, position: int) -> bytes:
    file.seek(position)
    return file.read(size)


def _regular(paths: Iterable[str]) -> list[FoundFile]:
    """Return the regular files among the paths; a read of a pipe would block.

    Raises:
        OSError: one of them cannot be looked at; a FileNotFoundError if it has been removed.
    """
    chosen = [(path, os.path.dirname(path)) for path in paths]  # noqa: PTH120  for many files, as all of these
    folders = {folder: os.stat(folder).st_mtime_ns for folder in {folder for _, folder in chosen}}  # noqa: PTH116
    found = [(path, os.stat(path), folders[folder]) for path, folder in chosen]  # noqa: PTH116
    return [
        FoundFile(path, status.st_size, FileVersion(status.st_ino, status.st_ctime_ns, folder_changed))
        for path, status, folder_changed in found
        if stat.S_ISREG(status.st_mode)
    ]


def is_that_file(path: str, version: FileVersion, status: os.stat_result) -> bool:
    """True if a file is still the one that was found at a path; it may have grown.

    Args:
        path: of this machine.
        version: of the file that was found there.
        status: of the file that is there now, or that was opened.

    Raises:
        OSError: the folder is gone.
    """
    if status.st_ino != version.inode:
        return False
    if status.st_ctime_ns == version.changed:
        return True
    # It has grown, or another file got that number, which has changed the folder, too. In doubt it is another file.
    return os.stat(os.path.dirname(path)).st_mtime_ns == version.folder_changed  # noqa: PTH116, PTH120

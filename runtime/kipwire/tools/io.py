"""For readers of much data: what files they take, the files below a folder, and a pause of the garbage collector."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Literal, Protocol, Self


class ReadableFile(Protocol):
    """A file or folder; every `Path` is one. Its text is how errors name it."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        ...

    @property
    def parent(self) -> Self:
        """The folder that it is in."""
        ...

    def __truediv__(self, name: str, /) -> Self:
        """Return the path with that name in this folder."""
        ...

    def exists(self) -> bool:
        """True if it exists."""
        ...

    def is_file(self) -> bool:
        """True if it exists and is a regular file."""
        ...

    def open(self, mode: Literal["rb"], /) -> BufferedReader:
        """Open it to read bytes.

        Raises:
            OSError: it cannot be opened.
        """
        ...


_OF_FILE_SYSTEM = "lost+found"
"""A folder at the top of a file system, which only root can list."""


def files_below(folder: str) -> Iterator[str]:
    """Yield the paths of all files below a folder, also special ones; links to folders are not followed.

    Raises:
        OSError: one of the folders cannot be listed, so that its files are unknown.
    """
    for found, _, names in os.walk(folder, onerror=_check_listed):
        for name in names:
            yield os.path.join(found, name)  # noqa: PTH118  for many files; a Path costs ten times as much


def _check_listed(error: OSError) -> None:
    is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))  # a broker has just removed it
    if not is_gone and os.path.basename(error.filename) != _OF_FILE_SYSTEM:  # noqa: PTH119  as above
        raise error


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the collector; objects without references are still freed at once."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""The files below a folder: all of them, or an error."""

from __future__ import annotations

import os
from collections.abc import Iterator

_OF_FILE_SYSTEM = "lost+found"
"""A folder at the top of a file system, which only root can list."""


def files_below(folder: str) -> Iterator[str]:
    """The paths of what is in a folder and in those below it and is not a folder; links to folders are not followed.

    Raises:
        OSError: one of the folders cannot be listed, so that nobody knows what is in it.
    """
    for found, _, names in os.walk(folder, onerror=_check_listed):
        for name in names:
            yield os.path.join(found, name)  # noqa: PTH118  for many files; a Path costs ten times as much


def _check_listed(error: OSError) -> None:
    is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))  # a broker has just removed it
    if not is_gone and os.path.basename(error.filename) != _OF_FILE_SYSTEM:  # noqa: PTH119  as above
        raise error

"""Files and folders that appear whole or not at all: made beside their place by a name that nobody can foresee."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = ".kipwire-"
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file, which takes the place of one that is there once it is whole, and keeps its permissions.

    A link at that place is replaced; what it leads to is left alone.

    Raises:
        OSError: it cannot be written.
    """
    with _told_by(file):
        handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=file.parent)
        made = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            made.chmod(_mode(file))
            made.replace(file)
        except BaseException:
            made.unlink(missing_ok=True)
            raise


@contextmanager
def new_folder(beside: Path) -> Iterator[Path]:
    """An empty folder in the folder of a place, on the same file system; removed at the end unless it was renamed.

    Raises:
        OSError: it cannot be made.
    """
    with _told_by(beside):
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside.parent))
    try:
        made.chmod(0o777 & ~_umask())
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def rename_new(made: Path, place: Path) -> None:
    """Give a folder with something in it its name; what is there already stays, but for an empty folder.

    Raises:
        FileExistsError: there is a file, or a folder that is not empty.
        OSError: it cannot be renamed.
    """
    try:
        made.rename(place)  # at once: there is no moment between looking and renaming
    except OSError as error:
        if error.errno in _TAKEN:
            raise FileExistsError(error.errno, "already exists", str(place)) from None
        raise


@contextmanager
def _told_by(place: Path) -> Iterator[None]:
    """Errors by the name that the user knows, not by that of a temporary file."""
    try:
        yield
    except OSError as error:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder; a file is needed", str(place)) from None
        raise type(error)(error.errno, error.strerror or str(error), str(place)) from None


def _mode(file: Path) -> int:
    """The permissions that a file has, or a new one would have."""
    if file.is_file() and not file.is_symlink():
        return file.stat().st_mode & 0o777
    return 0o666 & ~_umask()


def _umask() -> int:
    before = os.umask(0o077)
    os.umask(before)
    return before

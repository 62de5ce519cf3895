"""Writes files and folders atomically: made beside their final path under an unpredictable name, then renamed.

A file takes the place of a regular file alone. Nothing is renamed over a device, a pipe or a socket, which other
programs use by that path; nor over a link, behind which there may be one of these, as behind /dev/stdout, or a file
that another user has chosen.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = ".kipwire-"
NOT_A_FILE = "is a pipe, a socket or a device, not a file"
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_FOLDER = "is a folder, not a file"
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file atomically: it replaces an existing one when it is complete, and keeps its permissions.

    Raises:
        OSError: it cannot be written; see also `need_place`.
    """
    with _errors_named(file):
        need_place(file)
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


def replace_durably(file: Path, text: str) -> None:
    """Replace a file of which one process at a time is the writer: it is on the disk, whole, when this returns.

    Raises:
        OSError: it cannot be written.
    """
    made = file.with_name(f".{file.name}.tmp")
    try:
        with made.open("w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        made.replace(file)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(file)) from None
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system lets one."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def need_place(file: Path) -> None:
    """Check that a file can be written at a path: nothing is there, or a regular file.

    Raises:
        OSError: a link, a pipe, a socket, a device or a folder is there.
    """
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.EINVAL, "is a link, which is not written through; give the file itself", str(file))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, _FOLDER, str(file))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, NOT_A_FILE, str(file))


@contextmanager
def new_folder(beside: Path) -> Iterator[Path]:
    """Make an empty folder beside a path, on the same file system; remove it at the end unless it was renamed.

    Raises:
        OSError: it cannot be made; or there is no room for what is written to it, which names the path.
    """
    made = (
        beside.parent / f"{_PREFIX}{secrets.token_hex(16)}"
    )  # known before it is there: a signal may come right after
    try:
        with _errors_named(beside):
            made.mkdir(0o700)
        made.chmod(0o777 & ~_umask())
        yield made
    except OSError as error:
        if error.filename is None and error.errno in _FULL:  # as writing to an open file raises it
            raise type(error)(error.errno, error.strerror, str(beside)) from None
        raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def rename_new(made: Path, path: Path) -> None:
    """Give a folder with content its name. Anything already there stays, except an empty folder.

    Raises:
        FileExistsError: there is a file, or a folder that is not empty.
        OSError: it cannot be renamed.
    """
    try:
        made.rename(path)  # atomic: nothing can happen between a check and the renaming
    except OSError as error:
        if error.errno in _TAKEN:
            raise FileExistsError(error.errno, "already exists", str(path)) from None
        raise


def is_leftover(path: Path) -> bool:
    """True if a path has the name of one that is made here: a process that is killed leaves it."""
    return path.name.startswith(_PREFIX)


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Report errors with the user's path, not with the path of a temporary file."""
    try:
        yield
    except OSError as error:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, _FOLDER, str(path)) from None
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from None


def _mode(file: Path) -> int:
    """Return the permissions that a file has, or a new one would have."""
    if file.is_file():
        return file.stat().st_mode & 0o777
    return 0o666 & ~_umask()


def _umask() -> int:
    before = os.umask(0o077)
    os.umask(before)
    return before

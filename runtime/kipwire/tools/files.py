"""Files read within a bound and never waited for, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from kipwire.tools.atomic import NOT_A_FILE, write_atomically

_HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Folders of pipes that the caller of this process has opened for it, by `|` or `<(...)`."""


def need_file(path: Path) -> None:
    """Check that a path names no pipe, socket or device, which might block without end.

    A folder and a missing file pass; opening them gives the error.

    Raises:
        OSError: the path names a pipe, a socket or a device.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, NOT_A_FILE, str(path))


def need_input(path: Path) -> None:
    """Check like `need_file`, but pass a pipe that was opened for this process: for input that is read once.

    Raises:
        OSError: the path names another pipe, a socket or a device.
    """
    if not str(path).startswith(_HANDED_OVER):
        need_file(path)


def read_regular(path: Path, limit: int) -> bytes:
    """Read the first bytes of a regular file: at most `limit`, and one more if the file is longer.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a folder, which are not waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is a pipe, a device or a folder, not a file", str(path))
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(limit + 1)
    finally:
        os.close(descriptor)


def write_whole(file: Path, text: str, encoding: str = "utf-8") -> None:
    """Replace a file atomically, so that it is never half-written; missing folders are made.

    Raises:
        OSError: the file cannot be written; the error names the file.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, text.encode(encoding))

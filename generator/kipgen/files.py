"""Files read within a bound, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from kipwire.tools.atomic import write_atomically


def read_regular(path: Path, limit: int) -> bytes:
    """The first bytes of a regular file: at most `limit`, and one more if the file is longer.

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
    """Replace a file in one go, so that nobody ever sees half of it; folders that are missing are made.

    Raises:
        OSError: it cannot be written; the error names the file.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, text.encode(encoding))

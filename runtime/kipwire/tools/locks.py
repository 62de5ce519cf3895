"""Locks that keep a second process away; the system ends them with the process."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kipwire.tools.atomic import need_place

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def locked(lock: Path, what: Path) -> Iterator[None]:
    """Keep other runs from using something while the block runs.

    Args:
        lock: a file, which is made and stays.
        what: the thing, for the error.

    Raises:
        BlockingIOError: a run is using it, which names the thing.
        OSError: there is no such folder, or it cannot be written to.
    """
    need_place(lock)
    with lock.open("ab") as handle:
        try:
            _lock(handle)
        except OSError:
            why = "another run is using it; start this one when that has ended"
            raise BlockingIOError(errno.EWOULDBLOCK, why, str(what)) from None
        yield


def _lock(handle: IO[bytes]) -> None:
    if sys.platform == "win32":
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

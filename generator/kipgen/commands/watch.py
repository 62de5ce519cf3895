"""`kipgen check --watch`: specs are checked again when they are saved, each only if it has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import Change, watch

from kipgen.reading.check import Checked, Reader, read_file

_QUIET_MS = 20
"""How long to wait for more after a change: editors save in several steps."""

_Stamp = tuple[int, int, int] | None
"""The time, size and inode of a file, which change with its content; None if the file does not exist."""


def watch_specs(paths: Sequence[Path], check: Callable[[Reader], object]) -> None:
    """Check now and whenever a spec is saved, until somebody presses Ctrl-C.

    Args:
        paths: files and folders of specs, which must exist.
        check: judges them all with the reader that it is given, which reads nothing twice.
    """
    read = remembering_reader()
    folders = {path if path.is_dir() else path.parent for path in paths}
    try:
        check(read)
        for _ in watch(*folders, watch_filter=_is_spec, step=_QUIET_MS):
            check(read)
    except KeyboardInterrupt:
        return  # the way to end it


def _is_spec(_: Change, path: str) -> bool:
    return path.endswith(".json")


def remembering_reader() -> Reader:
    """A reader that judges a file again only if it has changed on the disk since the last time."""
    known: dict[Path, tuple[_Stamp, Checked]] = {}

    def read(path: Path, *, kafka: bool) -> Checked:
        stamp = _stamp(path)
        if path not in known or stamp is None or known[path][0] != stamp:
            known[path] = stamp, read_file(path, kafka=kafka)
        return known[path][1]

    return read


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

"""`kipgen check --watch` and `kipgen generate --watch`: the work is done again when a spec is saved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from watchfiles import Change, watch

from kipgen.reading.check import Checked, Reader, is_spec_file, read_file
from kipwire.cli.command_line import one_line, system_error
from kipwire.tools.text import print_err

_QUIET_MS = 20
"""Time to wait for more after a change: editors save in several steps."""

_Stamp = tuple[int, int, int] | None
"""The time, size and inode of a file, which change with its content; None if the file does not exist."""


def watch_specs(paths: Sequence[Path], read: Reader, check: Callable[[Reader], object]) -> None:
    """Check now and whenever a spec is saved, until Ctrl-C; the exit status is 130 then.

    Args:
        paths: files and folders of specs, which must exist.
        read: reads one file.
        check: judges all files, with a reader that reads no file twice.
    """
    remembering = remembering_reader(read)
    watch_folders({path if path.is_dir() else path.parent for path in paths}, lambda: check(remembering))


def watch_folders(folders: Iterable[Path], run: Callable[[], object]) -> None:
    """Run now and whenever a spec in a folder is saved, until Ctrl-C; the exit status is 130 then."""
    try:
        _run(run)
        for _ in watch(*folders, watch_filter=_is_spec, step=_QUIET_MS):
            _run(run)
    except KeyboardInterrupt:
        sys.exit(130)  # the way to end it, with the status that shells give it


def _run(run: Callable[[], object]) -> None:
    """Run once; a file that cannot be read or written now may be all right when the next spec is saved."""
    try:
        run()
    except OSError as error:
        print_err(("kipgen: ", "red"), one_line(system_error(error)))


def _is_spec(_: Change, path: str) -> bool:
    return is_spec_file(path)


def remembering_reader(read_again: Reader = read_file) -> Reader:
    """Make a reader that judges a file again only if it has changed on the disk since the last time."""
    known: dict[Path, tuple[_Stamp, Checked]] = {}

    def read(path: Path, *, kafka: bool) -> Checked:
        stamp = _stamp(path)
        if path not in known or stamp is None or known[path][0] != stamp:
            known[path] = stamp, read_again(path, kafka=kafka)
        return known[path][1]

    return read


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    # An editor may replace a file instead of writing to it, and a clock may be coarse: hence all three.
    return status.st_mtime_ns, status.st_size, status.st_ino

"""Dump logs while they grow, and go on with the next segment when one is full."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import sleep

from kipgen.commands.console import one_line
from kipgen.commands.dump.log_files import LogFile, log_file
from kipgen.commands.dump.logs import LogDump
from kipwire.records.names import segment_after
from kipwire.tools.lines import print_err

_PAUSE = 0.2
"""Seconds between two looks at the files."""


@dataclass
class _Followed:
    """A log, at its last segment."""

    file: LogFile
    position: int
    """Where the next batch starts."""
    is_gone: bool = False


def follow(dump: LogDump, ends: Iterable[tuple[LogFile, int]], decode_as: str | None) -> None:
    """Dump what is added to logs, until all of them are removed.

    Args:
        dump: where it goes.
        ends: the last segment of each log, and where its next batch will start.
        decode_as: as for `log_file`.
    """
    logs = [_Followed(*end) for end in ends]
    while logs := [log for log in logs if not log.is_gone]:
        dump.out.flush()
        caught_up = [_catch_up(dump, log, decode_as) for log in logs]  # all of them, one after the other
        if not any(caught_up):
            sleep(_PAUSE)


def _catch_up(dump: LogDump, log: _Followed, decode_as: str | None) -> bool:
    """Dump what has been added to a log; whether there may be more."""
    try:
        following = segment_after(log.file.path)  # looked for first: then nothing more comes to the segment before it
        _added(dump, log)
    except FileNotFoundError:
        following = segment_after(log.file.path) if log.file.path.parent.is_dir() else None
        if following is None:
            log.is_gone = True
            print_err((f"{one_line(log.file.path)}: was removed", "yellow"))
            return True
    if following is None:
        return False
    log.file = log_file(following, decode_as)
    log.position = dump.whole(log.file)
    return True


def _added(dump: LogDump, log: _Followed) -> None:
    size = log.file.path.stat().st_size
    if size < log.position:
        print_err((f"{one_line(log.file.path)}: was cut from {log.position} to {size} bytes", "yellow"))
        log.position = size
    elif size > log.position:
        log.position = dump.part(log.file, log.position)

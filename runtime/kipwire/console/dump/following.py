"""Dump logs while they grow, and go on with the next segment when one is full, or with what is left of a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

from kipwire.cli.command_line import one_line
from kipwire.console.dump.log_files import LogFile, log_file
from kipwire.console.dump.logs import LogDump
from kipwire.logs.accounting import batch_heads
from kipwire.logs.names import base_offset_of, segment_after, segments_of
from kipwire.records.reading import MagicTwo
from kipwire.tools.text import print_err

_PAUSE = 0.2
"""Seconds between two looks at the files."""

_GONE = (FileNotFoundError, NotADirectoryError)


@dataclass
class _Followed:
    """A log, at its last segment."""

    file: LogFile
    position: int
    """Position of the next batch."""
    shown: dict[Path, os.stat_result] = field(default_factory=dict)
    """Status of the segments when they were shown, including this one."""
    is_gone: bool = False
    """True if the segment was removed, and no other is there."""


def follow(dump: LogDump, ends: Iterable[tuple[LogFile, int]], decode_as: str | None) -> None:
    """Dump what is added to logs, until Ctrl-C.

    Args:
        dump: the output.
        ends: the last segment of each log, and where its next batch will start.
        decode_as: see `log_file`.
    """
    logs = [_Followed(file, position, _status_until(file.path)) for file, position in ends]
    while True:
        dump.out.flush()
        caught_up = [_catch_up(dump, log, decode_as) for log in logs]  # all of them, one after the other
        if not any(caught_up):
            sleep(_PAUSE)


def _catch_up(dump: LogDump, log: _Followed, decode_as: str | None) -> bool:
    """Dump what has been added to a log; return True if there may be more."""
    try:
        following = segment_after(log.file.path)  # looked for first: then nothing more comes to the segment before it
        _show_added(dump, log)
    except _GONE:
        following = _next_left(log)
    try:
        if following is None:
            return False
        was_gone, log.is_gone = log.is_gone, False
        log.file = log_file(following, decode_as)
        before, now = log.shown.get(following), following.stat()
        is_same = before is not None and before.st_ino == now.st_ino and before.st_size <= now.st_size
        if before is not None and is_same and not was_gone:
            log.position = _end_of_batches(following, before.st_size, dump.options.magic_2)
        else:
            _whole(dump, log, now)
    except _GONE:
        pass  # it is looked for again
    return True


def _show_added(dump: LogDump, log: _Followed) -> None:
    now, before = log.file.path.stat(), log.shown.get(log.file.path)
    is_another = before is not None and before.st_ino != now.st_ino
    if log.is_gone or is_another:
        if not log.is_gone:
            _say(log, "was replaced")
        log.is_gone = False
        _whole(dump, log, now)
        return
    log.shown[log.file.path] = now
    if now.st_size < log.position:
        _say(log, f"was cut from {log.position} to {now.st_size} bytes")
        log.position = _end_of_batches(log.file.path, now.st_size, dump.options.magic_2)
    elif now.st_size > log.position:
        log.position = dump.part(log.file, log.position)


def _whole(dump: LogDump, log: _Followed, now: os.stat_result) -> None:
    log.position = 0
    log.shown[log.file.path] = now
    log.position = dump.whole(log.file)


def _end_of_batches(path: Path, size: int, magic_2: MagicTwo) -> int:
    """Find where the last whole batch ends among the first `size` bytes of a segment."""
    with path.open("rb") as file:
        return max((head.end for head in batch_heads(file, 0, size, magic_2)), default=0)


def _next_left(log: _Followed) -> Path | None:
    """Find the segment to go on with after a removed one: the next, or else the last; None while there is none."""
    left = [path for path, _ in _segments(log.file.path)]
    following = next((path for path in left if path.name >= log.file.path.name), left[-1] if left else None)
    if following is None and not log.is_gone:
        log.is_gone = True
        _say(log, "was removed; waiting for a segment")
    elif following is not None and not log.is_gone and following.name < log.file.path.name:
        _say(log, f"was removed; going on with {following.name}")
    return following


def _segments(file: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """List the segments of a log that exist, in order; only the file itself if its name has no base offset."""
    if base_offset_of(file.name) is None:
        found = [file]
    else:
        try:
            found = segments_of(file.parent)
        except _GONE:
            return
    for path in found:
        try:
            yield path, path.stat()
        except _GONE:
            continue


def _status_until(file: Path) -> dict[Path, os.stat_result]:
    """Read the status of the segments of a log that have been shown, up to a file."""
    return {path: now for path, now in _segments(file) if path.name <= file.name}


def _say(log: _Followed, what: str) -> None:
    print_err((f"{one_line(log.file.path)}: {what}", "yellow"))

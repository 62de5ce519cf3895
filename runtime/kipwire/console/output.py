"""Destination of a dump's lines, standard output in large pieces; and times in them, always in UTC."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from functools import lru_cache

NONE = -1
"""The timestamp of a record that has none."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(text: str) -> int:
    """Parse a time to milliseconds since 1970: ISO 8601 (UTC if it has no zone), the milliseconds, or `now`.

    Raises:
        ValueError: the text is none of these.
    """
    if text == "now":
        return (datetime.now(UTC) - _EPOCH) // _MILLISECOND
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write one such as 2026-11-21T08:00:00Z, milliseconds since 1970, or now"
        ) from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


def moment_text(timestamp: int) -> str:
    """Format a timestamp in milliseconds, as in `2026-11-21T08:00:47.549Z`; `none` for -1."""
    if timestamp == NONE:
        return "none"
    second, rest = divmod(timestamp, 1000)
    return f"{_second(second)}.{rest:03d}Z"


def moment_text_of_ns(timestamp: int) -> str:
    """Format a time in nanoseconds as `moment_text` does, with microseconds."""
    second, rest = divmod(timestamp, 10**9)
    return f"{_second(second)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError):  # any number may be there
        return f"{second}s"


_PIECE = 1 << 16
"""Characters that are written at once."""


class Output:
    """Standard output; `flush` before anything else is written, so that the order is right."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):  # there may be characters that the encoding lacks
            sys.stdout.reconfigure(errors="backslashreplace")
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Write text that ends with the end of a line."""
        self._parts.append(text)
        self._size += len(text)
        if self._size >= _PIECE:
            self._pass_on()

    def flush(self) -> None:
        """Pass on everything."""
        self._pass_on()
        sys.stdout.flush()

    def _pass_on(self) -> None:
        text = "".join(self._parts)
        self._parts.clear()
        self._size = 0
        sys.stdout.write(text)

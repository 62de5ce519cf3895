"""Destination of a dump's lines, standard output in large pieces; and times that people give."""

from __future__ import annotations

import io
import re
import sys
from datetime import UTC, datetime

from kipwire.tools.text import is_terminal, printable_text
from kipwire.tools.times import DAY, milliseconds_of, now

_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY}
_AGO = re.compile(r"(?P<count>[0-9]{1,9})(?P<unit>[smhd])")
_MILLISECONDS = re.compile(r"-?[0-9]{1,19}")


def milliseconds(text: str) -> int:
    """Parse a time to milliseconds since 1970.

    Args:
        text: ISO 8601 (UTC if it has no zone), the milliseconds, `now`, or a time before now such as `10m`.

    Raises:
        ValueError: the text is none of these.
    """
    if text == "now":
        return now()
    if _MILLISECONDS.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if ago := _AGO.fullmatch(text):
        return now() - int(ago["count"]) * _UNITS[ago["unit"]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write one such as 2026-11-21T08:00:00Z, milliseconds since 1970, now, or 10m for "
            "10 minutes ago (s, m, h or d)"
        ) from None
    return milliseconds_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def metrics_text(text: str) -> str:
    """Return metrics for standard output: programs get each label as it is, terminals without control characters."""
    return printable_text(text) if is_terminal(sys.stdout) else text


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

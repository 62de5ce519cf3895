"""Where the lines of a dump go: standard output, in large pieces."""

from __future__ import annotations

import io
import sys

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

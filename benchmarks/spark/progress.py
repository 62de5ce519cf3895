"""One line with the progress of a run."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Shows minutes, the section and the current measurement: one line on a terminal, else one line for each."""

    def __init__(self, sections: int, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._start = time.monotonic()
        self._sections = sections
        self._number = 0
        self._section = ""

    def begin(self, section: str) -> None:
        """Start the next section."""
        self._number += 1
        self._section = section
        self.say("")

    def say(self, what: str) -> None:
        """Show the current measurement."""
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        line = f"{minutes}:{seconds:02} {self._number}/{self._sections} {self._section}{what and ': '}{what}"
        if self._out.isatty():
            self._out.write(f"\r\x1b[K{line}")
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def end(self) -> None:
        """Leave the line, before something else is printed."""
        if self._out.isatty():
            self._out.write("\r\x1b[K")
            self._out.flush()

"""The console of tables and progress: everything that is printed is data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from kipwire.tools.text import printable_text

_WIDTH_OF_FILES = 180
"""Columns of output without a terminal: wide enough for every path of Kafka's messages."""


class DataConsole(Console):
    """A console that takes all text for data: no markup in it counts, and control characters are shown as escapes."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = True, width: int | None = None) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, width=width, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """Escape plain text, too: rich would leave out some control characters without a word."""
        return super().render_str(printable_text(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape all output, which passes through here; segments that move the cursor for rich stay as they are."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable_text(text), style)


ERR = DataConsole(stderr=True)


def table_console() -> DataConsole:
    """Make the console for tables: as wide as the terminal; lines in a file are never cut."""
    is_wide = sys.stdout.isatty() or "COLUMNS" in os.environ
    return DataConsole(soft_wrap=False, width=None if is_wide else _WIDTH_OF_FILES)

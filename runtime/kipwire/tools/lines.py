"""Lines of text, in colour on a terminal, printed without rich, which takes longer to import than most commands run."""

from __future__ import annotations

import os
import sys

from kipwire.tools.printable import printable_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

Part = str | tuple[str, str]
"""Text, or text with its style: one or two of `STYLES`, such as `bold red`."""

STYLES = {
    "bold": "1",
    "dim": "2",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "bright_cyan": "96",
}


def print_out(*parts: Part) -> None:
    """Print one line to standard output; control characters in it are shown as escapes."""
    _print(sys.stdout, parts)


def print_err(*parts: Part) -> None:
    """Print one line to standard error; as `print_out`."""
    _print(sys.stderr, parts)


def _print(stream: TextIO, parts: tuple[Part, ...]) -> None:
    coloured = has_colour(stream)
    line = "".join(_shown(part, coloured) for part in parts) + "\n"
    try:
        stream.write(line)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _shown(part: Part, coloured: bool) -> str:
    text, style = (part, "") if isinstance(part, str) else part
    shown = printable_text(text)
    if not coloured or not style:
        return shown
    return f"\x1b[{';'.join(STYLES[one] for one in style.split())}m{shown}\x1b[0m"


def has_colour(stream: TextIO) -> bool:
    """Whether a stream takes colours: a terminal does; NO_COLOR and FORCE_COLOR in the environment decide before it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    # Consoles of Windows take escapes only after a call, which rich makes; lines without colour are always right.
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown") and os.name != "nt"

"""How the commands speak on standard error."""

from __future__ import annotations

import sys
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

ERR = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(text: str) -> NoReturn:
    """Say in one line why a command cannot be carried out, and exit with 2."""
    ERR.print(f"[red]kipgen:[/red] {escape(text)}")
    sys.exit(2)

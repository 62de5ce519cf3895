"""How the commands speak, and what they all take for granted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipgen.problems import Problem

ERR = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(text: str) -> NoReturn:
    """Say in one line why a command cannot be carried out, and exit with 2."""
    ERR.print(f"[red]kipgen:[/red] {escape(text)}")
    sys.exit(2)


def print_problems(problems: Iterable[Problem]) -> None:
    """Say what is wrong with specs, one line a problem."""
    for problem in problems:
        colour = "red" if problem.severity == "error" else "yellow"
        ERR.print(f"[{colour}]{escape(str(problem))}[/{colour}]")


def packages_here() -> list[Path]:
    """The folders of specs of a project that keeps them in schemas/, as this one does; exit with 2 without any."""
    folders = sorted(folder for folder in Path("schemas").glob("*") if any(folder.rglob("*.json")))
    if not folders:
        fail("name a folder of specs; there is none in schemas/ here")
    return folders

"""How all commands report what is wrong, and where they look for specs."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.text import Text

from kipwire.tools.printable import printable_line
from kipwire.tools.terminal import ERR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipgen.language.problems import Problem


def fail(*lines: str) -> NoReturn:
    """Say why a command cannot run, each text on a line of its own, and exit with 2."""
    for number, line in enumerate(lines):
        ERR.print(Text.assemble(("kipgen: ", "red") if not number else "", one_line(line)))
    sys.exit(2)


def system_error(error: OSError) -> str:
    """An error of the system in one line, with what is in the way where the system's own words leave that open."""
    if not isinstance(error.filename, str):
        return error.strerror or str(error)
    path = Path(error.filename)
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        for part in (*reversed(path.parents), path):
            if os.path.lexists(part) and not part.is_dir():
                return f"{part}: is a file; a folder is needed"
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path}: the folder {path.parent} does not exist"
    return f"{path}: {error.strerror or error}"


def one_line(text: object) -> str:
    """A path or a name for a message: always one line."""
    return printable_line(str(text))


def print_problems(problems: Iterable[Problem]) -> None:
    """Say what is wrong with specs, one line a problem."""
    for problem in problems:
        colour = "red" if problem.severity == "error" else "yellow"
        ERR.print(Text(str(problem), colour))


def packages_here() -> list[Path]:
    """The folders of specs of a project that keeps them in schemas/, as this one does; exit with 2 without any."""
    folders = sorted(folder for folder in Path("schemas").glob("*") if any(folder.rglob("*.json")))
    if not folders:
        fail("there are no specs in schemas/; give a folder of specs")
    return folders

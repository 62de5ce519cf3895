"""How all commands report what is wrong, and where they look for specs."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kipwire.tools.text import print_err, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipgen.commands.settings import Settings
    from kipgen.language.problems import Problem


def fail(*lines: str) -> NoReturn:
    """Say why a command cannot run, each text on a line of its own, and exit with 2."""
    for number, line in enumerate(lines):
        print_err(*([("kipgen: ", "red")] if not number else []), one_line(line))
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
    """Print what is wrong with specs to standard error, with source lines: why a command cannot run."""
    from kipgen.commands.reporting.problems import print_problems

    print_problems(problems, print_err)


def settings_here() -> Settings:
    """The settings of the project; exit with 2 if they are wrong."""
    from kipgen.commands.settings import SettingsError, find_settings

    try:
        return find_settings()
    except SettingsError as error:
        fail(str(error))


def packages_here(settings: Settings) -> list[Path]:
    """The folders of specs that the settings name, or else those in schemas/; exit with 2 without any."""
    from kipgen.reading.spec_files import spec_files

    folders = list(settings.specs) or sorted(one for one in Path("schemas").glob("*") if spec_files(one))
    if not folders:
        fail("there are no specs in schemas/; give a folder of specs, or specs in kipgen.toml")
    return folders

"""Reporting of problems with specs, and the places of specs, for all commands."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from kipgen.commands.reporting import problems as report
from kipgen.commands.settings import Settings, SettingsError, find_settings
from kipgen.language.problems import Problem
from kipgen.reading.check import spec_files
from kipgen.resources import kafka_spec, kafka_specs
from kipwire.cli.command_line import fail
from kipwire.tools.text import print_err

SPECS = Path("schemas")
"""The folder of packages' specs, if the settings name none."""

KAFKA = "kafka"
"""The name of the specs of Kafka's own messages, which kipgen brings."""


class _SpecsFolder(click.Path):
    """A path of specs, or the name `kafka` where nothing here has it."""

    name = "specs"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; for `kafka` the folder of Kafka's specs."""
        if value == KAFKA and not Path(KAFKA).exists():
            return kafka_specs()
        return Path(str(value))


SPECS_FOLDER = _SpecsFolder()
"""A folder of specs or a file, as an argument; the command itself reports a wrong one."""


def print_problems(problems: Iterable[Problem]) -> None:
    """Print what is wrong with specs to standard error, with source lines: why a command cannot run."""
    report.print_problems(problems, print_err)


def settings_here() -> Settings:
    """Read the settings of the project; exit with 2 if they are wrong."""
    try:
        return find_settings()
    except SettingsError as error:
        fail(str(error))


def find_spec(path: Path) -> tuple[Path, str]:
    """Find a spec by its file or by the name of its message: one of Kafka's, or else of the project's.

    Returns:
        the file, and how it is named where a line of it is shown: an installed spec by its name alone.
    """
    name = str(path)
    if path.exists() or not name.isidentifier():
        return path, name
    if found := kafka_spec(name):
        return found, found.name  # one's copy of it lies elsewhere
    for folder in list(settings_here().specs) or sorted(Path("schemas").glob("*")):
        for file in spec_files(folder):
            if file.stem == name:
                return file, str(file)
    return path, name


def packages_here(settings: Settings) -> list[Path]:
    """Find the folders of specs that the settings name, or else those in schemas/; exit with 2 without any."""
    folders = list(settings.specs) or sorted(one for one in SPECS.glob("*") if spec_files(one))
    if not folders:
        fail("there are no specs in schemas/; give a folder of specs, or specs in kipgen.toml")
    return folders


def only_folder(folders: list[Path]) -> Path:
    """Return the one folder of specs that there is; exit with 2 if there are more."""
    if len(folders) > 1:
        fail(f"there are {len(folders)} folders of specs; give one of {', '.join(map(str, folders))}")
    return folders[0]

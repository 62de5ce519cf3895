"""Reporting of problems with specs, and the default places of specs, for all commands."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kipgen.commands.reporting import problems as report
from kipgen.commands.settings import Settings, SettingsError, find_settings
from kipgen.language.problems import Problem
from kipgen.reading.check import spec_files
from kipgen.resources import kafka_spec
from kipwire.cli.command_line import fail
from kipwire.tools.text import print_err

SPECS = Path("schemas")
"""The folder of packages' specs, if the settings name none."""


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

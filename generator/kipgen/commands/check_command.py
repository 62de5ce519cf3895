"""The command `kipgen check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kipgen.commands.console import fail, packages_here, print_problems
from kipwire.tools.terminal import OUT
from kipwire.tools.words import counted

if TYPE_CHECKING:
    from kipgen.language.problems import Problem
    from kipgen.reading.check import Reader


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Specs, each checked alone, or folders of them: packages; those in schemas/ if none is given."
        ),
    ] = None,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Also apply the rules that only Kafka's own generator has.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Check again whenever a spec is saved, until Ctrl-C.")
    ] = False,
) -> None:
    """Check specs against the rules of the language; all problems at once."""
    from kipgen.reading.check import read_file

    paths = paths or packages_here()
    if watch:
        from kipgen.commands.watch import watch_specs

        missing = [path for path in paths if not path.exists()]
        if missing:
            fail(f"{missing[0]} does not exist; give files or folders of specs to watch")
        watch_specs(paths, lambda read: _print_check(_check(paths, kafka, read)))
    elif _print_check(_check(paths, kafka, read_file)):
        sys.exit(1)


def _check(paths: list[Path], kafka: bool, read: Reader) -> tuple[int, list[Problem]]:
    """How many specs there are, and what is wrong with them."""
    from kipgen.reading.check import read_folder

    problems: list[Problem] = []
    count = 0
    for path in paths:
        if path.is_dir():
            checked, found = read_folder(path, kafka=kafka, read=read)
            count += len(checked)
            problems += found
        else:
            count += 1
            problems += read(path, kafka=kafka).problems
    return count, problems


def _print_check(result: tuple[int, list[Problem]]) -> int:
    """Say what a check gave; how many errors there are."""
    count, problems = result
    print_problems(problems)
    errors = sum(problem.severity == "error" for problem in problems)
    OUT.print(f"{counted(count, 'spec')}: {counted(errors, 'error')}, {counted(len(problems) - errors, 'warning')}")
    return errors

"""The command `kipgen generate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from kipgen.commands.console import fail, one_line, packages_here, print_problems
from kipgen.language.names import need_package_name
from kipwire.tools.terminal import ERR, OUT


def generate(
    specs: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of specs, one for each package; those in schemas/ if none is given."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the generated packages go.")] = Path("generated"),
    package: Annotated[
        str, typer.Option("--package", "-p", help="Dotted name of the package; the folder's name if not given.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 and show a diff if anything is not up to date.")
    ] = False,
) -> None:
    """Generate a package of Python classes from each folder of specs."""
    specs = specs or packages_here()
    if package and len(specs) > 1:
        fail("--package is for one package; give one folder with it")
    folders: dict[str, Path] = {}
    for folder in specs:
        if not folder.is_dir():
            fail(f"{folder} is not a folder of specs{'; give the folder that it is in' if folder.is_file() else ''}")
        name = package or folder.resolve().name
        try:
            need_package_name(name)
        except ValueError as error:
            fail(str(error))
        if name in folders:
            fail(f"{folders[name]} and {folder} would both become the package {name}; generate one with --package")
        folders[name] = folder
    # No early end: each package that is not up to date is reported.
    stale = [_generate_package(folder, out.joinpath(*name.split(".")), name, check) for name, folder in folders.items()]
    if any(stale):
        sys.exit(1)


def _generate_package(folder: Path, package: Path, name: str, check: bool) -> bool:
    """Generate one package, or check it; whether the check found something to do."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from kipgen.package.generate import apply_changes, differences, find_changes, find_changes_afresh

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ERR, transient=True) as bar:
        task = bar.add_task(f"{'Checking' if check else 'Generating'} {name}", total=None)
        find_out = find_changes_afresh if check else find_changes
        changes = find_out(folder, package, name, lambda done, total: bar.update(task, completed=done, total=total))
    print_problems(changes.problems)
    for obstacle in changes.obstacles:
        ERR.print(Text.assemble((one_line(package / obstacle.path), "red"), f" is in the way: it {obstacle.reason}"))
    for path in changes.unclaimed:
        text = "looks like a generated file, but no spec needs it and kipgen did not make it; it is kept"
        ERR.print(Text(f"{one_line(package / path)}: {text}", "yellow"))
    if changes.has_errors:
        sys.exit(1)
    if check:
        for line in differences(changes):
            OUT.print(line)
        verdict = (
            "up to date" if changes.is_up_to_date else Text.assemble(("not up to date", "red"), ": run kipgen generate")
        )
        ERR.print(Text.assemble(f"{name}: ", verdict))
        return not changes.is_up_to_date
    apply_changes(changes)
    counts = f"{len(changes.contents)} files written, {len(changes.stale)} removed"
    OUT.print(f"{name}: {'up to date' if changes.is_up_to_date else counts}")
    return False

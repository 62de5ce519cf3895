"""The command line of kipgen: its commands, and what they have in common."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from kipgen.commands.advise.command import advise
from kipgen.commands.compat.command import compat
from kipgen.commands.console import fail, one_line, packages_here, print_problems, system_error
from kipgen.commands.drift.command import drift
from kipgen.commands.inspect.command import inspect
from kipgen.language.names import need_package_name
from kipwire.release import release_line
from kipwire.tools.terminal import ERR, OUT
from kipwire.tools.words import counted, did_you_mean

if TYPE_CHECKING:
    from kipgen.language.problems import Problem
    from kipgen.reading.check import Reader

app = typer.Typer(
    name="kipgen",
    help="Typed Python classes from JSON message specs, in the language of KIP-482 and KIP-625.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_release(wanted: bool) -> None:
    if wanted:
        OUT.print(release_line("kipgen"))
        raise typer.Exit


@app.callback()
def _every_command(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_release, help="Show the release and exit.")
    ] = False,
) -> None:
    """The options that come before the name of a command."""


def main() -> None:
    """Run the command line; errors of the system end in one readable line."""
    try:
        app()
    except KeyboardInterrupt:
        ERR.print("kipgen: interrupted; run it again to finish")
        sys.exit(130)
    except OSError as error:
        fail(system_error(error))


@app.command()
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


@app.command()
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


@app.command()
def rules(
    ids: Annotated[list[str] | None, typer.Argument(help="Rules to show with their examples; all if none.")] = None,
    brief: Annotated[bool, typer.Option("--brief", help="One line for each rule, without examples.")] = False,
) -> None:
    """Show the rules of the language and those of kipgen compat, each with a good and a bad example."""
    from kipgen.commands.compat.rules import ALL as COMPAT
    from kipgen.reading.rules import ALL

    known = [rule.id for rule in ALL] + [rule.id for rule in COMPAT]
    for unknown in sorted(set(ids or ()) - set(known)):
        fail(f"no rule is named {unknown}{did_you_mean(unknown, known) or '; see kipgen rules --brief'}")
    for rule in ALL:
        if ids and rule.id not in ids:
            continue
        notes: list[str] = [rule.severity or "only with --kafka"]
        if rule.severity == "warning" and rule.kafka == "error":
            notes.append("error with --kafka")
        OUT.print(Text.assemble((rule.id, "bold"), f" ({', '.join(notes)}): {rule.summary}"))
        if not brief:
            for title, colour, texts in (("good", "green", rule.good), ("bad", "red", rule.bad)):
                for text in texts:
                    _print_example(title, colour, text)
            OUT.print()
    for change in COMPAT:
        if ids and change.id not in ids:
            continue
        OUT.print(Text.assemble((change.id, "bold"), f" (compat, {change.severity}): {change.summary}"))
        if not brief:
            OUT.print(f"  breaks:  {change.breaks}\n  instead: {change.instead}")
            for title, colour, revisions in (("good", "green", change.good), ("bad", "red", change.bad)):
                for side, texts in (("before", revisions.old), ("after", revisions.new)):
                    for text in texts:
                        _print_example(f"{title}: {side}", colour, text)
            OUT.print()


def _print_example(title: str, colour: str, text: str) -> None:
    OUT.print(Text.assemble("  ", (title, colour)))
    OUT.print("\n".join(f"    {line}" for line in text.rstrip().splitlines()))


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name without Request, Response, Key or Value, such as Foo.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The folder of specs to put it into.")] = Path(),
    type_: Annotated[
        str,
        typer.Option("--type", "-t", help="request (with its response), metadata, data, layout, coordinator-key ..."),
    ] = "request",
    api_key: Annotated[int, typer.Option("--api-key", min=0, max=32767, help="Its number in the registry.")] = 1000,
) -> None:
    """Start a new message with a commented spec."""
    import os
    import re

    from kipgen.commands.new_spec import new_specs
    from kipgen.files import write_whole

    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name, re.ASCII):
        fail(f"{name!r} is not a valid message name; start with a capital, then use letters and digits")
    try:
        texts = new_specs(name, type_, api_key)
    except ValueError as error:
        fail(str(error))
    for file in texts:
        if os.path.lexists(folder / file):
            fail(f"{folder / file} already exists")
    for file, text in texts.items():
        write_whole(folder / file, text)
        OUT.print(f"wrote {one_line(folder / file)}")
    OUT.print(f"next: edit, then kipgen check {one_line(folder)} and kipgen generate {one_line(folder)}")


app.command()(inspect)
app.command()(advise)
app.command()(compat)
app.command()(drift)

"""The command `kipgen generate`.

The command finds settings, packages and folders, and prints; `package.generate` decides what changes. With `--check`,
`find_changes_afresh` renders everything, since a manifest that was edited together with the code would hide the edit.
Every package is dealt with before the exit status is decided, so that one run shows all that is wrong; a package with
errors is left as it is, and the others are written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from kipgen.commands.console import SPECS_FOLDER, packages_here, settings_here
from kipgen.commands.reporting import problems as report
from kipgen.commands.reporting.problems import Format, choose_format, format_option
from kipgen.commands.reporting.stale import report_stale, report_strays
from kipgen.commands.settings import DEFAULT_OUT, Policy, Settings
from kipgen.commands.terminal import ERR
from kipgen.commands.watch import watch_folders
from kipgen.language.names import need_package_name
from kipgen.language.problems import Problem
from kipgen.package.generate import PackageChanges, Progress, apply_changes, find_changes, find_changes_afresh
from kipgen.package.manifest import read_manifest
from kipgen.package.package_folder import explain_misplaced
from kipgen.reading.check import Reader, read_folder, reader_with
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.tools.text import count_of, print_err, print_out


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Outcome for one package."""

    name: str
    problems: list[Problem]
    failed: bool
    is_up_to_date: bool
    changed: tuple[str, ...] = ()
    """Files that were written, or that a check found to be different."""
    unneeded: tuple[str, ...] = ()
    """Files that were removed, or that a check would remove."""
    strays: tuple[str, ...] = ()
    """Files in the package that are not its own; they are kept."""


@click.command
@click.argument(
    "specs",
    nargs=-1,
    type=SPECS_FOLDER,
    help="Folders of specs, one for each package, or kafka for Kafka's; those of the settings, or in schemas/, if none "
    "is given.",
)
@click.option("--out", "-o", type=PATH, help=f"Where the generated packages go; {DEFAULT_OUT} if nothing says so.")
@click.option(
    "--package",
    "-p",
    default="",
    show_default=False,
    help="Dotted name of the package; that of the settings, or the folder's name, if not given.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and say what differs if anything is not up to date.")
@click.option("--diff", is_flag=True, help="With --check, show all that differs, not only the names and first lines.")
@click.option("--strict/--no-strict", default=None, help="Write nothing if there are warnings.")
@format_option
@click.option("--watch", "-w", is_flag=True, help="Generate again whenever a spec is saved, until Ctrl-C.")
def generate(
    specs: Sequence[Path],
    out: Path | None,
    package: str,
    check: bool,
    diff: bool,
    strict: bool | None,
    format_: Format | None,
    watch: bool,
) -> None:
    """Generate a package of Python classes from each folder of specs."""
    settings = settings_here()
    folders = _packages(specs or packages_here(settings), package, settings)
    policy = Policy.of(settings, strict)
    read = reader_with(settings.entity_types)
    out = out or settings.out or DEFAULT_OUT
    chosen = choose_format(format_)
    packages = {name: out.joinpath(*name.split(".")) for name in folders}
    _refuse_among_specs(packages, [*folders.values(), *settings.specs])

    def run() -> bool:
        # No early end: each package with problems, or that is not up to date, is reported.
        outcomes = [
            _generate_package(
                folder, packages[name], name, read, policy, chosen, settings.newest, check=check, diff=diff
            )
            for name, folder in folders.items()
        ]
        _report(outcomes, chosen)
        return any(outcome.failed for outcome in outcomes)

    if diff and not check:
        fail("--diff needs --check")
    if watch:
        if check:
            fail("--check cannot be used with --watch; to check specs when they are saved, run kipgen check --watch")
        watch_folders(folders.values(), run)
    elif run():
        sys.exit(1)


def _packages(specs: Sequence[Path], package: str, settings: Settings) -> dict[str, Path]:
    """Find the folders of specs by the names of their packages; exit with 2 if one cannot become a package."""
    if package and len(specs) > 1:
        fail("--package needs exactly one folder of specs")
    folders: dict[str, Path] = {}
    for folder in specs:
        if not folder.is_dir():
            fail(f"{folder} is not a folder of specs{'; give the folder that it is in' if folder.is_file() else ''}")
        name = package or settings.package_name(folder)
        try:
            need_package_name(name)
        except ValueError as error:
            fail(str(error))
        if name in folders:
            fail(f"{folders[name]} and {folder} would both become the package {name}; generate one with --package")
        folders[name] = folder
    return folders


def _refuse_among_specs(packages: Mapping[str, Path], specs: Sequence[Path]) -> None:
    """Exit with 2 if a package would be written among specs, or over chosen messages of others."""
    for name, package in packages.items():
        why = explain_misplaced(package, specs)
        if why:
            hint = "give another folder for generated packages, as in --out generated"
            fail(f"the package {name} would be written into {package}, {why}; {hint}")
        if read_manifest(package).vendored:
            text = f"{package} has chosen messages of other specs; bring it up to date with"
            fail(f"{text} kipgen vendor --out {package}, or give another folder")


def _generate_package(
    folder: Path,
    package: Path,
    name: str,
    read: Reader,
    policy: Policy,
    chosen: Format,
    newest: bool,
    *,
    check: bool,
    diff: bool,
) -> _Outcome:
    """Generate one package, or check it, and report on it unless the report is one document."""
    say = print_err if report.is_document(chosen) else print_out
    with _progress(f"{'Checking' if check else 'Generating'} {name}") as progress:
        find = find_changes_afresh if check else find_changes
        changes = find(folder, package, name, progress, read, newest=newest)
    problems = _problems(changes, folder, read, check, policy)
    if chosen is Format.TEXT:
        report.print_problems(problems, print_out)
    elif chosen is Format.GITHUB:
        report.print_annotations(problems)
    for obstacle in changes.obstacles:
        say((one_line(package / obstacle.path), "red"), f" is in the way: it {obstacle.reason}")
    report_strays(changes, say, chosen, is_error=check)
    if changes.has_errors or policy.fails(problems):
        return _Outcome(name, problems, True, False)
    if check:
        report_stale(changes, name, say, chosen, whole=diff)
    else:
        apply_changes(changes)
        counts = f"{count_of(len(changes.contents), 'file')} written, {len(changes.stale)} removed"
        say(f"{name}: {'up to date' if changes.is_up_to_date else counts}")
    up_to_date = changes.is_up_to_date and not changes.strays
    failed = check and not up_to_date
    return _Outcome(name, problems, failed, up_to_date, tuple(changes.contents), changes.stale, changes.strays)


def _problems(changes: PackageChanges, folder: Path, read: Reader, check: bool, policy: Policy) -> list[Problem]:
    """Judge the problems of a package by the policy.

    A run that is not a check reads only specs that changed. Where warnings count, it has to read all specs.
    """
    if policy.judges_warnings and not check:
        return policy.evaluate(read_folder(folder, read=read)[1])
    return policy.evaluate(changes.problems)


@contextmanager
def _progress(title: str) -> Iterator[Progress]:
    """Make a progress bar, on a terminal."""
    # A bar in a log would be a line for each step.
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=ERR, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _report(outcomes: list[_Outcome], chosen: Format) -> None:
    """Report on all packages: a count of problems, or the whole document."""
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    if chosen is Format.JSON:
        print(report.json_text(problems, packages=[_plain(outcome) for outcome in outcomes]))
    elif chosen is Format.SARIF:
        print(report.sarif_text("kipgen generate", problems))
    elif problems:
        print_out(report.summary_line(problems))


def _plain(outcome: _Outcome) -> Mapping[str, object]:
    return {
        "name": outcome.name,
        "failed": outcome.failed,
        "upToDate": outcome.is_up_to_date,
        "changed": list(outcome.changed),
        "unneeded": list(outcome.unneeded),
        "strays": list(outcome.strays),
    }

"""The command `kipgen vendor`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from kipgen.commands.console import SPECS_FOLDER, settings_here
from kipgen.commands.reporting.problems import Format
from kipgen.commands.reporting.stale import report_stale, report_strays
from kipgen.commands.vendor.choosing import ChoiceError, choose
from kipgen.commands.vendor.cutting import write_cut
from kipgen.language.names import need_package_name
from kipgen.package.generate import PackageChanges, apply_changes, find_changes, find_changes_afresh
from kipgen.package.manifest import Manifest, digest, read_manifest
from kipgen.package.package_folder import explain_misplaced
from kipgen.reading.check import spec_files
from kipgen.resources import kafka_specs
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.tools.text import count_of, print_out


@click.command
@click.argument(
    "messages",
    nargs=-1,
    metavar="[MESSAGE[:VERSIONS]]...",
    help="Messages, or APIs with request and response, such as Metadata or 'Produce:9+'; without versions those that "
    "are served. Without any, what the package was made of before.",
)
@click.option("--out", "-o", required=True, type=PATH, help="The folder of the package; its name is the package's.")
@click.option("--specs", type=SPECS_FOLDER, help="The folder of specs to choose from; Kafka's if not given.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and say what differs if it is not up to date.")
@click.option("--diff", is_flag=True, help="With --check, show all that differs, not only the names and first lines.")
def vendor(messages: Sequence[str], out: Path, specs: Path | None, check: bool, diff: bool) -> None:
    """Write a package of chosen messages and versions, with the headers and enums that they need."""
    if diff and not check:
        fail("--diff needs --check")
    recorded = _need_own(out)
    choices = tuple(messages) or recorded.vendored
    if not choices:
        fail(f"{out} was not vendored yet; name messages, as in kipgen vendor Metadata 'Produce:9+' --out {out}")
    source = specs or kafka_specs()
    if why := explain_misplaced(out, [source]):
        fail(f"the package would be written into {out}, {why}; give another folder")
    with tempfile.TemporaryDirectory() as folder:
        # Generated code names the folder of its spec.
        cut = Path(folder) / source.resolve().name
        try:
            write_cut(choose(choices, source), source, cut)
        except ChoiceError as error:
            fail(str(error))
        find = find_changes_afresh if check else find_changes
        newest = settings_here().newest
        changes = find(cut, out, out.resolve().name, lambda done, total: None, newest=newest, vendored=choices)
        changed = _changed_specs(recorded, cut)
    _need_written(changes, out)
    remedy = f"kipgen vendor {f'--specs {one_line(specs)} ' if specs else ''}--out {one_line(out)}"
    if not check:
        report_strays(changes, print_out, Format.TEXT, is_error=False)
        apply_changes(changes)
        counts = f"{count_of(len(changes.contents), 'file')} written, {len(changes.stale)} removed"
        print_out(f"{out.name}: {'up to date' if changes.is_up_to_date else counts}")
        return
    report_strays(changes, print_out, Format.TEXT, is_error=True)
    if changed:
        print_out((f"{out.name}: changed since it was vendored: {', '.join(changed)}", "red"))
    report_stale(changes, out.name, print_out, Format.TEXT, whole=diff, remedy=remedy)
    if not changes.is_up_to_date or changes.strays:
        sys.exit(1)


def _need_own(out: Path) -> Manifest:
    """Read the manifest of a package; exit with 2 unless the folder is new, empty, or made by this command."""
    try:
        need_package_name(out.resolve().name)
    except ValueError as error:
        fail(f"{out}: {error}")
    if not out.exists():
        return Manifest()
    if not out.is_dir():
        fail(f"{out}: is a file; give a new folder for the package")
    recorded = read_manifest(out)
    other = next((file.name for file in sorted(out.iterdir())), "")
    if other and not recorded.vendored:
        fail(f"{out} has files that kipgen vendor did not write, such as {other}; give a new folder for the package")
    return recorded


def _changed_specs(recorded: Manifest, cut: Path) -> list[str]:
    """Name the messages whose specs are not as they were when the package was made."""
    return sorted(
        file.stem
        for file in spec_files(cut)
        if (made := recorded.specs.get(file.relative_to(cut).as_posix())) is not None
        and made.spec_hash != digest(file.read_bytes())
    )


def _need_written(changes: PackageChanges, out: Path) -> None:
    """Exit with 2 if specs have errors, or files are in the way."""
    errors = [problem for problem in changes.problems if problem.severity == "error"]
    if errors:
        fail(f"{errors[0].path}: {errors[0].text}; choose other messages or versions")
    for obstacle in changes.obstacles:
        fail(f"{out / obstacle.path} is in the way: it {obstacle.reason}")

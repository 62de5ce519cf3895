"""The command `kipgen resolve`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from kipgen.commands.console import SPECS_FOLDER, only_folder, packages_here, settings_here
from kipgen.commands.reporting import problems as report
from kipgen.commands.settings import Policy
from kipgen.data.document import resolve_folder, text_of
from kipgen.language.names import need_package_name
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.tools.atomic import need_place
from kipwire.tools.files import need_file, read_regular, write_whole
from kipwire.tools.text import count_of, print_err, print_out, printable_json

_LONGEST = 1 << 30
"""Bytes of an earlier file that are compared."""
_SHOWN_LINES = 20


@click.command
@click.argument(
    "specs",
    type=SPECS_FOLDER,
    required=False,
    help="A folder of specs, or kafka for Kafka's; that of the settings, or in schemas/, if not given.",
)
@click.option("--out", "-o", type=PATH, help="The file to write; standard output if not given.")
@click.option("--package", "-p", default="", show_default=False, help="Name of the package; as kipgen generate has it.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and show the first lines that differ in the file.")
@click.option("--strict/--no-strict", default=None, help="Write nothing if there are warnings.")
def resolve(specs: Path | None, out: Path | None, package: str, check: bool, strict: bool | None) -> None:
    """Write what is on the wire in each version of each message, as JSON for programs in any language."""
    settings = settings_here()
    folder = specs or only_folder(packages_here(settings))
    name = package or settings.package_name(folder)
    try:
        need_package_name(name)
        if out is not None:
            (need_file if check else need_place)(out)
    except ValueError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out} {error.strerror}")
    if check and out is None:
        fail("--check needs --out FILE, the file to compare with")
    if not folder.is_dir():
        fail(f"{folder} is not a folder of specs{'; give the folder that it is in' if folder.is_file() else ''}")
    policy = Policy.of(settings, strict)
    resolved = resolve_folder(folder, name)
    problems = policy.evaluate(resolved.problems)
    if problems:
        report.print_problems(problems, print_err)
        print_err(report.summary_line(problems))
    if resolved.document is None or policy.fails(problems):
        sys.exit(1)
    text = text_of(resolved.document)
    if out is None:
        sys.stdout.write(printable_json(text))
    elif check:
        _compare(text, out)
    else:
        write_whole(out, text)
        versions = sum(len(message["versions"]) for message in resolved.document["messages"])
        messages = count_of(len(resolved.document["messages"]), "message")
        print_out(f"{one_line(out)}: {messages}, {count_of(versions, 'version')}")


def _compare(text: str, file: Path) -> None:
    """Exit with 1 if the file is not what would be written."""
    try:
        old = read_regular(file, _LONGEST)
    except FileNotFoundError:
        print_err(f"{one_line(file)} does not exist; run kipgen resolve")
        sys.exit(1)
    if old == text.encode():
        print_out(f"{one_line(file)}: up to date")
        return
    before = old.decode(errors="backslashreplace").splitlines()
    lines = difflib.unified_diff(before, text.splitlines(), f"{file} (on disk)", f"{file} (from specs)", "", "", 1, "")
    for _, line in zip(range(_SHOWN_LINES), lines, strict=False):
        print_out(line)
    print_err(f"{one_line(file)} is not up to date with the specs; run kipgen resolve")
    sys.exit(1)

"""The command `kipgen compat`.

The report alone goes to standard output, since JSON and SARIF are read by programs. Remarks on the comparison, such as
an old spec with errors, a shallow clone or an allowance that covers nothing, go to standard error and never change the
exit status: it is 1 if a finding that is not allowed breaks something, and 2, by `fail`, if nothing could be compared.
A notice never fails. Allowances are read before the specs, so that a mistake in them is reported first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kipgen.commands.compat.allow import Allowance, parse_allowance, read_allowances, with_allowances
from kipgen.commands.compat.common import common_json, common_lines, shared_versions
from kipgen.commands.compat.git import GitError
from kipgen.commands.compat.model import SEVERITIES, WITHOUT_COLUMNS, Finding, Severity, sort_findings, told_once
from kipgen.commands.compat.package import Packages
from kipgen.commands.compat.report import annotation_lines, counts, report_json, sarif_json, text_lines
from kipgen.commands.compat.revisions import Compared, SpecErrors, compare_paths, compare_with_commit
from kipgen.commands.console import SPECS, SPECS_FOLDER, packages_here, print_problems, settings_here
from kipgen.commands.reporting.problems import Format, choose_format, format_option
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.tools.atomic import write_atomically
from kipwire.tools.text import count_of, print_err, print_out

ALLOW_FILE = Path("compat-allow.toml")
"""The file of allowances, if no other is given."""


@click.command
@click.argument(
    "paths",
    nargs=-1,
    type=SPECS_FOLDER,
    metavar="OLD NEW | [PATH]...",
    help="Two files or folders of specs, or kafka for Kafka's. With --against, files or folders as they are now; "
    "those of the settings, or in schemas/, if none is given.",
)
@click.option(
    "--against",
    "-a",
    multiple=True,
    metavar="REVISION",
    help="Compare with a revision of the git repository, and its history; may be given several times.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="RULE:PATH=REASON",
    help="Accept a finding, as in 'field-renamed:Foo.Bar=not released'.",
)
@click.option(
    "--allow-file",
    type=PATH,
    metavar="FILE",
    help=f"Accepted findings, with reasons; {ALLOW_FILE} here if not given.",
)
@click.option("--wire-only", is_flag=True, help="Exit 0 if only generated code changes, not bytes.")
@click.option(
    "--common", is_flag=True, help="List the newest version of each message that both sides have with the same bytes."
)
@click.option("--columns", is_flag=True, help="Also report what breaks stored tables, and exit 1 for it.")
@format_option
@click.option("--json", "as_json", is_flag=True, help="As --format json.")
@click.option(
    "--sarif",
    default="",
    show_default=False,
    metavar="FILE",
    help="Write SARIF 2.1.0, for code scanning; - for standard output.",
)
def compat(
    paths: Sequence[Path],
    against: Sequence[str],
    allow: Sequence[str],
    allow_file: Path | None,
    wire_only: bool,
    common: bool,
    columns: bool,
    format_: Format | None,
    as_json: bool,
    sarif: str,
) -> None:
    """Find what changes of specs break: bytes of released versions, or code; exit 1 if they break something."""
    if as_json and format_ not in (None, Format.JSON):
        fail(f"--json cannot be used with --format {format_}")
    chosen = Format.JSON if as_json else choose_format(format_)
    if sarif == "-":
        if as_json or format_ not in (None, Format.SARIF):
            given = "--json" if as_json else f"--format {format_}"
            fail(f"{given} and --sarif - both write to standard output; use --sarif FILE")
        chosen, sarif = Format.SARIF, ""
    if common:
        others = (allow, "--allow"), (allow_file, "--allow-file"), (wire_only, "--wire-only"), (columns, "--columns")
        is_sarif, is_more = bool(sarif) or chosen is Format.SARIF, len(against) > 1
        for value, name in (*others, (is_sarif, "SARIF"), (is_more, "all --against but one")):
            if value:
                fail(f"--common lists versions that two sides share, not findings; leave out {name}")
    try:
        allowances = _allowances(allow, allow_file)
    except ValueError as error:
        fail(str(error))
    compared = _compare_all(paths, against)
    if common:
        sys.exit(_report_common(compared, chosen))
    severities = SEVERITIES if columns else WITHOUT_COLUMNS
    found = [finding for one in compared for finding in one.findings]
    if columns:
        found += [finding for one in compared for finding in one.column_findings]
    findings, unused = with_allowances(sort_findings(told_once(found)), allowances)
    messages = len({pair.new.file for one in compared for pair in one.pairs.messages})
    enums = len({new.location().file for one in compared for _, new in one.pairs.enums.matched})
    not_compared = [broken for one in compared for broken in one.not_compared]
    _print_not_compared(compared)
    # All but the tags and enums of older revisions is compared, so this is no failure.
    if any(one.is_history_cut for one in compared):
        print_err("the clone is shallow, so tags and enums of older revisions are not checked; fetch the whole history")
    if any(one.is_first_commit for one in compared):
        print_err("the repository has no commit yet, so there is nothing to compare with")
    for allowance in unused:
        print_err(f"allowed, but not found: {one_line(f'{allowance.rule}:{allowance.path}')}; remove the allowance")
    if sarif:
        _write_sarif(sarif, findings)
    if chosen is Format.SARIF:
        _write_sarif("-", findings)
    elif chosen is Format.JSON:
        print(json.dumps(report_json(findings, not_compared, messages, enums, severities), indent=2))
    else:
        _print_text(findings, _count(messages, enums), severities, chosen)
    # Columns are among the findings only if they were asked for, so they fail in either case.
    failing = ("wire", "column") if wire_only else ("wire", "source", "column")
    sys.exit(int(any(finding.severity in failing and finding.allowed is None for finding in findings)))


def _report_common(compared: Sequence[Compared], chosen: Format) -> int:
    """Print the versions that both sides share; return 1 if a message of both has none."""
    _print_not_compared(compared)
    pairs = [one.pairs for one in compared]
    found = [shared for one in pairs for shared in shared_versions(one)]
    gone = sorted(message.spec.name for one in pairs for message in one.gone)
    come = sorted(message.spec.name for one in pairs for message in one.come)
    if chosen is Format.JSON:
        print(json.dumps(common_json(found, (gone, come)), indent=2))
    else:
        for parts in common_lines(found):
            print_out(*parts)
        for side, names in (("first", gone), ("second", come)):
            if names:
                print_out(f"on the {side} side alone: {one_line(', '.join(names))}")
    return int(any(not one.versions for one in found))


def _print_not_compared(compared: Sequence[Compared]) -> None:
    for broken in (broken for one in compared for broken in one.not_compared):
        print_problems(broken.errors)
        remark = (f"not compared: {one_line(broken.path)}", "yellow")
        print_err(f"{one_line(broken.location)}: ", remark, ": its old spec has errors")


def _allowances(texts: Sequence[str], file: Path | None) -> list[Allowance]:
    """Read all allowances: of the options, and of the file.

    Raises:
        ValueError: something is not written as it should be.
    """
    found = [parse_allowance(text) for text in texts]
    if file is not None or ALLOW_FILE.exists():
        found += read_allowances(file or ALLOW_FILE)
    return found


def _compare_all(paths: Sequence[Path], against: Sequence[str]) -> list[Compared]:
    try:
        if against:
            settings = settings_here()
            folders = (*settings.specs, *(path for path in paths if path.is_dir()))
            packages = Packages(folders, None if settings.specs else SPECS)
            given = paths or packages_here(settings)
            # Each once: a revision that is given twice would be listed twice at each finding.
            return [compare_with_commit(path, one, packages) for one in dict.fromkeys(against) for path in given]
        if len(paths) != 2:
            fail("give two files or folders, the old one first, or --against REVISION; see kipgen compat --help")
        return [compare_paths(*paths)]
    except SpecErrors as error:
        print_problems(error.problems)
        fail("specs with errors cannot be compared")
    except GitError as error:
        fail(str(error))


def _write_sarif(target: str, findings: list[Finding]) -> None:
    text = json.dumps(sarif_json(findings), indent=2)
    if target == "-":
        print(text)
    else:
        write_atomically(Path(target), f"{text}\n".encode())
        print_err(f"wrote {one_line(target)}")


def _count(messages: int, enums: int) -> str:
    """Say what was compared; a package without enums needs no word on them."""
    named = f" and {count_of(enums, 'enum')}" if enums else ""
    return f"{count_of(messages, 'message')}{named} compared"


def _print_text(findings: list[Finding], compared: str, severities: Sequence[Severity], chosen: Format) -> None:
    if chosen is Format.GITHUB:
        for line in annotation_lines(findings):
            print_out(line)
    else:
        for parts in text_lines(findings):
            print_out(*parts)
    numbers = ", ".join(f"{number} {severity}" for severity, number in counts(findings, severities).items())
    allowed = sum(finding.allowed is not None for finding in findings)
    print_out(f"{compared}: {numbers}{f', {allowed} allowed' if allowed else ''}")

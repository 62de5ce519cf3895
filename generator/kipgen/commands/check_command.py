"""The command `kipgen check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from kipgen.commands.console import SPECS_FOLDER, packages_here, settings_here
from kipgen.commands.reporting import problems as report
from kipgen.commands.reporting.problems import Format, choose_format, format_option
from kipgen.commands.settings import Policy
from kipgen.commands.watch import watch_specs
from kipgen.language.problems import Problem
from kipgen.reading.check import Reader, read_bytes, read_folder, reader_with
from kipgen.reading.source import MAX_BYTES
from kipwire.cli.command_line import fail
from kipwire.tools.files import need_input
from kipwire.tools.text import count_of, print_out

_STDIN = Path("-")


@click.command
@click.argument(
    "paths",
    nargs=-1,
    type=SPECS_FOLDER,
    help="Specs, each checked alone; - for standard input; or folders of them: packages; kafka for Kafka's. "
    "Those of the settings, or in schemas/, if none is given.",
)
@click.option("--kafka/--no-kafka", default=None, help="Also apply the rules that only Kafka's own generator has.")
@click.option("--strict/--no-strict", default=None, help="Exit 1 for warnings, too.")
@format_option
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a spec is saved, until Ctrl-C.")
@click.option(
    "--stdin-name",
    default="<stdin>",
    metavar="FILE",
    help="The name of the file that standard input is the content of.",
)
def check(
    paths: Sequence[Path],
    kafka: bool | None,
    strict: bool | None,
    format_: Format | None,
    watch: bool,
    stdin_name: str,
) -> None:
    """Check specs against the rules of the language; all problems at once."""
    settings = settings_here()
    policy = Policy.of(settings, strict)
    kafka = settings.kafka if kafka is None else kafka
    paths = paths or packages_here(settings)
    chosen = choose_format(format_)
    texts: dict[str, bytes] = {}
    read_file = reader_with(settings.entity_types)

    def fails(read: Reader) -> bool:
        return _report(*_check(paths, kafka, read, texts, settings.entity_types), policy, chosen, texts)

    for path in paths:
        try:
            need_input(path)
        except OSError as error:
            fail(f"{path} {error.strerror}; give a file, or - for standard input")
    if _STDIN in paths:
        if watch:
            fail("standard input cannot be watched; give files or folders of specs")
        texts[stdin_name] = _standard_input()
    if watch:
        missing = [path for path in paths if not path.exists()]
        if missing:
            fail(f"{missing[0]} does not exist; give files or folders of specs to watch")
        watch_specs(paths, read_file, fails)
    elif fails(read_file):
        sys.exit(1)


def _standard_input() -> bytes:
    # One byte more than a spec may have, so that one that is too long is reported as such.
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def _check(
    paths: Sequence[Path], kafka: bool, read: Reader, texts: dict[str, bytes], entity_types: Mapping[str, str]
) -> tuple[int, list[Problem]]:
    """Check specs; return their number and their problems."""
    problems: list[Problem] = []
    count = 0
    for path in paths:
        if path == _STDIN:
            count += 1
            for name, data in texts.items():
                problems += read_bytes(data, name, kafka=kafka, entity_types=entity_types).problems
        elif path.is_dir():
            checked, found = read_folder(path, kafka=kafka, read=read)
            count += len(checked)
            problems += found
        else:
            count += 1
            problems += read(path, kafka=kafka).problems
    return count, problems


def _report(count: int, found: list[Problem], policy: Policy, chosen: Format, texts: dict[str, bytes]) -> bool:
    """Report the problems that a check found, to standard output; return True if the check failed."""
    problems = policy.evaluate(found)
    if chosen is Format.JSON:
        print(report.json_text(problems, specs=count))
    elif chosen is Format.SARIF:
        print(report.sarif_text("kipgen check", problems))
    else:
        if chosen is Format.GITHUB:
            report.print_annotations(problems)
        else:
            report.print_problems(problems, print_out, texts)
        print_out(report.summary_line(problems) if problems else f"{count_of(count, 'spec')}: no problems found.")
    return policy.fails(problems)

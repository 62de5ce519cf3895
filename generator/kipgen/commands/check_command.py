"""The command `kipgen check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kipgen.commands.console import fail, packages_here, settings_here
from kipgen.commands.reporting.formats import Format, FormatOption, chosen_format
from kipwire.tools.text import counted, print_out

if TYPE_CHECKING:
    from kipgen.commands.policy import Policy
    from kipgen.language.problems import Problem
    from kipgen.reading.check import Reader

_STDIN = Path("-")


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Specs, each checked alone; - for standard input; or folders of them: packages. "
            "Those of the settings, or in schemas/, if none is given."
        ),
    ] = None,
    kafka: Annotated[
        bool | None,
        typer.Option("--kafka/--no-kafka", help="Also apply the rules that only Kafka's own generator has."),
    ] = None,
    strict: Annotated[bool | None, typer.Option("--strict/--no-strict", help="Exit 1 for warnings, too.")] = None,
    format_: FormatOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Check again whenever a spec is saved, until Ctrl-C.")
    ] = False,
    stdin_name: Annotated[
        str, typer.Option(metavar="FILE", help="The name of the file that standard input is the content of.")
    ] = "<stdin>",
) -> None:
    """Check specs against the rules of the language; all problems at once."""
    from kipgen.commands.policy import Policy
    from kipgen.files import need_input
    from kipgen.reading.check import read_file

    settings = settings_here()
    policy = Policy.of(settings, strict)
    kafka = settings.kafka if kafka is None else kafka
    paths = paths or packages_here(settings)
    chosen = chosen_format(format_)
    texts: dict[str, bytes] = {}
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
        from kipgen.commands.watch import watch_specs

        missing = [path for path in paths if not path.exists()]
        if missing:
            fail(f"{missing[0]} does not exist; give files or folders of specs to watch")
        watch_specs(paths, lambda read: _report(*_check(paths, kafka, read, texts), policy, chosen, texts))
    elif _report(*_check(paths, kafka, read_file, texts), policy, chosen, texts):
        sys.exit(1)


def _standard_input() -> bytes:
    from kipgen.reading.source import MAX_BYTES

    return sys.stdin.buffer.read(MAX_BYTES + 1)


def _check(paths: list[Path], kafka: bool, read: Reader, texts: dict[str, bytes]) -> tuple[int, list[Problem]]:
    """How many specs there are, and what is wrong with them."""
    from kipgen.reading.check import read_bytes, read_folder

    problems: list[Problem] = []
    count = 0
    for path in paths:
        if path == _STDIN:
            count += 1
            problems += (
                problem for name, data in texts.items() for problem in read_bytes(data, name, kafka=kafka).problems
            )
        elif path.is_dir():
            checked, found = read_folder(path, kafka=kafka, read=read)
            count += len(checked)
            problems += found
        else:
            count += 1
            problems += read(path, kafka=kafka).problems
    return count, problems


def _report(count: int, found: list[Problem], policy: Policy, chosen: Format, texts: dict[str, bytes]) -> bool:
    """Report what a check found, all of it to standard output; whether the check failed."""
    from kipgen.commands.reporting import problems as report

    problems = policy.judged(found)
    if chosen is Format.JSON:
        print(report.json_text(problems, specs=count))
    elif chosen is Format.SARIF:
        print(report.sarif_text("kipgen check", problems))
    else:
        if chosen is Format.GITHUB:
            report.print_annotations(problems)
        else:
            report.print_problems(problems, print_out, texts)
        print_out(report.found(problems) if problems else f"{counted(count, 'spec')}: no problems found.")
    return policy.fails(problems)

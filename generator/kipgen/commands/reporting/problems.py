"""Problems of specs in every format: as text with the line that each is about, as JSON, as SARIF, for GitHub.

Every format is made of the same list of problems, which the policy of the settings has judged already: nothing here
changes a severity. Text and annotations go out line by line; JSON and SARIF are one document, beside which nothing else
may be printed to standard output (`is_document`). The keys of JSON, the ids of rules and the fingerprints of SARIF are
public: scripts and code hosts keep them.

A text from a spec may have any character. On a terminal each becomes a visible one (`printable_line`), and a caret
stands by columns, of which some characters take two and others none; for GitHub the characters that end a command are
escaped.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from pathlib import Path

import click

from kipgen.commands.reporting.sarif import SarifResult, SarifRule, sarif_log
from kipgen.language.problems import Problem
from kipgen.language.spec import Location
from kipgen.reading.rules import ALL
from kipgen.reading.source import MAX_BYTES, lines_of
from kipwire.cli.command_line import OneOf
from kipwire.tools.files import read_regular
from kipwire.tools.text import Part, count_of, print_out, printable_line

WIDTH = 100
"""Columns of a source line that are shown; of a longer one, those around the place."""

Excerpts = Callable[[Location], "tuple[str, str] | None"]
"""The source line of a location and the line with the caret; None if the file has no such line."""


class Format(StrEnum):
    """Format for problems."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


format_option = click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(Format),
    help="How problems are reported; in GitHub's Actions as annotations by default.",
)
"""The option that several commands have."""


def choose_format(given: Format | None) -> Format:
    """Choose the format that is given; otherwise annotations in a workflow of GitHub, and text everywhere else."""
    if given is not None:
        return given
    # GitHub sets this variable in each step of a workflow.
    return Format.GITHUB if os.environ.get("GITHUB_ACTIONS") == "true" else Format.TEXT


def is_document(chosen: Format) -> bool:
    """True if the whole report is one document, so that nothing else may be printed to its stream."""
    return chosen in (Format.JSON, Format.SARIF)


def excerpts_of(texts: Mapping[str, bytes] | None = None) -> Excerpts:
    """Make the function that finds source lines and reads each file once.

    Args:
        texts: the content of files that are not on the disk, such as standard input, by their names in problems.
    """
    known = texts or {}

    @cache
    def lines(file: str) -> list[str]:
        try:
            return lines_of(known[file] if file in known else read_regular(Path(file), MAX_BYTES))
        except (OSError, ValueError):
            return []

    def excerpt(location: Location) -> tuple[str, str] | None:
        found = lines(location.file)[location.line - 1 : location.line]
        return _excerpt(found[0], location) if found and found[0].strip() else None

    return excerpt


def _excerpt(line: str, location: Location) -> tuple[str, str]:
    before, after = _visible(line[: location.column - 1]), _visible(line[location.column - 1 :]).rstrip()
    # Around the place: a spec in one line of megabytes is a spec, too.
    if _width(before) + _width(after) > WIDTH:
        if _width(before) > WIDTH // 2:
            before = "..." + _last(before, WIDTH // 2)
        room = WIDTH - _width(before)
        after = f"{_first(after, room)}..." if _width(after) > room else after
    number = f"{location.line:>5}"
    return f"{number} | {before}{after}", f"{'':>5} | {' ' * _width(before)}^"


def _visible(text: str) -> str:
    return printable_line(text.replace("\t", "    "))


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width_of(one) for one in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _first(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[: min(len(text) - 1, room)]
    return text


def _last(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[max(1, len(text) - room) :]
    return text


Print = Callable[..., None]
_COLOURS = {"error": "red", "warning": "yellow"}


def print_problems(problems: Iterable[Problem], to: Print, texts: Mapping[str, bytes] | None = None) -> None:
    """Print problems, each with the source line that it is about and a caret under the place.

    Args:
        problems: what is wrong.
        to: prints one line: `print_out` or `print_err`.
        texts: the content of files that are not on the disk, by their names in problems.
    """
    excerpt = excerpts_of(texts)
    for problem in problems:
        to(*_headline(problem))
        for line in excerpt(problem.location) or ():
            to(line)


def _headline(problem: Problem) -> tuple[Part, ...]:
    """Format the text of a problem, with what the eye looks for in colour."""
    severity: tuple[Part, ...] = (("warning", "yellow"), ": ") if problem.severity == "warning" else ()
    subject: tuple[Part, ...] = ((printable_line(problem.path), "bold"), ": ") if problem.path else ()
    rule = (problem.rule, _COLOURS[problem.severity])
    return f"{printable_line(str(problem.location))}: ", *severity, *subject, rule, f": {printable_line(problem.text)}"


def print_annotations(problems: Iterable[Problem]) -> None:
    """Print problems as commands of GitHub's Actions, which show them beside the changed lines."""
    for problem in problems:
        file, line, column = problem.location.file, problem.location.line, problem.location.column
        subject = f"{problem.path}: " if problem.path else ""
        print_out(annotation(problem.severity, f"{subject}{problem.text}", file, line, column, problem.rule))


def annotation(level: str, text: str, file: str = "", line: int = 0, column: int = 0, title: str = "") -> str:
    """Write a command of GitHub's Actions that annotates a place, or the whole run without a file."""
    properties = {"file": file, "line": line, "col": column, "title": title}
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value)
    return f"::{level}{' ' if given else ''}{given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # In a property they end the value, or the list of properties.
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary_line(problems: Sequence[Problem]) -> str:
    """Write the last line of a report with problems: how many there are, in how many files."""
    files = len({problem.location.file for problem in problems})
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    kinds = f": {count_of(errors, 'error')}, {count_of(warnings, 'warning')}" if warnings else ""
    return f"Found {count_of(len(problems), 'problem')} in {count_of(files, 'file')}{kinds}."


def json_text(problems: Sequence[Problem], **more: object) -> str:
    """Write one JSON object with all problems.

    Args:
        problems: what is wrong.
        more: what else the object has.
    """
    return json.dumps({**more, "problems": [_plain(problem) for problem in problems]}, indent=2)


def _plain(problem: Problem) -> dict[str, object]:
    return {
        "rule": problem.rule,
        "severity": problem.severity,
        "path": problem.path,
        "text": problem.text,
        **asdict(problem.location),
    }


def sarif_text(command: str, problems: Iterable[Problem]) -> str:
    """Write a log in SARIF 2.1.0.

    Args:
        command: what found the problems: `kipgen check`.
        problems: what is wrong.
    """
    rules = []
    for rule in ALL:
        # A rule of Kafka's generator alone has a severity only there.
        level = rule.severity or rule.kafka or "error"
        only = "" if rule.severity else " Only for specs of Kafka's own generator."
        help_ = f"kipgen rules {rule.id} shows a good and a bad example."
        rules.append(SarifRule(rule.id, rule.summary, f"{rule.summary}{only}", help_, level))
    results = []
    for one in problems:
        text = f"{one.path}: {one.text}" if one.path else one.text
        # Without the line: code hosts recognize a problem by it after other lines were added above.
        fingerprint = ("problem/v1", f"{one.rule}:{one.path}:{one.text}")
        results.append(SarifResult(one.rule, one.severity, text, one.path, one.location, fingerprint))
    return json.dumps(sarif_log(command, rules, results), indent=2)

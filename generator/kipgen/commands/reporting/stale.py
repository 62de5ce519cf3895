"""Report of `kipgen generate` on the files of a package: stale ones, and strays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from kipgen.commands.reporting.problems import Format, annotation, is_document
from kipgen.package.generate import PackageChanges, differences
from kipwire.cli.command_line import one_line
from kipwire.tools.text import Part, print_out

MOST_NAMES = 50
"""Limit for the files that a check names."""
MOST_LINES = 40
"""Limit for the lines of their differences."""
MOST_ANNOTATIONS = 10
"""Limit of GitHub for annotations of one kind in a step."""

_STRAY = "not generated from any spec; remove it, or move it out of the package"


def report_strays(changes: PackageChanges, say: Callable[..., None], chosen: Format, *, is_error: bool) -> None:
    """Name the files that lie in a package and are not its own.

    Args:
        changes: of the package.
        say: prints one line.
        chosen: the format of the report; GitHub gets annotations of the first ones.
        is_error: True if strays are a failure, as in a check.
    """
    for number, path in enumerate(changes.strays):
        file = one_line(changes.package / path)
        say((f"{file}: {_STRAY}", "red" if is_error else "yellow"))
        if chosen is Format.GITHUB and number < MOST_ANNOTATIONS:
            level = "error" if is_error else "warning"
            print_out(annotation(level, _STRAY, str(changes.package / path), 1, 1, "stray file"))


def report_stale(
    changes: PackageChanges,
    name: str,
    say: Callable[..., None],
    chosen: Format,
    *,
    whole: bool,
    remedy: str = "kipgen generate",
) -> None:
    """Say whether a package is up to date, and if not, what differs.

    Args:
        changes: of the package.
        name: the package's name.
        say: prints one line.
        chosen: the format of the report; in a document nothing but the verdict is said beside it.
        whole: True to show all differences; otherwise the names of files and the first lines.
        remedy: the command that brings the package up to date.
    """
    # A stray makes a check fail even if all generated code is right: Python could import it.
    if changes.is_up_to_date and not changes.strays:
        say(f"{name}: up to date")
        return
    if not is_document(chosen) and not changes.is_up_to_date:
        lines = differences(changes)
        for line in lines if whole else _first(changes, lines):
            print_out(line)
    if chosen is Format.GITHUB and not changes.is_up_to_date:
        print_out(annotation("error", f"{name} is not up to date: run {remedy}", title="stale code"))
    advice = "remove the files that are not generated" if changes.is_up_to_date else f"run {remedy}"
    verdict: tuple[Part, ...] = (("not up to date", "red"), f": {advice}")
    say(f"{name}: ", *verdict)


def _first(changes: PackageChanges, lines: Iterator[str]) -> Iterator[str]:
    """Yield the files that differ, and the first lines of their differences."""
    names = [*changes.contents, *changes.stale]
    for path in names[:MOST_NAMES]:
        file = changes.package / path
        what = "no longer generated" if path in changes.stale else "differs" if file.exists() else "is missing"
        yield f"{file}: {what}"
    if len(names) > MOST_NAMES:
        yield f"... and {len(names) - MOST_NAMES:,} more files"
    yield from islice(lines, MOST_LINES)
    if next(lines, None) is not None:
        yield f"... only the first {MOST_LINES} lines of the differences; --diff shows all"

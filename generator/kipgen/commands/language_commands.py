"""The commands that show the language of specs: `kipgen rules` and `kipgen schema`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import click

from kipgen.commands.compat.rules import ALL as COMPAT
from kipgen.reading.rules import ALL
from kipgen.resources import enum_schema_path, resolved_schema_path, schema_path, vector_schema_path
from kipwire.cli.command_line import OneOf, fail
from kipwire.tools.text import did_you_mean, print_out


@click.command
@click.argument("ids", nargs=-1, help="Rules to show with their examples; all if none.")
@click.option("--brief", is_flag=True, help="One line for each rule, without examples.")
def rules(ids: Sequence[str], brief: bool) -> None:
    """Show the rules of the language and of kipgen compat, each with a good and a bad example."""
    known = [rule.id for rule in ALL] + [rule.id for rule in COMPAT]
    for unknown in sorted(set(ids) - set(known)):
        fail(f"unknown rule {unknown}{did_you_mean(unknown, known) or '; see kipgen rules --brief'}")
    for rule in ALL:
        if ids and rule.id not in ids:
            continue
        notes: list[str] = [rule.severity or "only with --kafka"]
        if rule.severity == "warning" and rule.kafka == "error":
            notes.append("error with --kafka")
        print_out((rule.id, "bold"), f" ({', '.join(notes)}): {rule.summary}")
        if not brief:
            for title, colour, texts in (("good", "green", rule.good), ("bad", "red", rule.bad)):
                for text in texts:
                    _print_example(title, colour, text)
            print_out()
    for change in COMPAT:
        if ids and change.id not in ids:
            continue
        print_out((change.id, "bold"), f" (compat, {change.severity}): {change.summary}")
        if not brief:
            print_out(f"  breaks:  {change.breaks}\n  instead: {change.instead}")
            for title, colour, revisions in (("good", "green", change.good), ("bad", "red", change.bad)):
                for side, texts in (("before", revisions.old), ("after", revisions.new)):
                    for text in texts:
                        _print_example(f"{title}: {side}", colour, text)
            print_out()


def _print_example(title: str, colour: str, text: str) -> None:
    print_out("  ", (title, colour))
    print_out("\n".join(f"    {line}" for line in text.rstrip().splitlines()))


class Kind(StrEnum):
    """Subject of a schema."""

    MESSAGE = "message"
    ENUM = "enum"
    RESOLVED = "resolved"
    VECTOR = "vector"


_FILES = {
    Kind.MESSAGE: schema_path,
    Kind.ENUM: enum_schema_path,
    Kind.RESOLVED: resolved_schema_path,
    Kind.VECTOR: vector_schema_path,
}


@click.command
@click.argument(
    "kind",
    type=OneOf(Kind),
    default="message",
    help="What the schema is for: specs of messages or of enums, or what kipgen resolve or kipgen vectors writes.",
)
@click.option("--path", is_flag=True, help="Print where the file is, for the settings of an editor.")
def schema(kind: Kind, path: bool) -> None:
    """Print the JSON Schema of specs, with which editors check them as they are written."""
    file = _FILES[kind]()
    print(file if path else file.read_text(encoding="utf-8").rstrip())

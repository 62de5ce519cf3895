"""Options that several commands of `kipwire` have."""

from __future__ import annotations

from enum import StrEnum

import click

from kipwire.console.command_line import OneOf


class Format(StrEnum):
    """Output format of a command."""

    TEXT = "text"
    JSON = "json"


format_option = click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(Format),
    default="text",
    help="Lines for people, or a JSON object on each line.",
)

ports_option = click.option(
    "--port",
    "ports",
    multiple=True,
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Of packets: a port of the brokers.",
)

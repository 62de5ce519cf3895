"""The options of `kipwire offsets` as data, and the one that jobs have, too: how a report is written."""

from __future__ import annotations

from enum import StrEnum

import click

from kipwire.console.command_line import OneOf


class Format(StrEnum):
    """The format of a report on standard output."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


format_option = click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(Format),
    default=Format.TEXT.value,
    help="Tables for people, a JSON object on each line, or Prometheus' text format.",
)

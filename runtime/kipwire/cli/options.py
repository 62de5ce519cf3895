"""Options that several commands of `kipwire` have."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click

from kipwire.cli.command_line import OneOf, fail

F = TypeVar("F", bound=Callable[..., Any])


class OutputFormat(StrEnum):
    """Output format of a command."""

    TEXT = "text"
    JSON = "json"


class MagicTwoOption(StrEnum):
    """Format of batches with magic 2, as `kipwire.records.reading.MagicTwo`."""

    KAFKA = "kafka"
    KIP_82 = "kip-82"
    KIP_98_DRAFT = "kip-98 draft"


format_option = click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(OutputFormat),
    default="text",
    help="Lines for people, or a JSON object on each line.",
)


def one_format(command: F) -> F:
    """Add `--format` and its short form `--json` to a command that prints one JSON object instead of text."""
    command = click.option(
        "--json",
        is_flag=True,
        is_eager=True,  # so that the callback of --format finds it
        expose_value=False,
        callback=_remember_json,
        help="As --format json.",
    )(command)
    return click.option(
        "--format",
        "-f",
        "format_",
        type=OneOf(OutputFormat),
        callback=_one_format,
        help="Text for people, or one JSON object; text if not given.",
    )(command)


def _remember_json(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta[__name__] = given


def _one_format(context: click.Context, _: click.Parameter, given: OutputFormat | None) -> OutputFormat:
    as_json = context.meta.get(__name__, False)
    if as_json and given not in (None, OutputFormat.JSON):
        fail(f"--json cannot be used with --format {given}")
    return OutputFormat.JSON if as_json else given or OutputFormat.TEXT


packages_option = click.option(
    "--package",
    "-p",
    "packages",
    multiple=True,
    default=("kafka_messages",),
    metavar="NAME",
    help="The generated package to take classes from; more than once: the APIs of all.",
)
more_packages_option = click.option(
    "--package",
    "-p",
    "packages",
    multiple=True,
    metavar="NAME",
    help="A generated package with APIs beside Kafka's, such as a vendor's; more than once: the APIs of all.",
)
ports_option = click.option(
    "--port",
    "ports",
    multiple=True,
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Of packets: a port of the brokers.",
)

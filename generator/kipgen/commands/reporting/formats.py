"""The formats of a report, and which of them is meant."""

from __future__ import annotations

import os
from enum import StrEnum

import click

from kipwire.cli.command_line import OneOf


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

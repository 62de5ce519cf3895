"""The jobs of the pipeline, as programs name them, and how their reports are written."""

from __future__ import annotations

from enum import StrEnum

import click

from kipwire.cli.command_line import OneOf

JOBS = {
    "offsets": "Commits, lag and members of consumer groups, over time from log folders.",
    "traffic": "Clients, APIs, versions, sizes, latencies and errors, from captures.",
    "transactions": "Open and hanging transactions, and what they hold back, from log folders.",
    "metadata": "Topics, partitions, leaders and configuration of a cluster at a point in time, from its metadata log.",
    "compaction": "How much of compacted topics is dead, by partition and segment, from log folders.",
    "share": "Where share groups are, and what was delivered after their start offsets, from log folders.",
    "tiered": "Segments and partitions in tiered storage, from log folders.",
}
"""Jobs of the pipeline, which the extra "jobs" brings: only their names are known here."""


class ReportFormat(StrEnum):
    """The format of a report on standard output."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


format_option = click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(ReportFormat),
    default=ReportFormat.TEXT.value,
    help="Tables for people, a JSON object on each line, or Prometheus' text format.",
)

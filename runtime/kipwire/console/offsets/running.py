"""Runs `kipwire offsets --brokers`: one report, of one look or two; or an exporter until Ctrl-C.

A look may meet an election or a broker that restarts, so one with problems that may pass is repeated a few times before
it is shown; what is left then is shown beside the report, with exit status 1. The exporter has no such patience: its
next round is the repetition. It also lets Python collect garbage less often, as the comment on the threshold explains.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kipwire.aio import Address
from kipwire.aio.failures import shown_address
from kipwire.aio.serving import EVERYWHERE
from kipwire.cli.command_line import report_failure
from kipwire.cli.jobs import ReportFormat
from kipwire.cli.output import Output, metrics_text
from kipwire.cluster import ONCE, Cluster, NotFound, Patience, lag
from kipwire.cluster.groups import matches_any
from kipwire.cluster.metrics import metrics_of
from kipwire.cluster.model import Look
from kipwire.cluster.remembered import Memory
from kipwire.cluster.settings import Settings
from kipwire.console.brokers.running import prepare, run
from kipwire.console.brokers.running import serve as serve_until_end
from kipwire.console.offsets.exporter import HEAD_BYTES, Exporter, Server
from kipwire.console.offsets.report import Report, json_of, text_of
from kipwire.tools.text import did_you_mean, print_err

PATIENCE = Patience(4, 0.5)
"""With looks, as long as something cannot be read that may pass, such as a leader that is being elected."""
STALLED_AFTER = 60.0
_MOST_NAMES = 10
_MOST_PROBLEMS = 10
_ALLOCATIONS_UNTIL_COLLECTED = 100_000
"""A round makes several objects for each row, and no circles; looking for circles as often as Python does by itself
takes a third of its time."""
_ROUNDS_UNTIL_OLD = 3
_SECONDS_UNTIL_OLD = 60.0


class LagQuery(NamedTuple):
    """Groups and topics, and what is asked about them; see `lag.look`."""

    groups: tuple[str, ...]
    topics: tuple[str, ...]
    committed: bool
    seconds: bool
    all_topics: bool = False

    async def look(self, cluster: Cluster, memory: Memory | None = None) -> Look:
        """Look at a cluster."""
        return await lag.look(
            cluster,
            self.groups,
            self.topics,
            committed=self.committed,
            seconds=self.seconds,
            all_topics=self.all_topics,
            memory=memory,
        )


def run_live(
    settings: Settings,
    brokers: Sequence[Address],
    query: LagQuery,
    format_: ReportFormat,
    stalled_after: float | None,
    listen: Address | None,
    every: float,
) -> None:
    """Show the groups of a cluster: once, or to Prometheus with `listen`; see `show` and `serve`."""
    if listen is None:
        show(settings, brokers, query, format_, stalled_after)
    else:
        serve(settings, brokers, query, listen, every, stalled_after)


def show(
    settings: Settings, brokers: Sequence[Address], query: LagQuery, format_: ReportFormat, stalled_after: float | None
) -> None:
    """Print a report; exit with 1 if something could not be read, and with 2 if no broker answers.

    Args:
        settings: how to reach brokers.
        brokers: some of a cluster.
        query: what is shown.
        format_: how it is written.
        stalled_after: seconds until a second look, which says who stands still; None for one look.
    """
    prepare(settings)
    cluster = Cluster(brokers, settings, patience=PATIENCE)
    first, last = run(_looks(cluster, query, stalled_after))
    report = Report(cluster.name, last, first)
    out = Output()
    for line in _lines(report, format_, all_rows=bool(query.groups or query.topics)):
        out.write(line)
    out.flush()
    if last.problems:
        if format_ is ReportFormat.PROMETHEUS:  # whose text has no place for them
            _say_problems(last)
        sys.exit(1)


def _say_problems(look: Look) -> None:
    for problem in look.problems[:_MOST_PROBLEMS]:
        report_failure(str(problem))
    if (more := len(look.problems) - _MOST_PROBLEMS) > 0:
        report_failure(f"and {more:,} more could not be read")


def _lines(report: Report, format_: ReportFormat, *, all_rows: bool) -> Iterator[str]:
    match format_:
        case ReportFormat.TEXT:
            return text_of(report, all_rows=all_rows)
        case ReportFormat.JSON:
            return json_of(report)
        case ReportFormat.PROMETHEUS:
            metrics = metrics_of(report.look, report.rows_by_group, report.stalled or ())
            return iter([metrics_text(metrics)])


def _nothing(query: LagQuery, names: Sequence[str], topics: Sequence[str]) -> str:
    """Explain why nothing is shown, with the names of groups, and of topics if one was asked for."""
    given = " or ".join(query.groups)
    if query.groups and not any(matches_any(name, query.groups) for name in names):
        near = did_you_mean(query.groups[0], names) if len(query.groups) == 1 else ""
        return f"no group {given}{near or f'; there are {_some(names)}'}"
    near = did_you_mean(query.topics[0], topics) if topics and query.topics[0] not in topics else ""
    return f"no group{f' named {given}' * bool(given)} has offsets of {' or '.join(query.topics)}{near}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES]) or 'none'}{more}"


async def _looks(cluster: Cluster, query: LagQuery, stalled_after: float | None) -> tuple[Look | None, Look]:
    """Take the look that is shown, after an earlier one if there are two.

    Raises:
        NotFound: there is nothing that was asked for.
    """
    async with cluster:
        found = await query.look(cluster)
        if not (found.groups or found.problems or found.ends) and (query.groups or query.topics):
            topics = await cluster.topics() if len(query.topics) == 1 else []
            raise NotFound(f"{cluster.name}: {_nothing(query, found.names, topics)}")
        if stalled_after is None:
            return None, found
        await asyncio.sleep(stalled_after)
        return found, await query.look(cluster)


def serve(
    settings: Settings,
    brokers: Sequence[Address],
    query: LagQuery,
    listen: Address,
    every: float,
    stalled_after: float | None,
) -> None:
    """Run an exporter until Ctrl-C or SIGTERM.

    Args:
        settings: how to reach brokers.
        brokers: some of a cluster.
        query: what is shown.
        listen: host, empty for everywhere, and port, 0 for a free one.
        every: seconds from round to round.
        stalled_after: seconds that an offset stands still to be listed; None for a minute.
    """
    gc.set_threshold(_ALLOCATIONS_UNTIL_COLLECTED)
    exporter = Exporter(
        STALLED_AFTER if stalled_after is None else stalled_after,
        max(_SECONDS_UNTIL_OLD, _ROUNDS_UNTIL_OLD * every),
        lambda line: print_err(f"kipwire: {line}"),
    )
    prepare(settings)
    work = _serve(Cluster(brokers, settings, patience=ONCE), exporter, query, listen, every)
    serve_until_end(work, shown_address(listen))


async def _serve(cluster: Cluster, exporter: Exporter, query: LagQuery, listen: Address, every: float) -> None:
    scrapes = Server(exporter)
    server = await asyncio.start_server(scrapes.accept, listen[0] or None, listen[1], limit=HEAD_BYTES)
    host, port = server.sockets[0].getsockname()[:2]
    here = "localhost" if host in EVERYWHERE else host  # nothing can be fetched from [::]
    print_err(f"kipwire: metrics of {cluster.name} at http://{shown_address((here, port))}/metrics")
    try:
        await exporter.run(partial(query.look, cluster, Memory()), every)
    finally:
        server.close()
        await scrapes.close()
        await cluster.close()

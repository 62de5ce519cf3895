"""Runs `kipwire transactions --brokers`: a report of the open transactions, or the end of those that hang.

All forms of the report are made from the same rows. What could not be read is shown beside them,
with exit status 1, and then `?` and null stand for what is not known. Nothing is sent that changes a cluster but the
markers of `abort_hanging`, and these only when it is told so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from shutil import get_terminal_size
from typing import Any

from kipwire.aio import Address
from kipwire.cli.command_line import report_failure
from kipwire.cli.jobs import ReportFormat
from kipwire.cli.output import Output, metrics_text
from kipwire.cli.text_tables import table_lines
from kipwire.cluster import Cluster, NotFound, Patience
from kipwire.cluster.groups import matches_any
from kipwire.cluster.settings import Settings
from kipwire.cluster.transactions import Open, Transaction, TransactionsLook, abort, abort_request, look_at_transactions
from kipwire.console.brokers.running import prepare, run
from kipwire.tools.exposition import gauge_lines, pairs_text
from kipwire.tools.text import count_of, did_you_mean, has_colour, print_out, printable_line, style_line
from kipwire.tools.times import NONE, duration_text, moment_text

PATIENCE = Patience(4, 0.5)
"""With what may pass, such as a leader that is being elected."""
_OF_PARTITIONS = ("partition", "transactional id", "state", "open for", "held back", "from", "producer", "epoch")
_OF_IDS = ("transactional id", "state", "open for", "timeout", "partitions", "producer", "epoch")
_STATES = {True: "hanging", None: "?"}


def show(settings: Settings, brokers: Sequence[Address], topics: Sequence[str], format_: ReportFormat) -> None:
    """Print a report; exit with 1 if something could not be read, and with 2 if no broker answers.

    Args:
        settings: how to reach brokers.
        brokers: some of a cluster.
        topics: patterns of names; none: all.
        format_: how it is written.
    """
    prepare(settings)
    cluster = Cluster(brokers, settings, patience=PATIENCE)
    look = run(_looked(cluster, topics))
    out = Output()
    for line in _lines(cluster.name, look, format_):
        out.write(line)
    out.flush()
    if look.problems:
        if format_ is ReportFormat.PROMETHEUS:  # whose text has no place for them
            for problem in look.problems:
                report_failure(str(problem))
        sys.exit(1)


def _lines(where: str, look: TransactionsLook, format_: ReportFormat) -> Iterator[str]:
    match format_:
        case ReportFormat.TEXT:
            return text_of(where, look)
        case ReportFormat.JSON:
            return json_of(look)
        case ReportFormat.PROMETHEUS:
            return iter([metrics_text(metrics_of(look))])


def abort_hanging(settings: Settings, brokers: Sequence[Address], topics: Sequence[str], *, is_meant: bool) -> None:
    """End the transactions that hang; print each request before. Exit with 1 if one does not end.

    Args:
        settings: how to reach brokers.
        brokers: some of a cluster.
        topics: patterns of names; none: all.
        is_meant: whether the requests are sent; else they are shown alone.
    """
    prepare(settings)
    cluster = Cluster(brokers, settings, patience=PATIENCE)
    if not run(_aborted(cluster, topics, is_meant)):
        sys.exit(1)


async def _looked(cluster: Cluster, topics: Sequence[str]) -> TransactionsLook:
    async with cluster:
        return await _look(cluster, topics)


async def _look(cluster: Cluster, topics: Sequence[str]) -> TransactionsLook:
    """Look; a pattern that fits no topic is an error.

    Raises:
        NotFound: it fits none.
    """
    look = await look_at_transactions(cluster, topics)
    for pattern in topics:
        if not any(matches_any(name, [pattern]) for name in look.topics):
            raise NotFound(f"{cluster.name}: no topic is named {pattern}{did_you_mean(pattern, look.topics)}")
    return look


async def _aborted(cluster: Cluster, topics: Sequence[str], is_meant: bool) -> bool:
    async with cluster:
        look = await _look(cluster, topics)
        for problem in look.problems:
            report_failure(str(problem))
        if not look.hanging:
            unknown = sum(one.is_hanging is None for one in look.opened)
            known = "no transaction hangs"
            print_out(f"{count_of(unknown, 'open transaction')} may hang or not" if unknown else known)
            return not look.problems
        is_done = True
        for one in look.hanging:
            request = abort_request(one)
            body = json.dumps(request.to_json(), separators=(",", ":"))
            leader = look.leaders[one.producer.partition]
            print_out(f"{_place(one)}: {count_of(one.held_back, 'offset')} held back; to {leader}:")
            print_out(f"  WriteTxnMarkers {body}")
            if is_meant and (failed := await abort(cluster, look, one)) is not None:
                is_done = False
                report_failure(str(failed))
        if not is_meant:
            print_out("nothing was sent; add --yes to send this")
            return not look.problems
        left = {one.producer for one in (await _look(cluster, topics)).opened}
        for one in look.hanging:
            is_there = one.producer in left
            is_done = is_done and not is_there
            print_out(f"{_place(one)}: {'is still open' if is_there else 'ended'}")
        return is_done and not look.problems


def _place(one: Open) -> str:
    return f"{one.producer.partition}: producer {one.producer.producer_id} from offset {one.producer.start_offset}"


def text_of(where: str, look: TransactionsLook) -> Iterator[str]:
    """Format the lines of a report, with their ends.

    Args:
        where: the addresses that were given.
        look: what is shown.
    """
    coloured = has_colour(sys.stdout)
    yield style_line(
        [(printable_line(f"Transactions at {where}, {moment_text(round(look.time * 1000))}"), "bold")],
        coloured=coloured,
    )
    yield "\n"
    for name, number, more, style in _totals(look):
        yield style_line([(f"{name:<16}{number:>9,}  {more}".rstrip(), style if number else "")], coloured=coloured)
    if look.problems:
        yield "\n" + style_line([("What could not be read", "bold")], coloured=coloured)
        for problem in look.problems:
            yield style_line([(printable_line(str(problem)), "red")], coloured=coloured)
    width = get_terminal_size().columns
    if look.opened:
        rows = [_cells(look, one) for one in look.opened]
        yield from table_lines("Open in partitions", _OF_PARTITIONS, rows, 3, width=width)
    if look.transactions:
        rows = [_cells_of_id(look, one) for one in look.transactions]
        yield from table_lines("Open at coordinators", _OF_IDS, rows, 2, width=width)
    if look.hanging:
        yield "\nA coordinator ends an open transaction after its timeout. One that hangs has none: see --abort.\n"


def _totals(look: TransactionsLook) -> Iterator[tuple[str, int, str, str]]:
    partitions = {one.producer.partition: one.held_back for one in look.opened}
    yield "open", len(look.opened), f"in {count_of(len(partitions), 'partition')}" if partitions else "", ""
    yield "hanging", len(look.hanging), "that no coordinator will end" if look.hanging else "", "red"
    if unknown := sum(one.is_hanging is None for one in look.opened):
        yield "not known", unknown, "whether they hang: not all coordinators have answered", "yellow"
    held = sum(partitions.values())
    yield "held back", held, "offsets that readers of committed records do not get" if held else "", "yellow"


def _cells(look: TransactionsLook, one: Open) -> Sequence[str]:
    producer, transaction = one.producer, one.transaction
    state = _STATES.get(one.is_hanging, "" if transaction is None else transaction.state)
    return (
        str(producer.partition),
        "-" if transaction is None else transaction.transactional_id,
        state,
        _age(look, one.since()),
        f"{one.held_back:,}",
        str(producer.start_offset),
        str(producer.producer_id),
        str(producer.producer_epoch),
    )


def _cells_of_id(look: TransactionsLook, one: Transaction) -> Sequence[str]:
    return (
        one.transactional_id,
        one.state,
        _age(look, one.started),
        duration_text(one.timeout / 1000),
        f"{len(one.partitions):,}",
        str(one.producer_id),
        str(one.producer_epoch),
    )


def _age(look: TransactionsLook, started: int) -> str:
    return "?" if started == NONE else duration_text(max(look.time - started / 1000, 0.0))


def json_of(look: TransactionsLook) -> Iterator[str]:
    """Format the lines of a report as JSON, with their ends: totals, open transactions, transactional ids, problems."""
    unknown = sum(one.is_hanging is None for one in look.opened)
    lines = chain(
        [
            {
                "type": "totals",
                "as_of": look.time,
                "open": len(look.opened),
                "hanging": len(look.hanging),
                "not_known": unknown,
                "held_back": sum({one.producer.partition: one.held_back for one in look.opened}.values()),
                "problems": len(look.problems),
            }
        ],
        (_open_row(one) for one in look.opened),
        (_id_row(one) for one in look.transactions),
        ({"type": "problem", "where": one.where, "reason": one.reason} for one in look.problems),
    )
    return (json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _open_row(one: Open) -> dict[str, Any]:
    producer, transaction = one.producer, one.transaction
    return {
        "type": "open",
        "topic": producer.partition.topic,
        "partition": producer.partition.number,
        "transactional_id": None if transaction is None else transaction.transactional_id,
        "state": None if transaction is None else transaction.state,
        "is_hanging": one.is_hanging,
        "started": None if one.since() == NONE else one.since(),
        "held_back": one.held_back,
        "start_offset": producer.start_offset,
        "last_timestamp": None if producer.last_timestamp == NONE else producer.last_timestamp,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
    }


def _id_row(one: Transaction) -> dict[str, Any]:
    return {
        "type": "transaction",
        "transactional_id": one.transactional_id,
        "state": one.state,
        "started": None if one.started == NONE else one.started,
        "timeout": one.timeout,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "partitions": [f"{partition}" for partition in sorted(one.partitions)],
    }


def metrics_of(look: TransactionsLook) -> str:
    """Format open transactions as metrics; one counts as hanging only if that is known."""
    held = {one.producer.partition: one.held_back for one in look.opened}
    labels = {one: pairs_text(("topic", "partition"), (one.topic, str(one.number))) for one in held}
    lines = [
        *gauge_lines("kipwire_transactions_open", "How many transactions are open.", [("", len(look.opened))]),
        *gauge_lines(
            "kipwire_transactions_hanging",
            "How many have no coordinator that will end them.",
            [("", len(look.hanging))],
        ),
        *gauge_lines(
            "kipwire_transactions_held_back",
            "How many offsets of a partition readers of committed records do not get.",
            [(labels[one], number) for one, number in sorted(held.items())],
        ),
        *gauge_lines("kipwire_transactions_problems", "How much could not be read.", [("", len(look.problems))]),
    ]
    return "\n".join([*lines, ""])

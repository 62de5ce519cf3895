"""Shows a look as tables (totals, faults, groups, partitions) or as JSON objects, one a line.

A report is one look, or two, of which the earlier serves only to find stalled groups. Both forms are made from the same
rows of `lag`, so they cannot differ. `?` and null stand for what is not known, and never 0. Tables show a limited
number of rows unless groups or topics were named; JSON has all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from shutil import get_terminal_size
from typing import Any

from kipwire.cli.text_tables import MOST_SHOWN, table_lines
from kipwire.cluster.lag import (
    Count,
    Row,
    Stalled,
    Totals,
    find_stalled,
    largest_first,
    rows_of,
    stands_of,
    totals_of,
)
from kipwire.cluster.model import Group, Look, Member
from kipwire.logs.names import Partition
from kipwire.tools.text import count_of, has_colour, printable_line, style_line
from kipwire.tools.times import duration_text, moment_text

_UNKNOWN = "?"


@dataclass(frozen=True)
class Report:
    """A report on one look, or on the second of two."""

    where: str
    """The addresses that were given."""
    look: Look
    first: Look | None = None
    """An earlier look, by which the other says who stands still."""

    @cached_property
    def rows_by_group(self) -> list[Row]:
        """The rows of all groups, in the order of groups and partitions."""
        return rows_of(self.look)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all groups, largest lag first."""
        return largest_first(self.rows_by_group)

    @cached_property
    def stalled(self) -> list[Stalled] | None:
        """The groups that have not moved since the first look; None without one."""
        if self.first is None:
            return None
        stands = stands_of(self.look, self.rows, stands_of(self.first, rows_of(self.first)))
        return find_stalled(self.rows, stands, self.look.time, self.look.time - self.first.time)

    @cached_property
    def totals(self) -> Totals:
        """The totals."""
        return totals_of(self.look, self.rows, self.stalled)


# For people.


def text_of(report: Report, *, all_rows: bool) -> Iterator[str]:
    """Format the lines of a report, with their ends.

    Args:
        report: the report.
        all_rows: whether to show every row of a table, however many there are.
    """
    coloured = has_colour(sys.stdout)
    heading = f"Consumer groups at {report.where}, {moment_text(round(report.look.time * 1000))}"
    yield style_line([(printable_line(heading), "bold")], coloured=coloured)
    yield "\n"
    for name, number, more, style in _total_lines(report.totals):
        yield style_line([(f"{name:<17}{number:>8}  {more}".rstrip(), style)], coloured=coloured)
    if report.look.problems:
        yield "\n" + style_line([("What could not be read", "bold")], coloured=coloured)
        for problem in report.look.problems[: None if all_rows else MOST_SHOWN]:
            yield style_line([(printable_line(str(problem)), "red")], coloured=coloured)
        if not all_rows and len(report.look.problems) > MOST_SHOWN:
            yield f"and {len(report.look.problems) - MOST_SHOWN:,} more\n"
    for table in _tables(report):
        if table.rows:
            yield from table_lines(
                table.title,
                table.header,
                table.rows,
                table.texts,
                table.texts_after,
                most=None if all_rows else MOST_SHOWN,
                width=get_terminal_size().columns,
            )


def _total_lines(totals: Totals) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, number, further text and style of each line of totals."""
    with_members = f"{totals.with_members:,} with members, {count_of(totals.partitions, 'partition')}"
    yield "groups", f"{totals.groups:,}", with_members, ""
    records = "" if not totals.lag else f", {count_of(totals.lag, 'record')}"
    unread = f", {totals.unread:,} unread" if totals.unread != totals.lag else ""
    oldest = f", up to {duration_text(totals.seconds)}" if totals.seconds else ""
    yield _total("behind", totals.behind, f"{records}{unread}{oldest}", "yellow")
    if totals.stalled is None:
        yield "stalled", _UNKNOWN, "not checked; use --stalled-after 30", ""
    else:
        yield _total("stalled", totals.stalled, "", "red")
    yield _total("without a reader", totals.without_reader, " that no member reads", "red")
    if totals.without_offset.groups:
        yield _total("without an offset", totals.without_offset, " that members read and do not commit", "red")
    if totals.too_late.groups:
        yield _total("too late", totals.too_late, " whose next record was removed", "red")
    if totals.ahead.groups:
        yield _total("ahead", totals.ahead, " that end before the offset", "red")
    if totals.gone.groups:
        yield _total("of no topic", totals.gone, " that do not exist any more", "")


def _total(name: str, count: Count, more: str, style: str) -> tuple[str, str, str, str]:
    if not count.groups:
        return name, "0", "", ""
    return name, f"{count.groups:,}", f"{count_of(count.partitions, 'partition')}{more}", style


@dataclass(frozen=True)
class _Table:
    title: str
    header: Sequence[str]
    rows: list[Sequence[str]]
    texts: int
    texts_after: int = 0


def _tables(report: Report) -> Iterator[_Table]:
    """Make the tables: faults by group and topic, then everything."""
    rows = report.rows
    stalled = _by_place(report)
    yield _wrong(
        "Stalled: records are unread, and the offset does not move",
        [one.row for one in report.stalled or ()],
        ("lag", "stands for", "the topic"),
        lambda own: (
            f"{_lag(own):,}",
            duration_text(max(stalled[row.group, row.partition].seconds for row in own)),
            _growth([stalled[row.group, row.partition] for row in own]),
        ),
    )
    yield _wrong(
        "Without a reader: records are unread, and no member of the group reads them",
        [row for row in rows if row.has_no_reader],
        ("lag", "behind by"),
        lambda own: (f"{_lag(own):,}", duration_text(_oldest(own))),
    )
    yield _wrong(
        "Without an offset: members read the partitions, and have committed nothing",
        [row for row in rows if row.has_no_offset],
        ("offsets there",),
        lambda own: (f"{sum((row.end or 0) - (row.start or 0) for row in own):,}",),
    )
    yield _wrong(
        "Too late: the next records were removed before the group has read them",
        [row for row in rows if row.too_late],
        ("removed",),
        lambda own: (f"{sum(row.too_late for row in own):,}",),
    )
    yield _wrong(
        "Ahead: the log ends before the offset of the group",
        [row for row in rows if row.ahead],
        ("ahead by",),
        lambda own: (f"{max(row.ahead for row in own):,}",),
    )
    yield _Table(
        "Groups",
        ("group", "kind", "state", "members", "partitions", "lag", "behind by"),
        [_group_cells(group, own) for group, own in _by_group(report)],
        3,
    )
    yield _Table(
        "Offsets and lag",
        ("group", "partition", "offset", "end", "lag", "unread", "behind by", "read by"),
        [
            (
                *_place(row),
                _number(row.offset),
                _number(row.end),
                _number(row.lag),
                _UNKNOWN if row.unread is None and row.lag is not None else _number(row.unread),
                "-" if row.lag is None else duration_text(row.seconds),
                _readers(row),
            )
            for row in rows
        ],
        2,
        1,
    )


def _wrong(title: str, rows: list[Row], header: Sequence[str], cells: Callable[[list[Row]], Sequence[str]]) -> _Table:
    """Make a table of those rows in which something is wrong, with one line for each group and topic."""
    own: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        own.setdefault((row.group, row.partition.topic), []).append(row)
    lines: list[Sequence[str]] = [(*names, f"{len(some):,}", *cells(some)) for names, some in own.items()]
    return _Table(title, ("group", "topic", "partitions", *header), lines, 2)


def _by_place(report: Report) -> dict[tuple[str, Partition], Stalled]:
    return {(one.row.group, one.row.partition): one for one in report.stalled or ()}


def _growth(stalled: list[Stalled]) -> str:
    """Format by how much partitions have grown meanwhile."""
    grown = [one.grown for one in stalled if one.grown is not None]
    if not grown:
        return _UNKNOWN
    return f"grew by {sum(grown):,}" if any(grown) else "is quiet"


def _lag(rows: list[Row]) -> int:
    return sum(row.lag or 0 for row in rows)


def _oldest(rows: list[Row]) -> float | None:
    """Find the highest lag in seconds; None if none of those with unread records is known."""
    if not any(row.is_unread for row in rows):
        return 0.0
    return max((row.seconds for row in rows if row.is_unread and row.seconds is not None), default=None)


def _by_group(report: Report) -> list[tuple[Group, list[Row]]]:
    """Sort the groups, with their rows, by lag, the largest first."""
    own: dict[str, list[Row]] = {}
    for row in report.rows:
        own.setdefault(row.group, []).append(row)
    both = [(group, own.get(group.name, [])) for group in report.look.groups]
    return sorted(both, key=lambda one: -_lag(one[1]))


def _group_cells(group: Group, rows: list[Row]) -> Sequence[str]:
    members = _UNKNOWN if group.members is None else f"{len(group.members):,}"
    behind = duration_text(_oldest(rows)) if rows else "-"
    return group.name, group.kind, group.state, members, f"{len(rows):,}", f"{_lag(rows):,}", behind


def _place(row: Row) -> tuple[str, str]:
    return row.group, str(row.partition)


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)


def _readers(row: Row) -> str:
    if row.readers is None:
        return _UNKNOWN
    first = "-" if not row.readers else f"{row.readers[0].client_id} at {row.readers[0].host}"
    return first if len(row.readers) < 2 else f"{len(row.readers)} members"


# For programs.


def json_of(report: Report) -> Iterator[str]:
    """Format the lines of a report as JSON, with their ends: totals, groups, partitions, problems."""
    totals = report.totals
    yield _line(
        "totals",
        as_of=report.look.time,
        groups=totals.groups,
        with_members=totals.with_members,
        partitions=totals.partitions,
        lag=totals.lag,
        unread=totals.unread,
        lag_seconds=totals.seconds,
        behind=_count(totals.behind),
        stalled=None if totals.stalled is None else _count(totals.stalled),
        without_reader=_count(totals.without_reader),
        without_offset=_count(totals.without_offset),
        too_late=_count(totals.too_late),
        ahead=_count(totals.ahead),
        gone=_count(totals.gone),
        problems=len(report.look.problems),
    )
    for group, own in _by_group(report):
        members = None if group.members is None else [_member(one) for one in group.members]
        yield _line("group", group=group.name, kind=group.kind, state=group.state, lag=_lag(own), members=members)
    stalled = _by_place(report)
    for row in report.rows:
        topic, partition = row.partition
        stands = stalled.get((row.group, row.partition))
        yield _line(
            "partition",
            group=row.group,
            kind=row.kind,
            topic=topic,
            partition=partition,
            offset=row.offset,
            start_offset=row.start,
            end_offset=row.end,
            lag=row.lag,
            unread=row.unread,
            lag_seconds=row.seconds,
            too_late=row.too_late,
            ahead=row.ahead,
            without_offset=row.has_no_offset,
            stalled_seconds=None if stands is None else stands.seconds,
            grown=None if stands is None else stands.grown,
            readers=None if row.readers is None else [_member(one) for one in row.readers],
        )
    for problem in report.look.problems:
        yield _line("problem", where=problem.where, reason=problem.reason)


def _line(type_: str, **values: Any) -> str:
    return json.dumps({"type": type_, **values}, separators=(",", ":")) + "\n"


def _count(count: Count) -> dict[str, int]:
    return {"groups": count.groups, "partitions": count.partitions}


def _member(member: Member) -> dict[str, str]:
    return {"member_id": member.id, "client_id": member.client_id, "host": member.host}

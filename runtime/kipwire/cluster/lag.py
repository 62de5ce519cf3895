"""Lag, faults and stalled groups: `look` asks a cluster, and all else is computed from looks, without I/O.

So it can be tested with numbers. Unknown is None all the way:
a lag is only known if both ends are, and no total counts what is not known. Whether a group stands still takes two
looks; where a look has problems, what it lacks stays as it stood before, so that one failed request does not make a
group look alive or stalled.

Each word has one meaning here, in `metrics`, and in `kipjobs.jobs.offsets`, which has it from log folders:

* lag: the end minus the committed offset, as Kafka's tools count
* unread: the offsets from the first record on that a consumer may still get; 0 if there is no such record
* seconds: the age of that record; 0 if nothing is unread. Something may be unread whose age is 0 or not known
* stalled: something is unread, and the offset has not moved for some time, while the topic grows or not
* too late: the next records were removed before they were read
* ahead: the log ends before the offset
* without an offset: a member has the partition, which has had records, and no offset is committed
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from kipwire.cluster.model import First, Group, Kind, Look, Member
from kipwire.logs.names import Partition

if TYPE_CHECKING:  # jobs compute lag without what talks to brokers
    from kipwire.cluster.cluster import Cluster
    from kipwire.cluster.remembered import Memory

_MS = 1000


async def look(
    cluster: Cluster,
    groups: Sequence[str] = (),
    topics: Sequence[str] = (),
    *,
    committed: bool = False,
    seconds: bool = True,
    all_topics: bool = False,
    memory: Memory | None = None,
) -> Look:
    """Look at the groups of a cluster; again where something may pass, as often as the patience of the cluster says.

    Args:
        cluster: its brokers.
        groups: patterns of names, such as `billing*`, of which one must fit; none: all groups.
        topics: the same for topics.
        committed: whether partitions end where the first open transaction begins, as for consumers of committed
            records.
        seconds: whether to look for the times of records.
        all_topics: whether to find the ends of all partitions of topics that fit, also those that no group reads.
        memory: of the looks before, for one of many.

    Raises:
        KipwireError: no broker answers.
    """

    async def once() -> Look:
        return await _look(cluster.once, groups, topics, committed, seconds, all_topics, memory)

    return await cluster.patience.repeat(once, lambda found: any(problem.may_pass for problem in found.problems))


async def _look(
    cluster: Cluster,
    patterns: Sequence[str],
    topics: Sequence[str],
    committed: bool,
    seconds: bool,
    all_topics: bool,
    memory: Memory | None,
) -> Look:
    """Ask for offsets before ends, so that no group seems ahead of what it has read."""
    names, groups, problems = await cluster.groups(patterns, topics)
    leaders = await cluster.leaders(*{partition for group in groups for partition in _partitions(group)})
    others = await cluster.leaders(*(await _topics(cluster, topics) if all_topics else ()))
    starts, ends = await cluster.ranges({**others, **leaders}, committed=committed)
    now = time.time()
    behind = _behind(groups, ends) if seconds else {}
    firsts, more = await cluster.first_records(behind, leaders, starts, ends, memory)
    return Look(
        now,
        tuple(names),
        tuple(groups),
        starts,
        ends,
        frozenset(leaders.gone),
        firsts,
        tuple(
            dict.fromkeys((*cluster.problems, *problems, *leaders.problems, *others.problems, *ends.problems, *more))
        ),
    )


async def _topics(cluster: Cluster, patterns: Sequence[str]) -> list[str]:
    return [name for name in await cluster.topics() if not patterns or any(fnmatchcase(name, one) for one in patterns)]


def _partitions(group: Group) -> set[Partition]:
    """Collect the partitions that a group has offsets of, or reads."""
    return set(group.offsets).union(*(member.partitions for member in group.members or ()))


def _behind(groups: Iterable[Group], ends: Mapping[Partition, int]) -> dict[Partition, set[int]]:
    """Find the committed offsets that are behind the ends of their partitions, each once."""
    found: dict[Partition, set[int]] = {}
    for group in groups:
        if group.kind is not Kind.SHARE:
            for partition, offset in group.offsets.items():
                if offset < ends.get(partition, 0):
                    found.setdefault(partition, set()).add(offset)
    return found


class Row(NamedTuple):
    """A partition that a group has committed an offset of, or that a member reads."""

    group: str
    kind: Kind
    partition: Partition
    offset: int | None
    """The next record to read; None if none was committed."""
    start: int | None
    """The first offset of the partition, as far as it is known."""
    end: int | None
    """End offset; None if it is not known, or if the partition no longer exists."""
    lag: int | None
    """`end` minus `offset`, 0 for a group that is ahead; None if one of them is not known."""
    unread: int | None
    """The number of offsets from the first record on that a consumer may still get, up to the end, so that markers,
    aborted and removed records after it count; exact if 0. None if it is not known. Of a share group its lag."""
    seconds: float | None
    """The age of the first record that the group has not read; 0 if nothing is unread, None if it is not known."""
    readers: tuple[Member, ...] | None
    """The members that read it; None if the members are not known."""

    @property
    def is_unread(self) -> bool:
        """True if records are left to read; also with a lag if no more is known."""
        return bool(self.lag if self.unread is None else self.unread)

    @property
    def has_no_reader(self) -> bool:
        """True if records are unread, and no member of the group reads the partition."""
        return self.is_unread and self.readers == ()

    @property
    def too_late(self) -> int:
        """Number of offsets that the log does not have any more, and that the group has not read."""
        if self.offset is None or self.start is None:
            return 0
        return max(self.start - self.offset, 0)

    @property
    def ahead(self) -> int:
        """Number of offsets by which the group is ahead of the end, as after a log was created again."""
        return 0 if self.offset is None or self.end is None else max(self.offset - self.end, 0)

    @property
    def has_no_offset(self) -> bool:
        """True if a member reads the partition, no offset is committed, and there are offsets to commit."""
        if self.offset is not None or not self.readers or self.kind is Kind.SHARE:
            return False
        return self.end is None or self.end > (self.start or 0)


def rows_of(look: Look) -> list[Row]:
    """Make the rows of all groups, in the order of groups and partitions."""
    return [row for group in look.groups for row in _rows(look, group)]


def largest_first(rows: Iterable[Row]) -> list[Row]:
    """Sort rows: the largest lag first, those without a known lag last."""
    return sorted(rows, key=lambda row: 1 if row.lag is None else -row.lag)


def _rows(look: Look, group: Group) -> Iterator[Row]:
    name, kind, offsets, members = group.name, group.kind, group.offsets, group.members
    readers: dict[Partition, list[Member]] = {}
    for member in members or ():
        for partition in member.partitions:
            readers.setdefault(partition, []).append(member)
    for partition in sorted({*offsets, *readers} if readers else offsets):
        offset, end = offsets.get(partition), look.ends.get(partition)
        lag = None if offset is None or end is None else max(end - offset, 0)
        unread = seconds = None
        if kind is Kind.SHARE:
            unread = lag = lag if offset is None else group.lags.get(partition, lag)
        elif lag == 0:
            unread, seconds = 0, 0.0
        elif offset is not None and end is not None:
            first = look.firsts.get(partition, {}).get(offset)
            unread = count_unread(offset, end, first)
            seconds = age(unread, first, look.time)
        reading = None if members is None else tuple(readers.get(partition, ())) if readers else ()
        yield Row(name, kind, partition, offset, look.starts.get(partition), end, lag, unread, seconds, reading)


def count_unread(offset: int, end: int, first: First | None) -> int | None:
    """Count the offsets from the first unread record to the end; None if that record is not known."""
    if first is None:
        return None
    return max(end - max(first.offset, offset), 0) if first.is_there else 0


def age(unread: int | None, first: First | None, now: float) -> float | None:
    """Compute the lag in seconds; None if the time of the first unread record is not known, or in the future."""
    if unread == 0:
        return 0.0
    if first is None or not 0 <= first.time <= now * _MS:
        return None
    return now - first.time / _MS


class Count(NamedTuple):
    """Groups that have something, with how many partitions."""

    groups: int
    partitions: int


def count(rows: Iterable[tuple[str, Partition]]) -> Count:
    """Count groups and partitions.

    Args:
        rows: the name of a group, and a partition.
    """
    every = list(rows)
    return Count(len({group for group, _ in every}), len(every))


class Totals(NamedTuple):
    """The numbers that answer most questions."""

    groups: int
    with_members: int
    partitions: int
    behind: Count
    lag: int
    """Lag of all groups together."""
    unread: int
    """Unread offsets of all groups together, as far as they are known."""
    seconds: float | None
    """The highest; None if none is known."""
    without_reader: Count
    without_offset: Count
    """Partitions that members read, and of which no offset is committed."""
    too_late: Count
    """Partitions whose next record was removed before it was read."""
    ahead: Count
    gone: Count
    """Number of partitions that no longer exist."""
    stalled: Count | None
    """None: one look does not say."""


class Stand(NamedTuple):
    """An offset of a group, and since when it is known to be there."""

    offset: int
    since: float
    """Seconds since 1970."""
    end_then: int | None
    """The end of the partition then; None if it was not known."""


class Stalled(NamedTuple):
    """A group that stands still."""

    row: Row
    since: float
    seconds: float
    """Seconds since then."""
    grown: int | None
    """Number of offsets by which the partition has grown since then, 0 if it is quiet; None if it is not known."""


Stands = Mapping[tuple[str, Partition], Stand]


def stands_of(look: Look, rows: Iterable[Row], before: Stands | None = None) -> Stands:
    """Find the offsets of groups, and since when they have not moved.

    Args:
        look: the current one; offsets that it could not read keep their earlier stand.
        rows: that follow from it.
        before: what followed from the look before; None for the first one.
    """
    found = dict(before or {}) if look.problems else {}
    for row in rows:
        if row.offset is None or row.kind is Kind.SHARE:
            continue
        key = row.group, row.partition
        last = None if before is None else before.get(key)
        if last is None or last.offset != row.offset:
            last = Stand(row.offset, look.time, row.end)
        found[key] = last
    return found


def find_stalled(rows: Iterable[Row], stands: Stands, time: float, least: float) -> list[Stalled]:
    """Find the groups that stand still, in the order of the rows.

    Records are unread, and the offset has not moved for `least` seconds or longer, in a topic that grows or is quiet.

    Args:
        rows: of a look.
        stands: that follow from it.
        time: of that look.
        least: seconds.
    """
    found = []
    for row in rows:
        stand = stands.get((row.group, row.partition))
        if stand is None or not row.is_unread or time - stand.since < least:
            continue
        grown = None if row.end is None or stand.end_then is None else row.end - stand.end_then
        found.append(Stalled(row, stand.since, time - stand.since, grown))
    return found


def totals_of(look: Look, rows: list[Row], stalled: list[Stalled] | None) -> Totals:
    """Count groups, partitions and unread records of a look, and the rows in which something is wrong.

    Args:
        look: the look.
        rows: the rows of lag that follow from it.
        stalled: the rows that stand still; None if one look alone is known.
    """

    def those(chosen: Iterable[Row]) -> Count:
        return count((row.group, row.partition) for row in chosen)

    return Totals(
        groups=len(look.groups),
        with_members=sum(bool(group.members) for group in look.groups),
        partitions=len(rows),
        behind=those(row for row in rows if row.lag),
        lag=sum(row.lag or 0 for row in rows),
        unread=sum(row.unread or 0 for row in rows),
        seconds=max((row.seconds for row in rows if row.seconds is not None), default=None),
        without_reader=those(row for row in rows if row.has_no_reader),
        without_offset=those(row for row in rows if row.has_no_offset),
        too_late=those(row for row in rows if row.too_late),
        ahead=those(row for row in rows if row.ahead),
        gone=those(row for row in rows if row.partition in look.gone),
        stalled=None if stalled is None else those(one.row for one in stalled),
    )

"""Finds the times of the first records that groups have not read, with Fetches at their offsets.

One request asks for many partitions, for one offset of each, and a batch serves all offsets within it. Kafka gives a
batch whole only to the first partition of a response, to the others what is asked for; so partitions whose batches are
large are asked for more and more, and in the end alone. Where a batch has no such record, since compaction has removed
it, its transaction was aborted, or a marker takes the offset, what follows is read in parts of growing size, a bounded
number of times.

Brokers say which transactions were aborted to readers of committed records, up to the last stable offset. From there on
nothing is decided, so each record counts, and is asked for as by readers of all records.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from kipwire.aio import Failure
from kipwire.cluster.brokers import Brokers, Node, problem_of
from kipwire.cluster.fetching import Part, fetch
from kipwire.cluster.model import First, Problem
from kipwire.logs.names import Partition
from kipwire.model.errors import DecodeError, KipwireError, MissingExtraError
from kipwire.records import RecordBatch, read_batches, read_committed
from kipwire.records.control import AbortedTransaction

SIZES = (1, 1 << 16, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20)
"""Bytes that are asked for from one partition alone, one time after the other. One byte stands for one batch, which
brokers give whole."""
SHARED_SIZES = (1 << 12, 1 << 15, 1 << 18)
"""Bytes that are asked for from a partition among others, until there is a batch."""
BYTES_AT_ONCE = 1 << 23
"""Highest number of bytes of a response with many partitions."""
_AT_ONCE = 64
"""Fetches of one partition that wait for their responses."""

Firsts = dict[Partition, dict[int, First]]
_NOTHING = First(False, -1)


class Search(NamedTuple):
    """Offsets of a partition from which on first records are looked for."""

    partition: Partition
    offsets: Sequence[int]
    """The committed offsets of groups, each once."""
    start: int
    """The first offset of the partition."""
    end: int
    leader: Node


def searches_of(
    behind: Mapping[Partition, Iterable[int]],
    leaders: Mapping[Partition, Node],
    starts: Mapping[Partition, int],
    ends: Mapping[Partition, int],
) -> list[Search]:
    """Make the searches for committed offsets, which are below the ends of their partitions."""
    return [
        Search(partition, sorted(offsets), starts.get(partition, 0), ends[partition], leaders[partition])
        for partition, offsets in sorted(behind.items())
    ]


async def find_firsts(brokers: Brokers, searches: Iterable[Search]) -> tuple[Firsts, list[Problem]]:
    """Find the first records from committed offsets on.

    Args:
        brokers: of the cluster.
        searches: each partition once.
    """
    problems: list[Problem] = []
    every = [_Progress(search) for search in searches]
    by_leader: dict[Node, list[_Progress]] = {}
    for one in every:
        by_leader.setdefault(one.search.leader, []).append(one)
    await asyncio.gather(*[_ask_together(brokers, node, parts, problems) for node, parts in by_leader.items()])
    room = asyncio.Semaphore(_AT_ONCE)
    alone = [(one.search, position, one.found) for one in every for position in one.alone]
    await asyncio.gather(*[_ask_alone(brokers, room, *one, problems) for one in alone])
    return {one.search.partition: one.firsts() for one in every}, list(dict.fromkeys(problems))


class _Progress:
    """The progress of the search in a partition."""

    __slots__ = ("alone", "found", "is_decided", "left", "search", "size", "sizes")

    def __init__(self, search: Search) -> None:
        self.search = search
        positions = sorted({max(offset, search.start) for offset in search.offsets})
        self.found = {position: _NOTHING for position in positions if position >= search.end}
        self.left = [position for position in positions if position < search.end]
        """Positions that are not found yet, in order."""
        self.alone: list[int] = []
        """Positions that need a request without other partitions."""
        self.is_decided = True
        """False if what is left is not below the last stable offset."""
        self.size = 0
        """Bytes to ask for."""
        self.sizes = iter(SHARED_SIZES)
        self.grow()

    def grow(self) -> None:
        """Ask for more; at last for the next offset alone, since its batch is too large."""
        larger = next((size for size in self.sizes if size > self.size), None)
        if larger is None:
            self.give_up()
        else:
            self.size = larger

    def give_up(self) -> None:
        """Leave the next offset to be asked for alone."""
        self.alone += self.left[:1]
        del self.left[:1]

    def take(self, part: Part) -> None:
        """Note what batches say that begin at the next offset or before it.

        Raises:
            DecodeError: they are damaged.
            MissingExtraError: the library of their codec is not installed.
        """
        firsts, reached = firsts_in(part.records, self.left, part.aborted if self.is_decided else None)
        self.found.update(zip(self.left, firsts, strict=False))
        del self.left[: len(firsts)]
        if self.left and self.left[0] < reached:  # no record is there
            if reached < self.search.end:
                self.give_up()
            else:
                self.found.update(dict.fromkeys(self.left, _NOTHING))
                self.left.clear()

    def firsts(self) -> dict[int, First]:
        """Return the records found, by committed offset."""
        positions = ((offset, max(offset, self.search.start)) for offset in self.search.offsets)
        return {offset: self.found[position] for offset, position in positions if position in self.found}


async def _ask_together(
    brokers: Brokers, leader: Node, partitions: Iterable[_Progress], problems: list[Problem]
) -> None:
    """Ask a leader for many partitions at once, again and again, until nothing is left but what it must be asked alone.

    Args:
        brokers: of the cluster.
        leader: of the partitions.
        partitions: they get what is found.
        problems: gets what the leader refuses.
    """
    waiting = deque(one for one in partitions if one.left)
    while waiting:
        asked: dict[Partition, _Progress] = {}
        size, is_decided = 0, waiting[0].is_decided
        while waiting and waiting[0].is_decided == is_decided and size + waiting[0].size <= BYTES_AT_ONCE:
            one = waiting.popleft()
            asked[one.search.partition] = one
            size += one.size
        wanted = [(partition, one.left[0], one.size) for partition, one in asked.items()]
        try:
            parts = await fetch(brokers, leader, wanted, size, committed=is_decided)
        except Failure:
            return  # `brokers` keeps it
        except KipwireError as error:
            problems.append(Problem(str(leader), str(error)))
            return
        for partition, one in asked.items():
            _note(one, parts.get(partition), problems)
        waiting += [one for one in asked.values() if one.left]


def _note(progress: _Progress, part: Part | None, problems: list[Problem]) -> None:
    if part is None:
        progress.give_up()
    elif part.is_out_of_range:
        del progress.left[0]  # removed since
    elif part.error_code:
        problems.append(_problem(progress.search.partition, part.error_code))
        progress.left.clear()
    elif not part.records:
        if progress.is_decided and part.end <= progress.left[0]:
            progress.is_decided = False
        else:
            progress.grow()
    else:
        try:
            progress.take(part)
        except KipwireError:  # which says why when it is asked for alone
            progress.give_up()


def _problem(partition: Partition, code: int) -> Problem:
    return problem_of(f"records of {partition.topic}", "the leader", code)


async def _ask_alone(
    brokers: Brokers,
    room: asyncio.Semaphore,
    search: Search,
    position: int,
    found: dict[int, First],
    problems: list[Problem],
) -> None:
    """Ask for one offset of one partition."""
    try:
        async with room:
            first = await _first(brokers, search, position)
    except Failure:
        return  # `brokers` keeps it
    except MissingExtraError as error:
        first = Problem("lag in seconds", str(error))
    except KipwireError as error:
        first = Problem(f"{search.partition} at offset {position}", str(error))
    if isinstance(first, Problem):
        problems.append(first)
    elif first is not None:
        found[position] = first


async def _first(brokers: Brokers, search: Search, position: int) -> First | Problem | None:
    """Find the first record from a position on; None where none was found within the bounds.

    Raises:
        KipwireError: the leader cannot be asked, or the records are damaged.
    """
    sizes, is_decided = iter(SIZES), True
    size = next(sizes)
    while position < search.end:
        asked = [(search.partition, position, size)]
        part = (await fetch(brokers, search.leader, asked, size, committed=is_decided)).get(search.partition)
        if part is None:
            raise KipwireError("the leader returned nothing for it")
        if part.is_out_of_range:
            return None  # removed since
        if part.error_code:
            return _problem(search.partition, part.error_code)
        if not part.records:
            if not is_decided or part.end > position:
                return _NOTHING
            is_decided = False  # and the same size again
            continue
        firsts, position = firsts_in(part.records, [position], part.aborted if is_decided else None)
        if firsts:
            return firsts[0]
        if (larger := next(sizes, None)) is None:
            return None
        size = larger
    return _NOTHING


_offset_of = attrgetter("offset")


def firsts_in(
    data: bytes, offsets: Sequence[int], aborted: Iterable[AbortedTransaction] | None = ()
) -> tuple[list[First], int]:
    """Find the first records from offsets on in whole batches, and where to go on.

    Args:
        data: batches.
        offsets: at least one, in ascending order. Those at the end of which the batches have no record get none.
        aborted: transactions in the batches that were aborted, whose records do not count; None if it is not decided
            which are.

    Raises:
        DecodeError: they are damaged, or none of them has the first offset or one that follows.
        MissingExtraError: the library of their codec is not installed.
    """
    found: list[First] = []
    last = -1

    def batches() -> Iterator[RecordBatch]:
        nonlocal last
        for batch in read_batches(data, check_crcs=False):
            last = batch.last_offset
            yield batch

    for batch in read_committed(batches(), aborted or ()):
        if last < offsets[len(found)]:
            continue
        records, at = batch.records, 0
        while offsets[len(found)] <= last:
            at = bisect_left(records, offsets[len(found)], at, key=_offset_of)
            if at == len(records):
                break
            found.append(First(True, records[at].timestamp, records[at].offset, aborted is not None))
            if len(found) == len(offsets):
                return found, last + 1
    if last < offsets[0]:
        raise DecodeError("RecordBatch", 2, "", 0, f"no batch with offset {offsets[0]} is in {len(data)} bytes")
    return found, last + 1

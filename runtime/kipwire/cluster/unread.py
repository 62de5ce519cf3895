"""Finds the times of the first records that groups have not read, with Fetches at their offsets.

One request asks for many partitions, for one offset of each, and a batch serves all offsets within it. Kafka gives a
batch whole only to the first partition of a response, to the others what is asked for; so partitions whose batches are
large are asked for more and more, and in the end alone. Where a batch has no such record, since compaction has removed
it or a marker of a transaction takes the offset, what follows is read in parts of growing size, a bounded number of
times.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode, IsolationLevel
from kafka_messages.fetch_request.v12 import FetchPartition, FetchRequest, FetchTopic
from kipwire.aio import Failure
from kipwire.cluster.cluster import Cluster, make_problem
from kipwire.cluster.finding import Node
from kipwire.cluster.model import First, Place, Problem
from kipwire.model.errors import DecodeError, KipwireError, MissingExtraError
from kipwire.records import read_batches

SIZES = (1, 1 << 16, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20)
"""Bytes that are asked for from one partition alone, one time after the other. One byte stands for one batch, which
brokers give whole."""
SHARED_SIZES = (1 << 12, 1 << 15, 1 << 18)
"""Bytes that are asked for from a partition among others, until there is a batch."""
BYTES_AT_ONCE = 1 << 23
"""Highest number of bytes of a response with many partitions."""
_AT_ONCE = 64
"""Fetches of one partition that wait for their responses."""

Firsts = dict[Place, dict[int, First]]
_NOTHING = First(False, -1)


class Search(NamedTuple):
    """Offsets of a partition from which on first records are looked for."""

    place: Place
    offsets: Sequence[int]
    """The committed offsets of groups, each once."""
    start: int
    """The first offset of the partition."""
    end: int
    leader: Node


async def find_firsts(cluster: Cluster, searches: Iterable[Search]) -> tuple[Firsts, list[Problem]]:
    """Find the first records from committed offsets on.

    Args:
        cluster: its connections.
        searches: each partition once.
    """
    problems: list[Problem] = []
    every = [_Partition(search) for search in searches]
    by_leader: dict[Node, list[_Partition]] = {}
    for one in every:
        by_leader.setdefault(one.search.leader, []).append(one)
    await asyncio.gather(*[_ask_together(cluster, node, parts, problems) for node, parts in by_leader.items()])
    room = asyncio.Semaphore(_AT_ONCE)
    alone = [(one.search, position, one.found) for one in every for position in one.alone]
    await asyncio.gather(*[_ask_alone(cluster, room, *one, problems) for one in alone])
    return {one.search.place: one.firsts() for one in every}, list(dict.fromkeys(problems))


class _Partition:
    """The progress of the search in a partition."""

    __slots__ = ("alone", "found", "left", "search", "size", "sizes")

    def __init__(self, search: Search) -> None:
        self.search = search
        positions = sorted({max(offset, search.start) for offset in search.offsets})
        self.found = {position: _NOTHING for position in positions if position >= search.end}
        self.left = [position for position in positions if position < search.end]
        """Positions that are not found yet, in order."""
        self.alone: list[int] = []
        """Positions that need a request without other partitions."""
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

    def take(self, records: bytes) -> None:
        """Note what batches say that begin at the next offset or before it.

        Raises:
            DecodeError: they are damaged.
            MissingExtraError: the library of their codec is not installed.
        """
        firsts, reached = firsts_in(records, self.left)
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
    cluster: Cluster, leader: Node, partitions: Iterable[_Partition], problems: list[Problem]
) -> None:
    """Ask a leader for many partitions at once, again and again, until nothing is left but what it must be asked alone.

    Args:
        cluster: its connections.
        leader: of the partitions.
        partitions: they get what is found.
        problems: gets what the leader refuses.
    """
    waiting = deque(one for one in partitions if one.left)
    while waiting:
        asked: dict[Place, _Partition] = {}
        size = 0
        while waiting and size + waiting[0].size <= BYTES_AT_ONCE:
            one = waiting.popleft()
            asked[one.search.place] = one
            size += one.size
        request = _request([(one.search.place, one.left[0], one.size) for one in asked.values()], size)
        try:
            response = await cluster.ask(leader, request)
        except Failure:
            return  # the cluster keeps it
        except KipwireError as error:
            problems.append(Problem(str(leader), str(error)))
            return
        for topic in response.responses:
            for answer in topic.partitions:
                _note(asked[Place(topic.topic, answer.partition_index)], answer, problems)
        waiting += [one for one in asked.values() if one.left]


def _note(partition: _Partition, answer: Any, problems: list[Problem]) -> None:
    if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        del partition.left[0]  # removed since
    elif answer.error_code:
        problems.append(_make_problem(partition.search.place, answer.error_code))
        partition.left.clear()
    elif not answer.records:
        partition.grow()
    else:
        try:
            partition.take(bytes(answer.records))
        except KipwireError:  # which says why when it is asked for alone
            partition.give_up()


def _make_problem(place: Place, code: int) -> Problem:
    return make_problem(f"records of {place.topic}", "the leader", code)


async def _ask_alone(
    cluster: Cluster,
    room: asyncio.Semaphore,
    search: Search,
    position: int,
    found: dict[int, First],
    problems: list[Problem],
) -> None:
    """Ask for one offset of one partition."""
    try:
        async with room:
            first = await _first(cluster, search, position)
    except Failure:
        pass  # the cluster keeps it
    except RefusedError as error:
        problems.append(_make_problem(search.place, error.code))
    except MissingExtraError as error:
        problems.append(Problem("lag in seconds", str(error)))
    except KipwireError as error:
        problems.append(Problem(f"{search.place} at offset {position}", str(error)))
    else:
        if first is not None:
            found[position] = first


class RefusedError(KipwireError):
    """A leader does not give the records of a partition."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def _first(cluster: Cluster, search: Search, position: int) -> First | None:
    """Find the first record from a position on; None where none was found within the bounds.

    Raises:
        KipwireError: the leader refuses it, or the records are damaged.
    """
    for size in SIZES:
        if position >= search.end:
            return _NOTHING
        response = await cluster.ask(search.leader, _request([(search.place, position, size)], size))
        (topic,) = response.responses
        (answer,) = topic.partitions
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return None  # removed since
        if answer.error_code:
            raise RefusedError(answer.error_code)
        if not answer.records:
            return _NOTHING
        firsts, position = firsts_in(bytes(answer.records), [position])
        if firsts:
            return firsts[0]
    return None


_offset_of = attrgetter("offset")


def firsts_in(data: bytes, offsets: Sequence[int]) -> tuple[list[First], int]:
    """Find the first records from offsets on in whole batches, and where to go on.

    Args:
        data: batches.
        offsets: at least one, in ascending order. Those at the end of which the batches have no record get none.

    Raises:
        DecodeError: they are damaged, or none of them has the first offset or one that follows.
        MissingExtraError: the library of their codec is not installed.
    """
    found: list[First] = []
    reached = offsets[0]
    for batch in read_batches(data, check_crcs=False):
        last = batch.last_offset
        if last < offsets[len(found)]:
            continue
        if not batch.is_control:
            records, at = batch.records, 0
            while offsets[len(found)] <= last:
                at = bisect_left(records, offsets[len(found)], at, key=_offset_of)
                if at == len(records):
                    break
                found.append(First(True, records[at].timestamp, records[at].offset))
                if len(found) == len(offsets):
                    return found, last + 1
        reached = last + 1
    if reached == offsets[0]:
        raise DecodeError("RecordBatch", 2, "", 0, f"no batch with offset {reached} is in {len(data)} bytes")
    return found, reached


def _request(asked: Iterable[tuple[Place, int, int]], size: int) -> FetchRequest:
    """Make a request for records.

    Args:
        asked: partitions, offsets, and bytes.
        size: bytes of all together.
    """
    topics: dict[str, list[FetchPartition]] = {}
    for (topic, partition), offset, most in asked:
        one = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=most)
        topics.setdefault(topic, []).append(one)
    level = IsolationLevel.READ_UNCOMMITTED  # records of open and aborted transactions count, as in lag
    every = [FetchTopic(topic=topic, partitions=some) for topic, some in topics.items()]
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=size, isolation_level=level, topics=every)

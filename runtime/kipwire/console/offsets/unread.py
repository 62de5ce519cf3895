"""When the first record was written that a group has not read: one Fetch at its offset gives the batch with it.

Where that has no such record, since compaction has removed it or a marker of a transaction takes the offset, what
follows is read in parts of growing size, a bounded number of times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from kafka_messages.enums import ErrorCode, IsolationLevel
from kafka_messages.fetch_request.v12 import FetchPartition, FetchRequest, FetchTopic
from kipwire.aio import Failure
from kipwire.console.brokers import Node
from kipwire.console.offsets.cluster import Cluster, refused
from kipwire.console.offsets.model import First, Place, Problem
from kipwire.model.errors import DecodeError, KipwireError, MissingExtraError
from kipwire.records import read_batches

SIZES = (1, 1 << 16, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20)
"""Bytes that are asked for, one time after the other. One byte stands for one batch, which brokers give whole."""
_AT_ONCE = 64
"""Fetches that wait for their responses, each with a batch."""

Firsts = dict[Place, dict[int, First]]


class Search(NamedTuple):
    """Where a first record is looked for."""

    place: Place
    offset: int
    """What groups have committed."""
    start: int
    """The first offset of the partition."""
    end: int
    leader: Node


async def find_firsts(cluster: Cluster, searches: Iterable[Search]) -> tuple[Firsts, list[Problem]]:
    """The first records from committed offsets on.

    Args:
        cluster: its connections.
        searches: each offset once.
    """
    found: Firsts = {}
    problems: list[Problem] = []
    room = asyncio.Semaphore(_AT_ONCE)

    async def look(one: Search) -> None:
        try:
            async with room:
                first = await _first(cluster, one)
        except Failure:
            pass  # the cluster keeps it
        except RefusedError as error:
            problems.append(refused(f"records of {one.place.topic}", "the leader", error.code))
        except MissingExtraError as error:
            problems.append(Problem("lag in seconds", str(error)))
        except KipwireError as error:
            problems.append(Problem(f"{one.place} at offset {one.offset}", str(error)))
        else:
            if first is not None:
                found.setdefault(one.place, {})[one.offset] = first

    await asyncio.gather(*map(look, searches))
    return found, list(dict.fromkeys(problems))


class RefusedError(KipwireError):
    """A leader does not give the records of a partition."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def _first(cluster: Cluster, search: Search) -> First | None:
    """The first record; None where none was found within the bounds.

    Raises:
        KipwireError: the leader refuses it, or the records are damaged.
    """
    position = max(search.offset, search.start)
    for size in SIZES:
        if position >= search.end:
            return First(False, -1)
        response = await cluster.ask(search.leader, _request(search.place, position, size))
        (topic,) = response.responses
        (answer,) = topic.partitions
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return None  # removed since
        if answer.error_code:
            raise RefusedError(answer.error_code)
        records = bytes(answer.records or b"")
        if not records:
            return First(False, -1)
        time, position = first_in(records, position)
        if time is not None:
            return First(True, time)
    return None


def first_in(data: bytes, offset: int) -> tuple[int | None, int]:
    """The time of the first record from an offset on in whole batches; None without one, and where to go on.

    Raises:
        DecodeError: they are damaged.
        MissingExtraError: the library of their codec is not installed.
    """
    reached = offset
    for batch in read_batches(data, check_crcs=False):
        if batch.last_offset < offset:
            continue
        if not batch.is_control:
            for record in batch.records:
                if record.offset >= offset:
                    return record.timestamp, reached
        reached = batch.last_offset + 1
    if reached == offset:
        raise DecodeError("RecordBatch", 2, "", 0, f"no batch with offset {offset} is in {len(data)} bytes")
    return None, reached


def _request(place: Place, offset: int, size: int) -> FetchRequest:
    asked = FetchPartition(partition=place.partition, fetch_offset=offset, partition_max_bytes=size)
    topics = [FetchTopic(topic=place.topic, partitions=[asked])]
    level = IsolationLevel.READ_UNCOMMITTED  # those of open and aborted transactions count, as they do in lag
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=size, isolation_level=level, topics=topics)

"""Follow topics of brokers: where the next batch of a stream ends, and the offsets between two ends.

As for folders, a stream's progress is the next offset of each partition, and what lies between two ends follows from
them alone. A partition that is new in a batch has its first offset in the end of that batch, so that a batch which is
planned again after a crash begins where it began. The connections are kept from batch to batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kipwire.cluster import Partition
from kipwire.cluster.fetching import heads_of
from kipwire.tables.sources.changing_logs.checkpoints import Reached
from kipwire.tables.sources.changing_logs.losses import report_loss
from kipwire.tables.sources.topic_plans import Asked, Range, pieces
from kipwire.tables.sources.topics import (
    EARLIEST,
    Loop,
    Present,
    continued,
    find_present,
    is_another,
    patiently,
    running_loop,
)

if TYPE_CHECKING:
    from kipwire.cluster import Cluster
    from kipwire.logs.accounting import Head

_SAMPLE = 1 << 16
"""Bytes of a partition by which the size of its records is judged; more if the first batch is larger."""


class _Unread(NamedTuple):
    """The part of a partition that a batch may have, at most."""

    first: int
    end: int
    batch_end: int
    """The offset after its first batch."""
    bytes_of_offset: float
    """About how much an offset takes, by the first batches."""

    @property
    def size(self) -> float:
        return (self.end - self.first) * self.bytes_of_offset

    @property
    def batch_size(self) -> float:
        return (self.batch_end - self.first) * self.bytes_of_offset


class TopicFollower:
    """State of a stream between its batches. After a restart it is rebuilt from the checkpoint and the brokers."""

    def __init__(self, asked: Asked) -> None:
        """Connect to nothing yet."""
        self._asked = asked
        self._open: tuple[Loop, Cluster] | None = None
        self._closing = ExitStack()
        self._turn = 0
        self.target: Mapping[Partition, int] | None = None
        """Ends that a run does not go beyond; None if it goes on."""

    def close(self) -> None:
        """Close the connections; another call opens them again."""
        self._open = None
        self._closing.close()

    def check(self) -> None:
        """Check that what was asked for is there.

        Raises:
            KipwireError: it is not, or no broker answers.
        """
        self._look()

    def fix_target(self) -> None:
        """Let no batch go beyond the present ends."""
        self.target = {one: there.log_end for one, there in self._look(is_running=True).items()}

    def ends(self) -> dict[str, int]:
        """Return the present ends, by the texts of partitions."""
        return {str(one): there.log_end for one, there in self._look(is_running=True).items()}

    def latest(self, before: Reached, max_bytes: int | None) -> Reached:
        """Find the end of the next batch.

        Args:
            before: the end of the last one.
            max_bytes: about how many bytes of batches it may have; None for all that there is.

        Returns:
            The end; the same object if there is nothing new.

        Raises:
            SourceError: records were lost before they were read, and that is an error.
            KipwireError: no broker answers.
        """
        has_begun, fails = bool(before.next_offsets), self._asked.topics.fails
        present = self._look(is_running=has_begun)
        if self.target is not None:
            present = {one: there for one, there in present.items() if one in self.target}
        self._report_other(present, before)
        if has_begun:  # what has come since is read from its start, wherever the stream began
            present = {one: there._replace(first=_start_of(there, one, before)) for one, there in present.items()}
        begins = continued(present, before.next_offsets, before.topic_ids, fails)
        ranges = {}
        for one, first in begins.items():
            end = present[one].end if self.target is None else min(present[one].end, self.target[one])
            ranges[one] = first, max(first, end)
        ends = {one: end for one, (_, end) in ranges.items()}
        if max_bytes is not None:
            ends |= self._share_out({one: found for one, found in ranges.items() if found[0] < found[1]}, max_bytes)
        kept = {} if self.target is None else before.next_offsets
        reached = {**kept, **{str(one): end for one, end in ends.items()}}
        firsts = {str(one): first for one, first in begins.items() if first != before.next_offsets.get(str(one))}
        ids = {one.topic: str(there.topic_id) for one, there in present.items() if there.topic_id is not None}
        if reached == before.next_offsets and not firsts:
            return before
        return Reached(reached, firsts, {**(before.topic_ids if kept else {}), **ids})

    def work(self, start: Reached, end: Reached) -> list[list[Range]]:
        """Return the pieces of work between two ends."""
        ranges = []
        for text, until in end.next_offsets.items():
            first = end.first_offsets.get(text, start.next_offsets.get(text))
            topic, _, number = text.rpartition("/")
            if first is not None and first < until:
                id_ = end.topic_ids.get(topic)
                ranges.append(Range(Partition(topic, int(number)), first, until, None if id_ is None else UUID(id_)))
        return pieces(self._asked, ranges)

    def _report_other(self, present: Mapping[Partition, Present], before: Reached) -> None:
        """Report topics that were made anew, and partitions that are gone."""
        fails = self._asked.topics.fails
        ids = before.topic_ids
        others = {one.topic for one, there in present.items() if is_another(there, ids.get(one.topic))}
        for topic in sorted(others):
            report_loss(f"{topic}: is not the topic that was read before: it was made anew", fails)
        if self.target is None:
            there = set(map(str, present))
            for text, offset in before.next_offsets.items():
                if text not in there:
                    report_loss(f"{text}: was deleted; it was read up to offset {offset}", fails)

    def _connection(self) -> tuple[Loop, Cluster]:
        if self._open is None:
            loop = self._closing.enter_context(running_loop())
            cluster = self._asked.topics.cluster.anew()
            loop.at_end(cluster.close)
            self._open = loop, cluster
        return self._open

    def _look(self, *, is_running: bool = False) -> dict[Partition, Present]:
        """Find what there is; once a stream runs, topics may go, and brokers may be away for a while."""
        loop, cluster = self._connection()
        request = self._asked.topics
        if not is_running:
            return loop(find_present(cluster, request))
        request = request._replace(
            chosen=request.chosen._replace(must_exist=False),
            starting=request.starting._replace(default=EARLIEST, of={}),
        )
        return loop(patiently(cluster, lambda: find_present(cluster, request)))

    def _share_out(self, ranges: Mapping[Partition, tuple[int, int]], limit: int) -> dict[Partition, int]:
        """Share a number of bytes among partitions: in turn a batch each, and the rest by what they have unread."""
        if not ranges:
            return {}
        samples = self._samples({one: first for one, (first, _) in ranges.items()})
        unread = {one: _unread(samples[one], *found) for one, found in ranges.items()}
        whole = sum(one.size for one in unread.values())
        if whole <= limit:
            return {}
        order = sorted(unread)
        self._turn = (self._turn + 1) % len(order)
        ends, left = {one: unread[one].first for one in order}, float(limit)
        for number, one in enumerate([*order[self._turn :], *order[: self._turn]]):
            if number and unread[one].batch_size > left:
                break
            ends[one], left = unread[one].batch_end, left - unread[one].batch_size
        if left > 0:
            for one, end in ends.items():
                share = int(left * unread[one].size / whole / unread[one].bytes_of_offset)
                ends[one] = min(end + share, unread[one].end)
        return ends

    def _samples(self, firsts: Mapping[Partition, int]) -> dict[Partition, list[Head]]:
        """Read the heads of the first unread batches of partitions."""
        loop, cluster = self._connection()

        async def samples() -> dict[Partition, list[Head]]:
            leaders = await cluster.leaders(*firsts)
            await cluster.expect(leaders, *firsts)
            reader = cluster.reader(leaders)
            # One by one, since all together would be answered with as many bytes.
            asked = [reader.fetch({one: first}, _SAMPLE) for one, first in firsts.items()]
            found = {one: part for parts in await asyncio.gather(*asked) for one, part in parts.items()}
            heads = {one: heads_of(part.records) for one, part in found.items()}
            return {one: [head for head in heads.get(one, ()) if head.last_offset >= firsts[one]] for one in firsts}

        return loop(patiently(cluster, samples))


def _unread(heads: Sequence[Head], first: int, end: int) -> _Unread:
    """Judge the size of what is unread by the first batches."""
    if not heads:
        return _Unread(first, end, end, 1.0)
    after = heads[-1].last_offset + 1
    of_offset = sum(head.size for head in heads) / (after - min(heads[0].offset, first))
    return _Unread(first, end, min(heads[0].last_offset + 1, end), of_offset)


def _start_of(there: Present, partition: Partition, before: Reached) -> int:
    return there.first if str(partition) in before.next_offsets else there.start

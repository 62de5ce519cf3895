"""The records of a log that a consumer is shown: from the log start on, and by `read_committed` only committed ones.

The next marker of its producer decides a batch of a transaction, wherever a range of the log begins. Markers are found
by the heads of batches and read with their checksums. Producer snapshots, where they are, save work: by them segments
are passed over in which a transaction does not end, and only the last segment is looked through for the last stable
offset, which is the first offset of the first open transaction. `.txnindex` files are not used: brokers make one with
the first aborted transaction of a segment, so one that is missing says nothing, and none has a checksum.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from kipwire import DecodeError
from kipwire.logs.accounting import Damage
from kipwire.logs.offsets import Misplaced
from kipwire.logs.partition_files import partition_offsets, producer_snapshot
from kipwire.logs.segments import read_part
from kipwire.records import RecordBatch, read_batches
from kipwire.records.checks import without_number
from kipwire.records.control import control_type
from kipwire.records.heads import RECORDS
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.files.access import names_in, open_file, ranges_of, size_of
from kipwire.tables.files.stores import is_url
from kipwire.tables.sources.batch_heads import Heads, Numbers, RowFilter, batch_heads_in
from kipwire.tables.sources.changing_logs.positions import settle
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.splits import Split, position_before

ISOLATION_LEVELS = READ_UNCOMMITTED, READ_COMMITTED = ("read_uncommitted", "read_committed")
"""Consumers' words: all records, or records of transactions only once these are committed."""

_LOG_STARTS = "log-start-offset-checkpoint"
_PRODUCERS = re.compile(r"([0-9]{20})\.snapshot")
_LEAST_WINDOW, _MOST_WINDOW = 1 << 20, 1 << 26
"""Bytes of a segment whose heads are looked at at once: few first, since most transactions end soon."""
_MOST_OF_MARKER = 1 << 16
"""Bytes that the end of a transaction has at most; Kafka writes less than a hundred."""
_NEVER = 2**63
"""Offset of the end of a transaction that has none."""
_MOST_TIMES = 20
"""Number of times that a segment may be replaced while the ends of transactions are looked for."""
_NONE: Mapping[int, int] = MappingProxyType({})


class LogStarts:
    """The log starts of brokers, by their checkpoints, each of which is read once."""

    def __init__(self, permissive: bool) -> None:
        """Begin; if it is permissive, a damaged checkpoint has no log starts, otherwise it is an error."""
        self._permissive = permissive
        self._known: dict[str, dict[tuple[str, int], int]] = {}

    def of(self, segment: Segment) -> int:
        """Return the first offset that consumers may read of the log of a segment; 0 if there is no checkpoint.

        Raises:
            SourceError: the checkpoint is damaged, or cannot be read.
        """
        path = f"{os.path.dirname(segment.folder)}/{_LOG_STARTS}"  # noqa: PTH120  as in segments.py
        if path not in self._known:
            self._known[path] = self._read(path, segment)
        return self._known[path].get((segment.topic, segment.partition), 0)

    def _read(self, path: str, segment: Segment) -> dict[tuple[str, int], int]:
        try:
            with open_file(path, segment.storage) as file:
                text = file.read().decode("utf-8", "replace")
            return {(topic, partition): offset for topic, partition, offset in partition_offsets(text)}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            if self._permissive:
                return {}
            what = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            raise SourceError(f"{path}: {what}") from None


class Undecided(NamedTuple):
    """The transactions of a log that are open at a place in it."""

    started: Mapping[int, int] = _NONE
    """The first offset of each, by the ids of the producers."""
    inode: int = 0
    """Number of the segment's file."""
    position: int = 0
    """Position in it of the last batch that was looked at."""
    end: int = 0
    """Position after that batch."""
    head: bytes = b""
    """Head of that batch. While it is unchanged, the log was not cut off before it and written again."""

    @property
    def last_stable_offset(self) -> int | None:
        """The first offset that is not decided; None if all are."""
        return min(self.started.values(), default=None)


def stable_end(segment: Segment, permissive: bool) -> int | None:
    """Find the last stable offset of the log that a segment belongs to; None if no transaction is open there.

    Raises:
        SourceError: a file cannot be read.
        DecodeError: bytes are damaged, so that it is not known; not if `permissive`.
    """

    def find() -> int | None:
        replica = _replica(segment)
        return undecided(replica, permissive).last_stable_offset if replica else None

    return settle(find)


def undecided(replica: Sequence[Segment], permissive: bool, before: Undecided | None = None) -> Undecided:
    """Find the transactions that are open at the end of a log.

    Args:
        replica: the segments of the log.
        permissive: true to go on after damage.
        before: those at an earlier end, if they are known.

    Raises:
        OSError: a file cannot be read; a FileNotFoundError if it was removed or replaced.
        DecodeError: bytes are damaged, so that it is not known; not if `permissive`.
    """
    number, position, started = _start(replica, before)
    found = before if position and before is not None else Undecided()
    for segment in replica[number:]:
        for heads in _heads(segment, position, segment.size, permissive, grows=segment is replica[-1]):
            _count(started, heads)
            at, size = int(heads.position[-1]), int(heads.size[-1])
            found = Undecided(inode=segment.inode, position=at, end=at + size)
        position = 0
    if found.inode and not found.head:
        last = next(segment for segment in replica if segment.inode == found.inode)
        found = found._replace(head=_bytes_at(last, found.position))
    return found._replace(started=MappingProxyType(started))


def _start(replica: Sequence[Segment], before: Undecided | None) -> tuple[int, int, dict[int, int]]:
    """Return where to begin: number of a segment, position in it, and what is open there, or soon after it."""
    if before is not None and before.head:
        for number, segment in enumerate(replica):
            is_there = segment.inode == before.inode and segment.size >= before.end
            if is_there and _bytes_at(segment, before.position) == before.head:
                return number, before.end, dict(before.started)
    first, last = replica[0], replica[-1]
    names = {name: found for name in names_in(last.folder, last.storage) if (found := _PRODUCERS.fullmatch(name))}
    # One after the start of the last segment may be of records that are not in this copy of the log.
    offsets = {int(found[1]): name for name, found in names.items()}
    for offset in sorted((one for one in offsets if first.base_offset <= one <= last.base_offset), reverse=True):
        started = _open_in(f"{last.folder}/{offsets[offset]}", last)
        if started is not None:
            number = max(number for number, segment in enumerate(replica) if segment.base_offset <= offset)
            return number, position_before(replica[number], offset), started
    return 0, 0, {}


def _open_in(path: str, segment: Segment) -> dict[int, int] | None:
    """Return the first offsets of the open transactions in a producer snapshot; None if it cannot be read."""
    try:
        with open_file(path, segment.storage) as file:
            entries = producer_snapshot(file.read()).producer_entries
    except (OSError, DecodeError):
        return None
    return {one.producer_id: one.current_txn_first_offset for one in entries if one.current_txn_first_offset >= 0}


def _bytes_at(segment: Segment, position: int) -> bytes:
    with ranges_of(segment.path, segment.storage, RECORDS) as (read_at, _):
        return read_at(RECORDS, position)


def _count(started: dict[int, int], heads: Heads) -> None:
    """Open and end transactions by heads; what compaction has emptied does neither."""
    of_transactions = heads.of(heads.is_transactional & (heads.records_count > 0))
    columns = (of_transactions.producer_id, of_transactions.base_offset, of_transactions.is_control)
    for producer, offset, is_control in zip(*(column.tolist() for column in columns), strict=True):
        if is_control:
            started.pop(producer, None)
        else:
            started.setdefault(producer, offset)


def _heads(segment: Segment, position: int, end: int, permissive: bool, *, grows: bool) -> Iterator[Heads]:
    """Yield the heads of the batches between two positions, also of those after damage if it is permitted."""
    window = _LEAST_WINDOW
    while position < end:
        until = min(position + window, end)
        for heads in batch_heads_in(segment.path, position, until, segment.storage, end):
            position = int(heads.position[-1] + heads.size[-1])
            yield heads
        if position < until:
            following = _after_damage(segment, position, end, permissive, grows=grows)
            if following is None or following <= position:  # the batch there was not complete when its size was read
                return
            position = following
        window = min(2 * window, _MOST_WINDOW)


def _after_damage(segment: Segment, position: int, end: int, permissive: bool, *, grows: bool) -> int | None:
    """Return the position of the next batch, from a position on at which no whole batch is; None without one."""
    with open_file(segment.path, segment.storage) as file:
        for item in read_part(file, segment.path, start=position, end=end, grows=grows, check_crcs=False):
            if isinstance(item, RecordBatch | Misplaced):
                return item.position if isinstance(item, RecordBatch) else item.batch.position
            if isinstance(item, Damage) and not permissive:
                raise without_number(item.error)
    return None


class _Marker(NamedTuple):
    """The end of a transaction."""

    offset: int
    path: str
    position: int
    data: bytes
    """The batch."""


class _Part:
    """The markers in a part of a segment, found as far as they are asked for."""

    def __init__(self, segment: Segment, start: int, end: int | None, permissive: bool) -> None:
        """Take the part, which begins where a batch does; without an end it is the rest of the file."""
        self.segment = segment
        self._chunks = self._look(start, end, permissive)
        self._markers: defaultdict[int, deque[_Marker]] = defaultdict(deque)

    def marker(self, producer: int, offset: int) -> _Marker | None:
        """Return the next marker of a producer after an offset, and forget those before it; None if there is none."""
        markers = self._markers[producer]
        while True:
            while markers:
                marker = markers.popleft()
                if marker.offset > offset:
                    return marker
            heads = next(self._chunks, None)
            if heads is None:
                return None
            self._keep(heads)

    def _look(self, start: int, end: int | None, permissive: bool) -> Iterator[Heads]:
        segment = self.segment
        end = size_of(segment.path, segment.storage) if end is None else end
        yield from _heads(segment, start, end, permissive, grows=True)

    def _keep(self, heads: Heads) -> None:
        places = np.flatnonzero(heads.is_control & heads.is_transactional & (heads.records_count > 0)).tolist()
        if not places:
            return
        with ranges_of(self.segment.path, self.segment.storage) as (read_at, _):
            for at in places:
                place, size = int(heads.position[at]), int(heads.size[at])
                data = read_at(min(size, _MOST_OF_MARKER), place)
                marker = _Marker(int(heads.last_offset[at]), self.segment.path, place, data)
                self._markers[int(heads.producer_id[at])].append(marker)


class Outcomes:
    """The outcomes of the transactions with batches in a range of a segment, asked for in the order of the batches."""

    def __init__(self, split: Split, row_filter: RowFilter) -> None:
        """Begin; the filter says if damage is an error, and if checksums count."""
        self._split = split
        self._permissive = row_filter.permissive
        self._check_crcs = row_filter.check_crcs
        self._within: _Part | None = None
        """The range, from its first batch of a transaction on."""
        self._beyond: list[_Part] | None = None
        """The rest of the segment, and those that follow it."""
        self._opened: dict[int, dict[int, int] | None] = {}
        """Transactions that producer snapshots have as open, by the offset of the snapshot; None without one."""
        self._decided: dict[int, tuple[int, bool]] = {}
        """Offset of the last marker, and its decision, by producer."""

    def shows(self, batch: RecordBatch) -> bool:
        """Decide if a reader of committed records is shown a batch; it is, if the batch has nothing to decide."""
        if not batch.is_transactional or batch.is_control or not batch.records_count:
            return True
        return self._is_committed(batch.producer_id, batch.last_offset, batch.position)

    def shown(self, heads: Heads) -> Numbers:
        """Return a mask of the batches for which `shows` is true."""
        mask = np.full(len(heads.position), True)
        of_transactions = np.flatnonzero(heads.is_transactional & ~heads.is_control & (heads.records_count > 0))
        columns = (heads.producer_id, heads.last_offset, heads.position)
        for at, *of_batch in zip(
            of_transactions.tolist(), *(column[of_transactions].tolist() for column in columns), strict=True
        ):
            mask[at] = self._is_committed(*of_batch)
        return mask

    def _is_committed(self, producer: int, offset: int, position: int) -> bool:
        """Find out if a transaction was committed; False if it is open.

        Args:
            producer: its id.
            offset: the last one of a batch of the transaction.
            position: of that batch.

        Raises:
            DecodeError: bytes before the marker are damaged; not if damage is permitted.
            SourceError: a file cannot be read, or the marker is damaged; not the latter if damage is permitted.
        """
        until, is_committed = self._decided.get(producer, (-1, False))
        if offset < until:
            return is_committed
        segment = self._split.segment
        try:
            if self._within is None:
                self._within = _Part(segment, position, self._split.end, self._permissive)
            marker = self._within.marker(producer, offset) or self._marker_beyond(producer, offset)
        except OSError as error:
            path = os.fspath(error.filename or segment.path)
            raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from None
        if marker is None:
            if not is_url(segment.path) and not os.path.exists(segment.path):  # noqa: PTH110  as in segments.py
                raise SourceError(f"{segment.path}: was deleted before the ends of its transactions were read")
            until, is_committed = _NEVER, False
        else:
            until, is_committed = marker.offset, self._commits(marker)
        self._decided[producer] = until, is_committed
        return is_committed

    def _marker_beyond(self, producer: int, offset: int) -> _Marker | None:
        """Find the next marker of a producer after the range; None if the log has none."""
        for _ in range(_MOST_TIMES):
            try:
                if self._beyond is None:
                    self._beyond = self._parts_beyond()
                for part, following in zip_longest(self._beyond, self._beyond[1:]):
                    # Segments are passed over in which the transaction does not end, by the snapshots between them.
                    is_open = following is not None and self._is_open_at(following.segment, producer, offset)
                    marker = None if is_open else part.marker(producer, offset)
                    if marker is not None:
                        return marker
                return None
            except FileNotFoundError:  # compaction has replaced a segment by one with the same batches, or fewer
                self._beyond = None
        raise SourceError(f"{self._split.segment.folder}: segments were replaced {_MOST_TIMES} times; read it again")

    def _parts_beyond(self) -> list[_Part]:
        own = self._split.segment
        following = [one for one in _replica(own) if one.base_offset > own.base_offset]
        return [
            _Part(own, self._split.end, None, self._permissive),
            *(_Part(one, 0, None, self._permissive) for one in following),
        ]

    def _is_open_at(self, segment: Segment, producer: int, offset: int) -> bool:
        """True if the transaction with an offset is open where a segment begins, by the snapshot there."""
        at = segment.base_offset
        if at not in self._opened:
            self._opened[at] = _open_in(f"{segment.folder}/{at:020}.snapshot", segment)
        started = self._opened[at]
        return started is not None and producer in started and started[producer] <= offset

    def _commits(self, marker: _Marker) -> bool:
        """Decide as a consumer does, which leaves out aborted transactions."""
        try:
            (batch,) = read_batches(marker.data, check_crcs=self._check_crcs)
            return control_type(batch.records[0]) != "ABORT"
        except (DecodeError, ValueError) as error:
            if self._permissive:
                return False
            reason = without_number(error) if isinstance(error, DecodeError) else "it is not a batch"
            raise SourceError(
                f"{marker.path}: the end of a transaction, at byte {marker.position}, cannot be read: {reason}"
            ) from None


def _replica(segment: Segment) -> list[Segment]:
    """List the log that a segment belongs to, as it is now; empty if it is gone."""
    try:
        found = find_segments(segment.folder, storage=segment.storage)
    except ListingError:
        raise
    except SourceError:
        return []
    return [one for one in found if (one.topic, one.partition) == (segment.topic, segment.partition)]

"""Follow logs that grow, are cut off, appear and disappear: plan the next batch of a stream, and its byte ranges.

A stream's progress is the next offset of each folder, and Spark may ask for the same two offsets again after a crash,
in another process: what is read between them must then be the same. So what the follower remembers has no effect on
rows; ends and positions only save a search. A log that ends before what was read was cut or made anew, which is a loss,
reported and then read from its start. Folders are listed in `settle`, because a broker changes them meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from kipwire.logs.offsets import NONE
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.changing_logs.checkpoints import Reached
from kipwire.tables.sources.changing_logs.limits import Unread, share_out
from kipwire.tables.sources.changing_logs.losses import Present, check_is_there, report_loss
from kipwire.tables.sources.changing_logs.positions import End, Position, Start, log_end, settle, start_at
from kipwire.tables.sources.segments import Segment
from kipwire.tables.sources.splits import Split, cut_segment
from kipwire.tables.sources.visibility import LogStarts, Undecided, undecided

_POSITIONS = 4
"""Number of positions remembered for each log: its end, and the starts and ends of batches of the stream."""


class _Log(NamedTuple):
    """The present state of a partition's folder."""

    segments: list[Segment]
    end: End

    @property
    def present(self) -> Present:
        return Present(self.segments[0].base_offset, self.end.offset)

    def between(self, first: int, end: int) -> Iterator[tuple[Segment, int | None]]:
        """Yield the segments that may have some of these offsets, each with the base offset of the next one."""
        for number, segment in enumerate(self.segments, 1):
            next_base = self.segments[number].base_offset if number < len(self.segments) else None
            if segment.base_offset < end and (next_base is None or next_base > first):
                yield segment, next_base


class _Range(NamedTuple):
    """Offsets of a log that a batch may read."""

    first: int
    end: int
    begins: bool
    """True if the range begins at the start of the log."""


class Follower:
    """State of a stream between its batches. After a restart, it is rebuilt from the checkpoint and the folders."""

    def __init__(
        self,
        segments: Callable[[], list[Segment]],
        row_filter: RowFilter,
        split_bytes: int,
        fail_on_data_loss: bool,
        from_log_start: bool = False,
    ) -> None:
        """Begin to follow.

        Args:
            segments: lists the segments, or raises a `SourceError` if there are none.
            row_filter: which records.
            split_bytes: bytes of a range.
            fail_on_data_loss: whether it is an error if records were deleted before they were read.
            from_log_start: whether a log that is begun is read from the log start of its broker.
        """
        self._segments = segments
        self._row_filter = row_filter
        self._split_bytes = split_bytes
        self._fails = fail_on_data_loss
        self._from_log_start = from_log_start
        self._undecided: dict[str, Undecided] = {}
        self._ends: dict[str, End] = {}
        self._positions: dict[str, tuple[Position, ...]] = {}
        self._turns: dict[str, int] = {}
        """Number of the last limited batch that read from a log, by folder."""
        self._turn = 0
        self._target: dict[str, int] | None = None

    def fix_target(self) -> None:
        """Stop the stream at the present ends of the logs."""
        self._target = settle(lambda: {folder: self._end(folder, log) for folder, log in self._logs().items()})

    def ends(self) -> dict[str, int]:
        """Return the ends of the logs as of the last listing."""
        return {folder: end.offset for folder, end in self._ends.items()}

    def latest(self, start: Reached, limit: int | None) -> Reached:
        """Return the end of the batch that begins at `start`; `start` itself if there is nothing to read.

        Args:
            start: what has been read.
            limit: in bytes.

        Raises:
            SourceError: there is nothing to follow yet, a file cannot be read, or a log ends before what was read.
        """
        return settle(lambda: self._latest(start, limit))

    def _latest(self, start: Reached, limit: int | None) -> Reached:
        logs = self._logs(is_needed=not start.next_offsets)
        ranges = {}
        for folder, log in logs.items():
            found = self._range(folder, log, start.next_offsets.get(folder))
            if found is not None:
                ranges[folder] = found
        if limit is None:
            taken = {folder: found.end for folder, found in ranges.items()}
        else:
            taken = self._limit_offsets(logs, ranges, limit)
        for folder in taken:
            end = logs[folder].end
            self._remember(folder, Position(end.segment.inode, end.offset, end.position, end.last))
        begun = {folder: ranges[folder].first for folder in taken if ranges[folder].begins}
        return Reached({**start.next_offsets, **taken}, begun) if taken else start

    def work(self, start: Reached, end: Reached) -> list[tuple[Split, RowFilter]]:
        """Return the ranges of segments that the batch between two positions reads.

        Raises:
            SourceError: a file cannot be read, or records were deleted before they were read.
        """
        return settle(lambda: self._work(start, end))

    def _work(self, start: Reached, end: Reached) -> list[tuple[Split, RowFilter]]:
        logs = self._logs()
        work: list[tuple[Split, RowFilter]] = []
        for folder, end_offset in end.next_offsets.items():
            first = end.first_offsets.get(folder, start.next_offsets.get(folder))
            if first is not None and first >= end_offset:
                continue
            log = logs.get(folder)
            if first is None:  # the checkpoints of the first release do not have it
                first = min(log.segments[0].base_offset, end_offset - 1) if log is not None else 0
            row_filter = self._row_filter.between(first, end_offset)
            present = None if log is None else log.present
            check_is_there(folder, present, row_filter.first_offset, row_filter.bounds.end_offset, self._fails)
            if log is not None:
                known = self._positions.get(folder, ())
                work += [
                    (split, row_filter)
                    for segment, next_base in log.between(first, end_offset)
                    for split in _splits(segment, next_base, first, end_offset, known, self._split_bytes)
                ]
        return work

    def _logs(self, is_needed: bool = False) -> Mapping[str, _Log]:
        """List the logs by folder, with their present ends."""
        try:
            segments = self._segments()
        except ListingError:
            raise
        except SourceError:
            if is_needed:
                raise
            segments = []
        logs: dict[str, _Log] = {}
        for folder, found in groupby(segments, lambda segment: segment.folder):
            replica = list(found)
            logs[folder] = _Log(replica, log_end(replica[-1], self._ends.get(folder)))
        self._ends = {folder: log.end for folder, log in logs.items()}
        self._undecided = {folder: found for folder, found in self._undecided.items() if folder in logs}
        return logs

    def _range(self, folder: str, log: _Log, reached: int | None) -> _Range | None:
        """Return the unread range of a log that has been read up to an offset; None if there is nothing to read."""
        start, end = log.present
        is_new = reached is not None and end < reached
        if is_new:
            what = f"{folder}: the log ends at offset {end}, before offset {reached}, up to which it was read"
            report_loss(f"{what}: it was cut off, or deleted and made again", self._fails)
        end = self._end(folder, log)
        if self._target is not None:
            if is_new:
                self._target[folder] = end
            end = min(end, self._target.get(folder, 0))
        if reached is not None and not is_new:
            return _Range(reached, end, False) if reached < end else None
        if self._from_log_start:
            start = max(start, min(LogStarts(self._row_filter.permissive).of(log.segments[0]), end))
        return _Range(start, max(start, end), True) if is_new or start < end else None

    def _end(self, folder: str, log: _Log) -> int:
        """Return the offset up to which a log may be read: its end, or the last stable offset."""
        if not self._row_filter.committed:
            return log.end.offset
        found = undecided(log.segments, self._row_filter.permissive, self._undecided.get(folder))
        self._undecided[folder] = found
        stable = found.last_stable_offset
        return log.end.offset if stable is None else min(stable, log.end.offset)

    def _limit_offsets(self, logs: Mapping[str, _Log], ranges: Mapping[str, _Range], limit: int) -> dict[str, int]:
        """Return the offsets up to which a limited batch reads."""
        self._turn += 1
        turns = sorted(ranges, key=lambda folder: self._turns.get(folder, 0))
        unread = {
            folder: Unread(
                logs[folder].segments,
                ranges[folder].first,
                logs[folder].end,
                ranges[folder].end,
                self._positions.get(folder, ()),
            )
            for folder in turns
        }
        share_out(list(unread.values()), limit)
        taken: dict[str, int] = {}
        for folder, (first, end, begins) in ranges.items():
            of_it = unread[folder]
            if of_it.offset > first or (begins and first == end):
                taken[folder] = of_it.offset
                self._turns[folder] = self._turn
                if of_it.position_of_next is not None:
                    self._remember(folder, of_it.position_of_next)
        return taken

    def _remember(self, folder: str, position: Position) -> None:
        """Remember a position at which the next batch may begin; of the earlier ones, only the newest are kept."""
        earlier = (one for one in self._positions.get(folder, ()) if one != position)
        self._positions[folder] = (position, *earlier)[:_POSITIONS]


def _splits(
    segment: Segment, next_base: int | None, first: int, end: int, known: Collection[Position], split_bytes: int
) -> list[Split]:
    """Return the byte ranges of a segment that have exactly the offsets from one on and before another one.

    So each byte belongs to one batch of a stream, and damage is reported once.
    """
    start, before = start_at(segment, first, known) if segment.base_offset < first else Start(0, NONE)
    if next_base is None or end < next_base:
        segment, next_base = segment._replace(size=start_at(segment, end, known).position), end
    return cut_segment(segment, split_bytes, start, next_base, first, before)

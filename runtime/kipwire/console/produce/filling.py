"""One partition that is written to: the records that wait, their batches, and how much is written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from kipwire.cluster.writing import Found, Outcome, Producer
from kipwire.console.dump_lines import LineError
from kipwire.console.produce.entries import Entry
from kipwire.console.produce.state import Reached
from kipwire.logs.names import Partition
from kipwire.model.errors import EncodeError, KipwireError
from kipwire.records.producer_sequence import HIGHEST_SEQUENCE
from kipwire.records.rebuilding import BatchHead, rebuilt_batch

BATCH_BYTES = 1_000_000
"""Bytes of a batch before it is compressed: brokers take 1,048,588 by default, with its head."""
_NUMBERS = HIGHEST_SEQUENCE + 1
_HALF = _NUMBERS // 2


class WrongLinesError(KipwireError):
    """The lines differ from the lines of the state."""


@dataclass(frozen=True)
class Moved:
    """Records that followed each other, and do so in the topic."""

    number: int | None
    """The partition that they were in; None if unknown."""
    first: int | None
    """The offset of the first one there; None for plain lines."""
    offset: int | None
    """Its offset in the topic; None if the leader did not say it."""
    count: int


class Filling:
    """One partition that is written to."""

    def __init__(self, partition: Partition, producer: Producer, reached: Reached, found: Sequence[Found]) -> None:
        """Begin where the state and the log say.

        Args:
            partition: that is written to.
            producer: of the batches.
            reached: how much of it is written, as a state says.
            found: later batches of the producer, in the order of the log.
        """
        self.partition = partition
        self.size = 0
        """Bytes of the records that wait."""
        self._producer = producer
        self._checked = reached
        self._offset = reached.offset
        self._digest = blake2b(digest_size=16)
        self._count = 0
        """Records that are written, of those that were read."""
        self._limit = BATCH_BYTES
        self._waiting: deque[Entry] = deque()
        self._sent: list[Entry] = []
        self._found: deque[tuple[int, int, int]] = deque()
        """First and last record of batches that were found, by number, and their offsets."""
        self.known = reached.records
        """Records that earlier runs have written."""
        for one in found:
            ahead = (one.base_sequence - self.known + _HALF) % _NUMBERS - _HALF
            first = self.known + ahead
            last = first + (one.last_sequence - one.base_sequence) % _NUMBERS
            if not first <= self.known <= last:  # the state has all of it
                continue
            self._found.append((first, last, one.base_offset))
            self.known = last + 1

    @property
    def reached(self) -> Reached:
        """The extent of what is written, for a state."""
        if self._count < self._checked.records:  # not all lines of earlier runs were read again
            return self._checked
        return Reached(self._count, self._digest.hexdigest(), self._offset)

    @property
    def is_full(self) -> bool:
        """True if what waits is a batch."""
        return self.size >= self._limit

    @property
    def is_half_full(self) -> bool:
        """True if what waits may go with others."""
        return 2 * self.size >= self._limit

    @property
    def is_behind(self) -> bool:
        """True if fewer records were read than earlier runs have written."""
        return self._count < self.known

    @property
    def waits(self) -> bool:
        """True if there are records that wait."""
        return bool(self._waiting)

    @property
    def sent(self) -> int:
        """Records of a batch that is on its way, so that they may be written."""
        return len(self._sent)

    def add(self, entry: Entry) -> Moved | None:
        """Add a record; one that an earlier run has written is left out, and returned if only the log told so.

        Raises:
            WrongLinesError: the lines are not those that the state is about.
        """
        if self._count >= self.known:
            self._waiting.append(entry)
            self.size += _size(entry)
            return None
        self._note([entry])
        at = self._count - 1
        if self._count == self._checked.records and self._digest.hexdigest() != self._checked.digest:
            raise WrongLinesError
        if at < self._checked.records:
            return None
        while self._found[0][1] < at:
            self._found.popleft()
        first, last, offset = self._found[0]
        if at == last:
            self._offset = offset + last - first + 1
        return Moved(entry.number, entry.offset, offset + at - first, 1)

    def batch(self, codec: int) -> bytes:
        """Make a batch of what waits, as much as fits; `done` says what has become of it.

        Raises:
            LineError: a record cannot be written.
            MissingExtraError: the codec needs cramjam, which is not installed.
        """
        size = 0
        self._sent = []
        while self._waiting and (not self._sent or size + _size(self._waiting[0]) <= self._limit):
            size += _size(self._waiting[0])
            self._sent.append(self._waiting.popleft())
        self.size -= size
        records = [entry.record for entry in self._sent]
        for offset, record in enumerate(records):
            record.offset = offset
        times = [record.timestamp for record in records]
        sequence = self._count % _NUMBERS
        head = BatchHead(2, codec, 0, len(records) - 1, times[0], max(times), -1, *self._producer, sequence)
        try:
            return rebuilt_batch(head, records)
        except EncodeError as error:
            raise LineError(f"{self._sent[0].place}: {error}") from None

    def done(self, outcome: Outcome) -> Iterator[Moved]:
        """Note what has become of the last batch; yield what is written, in runs.

        Raises:
            KipwireError: it is not written, and smaller batches will not be either.
        """
        sent = self._sent
        if outcome.is_too_large and len(sent) > 1:
            self._limit = max(1, sum(map(_size, sent)) // 2)
            self._waiting.extendleft(reversed(sent))
            self.size += sum(map(_size, sent))
            self._sent = []
            return
        if outcome.problem:
            if not outcome.is_in_doubt:
                self._sent = []
            raise _refused(self.partition, sent, outcome)
        self._note(sent)
        self._sent = []
        offset = outcome.base_offset if outcome.base_offset >= 0 else None
        if offset is not None:
            self._offset = offset + len(sent)
        yield from _runs(sent, offset)

    def _note(self, entries: Sequence[Entry]) -> None:
        self._count += len(entries)
        for entry in entries:
            record = entry.record
            self._digest.update(repr((record.key, record.value, record.headers)).encode())


def _size(entry: Entry) -> int:
    """Estimate the bytes of a record, from above."""
    record = entry.record
    size = 30 + len(record.key or b"") + len(record.value or b"")
    return size + sum(10 + 4 * len(key) + len(value or b"") for key, value in record.headers)


def _runs(entries: Sequence[Entry], offset: int | None) -> Iterator[Moved]:
    """Group records whose former offsets follow each other."""
    first = 0
    for at in range(1, len(entries) + 1):
        before, entry = entries[at - 1], entries[at] if at < len(entries) else None
        follows = entry is not None and entry.number == before.number
        if follows and entry is not None and before.offset is not None:
            follows = entry.offset == before.offset + 1
        if not follows:
            start = entries[first]
            yield Moved(start.number, start.offset, None if offset is None else offset + first, at - first)
            first = at


def _refused(partition: Partition, sent: Sequence[Entry], outcome: Outcome) -> KipwireError:
    entry = sent[0]
    where = entry.place if entry.offset is None else f"{entry.place}, offset {entry.offset}"
    if outcome.is_too_large:
        what = f"the record at {where} is too large; raise max.message.bytes of the topic, or leave it out"
    else:
        what = f"{len(sent):,} record{'s' * (len(sent) > 1)} from {where} on"
    return KipwireError(f"{partition.topic} partition {partition.number}: {outcome.problem}: {what}")

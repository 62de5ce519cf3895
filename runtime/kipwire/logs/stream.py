"""Log segments that come through a pipe: read once, from start to end, with one batch in memory.

As long as batches are whole, or end where their heads say, nothing is kept. At other bytes, `accounting` has to look
more than once at the bytes that follow. So from there on the rest of the stream goes to a temporary file, and is read
like any segment. The file has at most `MOST_KEPT` bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from tempfile import TemporaryFile
from typing import IO, BinaryIO, cast

from kipwire.logs.accounting import Damage, Tail, head_of
from kipwire.logs.offsets import Misplaced, OffsetOrder, Offsets, Passing
from kipwire.logs.segments import read_part
from kipwire.model.errors import DecodeError
from kipwire.records.bounds import Bounds
from kipwire.records.checks import error_at
from kipwire.records.heads import RECORDS
from kipwire.records.model import RecordBatch
from kipwire.records.reading import Cursor, Rules, batches_in, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kipwire.records.reading import SegmentOptions

MOST_KEPT = 2**31 - 1
"""Bytes that are kept in a temporary file at most: no segment has more."""

_ENDLESS = 2**62
"""More bytes than any stream has: the end of a stream is not known before it is reached."""
_CHUNK, _LARGEST_READ = 1 << 16, 1 << 20


class StreamBuffer:
    """The bytes of a stream from some position on; the bytes before it are forgotten."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Take a function that reads at most as many bytes as it is asked for, at least one, and none at the end."""
        self.end = 0
        """The bytes that were read so far."""
        self._read = read
        self._chunk = b""
        self._start = 0

    @property
    def held(self) -> int:
        """Bytes in memory."""
        return len(self._chunk)

    def take(self, position: int, size: int) -> bytes:
        """Return the bytes at a position; fewer if the stream ends before. Bytes before the position are forgotten."""
        at = position - self._start
        if at + size > len(self._chunk):
            self._go_on(position, size)
            at = 0
        return self._chunk[at : at + size]

    def rest(self, position: int) -> Iterator[bytes]:
        """Yield all bytes from a position on that was not forgotten."""
        self.take(position, 0)
        yield self._chunk[position - self._start :]
        while chunk := self._read(_CHUNK):
            yield chunk

    def _go_on(self, position: int, size: int) -> None:
        parts = [self._chunk[position - self._start :]]
        while self.end < position + size and (part := self._read(max(_CHUNK, min(size, _LARGEST_READ)))):
            parts.append(part[max(0, position - self.end) :])
            self.end += len(part)
        self._chunk, self._start = b"".join(parts), position


def read_stream(
    ahead: StreamBuffer,
    name: str,
    *,
    grows: bool = True,
    bounds: Bounds | None = None,
    **options: Unpack[SegmentOptions],
) -> Iterator[RecordBatch | Misplaced | Damage | Tail]:
    """Read the batches of a segment or a snapshot that comes through a pipe, as `read_part` does of a file.

    Args:
        ahead: the bytes of the stream, from the first one on.
        name: the stream in errors.
        grows: True if the stream may end as a live segment does; then the last item is a tail, even without a byte.
        bounds: as for `read_segment`.
        options: as for `read_segment`.

    Yields:
        Batches, also misplaced ones, damage, and the tail, at positions from the start of the stream on.

    Raises:
        OSError: the stream cannot be read, or the bytes after damage cannot be kept in a temporary file.
    """
    rules = rules_of(**options)
    cursor = Cursor(0)
    order = OffsetOrder(Offsets(), name)
    may_have = None if bounds is None else Passing(bounds, order, rules.magic_2).may_have
    last = 0

    def take(position: int, size: int) -> bytes:
        nonlocal last
        data = ahead.take(position, size)
        if data:
            last = position
        return data

    while True:
        error = None
        batches = batches_in(take, cursor, _ENDLESS, rules, file=name, may_have=may_have)
        try:
            for batch in batches:
                yield order.placed(batch, cursor.number)
        except DecodeError as caught:
            error = caught
        end = None if error is None else _find_end(ahead, cursor.position, rules)
        if error is None or end is None:
            break
        yield Damage(cursor.position, end, error, True)
        cursor = Cursor(end, cursor.number + 1)
    if cursor.position > ahead.end:  # its end was passed over with the last batch, which is out of bounds
        cursor = Cursor(last, cursor.number - 1)
        if grows:
            yield Tail(last, ahead.end - last, False)
        else:
            reason = f"the batch goes beyond byte {ahead.end}, where it has to end; copy the file again"
            yield Damage(last, ahead.end, error_at((cursor.number, last, name), 2, "", 0, reason), False)
        return
    yield from _rest(ahead, cursor, name, Offsets(before=order.before), grows=grows, bounds=bounds, **options)


def _find_end(ahead: StreamBuffer, position: int, rules: Rules) -> int | None:
    """Find the end of a broken batch, if a whole batch follows there by its length; None if that is not known."""
    head = head_of(ahead.take(position, RECORDS), position, rules.formats)
    if head is None or head.size > rules.max_batch_size:
        return None
    following = head_of(ahead.take(position, head.size + RECORDS)[head.size :], head.end, rules.formats)
    if following is None or following.size > rules.max_batch_size:
        return None
    size = head.size + following.size
    return head.end if len(ahead.take(position, size)) == size else None


def _rest(
    ahead: StreamBuffer,
    cursor: Cursor,
    name: str,
    offsets: Offsets,
    *,
    grows: bool,
    bounds: Bounds | None,
    **options: Unpack[SegmentOptions],
) -> Iterator[RecordBatch | Misplaced | Damage | Tail]:
    position = cursor.position
    if not ahead.take(position, 1):
        if grows:
            yield Tail(position, 0, False)
        return
    with TemporaryFile(prefix="kipwire-") as kept:
        more = False
        for chunk in ahead.rest(position):
            more = kept.tell() + len(chunk) > MOST_KEPT
            if more:
                break
            kept.write(chunk)
        end = position + kept.tell()
        yield from read_part(
            cast("BinaryIO", _FileFromOffset(kept, position)),
            name,
            start=position,
            grows=grows and not more,
            bounds=bounds,
            offsets=offsets,
            **options,
        )
    if more:
        reason = f"more than {MOST_KEPT:,} bytes follow an invalid batch and are not read; save them to a file"
        yield Damage(end, end + 1, error_at((cursor.number, end, name), 2, "", 0, reason), False)


class _FileFromOffset:
    """A file whose first byte has another position than 0."""

    def __init__(self, file: IO[bytes], start: int) -> None:
        self._file = file
        self._start = start
        self.read = file.read

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        return self._start + self._file.seek(position - self._start if whence == os.SEEK_SET else position, whence)

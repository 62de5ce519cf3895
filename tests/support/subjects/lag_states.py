"""States of a group at a partition, with what each word of lag says of them: `kipwire.cluster.lag` has the words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key
from tests.support.subjects.offset_logs import ms

NOW = 1000.0
"""The time of the last known record, in seconds as in `offset_logs`."""
STOOD = 900.0
"""The time at which groups have committed their offsets, but for those that move."""
STALLED_AFTER = 60


class Verdict(NamedTuple):
    """All that is said of a group at a partition."""

    lag: int | None
    unread: int | None
    seconds: float | None = 0.0
    is_stalled: bool = False
    grown: int | None = None
    """Only of what is stalled."""
    too_late: int = 0
    ahead: int = 0
    without_offset: bool = False


class State(NamedTuple):
    """A partition, and the offset that a group has committed."""

    offset: int | None
    """None: a member reads it, and has committed nothing."""
    log: Sequence[bytes]
    verdict: Verdict
    committed_at: float = STOOD
    start: int = 0
    """The first offset that DeleteRecords has left."""
    is_closed: bool = True
    """False if a transaction is open."""


def plain(first: int, *times: float) -> bytes:
    return write_batch(_records(first, times))


def sent(first: int, producer: int, *times: float) -> bytes:
    """Make a batch of a transaction."""
    return write_batch(
        _records(first, times), producer_id=producer, producer_epoch=0, base_sequence=first, is_transactional=True
    )


def marker(offset: int, producer: int, type_: Literal["ABORT", "COMMIT"], time: float = 500) -> bytes:
    """Make the end of a transaction."""
    record = Record(offset=offset, timestamp=ms(time), key=end_marker_key(type_), value=bytes(6))
    return write_batch([record], producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)


def emptied(first: int, last: int) -> bytes:
    """Make a batch whose records compaction has removed."""
    return write_batch([], base_offset=first, last_offset_delta=last - first, base_timestamp=ms(0), max_timestamp=ms(0))


def _records(first: int, times: Iterable[float]) -> list[Record]:
    return [Record(offset=first + n, timestamp=ms(time), value=b"v") for n, time in enumerate(times)]


_TEN = plain(0, *[100] * 10)
_FAR = 3_000_000_000.0
STATES: Mapping[str, State] = {
    "all is read": State(10, [_TEN], Verdict(0, 0)),
    "the topic is empty": State(0, [], Verdict(0, 0)),
    "dead, the topic is quiet": State(10, [_TEN, plain(10, 300, 400)], Verdict(2, 2, 700, True, 0)),
    "dead, the topic grows": State(10, [_TEN, plain(10, 300), plain(11, 950, 960)], Verdict(3, 3, 700, True, 2)),
    "behind, and moves": State(10, [_TEN, plain(10, 300, 400)], Verdict(2, 2, 700), committed_at=990),
    "only the last known record is unread": State(10, [_TEN, plain(10, NOW)], Verdict(1, 1, 0, True, 1)),
    "a marker is left": State(2, [sent(0, 1, 100, 100), marker(2, 1, "COMMIT")], Verdict(1, 0)),
    "aborted records are left": State(10, [_TEN, sent(10, 1, 300, 300), marker(12, 1, "ABORT")], Verdict(3, 0)),
    "aborted and committed records are left": State(
        10,
        [_TEN, sent(10, 1, 300), sent(11, 2, 400), marker(12, 1, "ABORT"), marker(13, 2, "COMMIT")],
        Verdict(4, 3, 600, True, 0),
    ),
    "aborted, then another transaction of the producer": State(
        10,
        [_TEN, sent(10, 1, 300), marker(11, 1, "ABORT"), sent(12, 1, 400), marker(13, 1, "COMMIT")],
        Verdict(4, 2, 600, True, 0),
    ),
    "a transaction is open": State(10, [_TEN, sent(10, 1, 300, 400)], Verdict(2, 2, 700, True, 0), is_closed=False),
    "aborted, then one is open": State(
        10,
        [_TEN, sent(10, 1, 300), marker(11, 1, "ABORT"), sent(12, 1, 400)],
        Verdict(3, 1, 600, True, 0),
        is_closed=False,
    ),
    "one is open before aborted records": State(
        11,
        [_TEN, sent(10, 1, 300), sent(11, 2, 400), marker(12, 2, "ABORT")],
        Verdict(2, 2, 600, True, 0),
        is_closed=False,
    ),
    "the rest was deleted": State(2, [plain(0, *[100] * 5)], Verdict(3, 0, too_late=3), start=5),
    "the next was deleted": State(
        2, [plain(0, *[100] * 5), plain(5, 300, 400)], Verdict(5, 2, 700, True, 0, 3), start=5
    ),
    "the next was compacted": State(
        2, [plain(0, 100, 100), emptied(2, 9), plain(10, 300)], Verdict(9, 1, 700, True, 0)
    ),
    "the rest was compacted": State(2, [plain(0, 100, 100), emptied(2, 9)], Verdict(8, 0)),
    "ahead of a topic that was made anew": State(500, [_TEN], Verdict(0, 0, ahead=490)),
    "a time in the future": State(10, [_TEN, plain(10, _FAR)], Verdict(1, 1, None, True, 1)),
    "no time": State(10, [_TEN, write_batch([Record(offset=10, timestamp=-1)])], Verdict(1, 1, None, True, 1)),
    "nothing is committed": State(None, [_TEN], Verdict(None, None, None, without_offset=True)),
    "nothing is committed, or there": State(None, [], Verdict(None, None, None)),
}

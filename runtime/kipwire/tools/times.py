"""Times as people read them. Kafka's are milliseconds since 1970, and producers may write any number of 64 bits.

A time from the year 1 to 9999 is ISO 8601 in UTC. Any other is the number with its unit, such as `1700000000123456ms`:
a producer that counts in microseconds wrote that, and a date of the year 55840 would hide it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

NONE = -1
"""The timestamp of a record that has none."""
DAY = 86_400_000
"""Milliseconds of a day."""
_MINUTE, _HOUR, _DAY_OF_SECONDS = 60, 3600, 86400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)
FIRST_MICROSECOND = (datetime.min.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
LAST_MICROSECOND = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
"""Microseconds since 1970 of the last time that has a date."""


def now() -> int:
    """Return the present time in milliseconds since 1970."""
    return milliseconds_of(datetime.now(UTC))


def milliseconds_of(moment: datetime) -> int:
    """Convert a time to milliseconds since 1970, rounded down."""
    return (moment - EPOCH) // _MILLISECOND


def is_plausible(timestamp: int, at: int) -> bool:
    """True for a time in milliseconds from 1970 to a day after another one, the present, and for a missing one.

    Kafka removes old segments by the times of their records: one in the future keeps its segment for so long, and one
    before 1970 is lost to whoever looks for it by time.
    """
    return timestamp == NONE or 0 <= timestamp <= at + DAY


def moment_text(timestamp: int) -> str:
    """Format a timestamp in milliseconds, as in `2026-11-21T08:00:47.549Z`; `none` for -1."""
    if timestamp == NONE:
        return "none"
    second, rest = divmod(timestamp, 1000)
    text = _second(second)
    return f"{text}.{rest:03d}Z" if text else f"{timestamp}ms"


def moment_text_of_ns(timestamp: int) -> str:
    """Format a time in nanoseconds as `moment_text` does, with microseconds."""
    second, rest = divmod(timestamp, 10**9)
    text = _second(second)
    return f"{text}.{rest // 1000:06d}Z" if text else f"{timestamp}ns"


def duration_text(seconds: float | None) -> str:
    """Format a time for people, such as `3 h 12 min`; `?` if it is not known."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 and seconds else f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY_OF_SECONDS:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY_OF_SECONDS} d {whole % _DAY_OF_SECONDS // _HOUR} h"


def beyond_text(microseconds: int) -> str:
    """Format a time that has no date, given in microseconds: as its milliseconds if these are whole."""
    whole, rest = divmod(microseconds, 1000)
    return f"{microseconds}us" if rest else f"{whole}ms"


def date_text(moment: datetime, between: str = "T", timespec: str = "microseconds") -> str:
    """Format a time that has a date, as its date and its time of day in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(between, timespec)


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    """Return the date and time of a second since 1970; empty if it has none."""
    try:
        return date_text(EPOCH + timedelta(seconds=second), timespec="seconds")
    except (OverflowError, ValueError):  # any number may be there
        return ""

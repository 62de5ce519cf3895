"""Times in tables: how far apart they are, and which of them are plausible."""

from __future__ import annotations

from kipjobs.engines import Column, Functions
from kipwire.tools.times import DAY

_MICROS = 1000
"""Microseconds in a millisecond."""


def seconds_between(sf: Functions, first: Column | str, last: Column | str) -> Column:
    """Return the seconds from one time to another one, as doubles: the range of times is wider than 64 bits."""
    return (sf.unix_micros(last).cast("double") - sf.unix_micros(first).cast("double")) / sf.lit(1_000_000.0)


def is_plausible(sf: Functions, time: Column, at: Column) -> Column:
    """Return `kipwire.tools.times.is_plausible` of times, compared with another column of times."""
    latest = sf.unix_micros(at).cast("double") + sf.lit(float(DAY * _MICROS))
    return (sf.unix_micros(time) >= 0) & (sf.unix_micros(time).cast("double") <= latest)

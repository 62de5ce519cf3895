"""Totals of jobs: one row of numbers, which terminals and pages show before what is wrong."""

from __future__ import annotations

from functools import reduce

from kipjobs.engines import Column, Frame, Functions

HIGHEST = 2**63 - 1
"""Highest total: higher ones are shown as this."""


def rows(sf: Functions, name: str, condition: Column | None = None) -> Column:
    """Count the rows, or the rows that fulfil a condition, as a column of this name."""
    one = sf.lit(1)
    return sf.count(one if condition is None else sf.when(condition, one)).alias(name)


def total(sf: Functions, column: str, name: str = "") -> Column:
    """Sum up a column, 0 without rows, as a column of this name or of its own; at most `HIGHEST`."""
    return sf.coalesce(known_total(sf, column), sf.lit(0)).alias(name or column)


def known_total(sf: Functions, column: str) -> Column:
    """Sum up a column of numbers that are not negative; null without any, and at most `HIGHEST`.

    Damaged offsets make lags of nearly 64 bits, whose sum has more.
    """
    return sf.when(sf.count(column) > 0, sf.coalesce(sf.try_sum(column), sf.lit(HIGHEST)))


def one_row(*frames: Frame) -> Frame:
    """Put the columns of frames of one row each side by side."""
    return reduce(lambda left, right: left.crossJoin(right), frames)

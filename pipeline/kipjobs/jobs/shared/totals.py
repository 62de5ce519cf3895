"""Totals of jobs: one row of numbers, which terminals and pages show before what is wrong."""

from __future__ import annotations

from functools import reduce

from kipjobs.engines import Column, DataFrame, Functions


def rows(sf: Functions, name: str, condition: Column | None = None) -> Column:
    """Count the rows, or the rows that fulfil a condition, as a column of this name."""
    one = sf.lit(1)
    return sf.count(one if condition is None else sf.when(condition, one)).alias(name)


def total(sf: Functions, column: str, name: str = "") -> Column:
    """Sum up a column, 0 without rows, as a column of this name or of its own."""
    return sf.coalesce(sf.sum(column), sf.lit(0)).alias(name or column)


def one_row(*frames: DataFrame) -> DataFrame:
    """Put the columns of frames of one row each side by side."""
    return reduce(lambda left, right: left.crossJoin(right), frames)

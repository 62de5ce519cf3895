"""Report records that were deleted before they were read, as the option `failOnDataLoss` chooses."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from kipwire.tables.errors import SourceError


class Present(NamedTuple):
    """The offsets that a log has."""

    first_offset: int
    end_offset: int
    """The offset of the next record."""


def report_loss(what: str, fails: bool) -> None:
    """Report that records are lost.

    Args:
        what: names the records and the reason.
        fails: true for an error, false for a warning.

    Raises:
        SourceError: records are lost, and `fails` is true.
    """
    if fails:
        raise SourceError(f"{what}; to continue without them, set failOnDataLoss to false")
    warnings.warn(f"{what}; reading continues without them", stacklevel=2)


def check_is_there(folder: str, present: Present | None, first: int, end: int | None, fails: bool) -> None:
    """Report a loss if a log no longer has all of the offsets that are to be read.

    Args:
        folder: of the partition.
        present: the offsets that the log has now; None if the folder is gone.
        first: the first offset to read.
        end: the offset after the last one; None if that is not known.
        fails: as for `report_loss`.

    Raises:
        SourceError: offsets are lost, and `fails` is true.
    """
    if end is not None and first >= end:
        return
    if present is None:
        report_loss(f"{folder}: {_range(first, end)} were deleted before they were read: the folder is gone", fails)
        return
    start = present.first_offset
    if first < start:
        lost = _range(first, start if end is None else min(start, end))
        report_loss(f"{folder}: {lost} were deleted before they were read: the log now starts at offset {start}", fails)
    if end is not None and present.end_offset < end:
        lost = _range(max(first, present.end_offset), end)
        why = f"the log now ends at offset {present.end_offset}"
        report_loss(f"{folder}: {lost} were cut off before they were read: {why}", fails)


def _range(first: int, end: int | None) -> str:
    return f"offsets from {first} on" if end is None else f"offsets {first} to {end - 1}"

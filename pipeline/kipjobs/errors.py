"""The errors of the pipeline, in addition to those of kipwire itself, and the reactions to broken bytes."""

from __future__ import annotations

from typing import Literal, get_args

from kipwire import KipwireError

Mode = Literal["FAILFAST", "PERMISSIVE"]
"""Reactions to broken bytes, in Spark's terms: fail, or continue and report them."""
MODES: tuple[Mode, ...] = get_args(Mode)
FAILFAST, PERMISSIVE = MODES


class SourceError(KipwireError):
    """A path that cannot be read: it does not exist, it is something else, or an option is invalid."""


class ListingError(SourceError):
    """A folder or a store that cannot be listed, so that nobody knows what is in it."""


class JobError(KipwireError):
    """A call or a job that cannot be done; the text says what would be right."""


class BrokenMessageError(KipwireError):
    """Bytes in a column that are not the message they should be."""

"""The errors of tables, in addition to kipwire's own, and the reactions to broken bytes."""

from __future__ import annotations

import errno
import os
from typing import Literal, get_args

from kipwire import KipwireError

Mode = Literal["FAILFAST", "PERMISSIVE"]
"""Reactions to broken bytes, in Spark's terms: fail, or continue and report them."""
MODES: tuple[Mode, ...] = get_args(Mode)
FAILFAST, PERMISSIVE = MODES


class SourceError(KipwireError):
    """A path that cannot be read: it does not exist, it is something else, or an option is invalid."""


class ListingError(SourceError):
    """A folder or a store that cannot be listed, so that its contents are unknown."""


class JobError(KipwireError):
    """A call or a job that cannot be done; the text gives the correction."""


class BrokenMessageError(KipwireError):
    """Bytes in a column that are not the message they should be."""


def out_of_space(error: OSError) -> str | None:
    """Return advice for the error of a full disk; None for other errors."""
    if error.errno != errno.ENOSPC:
        return None
    full = "--out" if error.filename is None else os.fsdecode(error.filename)
    return f"no space is left on the disk of {full}; {ROOM}"


ROOM = "make room there, or choose a folder on another one"
"""The advice for a full disk of results."""

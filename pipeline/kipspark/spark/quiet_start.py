"""What a JVM prints while it starts, kept from the terminal: Spark's own lines would come before the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

_ERR = 2
_OF_VM = "Error occurred during initialization of VM"
"""The reason is in the next line."""
_STARTS = ("Error", "Exception", "Caused by", "Could not", "Unrecognized", "Invalid")


@contextmanager
def quiet_start() -> Iterator[Path]:
    """A file into which everything goes that processes started within print to standard error, for as long as they run.

    The file is removed at the end of the block; processes that have it open continue to write into it unseen.
    """
    sys.stderr.flush()
    saved = os.dup(_ERR)
    with NamedTemporaryFile(prefix="kipspark-", suffix=".err") as file:
        os.dup2(file.fileno(), _ERR)
        try:
            yield Path(file.name)
        finally:
            sys.stderr.flush()
            os.dup2(saved, _ERR)
            os.close(saved)


def reason_in(said: str) -> str:
    """What a JVM says about why it did not start, in one line; empty if it says nothing."""
    lines = [line.strip() for line in said.splitlines()]
    for number, line in enumerate(lines):
        if line.startswith(_STARTS):
            more = lines[number + 1 : number + 2] if line == _OF_VM else []
            return ": ".join([line, *more])
    return ""

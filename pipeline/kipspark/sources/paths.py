"""Paths as columns have them, and as Spark's own readers take them."""

from __future__ import annotations

import os
import re

_PATTERN = re.compile(r"[\\{}\[\]*?]")
"""What Hadoop reads as a part of a pattern."""


def path_text(path: str | os.PathLike[str]) -> str:
    """The path as text: a byte of it that is not UTF-8, which no column can hold, becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_path(path: str | os.PathLike[str]) -> str:
    """The path for `spark.read.text` and the like, which take paths for patterns: its characters mean themselves."""
    return _PATTERN.sub(r"\\\g<0>", os.fspath(path))

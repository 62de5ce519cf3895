"""Paths as columns have them."""

from __future__ import annotations

import os


def path_text(path: str | os.PathLike[str]) -> str:
    """The path as text: a byte of it that is not UTF-8, which no column can hold, becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")

"""Names that kipgen imports of watchfiles, which has no build for WebAssembly; the page never watches files."""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn


class Change(IntEnum):
    """Kinds of change."""

    added = 1
    modified = 2
    deleted = 3


def watch(*_: object, **__: object) -> NoReturn:
    """Refuse to watch.

    Raises:
        OSError: always.
    """
    raise OSError("files cannot be watched in a browser")

"""The offsets of streams as checkpoints keep them; docs/spark-sources.md describes the format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kipwire.tables.errors import SourceError

VERSION = 1
"""Version of the format that is written. The first release wrote none."""

_VERSION, _NEXT, _FIRST = "version", "next_offsets", "first_offsets"
_SHOWN = 200
"""Characters of an invalid checkpoint that an error shows."""
_NONE: Mapping[str, int] = MappingProxyType({})


class Reached(NamedTuple):
    """Position of a stream, by the folders of partitions."""

    next_offsets: Mapping[str, int] = _NONE
    """The offset after the last one that was read."""
    first_offsets: Mapping[str, int] = _NONE
    """First offset of the last batch, only for folders that it read from the start of their logs."""


def document(reached: Reached) -> dict[str, Any]:
    """Return the content of a checkpoint, in the present version of the format."""
    first = {_FIRST: dict(reached.first_offsets)} if reached.first_offsets else {}
    return {_VERSION: VERSION, _NEXT: dict(reached.next_offsets), **first}


def parse_checkpoint(kept: Any) -> Reached:
    """Parse a checkpoint in any version of the format that has ever been written.

    Raises:
        SourceError: a later release wrote it, or it is not what `kafka_log` writes.
    """
    if not isinstance(kept, dict):
        raise _not_ours(kept)
    version = kept.get(_VERSION)
    if version is None:  # before there were versions: the next offsets alone, by paths, which begin with a slash
        return Reached(_offsets(kept, kept))
    if not _is_number(version) or version < 1:
        raise _not_ours(kept)
    if version > VERSION:
        raise SourceError(
            f"kafka_log: the stream's checkpoint has offsets of version {version}, but this release reads versions up "
            f"to {VERSION}; continue with the release that wrote it, or with a later one"
        )
    return Reached(_offsets(kept.get(_NEXT), kept), _offsets(kept.get(_FIRST, {}), kept))


def _offsets(found: Any, kept: Any) -> dict[str, int]:
    if not isinstance(found, dict) or not all(_is_number(offset) and offset >= 0 for offset in found.values()):
        raise _not_ours(kept)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _not_ours(kept: Any) -> SourceError:
    text = repr(kept)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return SourceError(f"kafka_log: the stream's checkpoint has offsets that kafka_log does not write: {shown}")

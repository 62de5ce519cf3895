"""The offsets of streams as checkpoints keep them; docs/spark-sources.md describes the format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kipwire.tables.errors import SourceError

VERSION = 1
"""Version of the format that is written. The first release wrote none."""

_VERSION, _NEXT, _FIRST, _IDS = "version", "next_offsets", "first_offsets", "topic_ids"
_SHOWN = 200
"""Characters of an invalid checkpoint that an error shows."""
_NONE: Mapping[str, int] = MappingProxyType({})
_NO_IDS: Mapping[str, str] = MappingProxyType({})


class Reached(NamedTuple):
    """Position of a stream, by the folders of partitions, or by partitions of brokers such as `orders/0`."""

    next_offsets: Mapping[str, int] = _NONE
    """The offset after the last one that was read."""
    first_offsets: Mapping[str, int] = _NONE
    """First offset of the last batch, only for folders that it read from the start of their logs."""
    topic_ids: Mapping[str, str] = _NO_IDS
    """Ids of topics of brokers, by which a topic that was made anew is noticed."""


def document(reached: Reached) -> dict[str, Any]:
    """Return the content of a checkpoint, in the present version of the format."""
    first = {_FIRST: dict(reached.first_offsets)} if reached.first_offsets else {}
    ids = {_IDS: dict(reached.topic_ids)} if reached.topic_ids else {}
    return {_VERSION: VERSION, _NEXT: dict(reached.next_offsets), **first, **ids}


def parse_checkpoint(kept: Any, source: str = "kafka_log") -> Reached:
    """Parse a checkpoint in any version of the format that has ever been written.

    Raises:
        SourceError: a later release wrote it, or it is not what the source writes.
    """
    if not isinstance(kept, dict):
        raise _not_ours(kept, source)
    version = kept.get(_VERSION)
    if version is None:  # before there were versions: the next offsets alone, by paths, which begin with a slash
        return Reached(_offsets(kept, kept, source))
    if not _is_number(version) or version < 1:
        raise _not_ours(kept, source)
    if version > VERSION:
        raise SourceError(
            f"{source}: the stream's checkpoint has offsets of version {version}, but this release reads versions up "
            f"to {VERSION}; continue with the release that wrote it, or with a later one"
        )
    ids = kept.get(_IDS, {})
    if not isinstance(ids, dict) or not all(isinstance(id_, str) for id_ in ids.values()):
        raise _not_ours(kept, source)
    return Reached(_offsets(kept.get(_NEXT), kept, source), _offsets(kept.get(_FIRST, {}), kept, source), ids)


def _offsets(found: Any, kept: Any, source: str) -> dict[str, int]:
    if not isinstance(found, dict) or not all(_is_number(offset) and offset >= 0 for offset in found.values()):
        raise _not_ours(kept, source)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _not_ours(kept: Any, source: str) -> SourceError:
    text = repr(kept)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return SourceError(f"{source}: the stream's checkpoint has offsets that {source} does not write: {shown}")

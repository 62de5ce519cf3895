"""Counts the savings of KIP-625's encodings on real traffic of any volume.

Rows of `kafka_frames` in. It counts like `kipgen advise`, with `kipwire.message.encodings`: first in each task, then
all counts of a message together. The classes of Kafka's messages say which fields may have another encoding at all.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

import pyarrow as pa

from kipjobs.engines import DataFrame, functions_of
from kipjobs.jobs.shared.totals import one_row, rows, total
from kipjobs.messages.selection import KAFKA
from kipwire import KipwireError, Message
from kipwire.message.encodings import Counts, IntegerCounts, merge, why_kept
from kipwire.message.registry import registry_of
from kipwire.tools.io import no_garbage_collection
from kipwire.traffic.frame_facts import decode_frame

COUNTS_SCHEMA = pa.schema(
    [("message", pa.string()), ("messages", pa.int64()), ("not_decoded", pa.int64()), ("counts", pa.string())]
)
"""One row per message: how many there were, how many frames of its API could not be decoded, and the counts as JSON.

For bytes in a capture of packets that are no frame, the message is "".
"""

ADVICE_SCHEMA = pa.schema(
    [
        ("message", pa.string()),
        ("messages", pa.int64()),
        ("path", pa.string()),
        ("type", pa.string()),
        ("is_element", pa.bool_()),
        ("values", pa.int64()),
        ("minimum", pa.int64()),
        ("maximum", pa.int64()),
        ("negative", pa.int64()),
        ("bytes_fixed", pa.int64()),
        ("bytes_packed", pa.int64()),
        ("bytes_upacked", pa.int64()),
        ("best", pa.string()),
        ("saved", pa.int64()),
        ("note", pa.string()),
    ]
)
"""One row per field; docs/spark-jobs.md explains the columns."""

_UNKNOWN = ""
"""Name for a message that is not known."""


def counts(frames: DataFrame) -> DataFrame:
    """Return the counts of every message in the frames, as rows of `COUNTS_SCHEMA`."""
    sf = functions_of(frames)
    return sf.map_groups(sf.map_batches(frames, count_frames, COUNTS_SCHEMA), ["message"], merge_counts, COUNTS_SCHEMA)


def advice(counted: DataFrame) -> DataFrame:
    """Compute the size of each field under each encoding of its width, and the smallest: rows of `ADVICE_SCHEMA`.

    The wire form of a tagged field, and of the fields in its data, cannot change (KIP-482): their best encoding is the
    present one.

    Args:
        counted: of `counts`.
    """
    return functions_of(counted).map_batches(counted, advise, ADVICE_SCHEMA)


def not_decoded(counted: DataFrame) -> DataFrame:
    """Return the number of frames that could not be decoded, by API; "" is for bytes that are no frame.

    Args:
        counted: of `counts`.
    """
    sf = functions_of(counted)
    return counted.where(sf.col("not_decoded") > 0).select("message", "messages", "not_decoded")


def totals(counted: DataFrame, advised: DataFrame) -> DataFrame:
    """Return one row: messages, frames that could not be decoded, integer fields, bytes that the best encodings save.

    Args:
        counted: of `counts`.
        advised: of `advice`.
    """
    sf = functions_of(counted)
    return one_row(
        counted.agg(total(sf, "messages"), total(sf, "not_decoded")),
        advised.agg(rows(sf, "integer_fields"), total(sf, "saved", "saved_bytes")),
    )


def count_frames(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the counts of all frames of one task, one row per message."""
    found: dict[str, Counts] = {}
    lost: dict[str, int] = defaultdict(int)
    kafka = registry_of(KAFKA)
    for batch in batches:
        bodies: dict[str, list[Message]] = defaultdict(list)
        columns = (batch.column(name).to_pylist() for name in ("direction", "api_key", "api_version", "frame"))
        with no_garbage_collection():
            for direction, api_key, version, frame in zip(*columns, strict=True):
                if frame is None:
                    lost[_UNKNOWN if api_key is None else _name(direction, api_key, version)] += 1
                    continue
                try:
                    body = decode_frame(kafka, direction, api_key, version, frame)
                except KipwireError:
                    lost[_name(direction, api_key, version)] += 1
                else:
                    bodies[body.NAME].append(body)
            for name, some in bodies.items():
                found.setdefault(name, Counts(name)).add_all(some)
    rows = [_row(name, found.get(name, Counts(name)), lost[name]) for name in sorted({*found, *lost})]
    yield pa.RecordBatch.from_pylist(rows, COUNTS_SCHEMA)


def merge_counts(rows: pa.Table) -> pa.Table:
    """Merge the counts of one message from all tasks."""
    name = rows.column("message")[0].as_py()
    total = Counts(name)
    for text in rows.column("counts").to_pylist():
        total = merge(total, Counts.from_plain(json.loads(text)))
    return pa.Table.from_pylist([_row(name, total, sum(rows.column("not_decoded").to_pylist()))], COUNTS_SCHEMA)


def advise(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make rows of `ADVICE_SCHEMA` from rows of `COUNTS_SCHEMA`."""
    for batch in batches:
        rows = [
            {"message": name, "messages": messages, "path": path, **_advice_row(field, why_kept(_classes(name), path))}
            for name, messages, text in zip(
                *(batch.column(column).to_pylist() for column in ("message", "messages", "counts")), strict=True
            )
            for path, field in Counts.from_plain(json.loads(text)).fields.items()
        ]
        yield pa.RecordBatch.from_pylist(rows, ADVICE_SCHEMA)


@lru_cache(maxsize=8)
def _classes(name: str) -> list[type[Message]]:
    known = registry_of(KAFKA)
    return [known.message(name, version) for version in known.versions(name)]


def _advice_row(field: IntegerCounts, reason: str) -> dict[str, object]:
    sizes = field.sizes()
    fixed = next(iter(sizes))
    best = fixed if reason else field.best()
    return {
        "type": field.type,
        "is_element": field.is_element,
        "values": field.count,
        "minimum": field.minimum,
        "maximum": field.maximum,
        "negative": field.negative,
        **{f"bytes_{encoding[:-2]}": size for encoding, size in sizes.items()},
        "best": best,
        "saved": sizes[fixed] - sizes[best],
        "note": reason,
    }


def _row(name: str, total: Counts, lost: int) -> dict[str, object]:
    return {
        "message": name,
        "messages": total.messages,
        "not_decoded": lost,
        "counts": json.dumps(total.to_plain()),
    }


def _name(direction: str, api_key: int, version: int) -> str:
    """Return the name of the message that a frame should have been."""
    messages = registry_of(KAFKA)
    try:
        cls = messages.request(api_key, version) if direction == "request" else messages.response(api_key, version)
    except KipwireError:
        return _UNKNOWN
    return cls.NAME

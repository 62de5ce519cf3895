"""Facts about single frames, without their content. Spark's tasks run this; it does not use Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kipspark.messages.selection import KAFKA
from kipwire import KipwireError
from kipwire.packets.frame_facts import api_name, decode_frame, error_name, facts_of
from kipwire.registry import registry_of
from kipwire.tools.io import no_garbage_collection

_CODES = pa.list_(
    pa.struct([("path", pa.string()), ("code", pa.int16()), ("error", pa.string()), ("count", pa.int64())])
)
_TAGS = pa.list_(pa.struct([("path", pa.string()), ("tag", pa.int32()), ("bytes", pa.int64())]))

INSPECTED = ("frame", "error")
"""Columns of `kafka_frames` that those of `FOUND_SCHEMA` replace."""

FOUND_SCHEMA = pa.schema(
    [
        ("api", pa.string()),
        ("frame_bytes", pa.int64()),
        ("error_codes", _CODES),
        ("unknown_tags", _TAGS),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("error", pa.string()),
    ]
)
"""What was found in a frame; docs/spark-jobs.md explains it. `frame_bytes` is null if there is no frame."""


def inspect_frames(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `kafka_frames` with what was found in the frames instead of the frames themselves."""
    for batch in batches:
        frames = zip(
            batch.column("direction").to_pylist(),
            batch.column("api_key").to_pylist(),
            batch.column("api_version").to_pylist(),
            *(batch.column(name).to_pylist() for name in INSPECTED),
            strict=True,
        )
        with no_garbage_collection():
            found = pa.RecordBatch.from_pylist([_found(*frame) for frame in frames], FOUND_SCHEMA)
        kept = batch.drop_columns(list(INSPECTED))
        yield pa.RecordBatch.from_arrays(
            [*kept.columns, *found.columns], schema=pa.schema([*kept.schema, *FOUND_SCHEMA])
        )


def _found(
    direction: str, api_key: int | None, version: int, frame: bytes | None, missing: str | None
) -> dict[str, Any]:
    if api_key is None or frame is None:
        api = None if api_key is None else api_name(api_key)
        return {"api": api, "error_codes": [], "unknown_tags": [], "error": missing}
    found: dict[str, Any] = {"api": api_name(api_key), "frame_bytes": len(frame)}
    try:
        body = decode_frame(registry_of(KAFKA), direction, api_key, version, frame)
    except KipwireError as error:
        return {**found, "error_codes": [], "unknown_tags": [], "error": str(error)}
    codes, tags = facts_of(body)
    return {
        **found,
        "error_codes": [
            {"path": path, "code": code, "error": error_name(code), "count": count}
            for (path, code), count in codes.items()
        ],
        "unknown_tags": [tag._asdict() for tag in tags],
        "software_name": getattr(body, "client_software_name", None),
        "software_version": getattr(body, "client_software_version", None),
    }

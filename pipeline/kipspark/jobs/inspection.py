"""Facts about single frames, without their content. Spark's tasks run this; it does not use Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa

from kafka_messages.enums import ErrorCode
from kipspark.messages.selection import KAFKA
from kipwire import KipwireError, Message
from kipwire.registry import Registry, registry_of
from kipwire.structs import Struct
from kipwire.tools.collector import no_garbage_collection

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
"""What was found in a frame; docs/spark.md explains it. `frame_bytes` is null if there is no frame."""


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


def decode_frame(messages: Registry, direction: str, api_key: int, version: int, frame: bytes) -> Message:
    """The body of a frame.

    Raises:
        KipwireError: it is broken, or there is no class for it.
    """
    if direction == "request":
        return messages.decode_request(frame)[1]
    return messages.decode_response(frame, api_key, version)[1]


@cache
def api_name(api_key: int) -> str:
    """The name of an API, such as `Fetch`; `API 99` if Kafka has none with that key."""
    messages = registry_of(KAFKA)
    for entry in map(messages.entry, messages.names()):
        if entry.versions and entry.type == "request" and entry.api_key == api_key:
            return entry.name.removesuffix("Request")
    return f"API {api_key}"


def error_name(code: int) -> str | None:
    """Such as `UNKNOWN_MEMBER_ID`; None where Kafka has no error of that code."""
    error = ErrorCode.find(code)
    return None if error is None else error.name


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
    codes: Counter[tuple[str, int]] = Counter()
    tags: list[dict[str, Any]] = []
    _look(body, "", codes, tags)
    return {
        **found,
        "error_codes": [
            {"path": path, "code": code, "error": error_name(code), "count": count}
            for (path, code), count in codes.items()
        ],
        "unknown_tags": tags,
        "software_name": getattr(body, "client_software_name", None),
        "software_version": getattr(body, "client_software_version", None),
    }


def _look(item: Struct, path: str, codes: Counter[tuple[str, int]], tags: list[dict[str, Any]]) -> None:
    """Gather the error codes other than 0 and the unknown tagged fields of a struct and of all structs in it."""
    if item.FLEXIBLE and item._unknown_tagged_fields:
        tags += [{"path": path, "tag": tag, "bytes": len(data)} for tag, data in item._unknown_tagged_fields.items()]
    for name, is_struct, is_array in _inspected_fields(type(item)):  # type: ignore[arg-type]  # the class is hashable
        value = getattr(item, name)
        where = f"{path}.{name}" if path else name
        if not is_struct:
            if value:
                codes[where, value] += 1
        elif value is not None:
            for inner in value if is_array else (value,):
                _look(inner, where, codes, tags)


@cache
def _inspected_fields(cls: type[Struct]) -> tuple[tuple[str, bool, bool], ...]:
    """The fields that are error codes, or structs that may have some: name, whether it is a struct or an array."""
    return tuple(
        (field.name, field.struct is not None, field.array)
        for field in cls.ATTRIBUTES
        if field.struct is not None or (field.name.endswith("error_code") and field.type == "int16")
    )

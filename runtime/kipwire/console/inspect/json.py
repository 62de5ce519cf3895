"""An inspection as data for `json.dumps`."""

from __future__ import annotations

import uuid
from typing import Any

from kipwire.console.inspect.tree import Inspection
from kipwire.description.json_codec import bytes_to_json, float_to_json, uuid_to_json


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """Build an object of `message`, `version`, `size` in bytes, `elements` in the order of bytes, `error` or null."""
    error = inspection.error
    return {
        "message": inspection.message,
        "version": inspection.version,
        "size": len(inspection.data),
        "elements": [
            {
                "part": piece.part,
                "path": piece.path,
                "role": piece.role,
                "type": piece.kind,
                "offset": piece.start,
                "size": piece.end - piece.start,
                "bytes": inspection.data[piece.start : piece.end].hex(),
                "value": value_json(piece.value),
                "name": piece.name,
            }
            for piece in inspection.pieces
        ],
        "error": (
            None
            if error is None
            else {
                "message": error.message,
                "version": error.version,
                "path": error.path,
                "offset": error.offset,
                "reason": error.reason,
                "rest": inspection.data[inspection.rest :].hex(),
                "rest_offset": inspection.rest,
            }
        ),
    }


def value_json(value: object) -> bool | int | float | str | None:
    """Convert a value to the JSON form of messages (docs/json.md)."""
    match value:
        case uuid.UUID():
            return uuid_to_json(value)
        case bytes():
            return bytes_to_json(value)
        case float():
            return float_to_json(value)
        case None | bool() | int() | str():
            return value
        case _:
            raise TypeError(f"no message has a value of type {type(value).__name__}")

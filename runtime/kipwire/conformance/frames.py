"""Vectors of frames that follow from descriptions: a message behind its header, with the size before both.

They say what no vector of a message says: which header a message has, and what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipwire.codec.wire import pack_i
from kipwire.conformance.building import fitting, full
from kipwire.conformance.deriving import DeriveError
from kipwire.conformance.vectors import SPEC, Kind, Vector
from kipwire.conformance.writing import write
from kipwire.description.json_codec import write_json
from kipwire.description.trace import trace
from kipwire.model.errors import DecodeError
from kipwire.model.structs import Root

_CORRELATION_ID = 0x01020304
_FRAMED = ("request", "response")


def is_framed(cls: type[Root]) -> bool:
    """True for requests and responses, which have headers."""
    return cls.TYPE in _FRAMED


def derive_frames(header: type[Root], cls: type[Root]) -> Iterator[Vector]:
    """Yield frames of a request or response: with defaults, with all fields, and without the last byte.

    Args:
        header: the class of the header that belongs before it.
        cls: the class of the message in one version.

    Raises:
        EncodeError: the description has a default that cannot be written.
        DeriveError: the tracer does not read the bytes as a vector says.
    """
    for case, make in (("defaults", lambda one: fitting(one, {})), ("all fields", lambda one: full(one, one))):
        before: Any = make(header)
        before.correlation_id = _CORRELATION_ID
        if cls.TYPE == "request":
            before.request_api_key, before.request_api_version = cls.API_KEY, cls.VERSION
        body: Any = make(cls)
        content = write(before) + write(body)
        json = {"header": write_json(before), "body": write_json(body)}
        if why := _fault(header, cls, content):
            raise DeriveError(f"{cls.NAME} v{cls.VERSION}, a frame of {case}: {content.hex()}: {why}")
        yield _vector(cls, case, "valid", content, json)
    if _fault(header, cls, content[:-1]):
        yield _vector(
            cls, "cut", "refuse", content[:-1], why="the last byte is missing, and the size counts without it"
        )


def _vector(cls: type[Root], case: str, kind: Kind, content: bytes, json: Any = None, *, why: str = "") -> Vector:
    return Vector(
        id=f"frames:{cls.NAME}:{cls.VERSION}:{case.replace(' ', '-')}",
        message=cls.NAME,
        version=cls.VERSION,
        form="frame",
        kind=kind,
        level="required",
        origin=SPEC,
        field="",
        case=case,
        data=pack_i(len(content)) + content,
        json=json,
        why=why,
    )


def _fault(header: type[Root], cls: type[Root], content: bytes) -> str:
    """Return the tracer's error for a frame without its size; "" if it is one."""
    try:
        end = trace(cls, content, trace(header, content, 0))
    except DecodeError as error:
        return str(error)
    return f"{len(content) - end} bytes are left over" if end < len(content) else ""

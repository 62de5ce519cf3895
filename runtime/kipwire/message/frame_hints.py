"""Hints for frame errors: recognises TLS, HTTP, text, and requests taken for responses or the reverse."""

from __future__ import annotations

import re

_SIZE_BYTES = 4
_TLS = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]", re.DOTALL)
_HTTP = re.compile(rb"GET |HEAD|POST|PUT |DELE|CONN|OPTI|TRAC|PATC|PRI |HTTP")
"""The first four bytes of its methods, which are all that a size of a frame shows, and of its responses."""
_TEXT = re.compile(rb"[\x20-\x7e\r\n\t]{8}")
_SHOWN = 16


def foreign_protocol(data: bytes) -> str:
    """Name the other protocol that the bytes belong to, and say what to do; "" if none is recognised."""
    if _TLS.match(data):
        return "the bytes begin as TLS does: decrypt the connection first, or connect to a listener without TLS"
    if _HTTP.match(data):
        return f"the bytes begin as HTTP does ({data[:_SHOWN]!r}): the peer does not speak Kafka's protocol"
    if _TEXT.match(data):
        return f"the bytes begin with text ({data[:_SHOWN]!r}): a frame is binary"
    return ""


def wrong_request(frame: bytes, in_header: bool) -> str:
    """Guess what a frame is that cannot be read as a request; "" without a guess.

    Args:
        frame: the bytes.
        in_header: True if the error is in the header.
    """
    found = size_first(frame) or foreign_protocol(frame)
    if not found and in_header and frame[:2] == b"\0\0" and len(frame) >= _SIZE_BYTES:
        correlation_id = int.from_bytes(frame[:_SIZE_BYTES], "big")
        found = f"is it a response, of correlation id {correlation_id}? decode_response reads those"
    return found


def wrong_response(frame: bytes, api_key: int, version: int) -> str:
    """Guess what a frame is that cannot be read as the response to a request; "" without a guess."""
    found = size_first(frame) or foreign_protocol(frame)
    if not found and frame[:_SIZE_BYTES] == (api_key << 16 | version).to_bytes(_SIZE_BYTES, "big"):
        found = f"the frame begins with API key {api_key} and version {version}: decode_request reads requests"
    return found


def size_first(frame: bytes) -> str:
    """Advise to leave out the size that a frame begins with; "" if it does not begin with it."""
    size = len(frame) - _SIZE_BYTES
    if size >= 0 and frame[:_SIZE_BYTES] == size.to_bytes(_SIZE_BYTES, "big"):
        return f"the frame begins with its own size ({size}), which is not part of it: leave out the first 4 bytes"
    return ""

"""Amounts of captures that were read and that were not, as text and as JSON, for all commands that show captures."""

from __future__ import annotations

import json
from typing import Any

from kipwire.tools.text import count_of, printable_line
from kipwire.traffic.unread import Reading, Reason, Unread


def read_text(reading: Reading) -> str:
    """Format what was read, as a line."""
    if not reading.requests:
        return "read: no request\n"
    requests, responses = count_of(reading.requests, "request"), count_of(reading.responses, "response")
    of = f"{count_of(reading.connections, 'connection')}, {count_of(reading.bytes, 'byte')}"
    return f"read: {requests} and {responses} of {of}\n"


def unread_text(reading: Reading) -> str:
    """Format what was not read, as a line; empty if there is nothing."""
    unread = ", ".join(map(_amount, reading.unread))
    return f"not read: {printable_line(unread)}\n" if unread else ""


def unread_json(reading: Reading) -> list[dict[str, Any]]:
    """Return what was not read, for a JSON object."""
    return [{"reason": one.reason, "times": one.times, "bytes": one.bytes} for one in reading.unread]


def reading_text(reading: Reading) -> str:
    """Format the end of a list of frames; empty if the list says all: a request, and nothing that was not read."""
    return read_text(reading) + unread_text(reading) if _has_end(reading) else ""


def reading_json(reading: Reading) -> str:
    """Format the same as a line with a JSON object."""
    if not _has_end(reading):
        return ""
    shown = {"type": "reading", **counts_json(reading), "unread": unread_json(reading), "error": None}
    return json.dumps(shown, separators=(",", ":")) + "\n"


def counts_json(reading: Reading) -> dict[str, int]:
    """Return what was read, for a JSON object."""
    return {
        "connections": reading.connections,
        "requests": reading.requests,
        "responses": reading.responses,
        "bytes": reading.bytes,
    }


def unread_of(unread: Unread | None) -> dict[str, Any]:
    """Return the reason and the amount of an error, for a JSON object."""
    reason, size, times = unread or (None, None, None)
    return {"reason": reason, "unread_bytes": size, "times": times}


def _has_end(reading: Reading) -> bool:
    reasons = {one.reason for one in reading.unread}
    return bool(reasons) if reading.requests else reasons != {Reason.DAMAGED}  # of which a line has just said all


def _amount(unread: Unread) -> str:
    size = f" of {count_of(unread.bytes, 'byte')}" if unread.bytes else ""
    return f"{count_of(unread.times, unread.noun)}{size} ({unread.reason})"

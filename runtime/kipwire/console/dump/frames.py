"""Dump captures: one line for each frame, for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from kipwire.cli.command_line import one_line
from kipwire.cli.output import Output
from kipwire.console.reading import unread_of
from kipwire.message.registry import Registry
from kipwire.records import Bounds
from kipwire.tools.text import print_err, printable_line
from kipwire.tools.times import moment_text_of_ns
from kipwire.traffic.any_capture import Capture, counted, frames_of
from kipwire.traffic.captures import CaptureError
from kipwire.traffic.conversation import REQUEST, RESPONSE
from kipwire.traffic.exchanges import Exchange, Pairs, Row, rows_of
from kipwire.traffic.frame_facts import error_text
from kipwire.traffic.unread import Reading, Reason, Unread

_NS_OF_MS = 10**6


def dump_capture(
    capture: Capture,
    line: Callable[[Capture, Row, int | None], str],
    out: Output,
    bounds: Bounds,
    ports: Collection[int],
    reading: Reading,
    registry: Registry,
) -> int:
    """Write a line for each frame of a capture; return the number of damaged ones.

    Args:
        capture: the capture.
        line: makes the line of a frame, with the end of the line; it also gets its latency.
        out: where it goes.
        bounds: only times are looked at.
        ports: of packets, the brokers' ports; empty if they are not known.
        reading: counts what is read and what is not.
        registry: of the protocol.
    """
    errors = 0
    pairs = Pairs()
    try:
        for row in rows_of(counted(frames_of(capture, ports, registry), reading), registry):
            latency = _latency(row, pairs)
            if row.size is not None and row.unread is not None:
                reading.miss_body(row.unread)
            if _is_wanted(row, bounds):
                out.write(line(capture, row, latency))
                errors += row.is_damaged
    except CaptureError as error:
        out.flush()
        print_err(("error: ", "red"), one_line(error))
        reading.miss(Unread(Reason.DAMAGED, 0))
        errors += 1
    return errors


def _latency(row: Row, pairs: Pairs) -> int | None:
    """Measure the nanoseconds from a request to the response that the row is, if it is one."""
    if row.found.request is None:
        return None
    if row.found.direction == REQUEST:
        pairs.ask(row)
        return None
    return Exchange(pairs.answer(row)[0], row).latency


def text_line(capture: Capture, row: Row, latency: int | None) -> str:
    """Format a frame as a line for people."""
    found = row.found
    client = found.client or f"connection-{found.connection}"
    broker = found.listener or "broker"
    ends = (broker, client) if found.direction == RESPONSE else (client, broker)
    parts = [moment_text_of_ns(found.time)]
    if found.connection is not None:
        parts.append(printable_line(f"{ends[0]} > {ends[1]}"))
    if found.request is not None:
        parts.append(f"{row.api} v{found.request.api_version} {found.direction} id={found.request.correlation_id}")
    elif found.direction is not None:
        parts.append(found.direction)
    if row.size is not None:
        parts.append(f"size={row.size}")
    if found.request is not None and found.request.client_id is not None and found.direction != RESPONSE:
        parts.append(f"client={found.request.client_id!r}")
    if latency is not None:
        parts.append(f"latency={latency / _NS_OF_MS:.3f}ms")
    if row.errors:
        parts.append("errors=" + ",".join(error_text(one.code, one.name, one.times) for one in row.errors))
    if row.look.note is not None:
        parts.append(f"note={row.look.note!r}")
    if row.number is not None:
        parts.append(f"frame={row.number}")
    if row.error is not None:
        parts.append(f"error={row.error!r}")
    return " ".join(parts) + "\n"


def json_line(capture: Capture, row: Row, latency: int | None) -> str:
    """Format a frame as a JSON object for programs."""
    found, request = row.found, row.found.request
    shown: dict[str, Any] = {
        "type": "frame" if request is not None else "error",
        "capture": str(capture.path),
        "frame": row.number,
        "timestamp_ns": found.time,
        "connection": found.connection,
        "client": found.client,
        "broker": found.listener,
        "direction": found.direction,
        "api": row.api,
        "api_key": request.api_key if request else None,
        "api_version": request.api_version if request else None,
        "correlation_id": request.correlation_id if request else None,
        "client_id": request.client_id if request else None,
        "size": row.size,
        "latency_ns": latency,
        "error_codes": [
            {"path": path, "code": code, "error": name, "count": count} for path, code, name, count in row.errors
        ],
        "note": row.look.note,
        "error": row.error,
    }
    if request is None:
        shown |= unread_of(row.unread)
    return json.dumps(shown, separators=(",", ":")) + "\n"


def _is_wanted(row: Row, bounds: Bounds) -> bool:
    time = row.found.time // _NS_OF_MS
    return (bounds.first_timestamp is None or time >= bounds.first_timestamp) and (
        bounds.end_timestamp is None or time < bounds.end_timestamp
    )

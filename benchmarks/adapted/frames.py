"""Frames of one client, written and read by aiokafka's classes and by their replacements; without a connection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from statistics import median
from typing import Any

from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.produce import ProduceRequest

from benchmarks.adapted.adapter import adapter
from benchmarks.reporting.report import Table
from benchmarks.timing import interleaved, median_ratio

CORRELATION_ID = 7


def _requests() -> dict[str, Any]:
    """Return builders of requests, by their names in the table."""
    commits = [("orders", [(number, 12345, "") for number in range(10)])]
    batch: Any = bytearray(1024)  # the type that aiokafka's builder returns
    ten_batches: Any = [(number, bytearray(16_384)) for number in range(10)]
    return {
        "Produce, a batch of 1 KB": ProduceRequest(None, 1, 40_000, [("orders", [(0, batch)])]),
        "Produce, 10 batches of 16 KB": ProduceRequest(None, 1, 40_000, [("orders", ten_batches)]),
        "Fetch, 1 partition": _fetch(1),
        "Fetch, 200 partitions": _fetch(200),
        "OffsetCommit, 10 partitions": OffsetCommitRequest("billing", 3, "member", -1, commits),
        "Heartbeat": HeartbeatRequest("billing", 3, "member"),
    }


def _fetch(partitions: int) -> Any:
    return FetchRequest(
        500, 1, 52_428_800, 0, [("orders", [(number, 12345, 1_048_576) for number in range(partitions)])]
    )


def _responses() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return builders of requests, each with the values of its response, by their names in the table."""
    brokers = [(node, f"broker-{node}.example", 9092, None) for node in range(3)]
    partitions: list[Any] = [(0, number, number % 3, [0, 1, 2], [0, 1, 2], []) for number in range(100)]
    topics = [(0, f"topic-{number}", False, partitions) for number in range(10)]
    produced = [("orders", [(number, 0, 12345, -1, 0) for number in range(10)])]
    return {
        "Metadata, 1,000 partitions": (MetadataRequest(), (0, brokers, "cluster", 0, topics)),
        "Fetch, 1 partition with 1 KB": _fetched(1, 1024),
        "Fetch, 100 partitions with 10 KB": _fetched(100, 10_240),
        "Fetch, 1 partition with 1 MB": _fetched(1, 2**20),
        "Produce, 10 partitions": (_requests()["Produce, 10 batches of 16 KB"], (produced, 0)),
    }


def _fetched(partitions: int, size: int) -> tuple[Any, tuple[Any, ...]]:
    got = [(number, 0, 12345, 12345, 0, None, -1, bytes(size)) for number in range(partitions)]
    return _fetch(partitions), (0, 0, 0, [("orders", got)])


def written(builder: Any, cls: Any) -> bytes:
    request = builder.build(cls)
    header: bytes = request.build_request_header(correlation_id=CORRELATION_ID, client_id="aiokafka").encode()
    return header + bytes(request.encode())


def _read(request: Any, frame: bytes) -> Any:
    buffer = BytesIO(frame)
    request.parse_response_header(buffer)
    return request.RESPONSE_TYPE.decode(buffer)


def _sides(builder: Any) -> tuple[Any, Any]:
    """Return the newest class of a request in aiokafka, and the one that replaces it."""
    theirs = builder._CLASSES[-1]
    return theirs, adapter().own_class(theirs, theirs.API_VERSION)


def measure(rounds: int, seconds: float) -> Table:
    """Measure the processor time of a frame, and return a table in microseconds.

    Raises:
        RuntimeError: the two differ in bytes or in values.
    """
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    for name, builder in _requests().items():
        theirs, own = _sides(builder)
        cases[f"write {name}"] = partial(written, builder, theirs), partial(written, builder, own)
    for name, (builder, values) in _responses().items():
        theirs, own = _sides(builder)
        frame = CORRELATION_ID.to_bytes(4, "big") + theirs.RESPONSE_TYPE(*values).encode()
        cases[f"read {name}"] = partial(_read, builder.build(theirs), frame), partial(_read, builder.build(own), frame)
    rows = []
    for name, (before, after) in cases.items():
        if before() != after():
            raise RuntimeError(f"{name}: the adapter does something else")
        samples = interleaved({"before": before, "after": after}, rounds, seconds)
        medians = [f"{median(samples[side]) * 1e6:,.1f}" for side in ("before", "after")]
        rows.append((name, *medians, f"{median_ratio(samples['before'], samples['after']):.2f}"))
    return Table("A frame, without a connection", ("frame", "aiokafka µs", "with the adapter µs", "ratio"), tuple(rows))

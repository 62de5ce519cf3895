"""Bytes of the 0.8 proposal's frames and all alternatives, on the same contents; `benchmarks.space` shows them."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.reporting.report import Table
from kipwire import Struct
from kipwire.drafts import proposals

TOPICS = ("page-views", "orders", "shipments")
CLIENT_ID = "web-front-end"
BROKER_ID = "broker-1"

FRAMES = ("ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse")
_LIST = "MultiProducerRequestData"

ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "as proposed": FRAMES,
    "fields in the order of the drawing": ("FetchRequestAsDrawn",),
    "error right after the size": ("ProduceResponseWithErrorFirst",),
    "client_id in an optional Hello": ("ProduceRequestAfterHello", "FetchRequestAfterHello"),
    "version_id, too, in a required Hello": (
        "ProduceRequestAfterHello 1",
        "ProduceResponseAfterHello 1",
        "FetchRequestAfterHello 1",
        "FetchResponseAfterHello 1",
    ),
    "no correlation id": tuple(f"{name}WithoutCorrelationId" for name in FRAMES),
    "the request's id in responses instead": (
        "ProduceRequestWithoutCorrelationId",
        "ProduceResponseWithRequestId",
        "FetchRequestWithoutCorrelationId",
        "FetchResponseWithRequestId",
    ),
    "counts of acknowledgements": ("ProduceResponse 1",),
    "errors and offsets in pairs": ("ProduceResponse 2",),
    "ids of message sets": ("ProduceRequestWithSetIds", "ProduceResponseWithSetIds"),
    "a flag instead of replica_id": ("FetchRequestWithFlag",),
    "no min_size": ("FetchRequestWithoutMinBytes",),
    "partitions with offset and fetch size": ("FetchRequest 1",),
    "partitions with error and offset, error first": ("FetchResponse 1",),
    "before: each partition with its topic": (_LIST,),
}
"""Alternatives to the proposal, and the messages that have them: name and version, 0 without a number."""


class Contents(NamedTuple):
    """The contents of requests and responses: a number of topics, each with a number of partitions."""

    topics: int
    partitions: int
    """Of each topic."""

    def __str__(self) -> str:
        topics = f"{self.topics} topic{'s' * (self.topics > 1)}"
        return f"{topics} of {self.partitions} partition{'s' * (self.partitions > 1)}"

    def values(self) -> dict[str, Any]:
        """Return the values of all fields that any of the messages has; message sets are empty."""
        numbers, names = range(self.partitions), TOPICS[: self.topics]
        count = self.topics * self.partitions
        partitions = [{"partition": number} for number in numbers]
        return {
            "request_type_id": 0,
            "client_id": CLIENT_ID,
            "broker_id": BROKER_ID,
            "data": [{"topic": name, "partition_data": partitions} for name in names],
            "entries": [{"topic": name, "partition": number} for name in names for number in numbers],
            "errors": [0] * count,
            "offsets": [0] * count,
            "acks": [0] * count,
            "set_ids": [0] * count,
            "response_data": [{}] * count,
            "topic_offsets": [
                {
                    "topic": name,
                    "partitions": list(numbers),
                    "offsets": [0] * self.partitions,
                    "partition_offsets": partitions,
                }
                for name in names
            ],
        }


ONE, MANY = Contents(1, 1), Contents(3, 10)


def size(message: str, contents: Contents) -> int:
    """Return the bytes of a message beyond the message sets in it.

    The old list is counted in the frame of a ProduceRequest, in the place of the data there.
    """
    name, _, version = message.partition(" ")
    values = contents.values()
    bytes_: int = _filled(proposals.message(name, int(version or 0)), values).encoded_size()
    if name != _LIST:
        return bytes_
    around: int = _filled(proposals.message("ProduceRequest", 0), {**values, "data": []}).encoded_size()
    return bytes_ + around - len(b"\0\0")  # the count of no topics


def _filled(cls: type[Any], values: dict[str, Any]) -> Any:
    """Make an instance from the values whose fields it has."""
    fields = {field.name: field for field in cls.ATTRIBUTES if field.name in values}
    return cls(**{name: _value(fields[name].struct, values[name]) for name in fields})


def _value(struct: type[Struct] | None, value: Any) -> Any:
    return value if struct is None else [_filled(struct, one) for one in value]


def table(contents: Contents) -> Table:
    """Return a table with a row for each alternative, and the bytes that it adds to the proposal or saves."""
    proposed = {name: size(name, contents) for name in FRAMES}
    rows = []
    for what, messages in ALTERNATIVES.items():
        cells: dict[str, str] = dict.fromkeys(FRAMES, "")
        for message in messages:
            name = _answers(message)
            bytes_ = size(message, contents)
            cells[name] = f"{bytes_:,}" if message == name else f"{bytes_:,} ({bytes_ - proposed[name]:+,})"
        rows.append((what, *cells.values()))
    return Table(f"0.8 proposal: bytes of a frame beyond message sets, {contents}", ("", *FRAMES), tuple(rows))


def _answers(message: str) -> str:
    """Return the message of the proposal for which a message is an alternative."""
    return "ProduceRequest" if message == _LIST else next(name for name in FRAMES if message.startswith(name))


def handshake() -> str:
    """Describe the bytes that a Hello takes and saves."""
    cost = size("Hello", ONE) + size("HelloReply", ONE)
    saved = {version: _saved(version) for version in (0, 1)}
    return (
        f"Hello and HelloReply take {cost} bytes, once on each connection. An optional Hello saves {saved[0]} bytes\n"
        f"in each request; a required one saves {saved[1]} in each request with its response."
    )


def _saved(version: int) -> int:
    """Return the bytes that a Hello saves in one request and its response."""
    request = size("ProduceRequest", ONE) - size(f"ProduceRequestAfterHello {version}", ONE)
    if version == 0:
        return request
    return request + size("ProduceResponse", ONE) - size(f"ProduceResponseAfterHello {version}", ONE)

"""Responses of the proposed 0.8 wire format beside their requests, which say what the entries of a response belong to.

A ProduceResponse has no topics and partitions: the proposal demands one entry for each message set of the request, in
the same order, and a comment an id for each instead. So a response can only be checked, or understood, together with
its request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError

AcksMeaning = Literal["proposal", "comment", "answer"]
"""Meaning of the numbers of required_acks: in the request's text, in a comment, or in the answer to the comment."""

Outcome = Literal["committed", "on too few replicas", "not written", "unknown"]
"""The four cases of a message set that a producer has to tell from each other."""

_ACKS: dict[str, tuple[int, int | None]] = {"proposal": (0, None), "comment": (-1, 0), "answer": (0, -1)}
"""Values of required_acks, by their meaning: for no acknowledgement, and for all in-sync replicas."""
_NAMES = {
    "ProduceRequest": ("", "AfterHello", "WithSetIds", "WithoutCorrelationId"),
    "ProduceResponse": ("", "AfterHello", "WithErrorFirst", "WithSetIds", "WithoutCorrelationId", "WithRequestId"),
    "FetchRequest": ("", "AfterHello", "AsDrawn", "WithFlag", "WithoutCorrelationId", "WithoutMinBytes"),
    "FetchResponse": ("", "AfterHello", "WithoutCorrelationId", "WithRequestId"),
}
"""The messages of the proposal, each with the ends of the names of its alternatives."""
_ORIGINALS = {name + end: name for name, ends in _NAMES.items() for end in ends}


class ResponseMismatchError(KipwireError):
    """A response that cannot be the answer to a request."""

    def __init__(self, response: str, path: str, reason: str) -> None:
        super().__init__(response, path, reason)
        self.response = response
        """The response's name and version, as in `ProduceResponse v0`."""
        self.path = path
        """Path of what does not fit, such as `data[0].partition_data`; "" for the response itself."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.response}: {self.path or 'message'}: {self.reason}"


class ProduceResult(NamedTuple):
    """Result for one message set in a response."""

    topic: str
    partition: int
    error: int
    """The proposal uses -1 for success; a comment uses 0."""
    offset: int
    """Offset at which the message set was stored."""
    acks: int | None
    """Number of replicas that acknowledged it; None in the formats that do not have it."""

    def outcome(self, required: int) -> Outcome:
        """Say what became of the message set, by the number of replicas that acknowledged it.

        It is unknown where the response has no such number, or has -1 since none was asked for; and where there is no
        response at all.

        Args:
            required: the number of replicas that must have it, such as `acks_to_wait_for` gives.
        """
        if self.acks is None or self.acks < 0:
            return "unknown"
        if not self.acks:
            return "not written"
        return "committed" if self.acks >= required else "on too few replicas"


def check_response(request: Message, response: Message) -> None:
    """Check that a response has one entry for each message set or partition of its request, in the same order.

    Ids that both have must be equal: the correlation id, and the number of the request. Message sets with ids may be in
    any order. The proposal demands one entry for each of a ProduceResponse alone; that a FetchResponse has "the actual
    data requested" is read likewise.

    Args:
        request: a ProduceRequest or FetchRequest of `kipwire.drafts.proposals`, or one of their alternatives such as
            `FetchRequestWithFlag`, in any version.
        response: the ProduceResponse or FetchResponse, or one of their alternatives, in any version.

    Raises:
        ResponseMismatchError: the response does not answer the request; it has the path, and both counts or values.
        TypeError: they are other messages.
    """
    asked, answered = _original(request, "Request"), _original(response, "Response")
    if answered != asked.replace("Request", "Response"):
        raise _mismatch(response, "", f"is not the response to {_title(request)}; pass the request that it answers")
    for name in ("correlation_id", "request_type_id"):
        ours, theirs = getattr(request, name, None), getattr(response, name, None)
        if None not in (ours, theirs) and ours != theirs:
            raise _mismatch(response, name, f"is {theirs}, but the request has {ours}; it must be returned unchanged")
    if asked == "ProduceRequest":
        _check_produced(request, response)
    else:
        _check_fetched(request, response)


def produce_results(request: Message, response: Message) -> list[ProduceResult]:
    """List the results for the message sets of a request, with topic and partition, in its order.

    Args:
        request: a ProduceRequest of `kipwire.drafts.proposals`, or one of its alternatives, in any version.
        response: the ProduceResponse, or one of its alternatives, in any version.

    Raises:
        ResponseMismatchError: the response does not answer the request, see `check_response`.
        TypeError: one of them is another message.
    """
    if _original(request, "Request") != "ProduceRequest":
        raise TypeError(f"{_title(request)} has no message sets; give a ProduceRequest of the 0.8 proposal")
    check_response(request, response)
    it: Any = response
    if hasattr(it, "response_data"):
        rows = [(pair.error, pair.offset, None) for pair in it.response_data]
    else:
        rows = list(zip(it.errors, it.offsets, getattr(it, "acks", [None] * len(it.errors)), strict=True))
    if hasattr(it, "set_ids"):
        by_id = dict(zip(it.set_ids, rows, strict=True))
        rows = [by_id[one] for one in _set_ids(request)]
    return [
        ProduceResult(topic, partition, error, offset, acks)
        for (topic, partition), (error, offset, acks) in zip(_message_sets(request), rows, strict=True)
    ]


def acks_to_wait_for(
    required_acks: int, in_sync: int, *, meaning: AcksMeaning = "answer", at_most_in_sync: bool = False
) -> int:
    """Count the replicas that must have the messages of a ProduceRequest before the broker answers; 0 for no answer.

    The document gives the same number three meanings. In all of them a number above 0 is the number of replicas.

    Args:
        required_acks: of the request.
        in_sync: the number of replicas of the partition in sync, including the master.
        meaning: "proposal": 0 is no acknowledgement, the lowest number. "comment": 0 is all replicas in sync, -1 is
            no acknowledgement. "answer": 0 is no acknowledgement, -1 is all replicas in sync, as in Kafka 0.8.
        at_most_in_sync: True to wait for no more than are in sync, as the answer goes on: others would take until the
            timeout.

    Raises:
        ValueError: the number has no meaning there, or `meaning` is another text.
    """
    if meaning not in _ACKS:
        raise ValueError(f"{meaning!r} is not a meaning of required_acks; use one of {', '.join(_ACKS)}")
    none, all_in_sync = _ACKS[meaning]
    if required_acks == none:
        return 0
    if required_acks == all_in_sync:
        return in_sync
    if required_acks < 1:
        lowest = none if all_in_sync is None else min(none, all_in_sync)
        raise ValueError(f"required_acks {required_acks} has no meaning in the {meaning}; give {lowest} or more")
    return min(required_acks, in_sync) if at_most_in_sync else required_acks


def _check_produced(request: Message, response: Message) -> None:
    count = sum(1 for _ in _message_sets(request))
    for name in ("set_ids", "errors", "offsets", "acks", "response_data"):
        entries = getattr(response, name, None)
        if entries is not None and len(entries) != count:
            reason = f"{_count(entries, 'entry', 'entries')}, but the request has {count}"
            reason += f" message set{'s' * (count != 1)}; write one entry for each, in the order of the request"
            raise _mismatch(response, name, reason)
    if (given := getattr(response, "set_ids", None)) is not None:
        _check_ids(request, response, given)


def _check_ids(request: Message, response: Message, given: Sequence[int]) -> None:
    if request.NAME != "ProduceRequestWithSetIds":
        reason = f"{_title(request)} has no ids of message sets; pass the ProduceRequestWithSetIds that it answers"
        raise _mismatch(response, "set_ids", reason)
    asked, seen = set(_set_ids(request)), set[int]()
    if len(asked) < len(given):
        reason = "two message sets of the request have the same id; give each another one"
        raise _mismatch(response, "set_ids", reason)
    for index, one in enumerate(given):
        if one not in asked or one in seen:
            what = "which the response has twice" if one in seen else "which no message set of the request has"
            raise _mismatch(response, f"set_ids[{index}]", f"is {one}, {what}; write the id of each set once")
        seen.add(one)


def _check_fetched(request: Message, response: Message) -> None:
    asked, data = list(_fetch_topics(request)), getattr(response, "data")  # noqa: B009 - no attribute of all messages
    if len(data) != len(asked):
        reason = f"{_count(data, 'topic', 'topics')}, but the request has {len(asked)}"
        raise _mismatch(response, "data", f"{reason}; write one entry for each, in the order of the request")
    for index, (topic, partitions) in enumerate(asked):
        path, given = f"data[{index}]", data[index]
        if given.topic != topic:
            reason = f"is {given.topic!r}, but the request has {topic!r} there; keep the order of the request"
            raise _mismatch(response, f"{path}.topic", reason)
        path += ".partition_data"
        if len(given.partition_data) != len(partitions):
            reason = f"{_count(given.partition_data, 'partition', 'partitions')}, but the request has {len(partitions)}"
            reason += f" of {topic!r}; write one entry for each, in the order of the request"
            raise _mismatch(response, path, reason)
        for at, (one, partition) in enumerate(zip(given.partition_data, partitions, strict=True)):
            if one.partition != partition:
                reason = f"is {one.partition}, but the request has {partition} there; keep the order of the request"
                raise _mismatch(response, f"{path}[{at}].partition", reason)


def _message_sets(request: Any) -> Iterator[tuple[str, int]]:
    """Yield topic and partition of each message set of a ProduceRequest, in its order."""
    for topic in request.data:
        for one in topic.partition_data:
            yield topic.topic, one.partition


def _set_ids(request: Any) -> Iterator[int]:
    """Yield the id of each message set of a ProduceRequestWithSetIds, in its order."""
    for topic in request.data:
        for one in topic.partition_data:
            yield one.set_id


def _fetch_topics(request: Any) -> Iterator[tuple[str, list[int]]]:
    """Yield the topics of a FetchRequest with their partitions, in its order."""
    for topic in request.topic_offsets:
        if hasattr(topic, "partition_offsets"):
            yield topic.topic, [one.partition for one in topic.partition_offsets]
        else:
            yield topic.topic, topic.partitions


def _original(message: Message, direction: str) -> str:
    """Find the message of the proposal that a message is, or is an alternative to.

    Raises:
        TypeError: it is another message, or not of that direction.
    """
    original = _ORIGINALS.get(message.NAME, "")
    if message.TYPE == "layout" and original.endswith(direction):
        return original
    right = f"a Produce{direction} or Fetch{direction} of the 0.8 proposal, or one of their alternatives"
    raise TypeError(f"{_title(message)} is not one of these messages; give {right}")


def _title(message: Message) -> str:
    return f"{message.NAME} v{message.VERSION}"


def _count(entries: Sequence[object], one: str, many: str) -> str:
    return f"{len(entries)} {one if len(entries) == 1 else many}"


def _mismatch(response: Message, path: str, reason: str) -> ResponseMismatchError:
    return ResponseMismatchError(_title(response), path, reason)

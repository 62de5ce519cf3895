"""Exchanges cost the same for each frame, whatever comes, and no input takes more memory than its bounds.

Steps are counted, see `tests.support.growth`. Every public function of these modules has a row.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v0 import ApiVersionsRequest
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kipwire.traffic import exchanges as modules_exchanges
from kipwire.traffic import summary as module_summary
from kipwire.traffic.any_capture import Numbered
from kipwire.traffic.conversation import REQUEST, RESPONSE, Found
from kipwire.traffic.exchanges import exchanges, rows_of
from kipwire.traffic.frame_facts import look_at
from kipwire.traffic.requests import Request
from kipwire.traffic.summary import Latencies, TrafficSummary
from tests.support.cost import cost_of
from tests.support.growth import Action, slow, untold

ASKED = kafka_messages.encode_request(ApiVersionsRequest(), 0, "me")
ANSWERED = kafka_messages.encode_response(ApiVersionsResponse(), 0)


def request(connection: int, number: int, client_id: str = "me") -> Numbered:
    head = Request(18, 0, number, client_id)
    return Numbered(number, Found(number, connection, "b:1", "c:1", REQUEST, head, ASKED, None))


def response(connection: int, number: int) -> Numbered:
    head = Request(18, 0, number, "me")
    return Numbered(number, Found(number, connection, "b:1", "c:1", RESPONSE, head, ANSWERED, None))


def answered(count: int) -> Iterator[Numbered]:
    """Yield requests and responses in order, on one connection."""
    for number in range(count):
        yield request(1, number)
        yield response(1, number)


def pipelined(count: int) -> Iterator[Numbered]:
    """Yield all requests, and then all responses."""
    for number in range(count):
        yield request(1, number)
    for number in range(count):
        yield response(1, number)


def unanswered(count: int) -> Iterator[Numbered]:
    for number in range(count):
        yield request(1, number)


def last_answered(count: int) -> Iterator[Numbered]:
    """Yield requests of many connections, and a response only to the last request of each."""
    for number in range(count):
        yield request(number % 50, number)
    for number in range(count - 50, count):
        yield response(number % 50, number)


def connections(count: int) -> Iterator[Numbered]:
    """Yield one exchange on each of many connections."""
    for number in range(count):
        yield request(number, number)


def unasked(count: int) -> Iterator[Numbered]:
    for number in range(count):
        yield response(1, number)


def clients(count: int) -> Iterator[Numbered]:
    for number in range(count):
        yield request(number, number, f"client-{number}")
        yield response(number, number)


def summed(count: int) -> Action:
    def work() -> None:
        summary = TrafficSummary()
        for exchange in exchanges(rows_of(clients(count))):
            summary.add(exchange)
        summary.by_api()
        summary.by_client()

    return work


def latencies(count: int) -> Action:
    def work() -> None:
        one, other = Latencies(), Latencies()
        for number in range(count):
            one.add(number * 1000)
        other.merge(one)
        other.quantile(0.99)

    return work


def partitions(count: int) -> Action:
    bad = [MetadataResponsePartition(error_code=5, partition_index=number) for number in range(count)]
    body = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=bad)])
    frame = kafka_messages.encode_response(body, 1)
    return lambda: look_at(RESPONSE, 3, 12, frame, with_topics=True)


def shape(frames: Callable[[int], Iterator[Numbered]]) -> Callable[[int], Action]:
    return lambda count: lambda: Counter(one.latency for one in exchanges(rows_of(frames(count), with_topics=True)))


ROWS: dict[str, Callable[[int], Action]] = {
    "rows_of": lambda count: lambda: list(rows_of(answered(count))),
    "exchanges": shape(answered),
    "exchanges, pipelined": shape(pipelined),
    "Pairs, unanswered": shape(unanswered),
    "Pairs, last answered": shape(last_answered),
    "Pairs, connections": shape(connections),
    "Pairs, unasked": shape(unasked),
    "TrafficSummary": summed,
    "Latencies": latencies,
    "look_at, partitions": partitions,
}
WITHOUT = {
    **dict.fromkeys(("Row", "Exchange", "Errors", "Counts", "Use", "Failure"), "is data"),
}


def public(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__ and _is_code(value)
    }


def _is_code(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


def test_every_function_has_a_row() -> None:
    names = public(modules_exchanges) | public(module_summary) | {"look_at"}
    assert not untold(names, ROWS, WITHOUT)


@pytest.mark.parametrize("name", ROWS)
def test_twice_as_many_frames_cost_twice_as_much(name: str) -> None:
    assert slow(ROWS[name], 200, 400, 800) is None


@pytest.mark.parametrize("frames", [answered, unanswered, connections, clients, unasked])
def test_memory_does_not_grow_with_the_frames(
    frames: Callable[[int], Iterator[Numbered]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules_exchanges, "MOST_OPEN", 100)
    monkeypatch.setattr(module_summary, "MOST_ROWS", 50)
    monkeypatch.setattr(module_summary, "MOST_CONNECTIONS", 50)

    def work(count: int) -> Action:
        def add() -> None:
            summary = TrafficSummary()
            for exchange in exchanges(rows_of(frames(count))):
                summary.add(exchange)

        return add

    small, large = (cost_of(work(count)).memory for count in (500, 2000))
    assert large < 1.3 * small


def test_requests_that_hold_much_are_given_up_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules_exchanges, "MOST_HELD", 50_000)
    pairs = modules_exchanges.Pairs()
    given_up = [one.number for row in rows_of(unanswered(500), with_frames=True) for one in pairs.ask(row)]
    rest = [one.number for one in pairs.rest()]
    assert given_up + rest == list(range(500))
    assert 20 < len(rest) < 50


def test_what_has_no_row_of_its_own_is_counted_among_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_summary, "MOST_ROWS", 10)
    summary = TrafficSummary()
    for exchange in exchanges(rows_of(clients(100))):
        summary.add(exchange)
    assert sum(counts.requests for counts in summary.uses.values()) == 100
    assert len(summary.uses) == 11
    assert summary.by_api()[18, "ApiVersions", 0].requests == 100
    (others,) = [counts for use, counts in summary.uses.items() if use.client_id == module_summary.REST]
    assert others.requests == 90


def test_frames_are_forgotten_unless_they_are_wanted() -> None:
    assert all(row.found.frame is None for row in rows_of(answered(3)))
    assert all(row.found.frame is not None for row in rows_of(answered(3), with_frames=True))


def test_the_table_of_versions_is_part_of_the_package() -> None:
    assert (Path(modules_exchanges.__file__).parent / "kafka_versions.json").is_file()

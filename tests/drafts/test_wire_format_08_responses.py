"""Responses of the 0.8 wire format beside their requests: one entry for each message set, in the same order."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import kafka_messages
from kipwire import KipwireError
from kipwire.drafts import proposals
from kipwire.drafts.proposals.produce_request import v0 as produce_v0
from kipwire.drafts.proposals.produce_response import v0 as produced_v0
from kipwire.drafts.proposals.produce_response import v1 as produced_v1
from kipwire.drafts.proposals.produce_response import v2 as produced_v2
from kipwire.drafts.proposals.produce_response_with_set_ids import v0 as produced_ids
from kipwire.drafts.wire_format_08 import (
    AcksMeaning,
    ProduceResult,
    ResponseMismatchError,
    acks_to_wait_for,
    check_response,
    produce_results,
)
from tests.support.places import ROOT

ASKED = [("a", [0, 2]), ("b", [1])]


def classes(name: str, version: int) -> Any:
    """Return the module with the classes of a message."""
    return sys.modules[proposals.message(name, version).__module__]


def produce(name: str = "ProduceRequest", version: int = 0, **values: Any) -> Any:
    """Return a request with the three message sets of `ASKED`."""
    module = classes(name, version)
    request = getattr(module, name)(request_type_id=3, **values)
    for topic, partitions in ASKED:
        sets = [module.PartitionData(partition=partition, messages=b"m") for partition in partitions]
        request.data.append(module.TopicData(topic=topic, partition_data=sets))
    return request


def produce_with_ids(*ids: int) -> Any:
    """Return a request with these ids of its message sets."""
    request = produce("ProduceRequestWithSetIds")
    for one, id_ in zip((one for topic in request.data for one in topic.partition_data), ids, strict=True):
        one.set_id = id_
    return request


def produced(name: str, version: int = 0, **values: Any) -> Any:
    """Return a response with an entry for each message set of `ASKED`."""
    return getattr(classes(name, version), name)(errors=[0] * 3, offsets=[5] * 3, **values)


def fetch(name: str = "FetchRequest", version: int = 0, **values: Any) -> Any:
    """Return a request for the three partitions of `ASKED`."""
    module = classes(name, version)
    request = getattr(module, name)(request_type_id=4, **values)
    for topic, partitions in ASKED:
        if (name, version) == ("FetchRequest", 1):
            offsets = [module.PartitionOffsetData(partition=partition, offset=5) for partition in partitions]
            topic_offsets = module.OffsetData(topic=topic, partition_offsets=offsets)
        else:
            topic_offsets = module.OffsetData(topic=topic, partitions=partitions, offsets=[5] * len(partitions))
        request.topic_offsets.append(topic_offsets)
    return request


def fetched(
    name: str = "FetchResponse", version: int = 0, entries: list[tuple[str, list[int]]] = ASKED, **values: Any
) -> Any:
    """Return a response with partitions of topics."""
    module = classes(name, version)
    response = getattr(module, name)(**values)
    for topic, partitions in entries:
        sets = [module.PartitionData(partition=partition) for partition in partitions]
        response.data.append(module.TopicData(topic=topic, partition_data=sets))
    return response


PAIRS: dict[str, tuple[Any, Any]] = {
    "produce": (produce(), produced_v0.ProduceResponse(errors=[0, 3, 0], offsets=[5, -1, 7])),
    "produce, all errors -1": (produce(), produced_v0.ProduceResponse(errors=[-1] * 3, offsets=[5, 6, 7])),
    "produce with acks": (
        produce(),
        produced_v1.ProduceResponse(errors=[0, 3, 0], offsets=[5, -1, 7], acks=[2, -1, 1]),
    ),
    "produce with pairs": (
        produce(),
        produced_v2.ProduceResponse(response_data=[produced_v2.MessageSetResult(offset=5)] * 3),
    ),
    "nothing produced": (
        produce_v0.ProduceRequest(request_type_id=3),
        produced_v0.ProduceResponse(),
    ),
    "produce after Hello": (produce("ProduceRequestAfterHello", 1), produced("ProduceResponseAfterHello", 1)),
    "produce with the error first": (produce(), produced("ProduceResponseWithErrorFirst")),
    "produce with ids": (
        produce_with_ids(7, -1, 5),
        produced("ProduceResponseWithSetIds", set_ids=[5, 7, -1]),
    ),
    "produce without correlation id": (
        produce("ProduceRequestWithoutCorrelationId"),
        produced("ProduceResponseWithoutCorrelationId"),
    ),
    "produce with the request's id": (
        produce("ProduceRequestWithoutCorrelationId"),
        produced("ProduceResponseWithRequestId", request_type_id=3),
    ),
    "fetch": (fetch(), fetched()),
    "fetch with partition errors": (fetch(version=1), fetched(version=1)),
    "fetch as drawn": (fetch("FetchRequestAsDrawn"), fetched()),
    "fetch after Hello": (fetch("FetchRequestAfterHello", 1), fetched("FetchResponseAfterHello", 1)),
    "fetch with a flag": (fetch("FetchRequestWithFlag"), fetched()),
    "fetch without min_size": (fetch("FetchRequestWithoutMinBytes"), fetched()),
    "fetch without correlation id": (
        fetch("FetchRequestWithoutCorrelationId"),
        fetched("FetchResponseWithoutCorrelationId"),
    ),
    "fetch with the request's id": (
        fetch("FetchRequestWithoutCorrelationId"),
        fetched("FetchResponseWithRequestId", request_type_id=4),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_response_with_an_entry_for_each_message_set_is_accepted(name: str) -> None:
    check_response(*PAIRS[name])


def test_every_request_and_response_of_the_proposal_can_be_checked() -> None:
    specs = {file.stem for file in (ROOT / "schemas/proposals/wire-format-0.8").glob("*.json")}
    known = {name for name in specs if name.startswith(("ProduceRe", "FetchRe"))}
    assert known == {message.NAME for pair in PAIRS.values() for message in pair}


SHORT = "write one entry for each, in the order of the request"
ORDER = "keep the order of the request"
WRONG: dict[str, tuple[Any, Any, str, str]] = {
    "too few": (
        produce(),
        produced_v0.ProduceResponse(errors=[0, 0], offsets=[5, 6]),
        "errors",
        f"2 entries, but the request has 3 message sets; {SHORT}",
    ),
    "too many": (
        produce(),
        produced_v1.ProduceResponse(errors=[0] * 4, offsets=[5] * 4, acks=[1] * 4),
        "errors",
        f"4 entries, but the request has 3 message sets; {SHORT}",
    ),
    "as many errors, but fewer offsets": (
        produce(),
        produced_v0.ProduceResponse(errors=[0] * 3, offsets=[5]),
        "offsets",
        f"1 entry, but the request has 3 message sets; {SHORT}",
    ),
    "fewer acks": (
        produce(),
        produced_v1.ProduceResponse(errors=[0] * 3, offsets=[5] * 3),
        "acks",
        f"0 entries, but the request has 3 message sets; {SHORT}",
    ),
    "too few pairs": (
        produce(),
        produced_v2.ProduceResponse(response_data=[produced_v2.MessageSetResult()]),
        "response_data",
        f"1 entry, but the request has 3 message sets; {SHORT}",
    ),
    "fewer ids": (
        produce_with_ids(7, 8, 9),
        produced_ids.ProduceResponseWithSetIds(set_ids=[7, 8], errors=[0] * 2, offsets=[5] * 2),
        "set_ids",
        f"2 entries, but the request has 3 message sets; {SHORT}",
    ),
    "an id of no message set": (
        produce_with_ids(7, 8, 9),
        produced("ProduceResponseWithSetIds", set_ids=[9, 6, 7]),
        "set_ids[1]",
        "is 6, which no message set of the request has; write the id of each set once",
    ),
    "an id twice": (
        produce_with_ids(7, 8, 9),
        produced("ProduceResponseWithSetIds", set_ids=[9, 8, 9]),
        "set_ids[2]",
        "is 9, which the response has twice; write the id of each set once",
    ),
    "message sets of one id": (
        produce_with_ids(7, 8, 7),
        produced("ProduceResponseWithSetIds", set_ids=[7, 8, 7]),
        "set_ids",
        "two message sets of the request have the same id; give each another one",
    ),
    "ids that nobody gave": (
        produce(),
        produced("ProduceResponseWithSetIds", set_ids=[0, 1, 2]),
        "set_ids",
        "ProduceRequest v0 has no ids of message sets; pass the ProduceRequestWithSetIds that it answers",
    ),
    "topics instead of message sets": (
        produce(),
        produced_v0.ProduceResponse(errors=[0] * len(ASKED), offsets=[0] * len(ASKED)),
        "errors",
        f"2 entries, but the request has 3 message sets; {SHORT}",
    ),
    "another correlation id": (
        produce(correlation_id=7),
        produced_v0.ProduceResponse(correlation_id=8, errors=[0] * 3, offsets=[0] * 3),
        "correlation_id",
        "is 8, but the request has 7; it must be returned unchanged",
    ),
    "another request's id": (
        fetch("FetchRequestWithoutCorrelationId"),
        fetched("FetchResponseWithRequestId", request_type_id=3),
        "request_type_id",
        "is 3, but the request has 4; it must be returned unchanged",
    ),
    "the response of another request": (
        produce(),
        fetched(),
        "",
        "is not the response to ProduceRequest v0; pass the request that it answers",
    ),
    "a topic missing": (fetch(), fetched(entries=ASKED[:1]), "data", f"1 topic, but the request has 2; {SHORT}"),
    "topics in another order": (
        fetch(),
        fetched(entries=ASKED[::-1]),
        "data[0].topic",
        f"is 'b', but the request has 'a' there; {ORDER}",
    ),
    "a partition too many": (
        fetch(version=1),
        fetched(entries=[ASKED[0], ("b", [1, 2])]),
        "data[1].partition_data",
        f"2 partitions, but the request has 1 of 'b'; {SHORT}",
    ),
    "partitions in another order": (
        fetch(),
        fetched(version=1, entries=[("a", [2, 0]), ASKED[1]]),
        "data[0].partition_data[0].partition",
        f"is 2, but the request has 0 there; {ORDER}",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_response_that_does_not_fit_its_request_is_refused_with_path_and_counts(name: str) -> None:
    request, response, path, reason = WRONG[name]
    with pytest.raises(ResponseMismatchError) as caught:
        check_response(request, response)
    assert isinstance(caught.value, KipwireError)
    assert (caught.value.path, caught.value.reason) == (path, reason)
    assert str(caught.value) == f"{response.NAME} v{response.VERSION}: {path or 'message'}: {reason}"


def test_results_have_topic_and_partition_of_their_message_sets() -> None:
    where = [("a", 0), ("a", 2), ("b", 1)]
    assert produce_results(*PAIRS["produce"]) == [
        ProduceResult(*one, *rest, None) for one, rest in zip(where, [(0, 5), (3, -1), (0, 7)], strict=True)
    ]
    assert [one.acks for one in produce_results(*PAIRS["produce with acks"])] == [2, -1, 1]
    assert produce_results(*PAIRS["produce with pairs"])[2] == ProduceResult("b", 1, 0, 5, None)
    with pytest.raises(ResponseMismatchError):
        produce_results(*WRONG["too few"][:2])
    with pytest.raises(TypeError, match="FetchRequest v0 has no message sets; give a ProduceRequest of"):
        produce_results(*PAIRS["fetch"])


UNSORTED = [("z", [3, 1]), ("a", [2, 0])]
"""Topics and partitions of a request in an order that sorting would change."""


def unsorted_request(name: str) -> Any:
    module = classes(name, 0)
    request = getattr(module, name)(request_type_id=3)
    for topic, partitions in UNSORTED:
        sets = [module.PartitionData(partition=partition, messages=b"m") for partition in partitions]
        request.data.append(module.TopicData(topic=topic, partition_data=sets))
    return request


RESULTS = [("z", 3, 10, 100), ("z", 1, 11, 101), ("a", 2, 12, 102), ("a", 0, 13, 103)]
"""Topic, partition, error and offset of each result."""


@pytest.mark.parametrize(
    "response",
    [
        produced_v0.ProduceResponse(errors=[10, 11, 12, 13], offsets=[100, 101, 102, 103]),
        produced_v1.ProduceResponse(errors=[10, 11, 12, 13], offsets=[100, 101, 102, 103], acks=[0, 1, 2, 3]),
        produced_v2.ProduceResponse(
            response_data=[produced_v2.MessageSetResult(error=10 + at, offset=100 + at) for at in range(4)]
        ),
    ],
    ids=["two lists", "three lists", "pairs"],
)
def test_the_nth_result_is_of_the_nth_message_set_in_any_order_of_topics_and_partitions(response: Any) -> None:
    found = produce_results(unsorted_request("ProduceRequest"), response)
    assert [one[:4] for one in found] == RESULTS
    assert [one.acks for one in found] == list(getattr(response, "acks", [None] * 4))


def test_results_with_ids_are_of_their_message_sets_in_any_order() -> None:
    request = unsorted_request("ProduceRequestWithSetIds")
    for at, one in enumerate(one for topic in request.data for one in topic.partition_data):
        one.set_id = 40 - at
    response = produced_ids.ProduceResponseWithSetIds(
        set_ids=[38, 40, 37, 39], errors=[12, 10, 13, 11], offsets=[102, 100, 103, 101]
    )
    assert [one[:4] for one in produce_results(request, response)] == RESULTS


@pytest.mark.parametrize(
    ("acks", "required", "outcome"),
    [
        (3, 3, "committed"),
        (3, 1, "committed"),
        (1, 1, "committed"),
        (2, 3, "on too few replicas"),
        (1, 127, "on too few replicas"),
        (0, 1, "not written"),
        (0, 0, "not written"),
        (-1, 0, "unknown"),
        (-1, 2, "unknown"),
        (None, 2, "unknown"),
    ],
)
def test_a_result_says_which_of_the_four_outcomes_it_is(acks: int | None, required: int, outcome: str) -> None:
    assert ProduceResult("t", 0, 0, 5, acks).outcome(required) == outcome


def test_outcomes_follow_from_a_response_and_what_its_request_demands() -> None:
    request, response = PAIRS["produce with acks"]
    required = acks_to_wait_for(2, 3)
    assert [one.outcome(required) for one in produce_results(request, response)] == [
        "committed",
        "unknown",
        "on too few replicas",
    ]
    assert {one.outcome(required) for one in produce_results(*PAIRS["produce"])} == {"unknown"}


def test_other_messages_of_these_names_are_refused() -> None:
    kafkas: Any = kafka_messages.message("ProduceRequest", 9)
    response = PAIRS["produce"][1]
    with pytest.raises(TypeError, match="ProduceRequest v9 is not one of these messages; give a ProduceRequest or"):
        check_response(kafkas(), response)
    with pytest.raises(TypeError, match="ProduceRequest v0 is not one of these messages; give a ProduceResponse or"):
        check_response(produce(), produce())
    with pytest.raises(TypeError, match="ProduceResponse v0 is not one of these messages; give a ProduceRequest or"):
        check_response(response, response)


@pytest.mark.parametrize(
    ("meaning", "numbers"),
    [
        ("proposal", {0: 0, 1: 1, 2: 2, 127: 127}),
        ("comment", {-1: 0, 0: 5, 1: 1, 2: 2, 127: 127}),  # 0 is all replicas in sync, -1 no acknowledgement
        ("answer", {-1: 5, 0: 0, 1: 1, 2: 2, 127: 127}),  # the other way round
    ],
)
def test_required_acks_is_a_number_of_replicas_in_each_of_its_three_meanings(
    meaning: AcksMeaning, numbers: dict[int, int]
) -> None:
    assert {number: acks_to_wait_for(number, 5, meaning=meaning) for number in numbers} == numbers
    lowest = min(numbers)
    for number in (lowest - 1, -128):
        with pytest.raises(ValueError, match=f"no meaning in the {meaning}; give {lowest} or more"):
            acks_to_wait_for(number, 5, meaning=meaning)


@pytest.mark.parametrize("meaning", ["proposal", "comment", "answer"])
def test_no_more_replicas_than_are_in_sync_are_waited_for_where_that_is_asked(meaning: AcksMeaning) -> None:
    numbers = [number for number in (-1, 0, 1, 2, 3, 127) if meaning != "proposal" or number >= 0]
    for in_sync in (1, 2, 5):
        for number in numbers:
            all_asked = acks_to_wait_for(number, in_sync, meaning=meaning)
            assert acks_to_wait_for(number, in_sync, meaning=meaning, at_most_in_sync=True) == min(all_asked, in_sync)
    assert acks_to_wait_for(5, 3) == 5
    assert acks_to_wait_for(5, 3, at_most_in_sync=True) == 3
    assert acks_to_wait_for(0, 3, at_most_in_sync=True) == 0


def test_required_acks_means_what_kafka_released_unless_another_meaning_is_given() -> None:
    assert [acks_to_wait_for(number, 3) for number in (-1, 0, 1)] == [3, 0, 1]
    with pytest.raises(ValueError, match="'released' is not a meaning of required_acks"):
        acks_to_wait_for(0, 3, meaning="released")  # type: ignore[arg-type]

"""Checks of the responses to each recipe of docs/call.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Producer

import kafka_messages
from kipwire.cli.apis import apis
from tests.support.recipes import Recipe

REGISTRY = kafka_messages.REGISTRY
_NAMES = {one.name for one in apis(REGISTRY)}


class Things(NamedTuple):
    """Subjects of the responses: a topic, and a group."""

    topic: str
    group: str
    members: int
    """Number of members of the group."""


Check = Callable[[Sequence[Any], Things], object]
"""Function that takes the responses to the commands of a recipe, and returns true if they are right."""


def api_of(command: Sequence[str]) -> str | None:
    """Return the API that a command calls; None for a list of versions."""
    return next((word for word in command if word in _NAMES), None)


def check(recipe: Recipe, responses: Sequence[Any], things: Things) -> None:
    """Check the responses to a recipe."""
    assert CHECKS[recipe.title](responses, things), f"{recipe.title}: {responses}"


@contextmanager
def transaction(address: str, topic: str) -> Iterator[None]:
    """Keep a transaction open that has written to the first partition of a topic, and abort it at the end."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": "recipes", "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"coffee", partition=0)
    producer.flush(60)
    yield
    producer.abort_transaction(60)


def _values(records: Sequence[Any]) -> list[str]:
    return [record["value"] for record in records]


def _partition(response: Any, name: str = "topics", inner: str = "partitions") -> Any:
    """Return the only partition of the only topic of a response."""
    ((topic,),) = [response[name]]
    ((partition,),) = [topic[inner]]
    return partition


def _settings(response: Any) -> dict[str, str]:
    (resource,) = response["results"]
    return {one["name"]: one["value"] for one in resource["configs"]}


def _groups(response: Any) -> list[str]:
    return [one["groupId"] for one in response["response"]["groups"]]


CHECKS: dict[str, Check] = {
    "Versions of a cluster": lambda said, _: (
        {row["name"]: row["used"] for row in said[0]}["Metadata"] == 13
        and {one["apiKey"] for one in said[1]["apiKeys"]} > {0, 1, 3}
    ),
    "Create a topic": lambda said, _: said[0]["topics"][0]["numPartitions"] == 2,
    "Write records, and read them": lambda said, _: (
        _partition(said[0], "responses", "partitionResponses")["baseOffset"] == 0
        and _values(_partition(said[1], "responses")["records"]) == ["tea", "water", "two coffees"]
    ),
    "Configuration of a topic": lambda said, _: _settings(said[0])["retention.ms"] == "86400000",
    "Change the configuration of a topic": lambda said, it: said[0]["responses"][0]["resourceName"] == it.topic,
    "Offsets by time": lambda said, _: [_partition(one)["offset"] for one in said] == [0, 3],
    "Delete records before an offset": lambda said, _: _partition(said[0])["lowWatermark"] == 2,
    "Groups, and the members of one": lambda said, it: (
        it.group in _groups(said[0]) and len(said[1]["groups"][0]["members"]) == it.members
    ),
    "Reset the offsets of a group": lambda said, _: _partition(said[1]["groups"][0])["committedOffset"] == 2,
    "The quorum of controllers": lambda said, _: len(_partition(said[0])["currentVoters"]) == 1,
    "Transactions": lambda said, _: (
        "recipes" in {one["transactionalId"] for one in said[0]["response"]["transactionStates"]}
        and [one["currentTxnStartOffset"] for one in _partition(said[1])["activeProducers"]] == [3]
    ),
    "Elect the preferred leaders": lambda said, _: said[0]["errorCode"] == 0,
    "Sizes on disk": lambda said, it: (
        it.topic in {topic["name"] for folder in said[0]["response"]["results"] for topic in folder["topics"]}
    ),
    "Delete a topic": lambda said, it: [one["name"] for one in said[0]["responses"]] == [it.topic],
}
"""Checks by the titles of recipes, in the order of the page."""

"""The state of a fake broker: nodes, topics, groups, transactions. Plain data and functions, without I/O or a clock.

Where a docstring says that a function refuses something, it raises `Refused`. A time `now` is in seconds, of any clock
that only goes forward.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from kafka_messages.enums import ErrorCode

T = TypeVar("T", bound=Any)

TopicPartition = tuple[str, int]


class Refused(Exception):
    """The answer is an error code, and what else Kafka says with it: values of the response, by name."""

    def __init__(self, error: int, message: str = "", **values: Any) -> None:
        super().__init__(f"{ErrorCode.text(error)}: {message}" if message else ErrorCode.text(error))
        self.error = error
        self.message = message or None
        self.values = values


def indexes_by_topic(places: Iterable[tuple[T, int]]) -> dict[T, list[int]]:
    """The partitions of each topic, both in order; topics are names or ids."""
    found: dict[T, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return found

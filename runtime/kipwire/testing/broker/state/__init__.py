"""The state of a fake broker: nodes, topics, groups, transactions. Plain data and functions, without I/O or a clock.

Where a docstring says that a function refuses something, it raises `Refused`. A time `now` is in seconds, of any clock
that only goes forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from kafka_messages.enums import ErrorCode
from kipwire.model.errors import abbreviate
from kipwire.model.extras import missing_extra

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
    """Group partitions by topic, both in order; topics are names or ids."""
    found: dict[T, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return found


# Regular expressions are RE2's, as in Kafka: they take time in proportion to the text, whatever a client asks for.
# google-re2 is imported when there is an expression, since few tests have one.


@lru_cache(128)  # each heartbeat of a group needs the expressions of all members
def matching(regex: str) -> Callable[[str], bool]:
    """Compile an expression to a function: True if it matches a whole name. Refuse what is no expression.

    Raises:
        MissingExtraError: google-re2 is not installed.
    """
    try:
        import re2
    except ImportError:
        raise missing_extra("regular expressions need", "google-re2", "testing") from None
    options = re2.Options()
    options.log_errors = False  # to standard error
    try:
        found = re2.compile(regex, options)
    except re2.error as error:
        reason, _, _ = error.args[0].decode(errors="replace").partition(":")  # after which comes the whole of it
        reason = f"{abbreviate(regex)} is not a valid regular expression: {reason}"
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, reason) from None
    return lambda name: found.fullmatch(name) is not None

"""Rows of responses: a row for each element of an array of the request, with an error code.

Which array that is, what is repeated and what stands beside the code is in `kipwire.connection.refusals`, for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.connection.refusals import CODES, beside, has_codes, match_elements, repeat_values
from kipwire.model.structs import Field, Struct
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state import Refused

Sent = Any
"""A request, or a struct of one: each version has a class of its own."""
Values = dict[str, Any]
"""The values of a response, or of a struct of it, by field."""


def answered(body: Sent, action: Callable[..., Values], *, is_distinct: bool = False) -> Values:
    """Build the arrays of a response, with the outcome of an action in each row that has a code.

    The action is called with the elements of the request that lead to the row, such as a topic and a partition. It
    gives the values of the row, or raises `Refused`. With `is_distinct`, elements that the request names twice are
    answered once, with INVALID_REQUEST.
    """
    return _Rows(action, is_distinct, body.API_KEY).arrays(body.RESPONSE, body, ())


def by_row(action: Callable[..., Values]) -> Callable[[Node, Sent], Values]:
    """Make the `answer` of an API that answers row by row, from an action, which is given node and request first."""
    return lambda node, body: answered(body, partial(action, node, body))


def by_distinct_row(action: Callable[..., Values]) -> Callable[[Node, Sent], Values]:
    """Do as `by_row`, with `is_distinct`."""
    return lambda node, body: answered(body, partial(action, node, body), is_distinct=True)


def with_endpoints(node: Node, values: Values) -> Values:
    """Add to a response the addresses of the leaders that its rows name (KIP-951)."""
    rows = [row for topic in values["responses"] for row in topic.get("partition_responses", topic.get("partitions"))]
    leaders = {row["current_leader"]["leader_id"] for row in rows if "current_leader" in row}
    return {**values, "node_endpoints": [node.nodes[one].address for one in sorted(leaders)]} if leaders else values


class _Rows(NamedTuple):
    action: Callable[..., Values]
    is_distinct: bool
    api_key: int

    def arrays(self, struct: type[Struct], asked: Any, path: tuple[Any, ...]) -> Values:
        """Build the arrays of a struct whose rows have codes."""
        fields: Any = struct.ATTRIBUTES  # classes can be hashed; mypy asks their instances
        return {
            field.name: self._array(field, field.struct, asked, path)
            for field in fields
            if field.array and field.struct is not None and has_codes(field.struct)
        }

    def _array(self, field: Field, row: type[Struct], asked: Any, path: tuple[Any, ...]) -> list[Values]:
        elements = [(one, repeat_values(row, one)) for one in match_elements(asked, field)]
        if not any(one.name in CODES for one in row.ATTRIBUTES):
            return [{**named, **self.arrays(row, one, (*path, one))} for one, named in elements]
        times = Counter(tuple(named.values()) for _, named in elements) if self.is_distinct else Counter()
        if times:
            elements = list({tuple(named.values()): (one, named) for one, named in elements}.values())
        return [
            {**named, **self._outcome(row, (*path, one), is_twice=times[tuple(named.values())] > 1)}
            for one, named in elements
        ]

    def _outcome(self, row: Any, path: tuple[Any, ...], *, is_twice: bool) -> Values:
        names = [field.name for field in row.ATTRIBUTES]
        message = {"error_message": None} if "error_message" in names else {}
        try:
            if is_twice:
                raise Refused(ErrorCode.INVALID_REQUEST, "it occurs twice in the request")
            return {**message, **self.action(*path)}
        except Refused as error:
            return {
                **beside(row, self.api_key),
                **{name: error.error for name in names if name in CODES},
                **dict.fromkeys(message, error.message),
                **{name: value for name, value in error.values.items() if name in names},
            }

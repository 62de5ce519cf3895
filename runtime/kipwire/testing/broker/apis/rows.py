"""Rows of responses, made from the fields of a response.

A response with error codes in rows has a row for each element of an array of its request: it repeats the name of a
topic, the number of a partition or the id of a group, and has the code beside it. Which array that is, what is repeated
and what stands beside the code of a row that refuses, `kipwire.connection.refusals` says, for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.connection.refusals import CODES, answered_by, beside, has_codes, repeated
from kipwire.model.structs import Field, Struct
from kipwire.testing.broker.state import Refused

Values = dict[str, Any]
"""The values of a response, or of a struct of it, by field."""


def answered(body: Any, action: Callable[..., Values], *, is_distinct: bool = False) -> Values:
    """The arrays of a response, with the outcome of an action in each row that has a code.

    Args:
        body: the request.
        action: called with the elements of the request that lead to the row, such as a topic and a partition. It gives
            the values of the row, or raises `Refused`.
        is_distinct: answer elements that the request names twice once, with INVALID_REQUEST.
    """
    return _Rows(action, is_distinct, body.API_KEY).arrays(body.RESPONSE, body, ())


def refused_rows(body: Any, error: int) -> Values:
    """The arrays of a response, with an error code in each row that has one."""

    def refuse(*_: Any) -> Values:
        raise Refused(error)

    return answered(body, refuse)


class _Rows(NamedTuple):
    action: Callable[..., Values]
    is_distinct: bool
    api_key: int

    def arrays(self, struct: type[Struct], asked: Any, path: tuple[Any, ...]) -> Values:
        """The arrays of a struct that have codes."""
        fields: Any = struct.ATTRIBUTES  # classes can be hashed; mypy asks their instances
        return {
            field.name: self._array(field, field.struct, asked, path)
            for field in fields
            if field.array and field.struct is not None and has_codes(field.struct)
        }

    def _array(self, field: Field, row: type[Struct], asked: Any, path: tuple[Any, ...]) -> list[Values]:
        elements = [(one, repeated(row, one)) for one in answered_by(asked, field)]
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
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names it twice")
            return {**message, **self.action(*path)}
        except Refused as error:
            return {
                **beside(row, self.api_key),
                **{name: error.error for name in names if name in CODES},
                **dict.fromkeys(message, error.message),
                **{name: value for name, value in error.values.items() if name in names},
            }

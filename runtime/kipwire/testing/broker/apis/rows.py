"""Rows of responses, and refusals, made from the fields of a response.

A response with error codes in rows has a row for each element of an array of its request: it repeats the name of a
topic, the number of a partition or the id of a group, and has the code beside it. Which array the rows are of follows
from its name, or from there being one alone; where it does not, the module of the API says it in `ROWS`. What stands
beside the code of a row that refuses, where that is not the default, is its `REFUSED`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import kafka_messages
from kafka_messages.enums import ErrorCode
from kipwire.connection.refusals import repeated
from kipwire.model.structs import Field, Struct
from kipwire.testing.broker.state.refusals import Refused

Values = dict[str, Any]
"""What a response, or a struct of it, is built of."""
Hints = Mapping[str, Any]

_CODES = ("error_code", "partition_error_code")


def answered(
    body: Any,
    action: Callable[..., Values],
    *,
    rows: Hints | None = None,
    refused: Hints | None = None,
    is_distinct: bool = False,
) -> Values:
    """The arrays of a response, with the outcome of an action in each row that has a code.

    Args:
        body: the request.
        action: called with the elements of the request that lead to the row, such as a topic and a partition. It gives
            the values of the row, or raises `Refused`.
        rows: by arrays of the response, what they have rows of; "" for one row of the whole request.
        refused: values of rows that refuse.
        is_distinct: answer elements that the request names twice once, with INVALID_REQUEST.
    """
    return _Rows(action, rows or {}, refused or {}, is_distinct).arrays(_response(body), body, ())


def refusal(
    body: Any, error: int, *, is_at_top: bool = True, rows: Hints | None = None, refused: Hints | None = None
) -> Values:
    """The values of a response that refuses a request: the error code at the outermost level that has one.

    Args:
        body: the request.
        error: the code.
        is_at_top: use the code of the response itself, if it has one; else those of its rows.
        rows: as in `answered`.
        refused: as in `answered`; also beside the code of the response itself.
    """

    def refuse(*_: Any) -> Values:
        raise Refused(error)

    names = [field.name for field in _response(body).ATTRIBUTES]
    if is_at_top and "error_code" in names:
        return {"error_code": error, **{name: one for name, one in (refused or {}).items() if name in names}}
    return answered(body, refuse, rows=rows, refused=refused)


def _response(body: Any) -> type[Struct]:
    return kafka_messages.REGISTRY.response(body.API_KEY, body.VERSION)


class _Rows(NamedTuple):
    action: Callable[..., Values]
    rows: Hints
    refused: Hints
    is_distinct: bool

    def arrays(self, struct: type[Struct], asked: Any, path: tuple[Any, ...]) -> Values:
        """The arrays of a struct that have codes."""
        return {
            field.name: self._array(field, field.struct, asked, path)
            for field in struct.ATTRIBUTES
            if field.array and field.struct is not None and _has_codes(field.struct)
        }

    def _array(self, field: Field, row: type[Struct], asked: Any, path: tuple[Any, ...]) -> list[Values]:
        elements = [(one, repeated(row, one)) for one in _elements(asked, field, self.rows)]
        if not any(one.name in _CODES for one in row.ATTRIBUTES):
            return [{**named, **self.arrays(row, one, (*path, one))} for one, named in elements]
        times = Counter(tuple(named.values()) for _, named in elements) if self.is_distinct else Counter()
        if times:
            elements = list({tuple(named.values()): (one, named) for one, named in elements}.values())
        return [
            {**named, **self._outcome(row, (*path, one), is_twice=times[tuple(named.values())] > 1)}
            for one, named in elements
        ]

    def _outcome(self, row: type[Struct], path: tuple[Any, ...], *, is_twice: bool) -> Values:
        names = [field.name for field in row.ATTRIBUTES]
        message = {"error_message": None} if "error_message" in names else {}
        try:
            if is_twice:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names it twice")
            return {**message, **self.action(*path)}
        except Refused as error:
            codes = dict.fromkeys((name for name in names if name in _CODES), error.error)
            beside = {**self.refused, **error.values}
            return {
                **codes,
                **dict.fromkeys(message, error.message),
                **{one: beside[one] for one in beside if one in names},
            }


def _has_codes(struct: type[Struct]) -> bool:
    return any(one.name in _CODES or (one.struct is not None and _has_codes(one.struct)) for one in struct.ATTRIBUTES)


def _elements(asked: Any, field: Field, rows: Hints) -> Any:
    """The elements of a request that an array of its response has rows of."""
    arrays = [one.name for one in asked.ATTRIBUTES if one.array]
    name = rows.get(field.name, field.name if field.name in arrays else arrays[0] if arrays else "")
    return getattr(asked, name) or () if name else [asked]

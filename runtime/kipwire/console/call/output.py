"""Output of `kipwire call`: JSON with the names of numbers for terminals, plain JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from kipwire.aio.failures import shown_address
from kipwire.cluster import Node
from kipwire.connection.framing import add_size
from kipwire.console.call.asking import Answer, Failed, Response
from kipwire.console.call.codes import Names
from kipwire.console.call.json_text import Line, lines_of
from kipwire.console.call.versions import Row, json_of, table_lines
from kipwire.console.dump.values import Decoders
from kipwire.console.inspect.json import inspection_json
from kipwire.console.inspect.text import print_text
from kipwire.console.inspect.tree import Inspection, inspect_request, inspect_response
from kipwire.console.records import with_readable_records, with_records
from kipwire.message.registry import Registry
from kipwire.tools.text import print_err, print_out

_AT_ONCE = 500
"""Lines that are printed together, since each call costs more than a line."""
_END = ("\n", "")


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines to standard output."""
    rest = iter(lines)
    while some := list(islice(rest, _AT_ONCE)):
        first, *others = some
        print_out(*first, *(part for line in others for part in (_END, *line)))


def say(*lines: str) -> None:
    """Print lines to standard error, each after the name of the program."""
    for line in lines:
        print_err(("kipwire: ", "red"), " ".join(line.splitlines()))


def print_response(
    answer: Answer, response: Response, *, as_text: bool, decoders: Decoders | None, of_many: bool
) -> None:
    """Print a response.

    Args:
        answer: the answer that has it.
        response: the response.
        as_text: True for text, False for JSON.
        decoders: functions of the user for keys and values; None to show batches as bytes.
        of_many: True if it is one of several, each of which is on a line with its broker.

    Raises:
        KipwireError: records cannot be read.
    """
    body = response.body
    value: dict[str, Any] = body.to_json()
    if decoders is not None:
        # A value that a function refuses is an error of its record; without functions, a broken batch is one of all.
        of = type(body)
        value = with_readable_records(of, value, decoders) if decoders else with_records(of, value)
    if as_text:
        wire = "" if answer.sent.version == body.VERSION else f", which was version {answer.sent.version} on the wire"
        print_out((f"// {body.NAME} version {body.VERSION}{wire}, from {answer.node}", "dim"))
        print_lines(lines_of(type(body), value, Names()))
    elif of_many:
        print(json.dumps({**_of_node(answer.node), "response": value}))
    else:
        print(json.dumps(value, indent=2))


def print_failure(failed: Failed, *, as_text: bool) -> None:
    """Print that one of several brokers has no answer: for programs a line like the others; for all, why."""
    if not as_text:
        print(json.dumps({**_of_node(failed.node), "response": None, "error": failed.reason}))
    say(f"{failed.node}: {failed.reason}" if failed.node.id is not None else failed.reason)


def print_versions(node: Node, rows: list[Row], *, as_text: bool, of_many: bool) -> None:
    """Print which versions a broker serves, as `print_response` prints a response."""
    if as_text:
        if of_many:
            print_out((str(node), "bold"))
        print_lines(table_lines(rows))
    elif of_many:
        print(json.dumps({**_of_node(node), "versions": json_of(rows)}))
    else:
        print(json.dumps(json_of(rows), indent=2))


def _of_node(node: Node) -> dict[str, Any]:
    return {"node": node.id, "address": shown_address(node.address)}


def explain(registry: Registry, answer: Answer, *, as_text: bool, of_many: bool) -> None:
    """Print the bytes of the request and of the response, as `kipwire inspect` does."""
    request = inspect_request(registry, add_size(answer.sent.frame))
    response = None
    if answer.frame is not None:
        cls = registry.counterpart(registry.request(answer.sent.body.API_KEY or 0, answer.sent.version))
        response = inspect_response(registry, cls, add_size(answer.frame))
    _print_explained(request, response, answer.node if of_many else None, as_text=as_text)


def explain_request(registry: Registry, frame: bytes, *, as_text: bool) -> None:
    """Print the bytes of a request that is not sent."""
    _print_explained(inspect_request(registry, add_size(frame)), None, None, as_text=as_text)


def _print_explained(request: Inspection, response: Inspection | None, node: Node | None, *, as_text: bool) -> None:
    if as_text:
        if node is not None:
            print_out((str(node), "bold"))
        print_text(request)
        if response is not None:
            print()
            print_text(response)
        return
    sides = {"request": inspection_json(request), "response": None if response is None else inspection_json(response)}
    print(json.dumps(sides if node is None else {**_of_node(node), **sides}))

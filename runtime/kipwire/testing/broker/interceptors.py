"""Functions that a test puts before the handlers of APIs: they answer, change, delay, drop or count requests.

Each goes around those added after it, by the handle that it gets; `fail`, `delay` and `disconnect` are such functions,
too. An entry counts down when it is used, not when its answer goes out.
"""

from __future__ import annotations

import inspect
from asyncio import sleep
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire import Message, convert
from kipwire.aio import Client
from kipwire.connection import Request, refusal
from kipwire.connection.framing import add_size
from kipwire.connection.server import Part
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import NoAnswer, api_key_of
from kipwire.testing.broker.node import Node

A = TypeVar("A")
Q = TypeVar("Q")

Handle = Callable[[], Awaitable[A]]
"""Gives the answer that there would be otherwise: it goes on with the next function, or with the handler."""
Interceptor = Callable[[Q, Handle[Any]], Any]
"""Gives a response, an awaitable of one, or None for the response that there would be otherwise."""
Condition = Callable[[Request], bool]


class Call(NamedTuple):
    """A request that has come."""

    node: Node
    """That it came to."""
    request: Request
    client: Client | None = None
    """The sender."""


Step = Callable[[Call, Handle[Message]], Awaitable[Message]]
"""The action of an entry on a call."""


@dataclass(slots=True)
class _Entry:
    api_key: int
    step: Step
    times: int | None
    """The number of times left; None means always."""
    condition: Condition | None
    node_id: int | None
    """Id of the node whose requests it handles; None means all nodes."""
    received: int | None
    """Bytes of a request after which the connection is broken off; None waits for the request."""

    def is_for(self, api_key: int, node_id: int) -> bool:
        return api_key == self.api_key and self.times != 0 and self.node_id in (None, node_id)


class Interceptors:
    """All functions, in the order in which they were added; each goes around those after it."""

    def __init__(self, node: Node) -> None:
        """Have no functions yet; any node of the cluster is given."""
        self._entries: list[_Entry] = []
        self._served, self._nodes, self._registry = node.served, node.nodes, node.registry

    def add(
        self,
        api: ApiKey | int | type[Any],
        step: Step,
        times: int | None,
        condition: Condition | None,
        node_id: int | None,
        received: int | None = None,
    ) -> None:
        """Let a function have requests that come; an API of another package than Kafka's is served from then on.

        Raises:
            ValueError: the API is not served, or `times` is below 1.
            Refused: there is no such node.
        """
        key = api_key_of(api, self._registry)
        if not kafka_messages.REGISTRY.request_versions(key) and (versions := self._registry.api_versions().get(key)):
            self._served[key] = versions
        if key not in self._served:
            raise ValueError(f"the fake broker does not serve {ApiKey.text(key)}; faults need an API that it serves")
        if times is not None and times < 1:
            raise ValueError(f"times must be 1 or more, or None for always, not {times}")
        if node_id is not None:
            self._nodes[node_id]  # which refuses what is none
        self._entries.append(_Entry(key, step, times, condition, node_id, received))

    def clear(self) -> None:
        """Remove all functions, and what only they can answer."""
        self._entries.clear()
        for key in self._served.keys() - APIS.keys():
            del self._served[key]

    async def answer(self, call: Call, handle: Handle[Message]) -> Message:
        """Answer a request by the functions that intercept it; without one, the handle gives the response.

        Raises:
            ClosedByHandler: the connection is closed instead.
        """
        for entry in reversed(self._entries):
            handle = partial(self._through, entry, call, handle)
        return await handle()

    async def _through(self, entry: _Entry, call: Call, handle: Handle[Message]) -> Message:
        request = call.request
        is_taken = entry.is_for(request.api_key, call.node.node_id)
        if not is_taken or (entry.condition is not None and not entry.condition(request)):
            return await handle()
        self._use(entry)
        return await entry.step(call, handle)

    def expect_more(self, node_id: int, part: Part) -> None:
        """Raise `NoAnswer` where the connection is to break within a request, of which a part has come to a node."""
        for entry in self._entries:
            if entry.received is not None and part.size >= entry.received and entry.is_for(part.api_key, node_id):
                self._use(entry)
                raise NoAnswer

    def _use(self, entry: _Entry) -> None:
        if entry.times is not None:
            entry.times -= 1
            if not entry.times and entry in self._entries:
                self._entries.remove(entry)


def expect_function(function: Interceptor[Any]) -> None:
    """Refuse a function that cannot be called with a request and a handle, before a client's connection shows it."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise TypeError(f"an interceptor is called as function(request, handle): {error}") from None


# Steps, once `partial` has given them what stands before the call.


async def call_function(
    cls: type[Any] | None, function: Interceptor[Any], call: Call, handle: Handle[Message]
) -> Message:
    """Call a function with the request in a class; without one, with the `Request`."""
    response: Message | None = None

    async def handled() -> Message:
        nonlocal response
        response = await handle()
        return response if cls is None else convert(response, cls.VERSION)

    answer = function(call.request if cls is None else call.request.body_as(cls), handled)
    if inspect.isawaitable(answer):
        answer = await answer
    return answer if answer is not None else response or await handle()


async def fail(error: int, call: Call, handle: Handle[Message]) -> Message:
    """Answer with an error code, without doing what the request asks for."""
    request = call.request
    if not request.is_answered:
        raise NoAnswer
    api = APIS.get(request.api_key)
    return refusal(request.body, error) if api is None else api.refuse(request.body, error)


async def delay(seconds: float, call: Call, handle: Handle[Message]) -> Message:
    """Go on later."""
    await sleep(seconds)
    return await handle()


async def disconnect(is_handled: bool, after: int, call: Call, handle: Handle[Message]) -> Message:
    """Close the connection instead of answering, or after some bytes of the response."""
    if is_handled or after:
        response = await handle()
        if after and call.client is not None and call.request.is_answered:
            call.client.write(
                add_size(call.request.registry.encode_response(response, call.request.correlation_id))[:after]
            )
    raise NoAnswer

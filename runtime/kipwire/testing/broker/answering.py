"""From a request to the bytes of its answer: faults first, then the handler of its API."""

from __future__ import annotations

import inspect
from asyncio import sleep

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire import Message, build
from kipwire.connection import Request, versions_answer
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import Api, NoAnswer, Values
from kipwire.testing.broker.faults import Delay, Disconnect, Effect, Fail
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_REGISTRY = kafka_messages.REGISTRY


async def answer(node: Node, request: Request, fault: Effect | None) -> Message:
    """The response to a request.

    Args:
        node: what the request acts on.
        request: of any API, known or not.
        fault: what happens to it.

    Raises:
        NoAnswer: the connection is closed instead.
        DecodeError: the request is broken.
    """
    key, version = request.api_key, request.api_version
    if version not in node.served.get(key, ()):
        return _unserved(node, request)
    if isinstance(fault, Delay):
        await sleep(fault.seconds)
    elif isinstance(fault, Disconnect) and not fault.is_handled:
        raise NoAnswer
    api = APIS[key]
    if isinstance(fault, Fail):
        if not request.is_answered:
            raise NoAnswer
        values = api.refuse(request.body, fault.error)
    else:
        values = await _handled(node, request, api)
        node.changes.notify()
    if isinstance(fault, Disconnect):
        raise NoAnswer
    return build(_REGISTRY.response(key, version), values)


async def _handled(node: Node, request: Request, api: Api) -> Values:
    try:
        values = api.answer(node, request)
        return await values if inspect.isawaitable(values) else values
    except Refused as error:
        return api.refuse(request.body, error.error)


def _unserved(node: Node, request: Request) -> Message:
    """The answer to a request that ApiVersions does not name; there is one to ApiVersions alone (KIP-511).

    Raises:
        NoAnswer: Kafka closes the connection, too, since it cannot know what the request says.
    """
    if request.api_key == ApiKey.API_VERSIONS:
        return versions_answer(_REGISTRY, request.api_version, node.served)
    what = f"{ApiKey.text(request.api_key)} in version {request.api_version}"
    raise NoAnswer(f"the fake broker does not serve {what}; ApiVersions says what it serves")

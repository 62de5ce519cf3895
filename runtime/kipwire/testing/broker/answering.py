"""From a request to the bytes of its answer: faults first, then the handler of its API."""

from __future__ import annotations

import inspect
from asyncio import sleep

import kafka_messages
from kafka_messages.enums import ApiKey, ErrorCode
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
    """The answer to a request that is not served: UNSUPPORTED_VERSION, if its response has a place for it.

    Raises:
        NoAnswer: it has none, or nobody knows the request.
    """
    if request.api_key == ApiKey.API_VERSIONS:
        return versions_answer(_REGISTRY, request.api_version, node.served)
    if not request.is_known:
        raise NoAnswer
    response = _REGISTRY.response(request.api_key, request.api_version)
    if request.api_key in APIS:
        return build(response, APIS[request.api_key].refuse(request.body, ErrorCode.UNSUPPORTED_VERSION))
    if not any(field.name == "error_code" for field in response.ATTRIBUTES):
        raise NoAnswer
    return build(response, {"error_code": ErrorCode.UNSUPPORTED_VERSION})

"""Each API that a broker serves, called with its template as `kipwire call --template` prints it.

    python -m tests.support.live.called_templates localhost:9092 [--all]

Without `--all` only those that change nothing are called.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import NamedTuple

import kafka_messages
from kipwire.aio import Failure, connect
from kipwire.cli.apis import Api, apis
from kipwire.console.call.asking import read
from kipwire.console.call.codes import error_lines
from kipwire.console.call.json_text import parse
from kipwire.console.call.requests import Encoded, encode_pinned
from kipwire.console.call.template import template_lines
from kipwire.model.errors import DecodeError
from kipwire.tools.text import count_of

REGISTRY = kafka_messages.REGISTRY
_READ = ("Describe", "List", "Get")
_READ_TOO = (
    *("ApiVersions", "Metadata", "FindCoordinator", "OffsetFetch", "OffsetForLeaderEpoch", "Fetch", "FetchSnapshot"),
    *("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"),
)
_SECONDS = 20


class Called(NamedTuple):
    """The outcome of a call."""

    api: str
    version: int
    is_decoded: bool
    """True if there was a response, which was read to its last byte and is the same when it is written again."""
    remark: str
    """The first error code, or why there is no such response."""


def changes_nothing(api: Api) -> bool:
    """True if an API only reads."""
    return api.name.startswith(_READ) or api.name in _READ_TOO


async def call_templates(address: str, only: Iterable[Api] | None = None) -> list[Called]:
    """Call the APIs that a broker and the package have, each on a connection of its own, in the highest common version.

    Args:
        address: of the broker.
        only: the APIs; by default those that change nothing.
    """
    async with connect(address) as broker:
        versions = broker.versions
    chosen = [one for one in apis(REGISTRY) if changes_nothing(one)] if only is None else only
    found = []
    for api in chosen:
        both = [one for one in api.versions if one in versions.get(api.key, ()) and REGISTRY.served(api.request)]
        if both:
            found.append(await _call(address, api, both[-1]))
    return found


async def _call(address: str, api: Api, version: int) -> Called:
    cls = REGISTRY.message(api.request, version)
    text = "\n".join("".join(text for text, _ in line) for line in template_lines(cls))
    sent = encode_pinned(REGISTRY, api, version, parse(text, api.name), "templates")
    try:
        async with connect(address, timeout=_SECONDS) as broker:
            frame = await broker.exchange(sent.frame)
    except Failure as failure:
        return Called(api.name, version, False, failure.reason)
    if frame is None:
        return Called(api.name, version, True, "it has no response")
    return _read(api, sent, frame)


def _read(api: Api, sent: Encoded, frame: bytes) -> Called:
    try:
        response = read(REGISTRY, sent, frame)
    except DecodeError as error:
        return Called(api.name, sent.version, False, str(error))
    again = kafka_messages.encode_response(response.body, int.from_bytes(frame[:4], "big", signed=True))
    is_whole = not response.rest and again == frame
    return Called(api.name, sent.version, is_whole, next(iter(error_lines(response.body)), ""))


def main() -> None:
    """Print a line for each API."""
    address, *more = sys.argv[1:]
    found = asyncio.run(call_templates(address, apis(REGISTRY) if "--all" in more else None))
    for one in found:
        print(f"{'decoded' if one.is_decoded else 'NO':<8} {one.api} {one.version}: {one.remark or 'no error code'}")
    print(f"{sum(one.is_decoded for one in found)} of {count_of(len(found), 'response')} decoded")


if __name__ == "__main__":
    main()

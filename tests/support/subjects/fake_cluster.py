"""One request to one node of a fake cluster, from the thread of a test."""

from __future__ import annotations

import asyncio
from typing import Any

from kafka_messages import message
from kipwire import aio, build
from kipwire.testing import FakeBroker


def address(broker: FakeBroker, node: int) -> str:
    """Host and port of a node."""
    return broker.bootstrap_servers.split(",")[node - 1]


def asked(broker: FakeBroker, node: int, name: str, version: int, **values: Any) -> Any:
    """Return the response of a node to a request of an API, such as Metadata, whose fields are given as for `build`."""

    async def ask() -> Any:
        request: Any = build(message(f"{name}Request", version), values)
        async with aio.connect(address(broker, node), timeout=20) as connection:
            return await connection.request(request, version)

    return asyncio.run(ask())

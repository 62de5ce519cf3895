"""The fake broker answers every request that is well formed, or closes the connection where the page says so."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kafka_messages.enums import ApiKey
from kipwire import Message
from kipwire.connection import Request
from kipwire.description.values import field_range
from kipwire.model.types import KINDS
from kipwire.records import Record, write_batch
from kipwire.testing.broker.apis import APIS, SERVED
from kipwire.testing.broker.apis.api import NoAnswer
from kipwire.testing.broker.interceptors import fail
from kipwire.testing.broker.node import Node
from tests.support.subjects.fake_broker_requests import GROUP, REGISTRY, TOPIC, TRANSACTIONAL_ID, answer, node

TEXTS = (TOPIC, TOPIC, GROUP, GROUP, TRANSACTIONAL_ID, "", "x" * 300, "\0", "é", "range", "consumer", "retention.ms")
ROUNDS = 12
MAY_WAIT = {ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}
"""APIs whose answer may depend on what others do."""
STEPS = 20
"""Turns of the event loop after which a request that has no answer waits."""


class Maker:
    """Draws requests with values that mean something to the broker of a test, and some that mean nothing."""

    def __init__(self, seed: int, to: Node) -> None:
        self.random = Random(seed)
        self.ids = (to.topics.named(TOPIC).topic_id, UUID(int=0), UUID(int=5))

    def message(self, cls: Any) -> Any:
        """Return a struct or message of a class."""
        fields = [one for one in cls.ATTRIBUTES if one.tag is None or self.random.random() < 0.5]
        return cls(**{one.name: self._value(one) for one in fields})

    def _value(self, field: Any) -> Any:
        if field.nullable and self.random.random() < 0.2:
            return None
        if field.array:
            return [self._element(field) for _ in range(self.random.choice((0, 1, 1, 2)))]
        return self._element(field)

    def _element(self, field: Any) -> Any:
        if field.struct is not None:
            return self.message(field.struct)
        kind = KINDS.get(field.element)
        if kind == "integer":
            low, high = field_range(field)
            usual = (0, 0, 1, -1, 2, 1000) if high >= 1000 else (0, 0, 1, -1, 2)
            most = 5 if field.name.endswith("_ms") else high
            return self.random.choice([one for one in (*usual, low, most) if low <= one <= high])
        if kind == "text":
            return self.random.choice(TEXTS)
        if kind == "blob":
            return self._records() if field.element == "records" else self.random.randbytes(self.random.choice((0, 9)))
        if kind == "uuid":
            return self.random.choice(self.ids)
        return 0.5 if kind == "float" else self.random.random() < 0.5

    def _records(self) -> bytes:
        """Return a batch, whole or with some bytes changed."""
        numbers: dict[str, Any] = {
            "producer_id": 1000,
            "producer_epoch": self.random.choice((0, 1)),
            "base_sequence": 0,
        }
        if self.random.random() < 0.5:
            numbers = {}
        records = [Record(offset=at, timestamp=at, value=b"v") for at in range(self.random.choice((1, 2)))]
        is_transactional = bool(numbers) and self.random.random() < 0.5
        data = bytearray(write_batch(records, is_transactional=is_transactional, **numbers))
        if self.random.random() < 0.5:
            data[self.random.randrange(len(data))] = self.random.choice((0, 0x7F, 0xFF))
        return bytes(data)


async def answered(to: Node, asked: Request, fault: Any = None) -> Message | None:
    """Return the response; None if the request waits for others, or if the connection is closed."""
    task = asyncio.ensure_future(answer(to, asked, fault))
    for _ in range(STEPS):
        await asyncio.sleep(0)
        if task.done():
            break
    else:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert asked.api_key in MAY_WAIT, f"{asked} waits"
        return None
    try:
        return task.result()
    except NoAnswer:
        return None


@pytest.mark.parametrize("api", [ApiKey(key) for key in SERVED], ids=lambda api: api.name)
def test_every_served_request_is_answered(api: ApiKey) -> None:
    made = node()
    maker = Maker(api, made)
    for version in SERVED[api]:
        for number in range(ROUNDS):
            if TOPIC not in made.topics.by_name:
                made.topics.create(TOPIC, 2)
            body = maker.message(REGISTRY.request(api, version))
            asked = Request(REGISTRY, REGISTRY.encode_request(body, 7, "tests"))
            fault = partial(fail, 3) if number == 0 else None
            found = asyncio.run(answered(made, asked, fault))
            is_closed = api == ApiKey.PRODUCE and body.acks == 0
            assert found is not None or is_closed or api in MAY_WAIT, asked
            if found is not None:
                frame = REGISTRY.encode_response(found, 7)
                assert REGISTRY.decode_response(frame, type(body)).body == found
    for topic in made.topics.by_name.values():  # stored batches can be read
        for log in topic.partitions:
            log.records(is_committed=False)
            log.first_since(0)


def test_every_request_that_is_not_served_closes_the_connection() -> None:
    made = node()
    for api in ApiKey:
        for version in REGISTRY.request_versions(api):
            if version in SERVED.get(api, ()):
                continue
            body = Maker(api, made).message(REGISTRY.request(api, version))
            asked = Request(REGISTRY, REGISTRY.encode_request(body, 7, "tests"))
            found = asyncio.run(answered(made, asked))
            assert found is None or api == ApiKey.API_VERSIONS, asked
    assert set(APIS) == set(SERVED)

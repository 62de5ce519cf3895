"""The typed client of docs/typed-client.md against a real broker. For `make test-broker`."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from tests.support.example_programs import example
from tests.support.live.real_broker import ADDRESS

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]


def test_typed_programs_produce_to_a_real_broker_and_see_the_end() -> None:
    host, _, port = ADDRESS.rpartition(":")
    topic = f"typed-{uuid4()}"
    for offset in range(3):
        producing = example("produce_one").produce(host, int(port), topic, b"tea")
        assert asyncio.run(asyncio.wait_for(producing, 60)) == offset
    ends = {(name, partition): end for name, partition, end in example("typed_client").ends(ADDRESS)}
    assert ends[topic, 0] == 3

"""Fixtures for the tests of kipwire.cluster: a broker with groups."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping

import pytest

from kafka_messages.offset_commit_request.v9 import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kipwire.aio import connect
from kipwire.testing import FakeBroker


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's settings for brokers from the environment."""
    for name in os.environ:
        if name.startswith("KIPWIRE_") and name != "KIPWIRE_NATIVE":
            monkeypatch.delenv(name)


async def commit(address: str, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets of a group without members."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic, partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)]
        )
        for (topic, partition), offset in offsets.items()
    ]
    async with connect(address) as broker:
        response = await broker.request(OffsetCommitRequest(group_id=group, topics=topics))
    assert not any(one.error_code for topic in response.topics for one in topic.partitions)


def committed(broker: FakeBroker, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets of a group without members at the coordinator of a fake broker."""
    address = broker.bootstrap_servers.split(",")[broker.coordinator(group=group) - 1]
    asyncio.run(commit(address, group, offsets))


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker with a topic of two partitions, of four records each, and a group that has read some of them."""
    with FakeBroker(topics={"orders": 2, "paid": 1}, auto_create_topics=False) as one:
        for partition in range(2):
            for number in range(4):
                one.append("orders", b"%d" % number, partition=partition, timestamp=TIME + 1000 * number)
        committed(one, "billing", {("orders", 0): 1, ("orders", 1): 4})
        yield one


TIME = 1_700_000_000_000
"""The time of the first record of each partition, in milliseconds."""

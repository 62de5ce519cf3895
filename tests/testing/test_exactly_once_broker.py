"""The programs that copy exactly once on a fake cluster do so on a real broker, too. For `make test-broker`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.live.real_broker import ADDRESS
from tests.support.subjects.exactly_once import COPIES, SOURCE, TARGET, copied, fence, read

RUNS, RECORDS, SECONDS = 20, 7, 120.0
_AT_A_TIME = 4

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


def run_once(seed: int) -> None:
    """Run once: producers are fenced, and end in the middle of transactions."""
    run, chance = f"exactly-once-{uuid4()}", Random(seed)
    topics = [NewTopic(one.format(run), len(COPIES), 1) for one in (SOURCE, TARGET)]
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for future in admin.create_topics(topics).values():
        future.result(30)
    expected = [[b"%d %d" % (partition, at) for at in range(RECORDS)] for partition in range(len(COPIES))]
    producer = Producer({"bootstrap.servers": ADDRESS})
    for partition, values in enumerate(expected):
        for value in values:
            producer.produce(SOURCE.format(run), value, partition=partition)
    assert producer.flush(30) == 0
    events = [partial(fence, ADDRESS, run, chance.randrange(len(COPIES))) for _ in range(chance.randrange(4))]
    copied(ADDRESS, run, RECORDS, seed, events, SECONDS)
    assert [read(ADDRESS, run, partition, SECONDS) for partition in range(len(COPIES))] == expected, f"seed {seed}"


def test_read_committed_returns_every_committed_record_once() -> None:
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        for future in [pool.submit(run_once, seed) for seed in range(RUNS)]:
            future.result()

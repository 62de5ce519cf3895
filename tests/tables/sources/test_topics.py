"""`kafka_topic` without Spark: options, present offsets, streams, and what brokers do meanwhile; with a fake broker."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.delete_records_request.v2 import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kafka_messages.offset_commit_value.v3 import OffsetCommitValue
from kipwire import KipwireError
from kipwire.cluster import Cluster, Partition
from kipwire.tables.errors import SourceError
from kipwire.tables.sources import topic_plans
from kipwire.tables.sources.changing_logs.checkpoints import Reached, document, parse_checkpoint
from kipwire.tables.sources.formats import FORMATS
from kipwire.tables.sources.topic_streams import TopicFollower
from kipwire.testing import FakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={"orders": 2, "paid": 1}) as fake:
        fill(fake, 30)
        yield fake


def fill(broker: FakeBroker, count: int, partitions: int = 2) -> None:
    for at in range(count):
        broker.append("orders", b"%d" % at, partition=at % partitions)


def given(broker: FakeBroker, **more: str) -> dict[str, str]:
    return {"brokers": broker.bootstrap_servers, "topics": "orders", "columns": "partition,offset", **more}


def places(broker: FakeBroker, **more: str) -> list[tuple[int, int]]:
    """Return partition and offset of all rows, read by pieces that were pickled."""
    plan = pickle.loads(pickle.dumps(FORMATS["kafka_topic"].plan(given(broker, **more))))
    rows = [row for piece in plan.work() for batch in plan.read(piece) for row in batch.to_pylist()]
    return sorted((row["partition"], row["offset"]) for row in rows)


ALL = [(number, at) for number in range(2) for at in range(15)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ALL),
        ({"startingOffsets": "Earliest", "endingOffsets": "latest"}, ALL),
        ({"startingOffsets": "latest"}, []),
        ({"startingOffsets": '{"orders": {"0": 13, "1": -1}}'}, [(0, 13), (0, 14)]),
        ({"startingOffsets": '{"orders": {"1": 14, "0": -1}}', "endingOffsets": '{"orders":{"0":2}}'}, [(1, 14)]),
        ({"endingOffsets": '{"orders": {"0": 2, "1": 0}}'}, [(0, 0), (0, 1)]),
        ({"startingOffset": "13", "endingOffset": "14"}, [(0, 13), (1, 13)]),
        ({"maxRecordsPerPartition": "4"}, ALL),
        ({"partitions": "1"}, ALL[15:]),
        ({"topics": "orders,none", "failOnMissingTopics": "false"}, ALL),
    ],
)
def test_offsets_choose_rows(broker: FakeBroker, options: dict[str, str], expected: list[tuple[int, int]]) -> None:
    assert places(broker, **options) == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topics": "ordres"}, "has no topic 'ordres': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?"),
        ({"startingOffsets": '{"orders": {"7": 1}}'}, "has orders/7, which is not among the partitions to read"),
        ({"startingOffsets": '{"orders": {"0": 99}}'}, "has offset 99 of orders/0, which ends at offset 15"),
        ({"startingOffsets": "soon"}, "option startingOffsets is 'soon'; it must be earliest or latest, or JSON"),
        ({"startingOffsets": '{"orders": 3}'}, "it must be earliest or latest, or JSON such as"),
        ({"startingOffsets": '{"orders": {"0": 1.5}}'}, "with -2 for earliest, -1 for latest"),
        ({"startingOffsets": '{"orders": {"0": 1, "0": 2}}'}, "or JSON such as"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "it must be latest, or JSON such as"),
        ({"brokers": "/var/lib/kafka"}, "is not a valid address; use HOST or HOST:PORT"),
        ({"brokers": "/var/lib/kafka"}, "a log folder is read with kafka_log"),
        ({"brokers": ""}, "option brokers is missing"),
        ({"path": "/var/lib/kafka"}, "brokers have no path: give option brokers, or read a log folder with kafka_log"),
        ({"subscribe": "orders"}, "option 'subscribe' is of Spark's own source; here it is topics"),
        ({"config": "/none.properties"}, "/none.properties: No such file or directory"),
        ({"sasl": "GSSAPI"}, "it must be PLAIN or SCRAM-SHA-256"),
        ({"startingOfset": "1"}, "kafka_topic has no option 'startingOfset'"),
        ({"message": "OffsetCommitValu"}, "did you mean OffsetCommitValue"),
    ],
)
def test_what_is_wrong_is_one_line(broker: FakeBroker, options: dict[str, str], text: str) -> None:
    with pytest.raises(KipwireError) as raised:
        places(broker, **options)
    assert text in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["kafka.sasl.jaas.config", "ssl.key.password", "password", "kafka.ssl.keystore.key"])
def test_an_option_with_a_secret_is_refused_without_its_value(broker: FakeBroker, name: str, tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"is not taken.* to a properties file, and give its path as option config"
    ) as raised:
        places(broker, **{name: "geheim"})
    assert "geheim" not in str(raised.value)
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=PLAINTEXT\nssl.key.password=geheim\n")
    asked = topic_plans.request_of(given(broker, config=str(file)))
    file.unlink()  # workers need not have it
    assert "geheim" not in repr(asked) and sum(map(len, topic_plans.read(asked, topic_plans.plan(asked)[0]))) == 30


def test_records_are_decoded_where_they_are_read(broker: FakeBroker) -> None:
    broker.append("paid", b"\0\3" + OffsetCommitValue(offset=7).encode())
    plan = FORMATS["kafka_topic"].plan(
        {"brokers": broker.bootstrap_servers, "topics": "paid", "message": "OffsetCommitValue"}
    )
    (batch,) = (batch for piece in plan.work() for batch in plan.read(piece))
    assert batch.column("message").to_pylist()[0]["offset"] == 7
    with pytest.raises(KipwireError, match="orders/0 offset 0: "):
        places(broker, message="OffsetCommitValue", columns="partition,offset,message")


class Stream:
    """A stream as Spark runs it: its offsets go through JSON, and a new follower may take over at any time."""

    def __init__(self, broker: FakeBroker, **more: str) -> None:
        self.asked = topic_plans.request_of(given(broker, **more))
        self.follower = TopicFollower(self.asked)
        self.reached: Any = document(Reached())
        self.rows: list[tuple[int, int]] = []

    def batch(self) -> int:
        """Read a batch, and plan it once more as after a crash; return the number of its rows."""
        before = parse_checkpoint(self.reached, "kafka_topic")
        found = self.follower.latest(before, self.asked.max_bytes)
        if found is before:
            return 0
        end = document(found)
        work = self.follower.work(before, parse_checkpoint(end, "kafka_topic"))
        self.follower.close()
        self.follower = TopicFollower(self.asked)
        assert self.follower.work(before, parse_checkpoint(end, "kafka_topic")) == work
        rows = [
            (row["partition"], row["offset"])
            for piece in work
            for batch in topic_plans.read(self.asked, piece)
            for row in batch.to_pylist()
        ]
        self.reached, self.rows = end, self.rows + rows
        return len(rows)


def test_a_stream_has_each_record_once(broker: FakeBroker) -> None:
    stream = Stream(broker)
    assert [stream.batch() for _ in range(2)] == [30, 0]
    fill(broker, 10)
    assert [stream.batch() for _ in range(2)] == [10, 0]
    assert len(stream.rows) == len(set(stream.rows)) == 40
    stream.follower.close()


def test_a_limited_stream_takes_about_so_many_bytes_and_leaves_no_partition_behind(broker: FakeBroker) -> None:
    for _ in range(200):
        broker.append("orders", bytes(1000), partition=0)
    stream = Stream(broker, maxBytesPerTrigger="20000")
    counts = [stream.batch()]
    stream.follower.fix_target()
    while counts[-1]:
        counts.append(stream.batch())
    assert sorted(stream.rows) == sorted([(0, at) for at in range(215)] + ALL[15:])
    assert len(counts) > 8 and max(counts) <= 60
    stream.follower.close()


def test_a_stream_from_the_end_has_what_comes_after_its_start_and_new_topics_from_theirs(broker: FakeBroker) -> None:
    stream = Stream(broker, startingOffsets="latest", topics="orders,later", failOnMissingTopics="false")
    assert stream.batch() == 0 and stream.reached["first_offsets"] == {"orders/0": 15, "orders/1": 15}
    fill(broker, 2)
    broker.create_topic("later", 1)
    broker.append("later", b"x")
    assert stream.batch() == 3 and (0, 0) in stream.rows
    stream.follower.close()


def removed(broker: FakeBroker, partition: int, offset: int) -> None:
    """Delete the records of a partition before an offset."""

    async def work() -> None:
        one = DeleteRecordsPartition(partition_index=partition, offset=offset)
        topic = DeleteRecordsTopic(name="orders", partitions=[one])
        async with Cluster(broker.bootstrap_servers) as cluster:
            leaders = await cluster.leaders("orders")
            node = leaders[Partition("orders", partition)]
            await cluster.ask(node, DeleteRecordsRequest(topics=[topic], timeout_ms=1000))

    asyncio.run(work())


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_is_an_error_or_a_warning(broker: FakeBroker, fails: bool) -> None:
    stream = Stream(broker, failOnDataLoss=str(fails))
    stream.batch()
    fill(broker, 20)
    removed(broker, 1, 20)
    what = r"orders/1: offsets 15 to 19 were removed before they were read"
    if fails:
        with pytest.raises(SourceError, match=f"{what}; to continue without them, set failOnDataLoss to false"):
            stream.batch()
    else:
        with pytest.warns(UserWarning, match=what):
            assert stream.batch() == 15
    stream.follower.close()
    broker.delete_topic("orders")
    broker.create_topic("orders", 2)
    fill(broker, 4)
    if fails:
        with pytest.raises(SourceError, match="orders: is not the topic that was read before: it was made anew"):
            stream.batch()
    else:
        with pytest.warns(UserWarning, match="made anew"):
            assert stream.batch() == 4
    stream.follower.close()


def test_work_of_a_topic_that_is_made_anew_before_it_is_read_is_an_error(broker: FakeBroker) -> None:
    asked = topic_plans.request_of(given(broker))
    work = topic_plans.plan(asked)
    broker.delete_topic("orders")
    broker.create_topic("orders", 2)
    with pytest.raises(SourceError, match="orders: was made anew after its offsets were found; read it again"):
        list(topic_plans.read(asked, work[0]))


def test_leaders_that_move_and_brokers_that_return_are_waited_for() -> None:
    with FakeBroker(topics={"orders": 2}, nodes=2) as broker:
        fill(broker, 30)
        stream = Stream(broker)
        assert stream.batch() == 30
        fill(broker, 10)
        first, second = broker.node_ids
        for partition in range(2):
            broker.move_leader("orders", partition, to=second)
        broker.stop_node(first)
        assert stream.batch() == 10
        broker.start_node(first)
        for partition in range(2):
            broker.move_leader("orders", partition, to=first)
        assert places(broker) == [(number, at) for number in range(2) for at in range(20)]
        stream.follower.close()


def test_batches_and_offsets_are_levels(broker: FakeBroker) -> None:
    where = {"brokers": broker.bootstrap_servers, "topics": "orders"}

    def rows(**more: str) -> list[dict[str, Any]]:
        plan = FORMATS["kafka_topic"].plan(where | more)
        return [row for piece in plan.work() for batch in plan.read(piece) for row in batch.to_pylist()]

    removed(broker, 1, 7)
    partitions = [("orders", 0, 0, 15), ("orders", 1, 7, 15)]
    assert [tuple(row.values()) for row in rows(level="offsets")] == partitions
    assert rows(level="offsets", columns="end_offset,topic") == [{"end_offset": 15, "topic": "orders"}] * 2
    heads = rows(level="batches", columns="partition,base_offset,last_offset,records_count,segment,batch_position")
    found = [tuple(row.values()) for row in heads]
    whole = [(0, at, at, 1, None, None) for at in range(15)] + [(1, at, at, 1, None, None) for at in range(7, 15)]
    assert sorted(found) == sorted(whole)
    with pytest.raises(SourceError, match="option isolationLevel needs records; level is batches"):
        rows(level="batches", isolationLevel="read_committed")

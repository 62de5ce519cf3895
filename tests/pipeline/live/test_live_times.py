"""The first records that groups of live topics have not read, from fake brokers, and the lag that follows from them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kafka_messages.enums import ApiKey, ErrorCode
from kipjobs.jobs.offsets import lag
from kipspark.spark.live_times import Behind, find, live_firsts
from kipwire.testing import FakeBroker
from tests.support.subjects.offset_logs import at
from tests.support.subjects.scripted_broker import unused_address
from tests.support.subjects.spark_tables import rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

GROUPS = "group string, topic string, partition int, offset bigint, end_offset bigint, lag bigint"
TIME = 1_700_000_000_000


def test_the_first_record_from_each_offset_on_is_found() -> None:
    with FakeBroker(topics={"orders": 2}, nodes=2) as broker:
        for number in range(3):
            broker.append("orders", b"x", timestamp=TIME + number)
        broker.append("orders", b"x", timestamp=-1, partition=1)
        behind = [
            Behind("orders", 0, 0, 3),
            Behind("orders", 0, 2, 3),
            Behind("orders", 1, 0, 1),
            Behind("no", 0, 1, 2),
        ]
        found, notes = find(broker.bootstrap_servers, {}, behind)
    assert found == [
        ("orders", 0, 0, True, TIME),
        ("orders", 0, 2, True, TIME + 2),
        ("orders", 1, 0, True, None),
    ]
    assert notes == ()


def test_options_of_the_connector_say_how_to_get_in() -> None:
    with FakeBroker(topics={"orders": 1}, users={"me": "secret"}) as broker:
        broker.append("orders", b"x", timestamp=TIME)
        login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="%s";'
        options = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN", "startingOffsets": "x"}
        behind = [Behind("orders", 0, 0, 1)]
        found, notes = find(broker.bootstrap_servers, {**options, "kafka.sasl.jaas.config": login % "secret"}, behind)
        assert (len(found), notes) == (1, ())
        found, notes = find(broker.bootstrap_servers, {**options, "kafka.sasl.jaas.config": login % "wrong"}, behind)
        assert found == []
        assert len(notes) == 1 and "wrong" not in notes[0]


def test_what_brokers_do_not_give_is_a_note() -> None:
    behind = [Behind("orders", 0, 0, 1)]
    with FakeBroker(topics={"orders": 1}) as broker:
        broker.append("orders", b"x")
        broker.fail(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
        found, notes = find(broker.bootstrap_servers, {}, behind)
        assert (found, notes) == (
            [], ("records of orders: the leader returned 29 TOPIC_AUTHORIZATION_FAILED",)
        )  # fmt: skip
    for servers, options in (
        (unused_address(), {}),
        ("a b", {}),
        ("localhost:1", {"kafka.ssl.truststore.location": "x"}),
    ):
        found, notes = find(servers, {"kafka.security.protocol": "SSL", **options}, behind)
        assert (found, len(notes)) == ([], 1)
    assert find("a b", {}, []) == ([], ())


def test_groups_at_the_end_are_not_looked_for(spark: SparkSession) -> None:
    with FakeBroker(topics={"orders": 1}) as broker:
        for number in range(3):
            broker.append("orders", b"x", timestamp=TIME + number)
        groups = [("a", "orders", 0, 1, 3, 2), ("b", "orders", 0, 1, 3, 2), ("c", "orders", 0, 3, 3, 0)]
        found = live_firsts(spark, broker.bootstrap_servers, spark.createDataFrame(groups, GROUPS))
        assert len(broker.requests(ApiKey.FETCH)) == 1
    (row,) = rows(found.frame)
    assert (row["offset"], row["has_record"], row["time"].timestamp() * 1000) == (1, True, TIME + 1)


def test_lag_in_seconds_follows_from_the_first_unread_records(spark: SparkSession) -> None:
    groups = [
        ("read", "t", 0, 9, 9, 0),
        ("behind", "t", 0, 5, 9, 4),
        ("behind too", "t", 0, 5, 9, 4),
        ("markers", "t", 0, 8, 9, 1),
        ("future", "t", 1, 5, 9, 4),
        ("no time", "t", 2, 5, 9, 4),
        ("not known", "t", 3, 5, 9, 4),
        ("gone", "gone", 0, 5, None, None),
    ]
    firsts = [
        ("t", 0, 5, True, at(40)),
        ("t", 0, 8, False, None),
        ("t", 1, 5, True, at(101)),
        ("t", 2, 5, True, None),
    ]
    columns = "topic string, partition int, offset bigint, has_record boolean, time timestamp"
    as_of = spark.createDataFrame([(at(100),)], "as_of timestamp")
    table = lag.with_seconds_since(spark.createDataFrame(groups, GROUPS), spark.createDataFrame(firsts, columns), as_of)
    assert table.columns == ["group", "topic", "partition", "offset", "end_offset", "lag", "lag_seconds"]
    assert {row["group"]: row["lag_seconds"] for row in rows(table)} == {
        "read": 0.0,
        "behind": 60.0,
        "behind too": 60.0,
        "markers": 0.0,
        "future": None,
        "no time": None,
        "not known": None,
        "gone": None,
    }

"""A fake cluster of several nodes: the node that answers a request, moving leaders, and nodes that stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from kafka_messages import message, versions
from kafka_messages.enums import ApiKey, CoordinatorType, ErrorCode
from kafka_messages.metadata_request.v12 import MetadataRequest
from kipwire import aio
from kipwire.testing import FakeBroker
from kipwire.testing.broker.state.nodes import Nodes
from tests.support.defaults import of_defaults
from tests.support.subjects.fake_broker_clients import CLIENTS, TIMEOUT, with_slow
from tests.support.subjects.fake_broker_requests import batch
from tests.support.subjects.fake_cluster import address, asked
from tests.testing.test_fake_broker_lifecycle import Connection

NEW = {"transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
"""Values of a request by a producer that begins."""


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker({"orders": 4}, nodes=3) as broker:
        yield broker


def metadata(broker: FakeBroker, node: int = 1) -> Any:
    return asked(broker, node, "Metadata", 12, topics=None)


def produced(broker: FakeBroker, node: int, partition: int = 0, version: int = 10, value: bytes = b"v") -> Any:
    """Return the response to a Produce, and its one partition."""
    topics = [{"name": "orders", "partition_data": [{"index": partition, "records": batch(value)}]}]
    found = asked(broker, node, "Produce", version, acks=-1, timeout_ms=1000, topic_data=topics)
    return found, found.responses[0].partition_responses[0]


def fetched(broker: FakeBroker, node: int, version: int = 12, wait: int = 0, **values: Any) -> Any:
    """Return the response to a Fetch, and its one partition."""
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, **values}
    name = {"topic": "orders"} if version < 13 else {"topic_id": metadata(broker, node).topics[0].topic_id}
    topics = [{**name, "partitions": [partition]}]
    found = asked(broker, node, "Fetch", version, max_wait_ms=wait, min_bytes=1, max_bytes=1000, topics=topics)
    return found, found.responses[0].partitions[0]


def test_every_node_names_all_nodes_and_the_leaders_are_spread(broker: FakeBroker) -> None:
    for node in broker.node_ids:
        found = metadata(broker, node)
        told = {one.node_id: f"{one.host}:{one.port}" for one in found.brokers}
        assert told == {one: address(broker, one) for one in (1, 2, 3)} and found.controller_id == 1
        assert [one.leader_id for one in found.topics[0].partitions] == [1, 2, 3, 1]
        assert found.topics[0].partitions[0].isr_nodes == [1, 2, 3]


def test_only_the_leader_takes_and_gives_records(broker: FakeBroker) -> None:
    assert produced(broker, 1)[1].error_code == 0
    assert produced(broker, 2)[1].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetched(broker, 1)[1].error_code == 0
    assert fetched(broker, 3)[1].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    others: list[tuple[str, int, dict[str, Any]]] = [
        ("ListOffsets", 7, {"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}),
        ("DeleteRecords", 2, {"name": "orders", "partitions": [{"partition_index": 0, "offset": 0}]}),
        ("OffsetForLeaderEpoch", 4, {"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": 0}]}),
        ("DescribeProducers", 0, {"name": "orders", "partition_indexes": [0]}),
    ]
    for name, version, topic in others:
        codes = [
            asked(broker, node, name, version, topics=[topic]).topics[0].partitions[0].error_code for node in (1, 2)
        ]
        assert codes == [0, ErrorCode.NOT_LEADER_OR_FOLLOWER], name
    assert [len(broker.records("orders", one)) for one in range(4)] == [1, 0, 0, 0]


@pytest.mark.parametrize(("version", "is_told"), [(9, False), (10, True)])
def test_a_producer_is_told_who_leads_instead_from_version_10_on(
    broker: FakeBroker, version: int, is_told: bool
) -> None:
    found, partition = produced(broker, 2, version=version)
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if is_told:
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 0)
        assert [f"{one.host}:{one.port}" for one in found.node_endpoints] == [address(broker, 1)]


@pytest.mark.parametrize(("version", "is_told"), [(12, False), (15, False), (16, True)])
def test_a_consumer_is_told_who_leads_instead_from_version_16_on(
    broker: FakeBroker, version: int, is_told: bool
) -> None:
    broker.move_leader("orders", 0, to=3)
    for node, epoch, error in ((2, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (3, 0, ErrorCode.FENCED_LEADER_EPOCH)):
        found, partition = fetched(broker, node, version, current_leader_epoch=epoch)
        assert partition.error_code == error
        assert partition.current_leader.leader_id == (3 if is_told else -1)
        if is_told:
            assert partition.current_leader.leader_epoch == 1
            assert [(one.node_id, f"{one.host}:{one.port}") for one in found.node_endpoints] == [
                (3, address(broker, 3))
            ]


def test_leader_epochs_grow_and_records_have_them(broker: FakeBroker) -> None:
    produced(broker, 1)
    produced(broker, 1)
    broker.move_leader("orders", 0, to=2)
    broker.move_leader("orders", 0, to=3)
    assert produced(broker, 3)[1].base_offset == 2
    assert [one.partition_leader_epoch for one in broker.batches("orders")] == [0, 0, 2]
    assert fetched(broker, 3, current_leader_epoch=3)[1].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH

    ends = {}
    for epoch in (-1, 0, 1, 2, 3):
        topics = [{"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": epoch}]}]
        (found,) = asked(broker, 3, "OffsetForLeaderEpoch", 4, topics=topics).topics[0].partitions
        ends[epoch] = found.leader_epoch, found.end_offset
    assert ends == {-1: (-1, -1), 0: (0, 2), 1: (0, 2), 2: (2, 3), 3: (-1, -1)}


def test_a_fetch_that_waits_is_answered_when_the_leader_moves(broker: FakeBroker) -> None:
    found: list[Any] = []
    waiting = Thread(target=lambda: found.append(fetched(broker, 1, wait=60_000)[1]))
    waiting.start()
    broker.wait_until(lambda: bool(broker.requests(ApiKey.FETCH)), TIMEOUT)
    broker.move_leader("orders", 0, to=2)
    waiting.join(TIMEOUT)
    assert [one.error_code for one in found] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_what_a_node_did_goes_to_the_next_one_when_it_stops(broker: FakeBroker) -> None:
    groups = [f"g{number}" for number in range(40)]
    before = {one: broker.coordinator(group=one) for one in groups}
    assert set(before.values()) == {1, 2, 3}
    broker.stop_node(1)
    with pytest.raises(aio.Refused):
        metadata(broker, 1)
    found = metadata(broker, 2)
    assert ([one.node_id for one in found.brokers], found.controller_id) == ([2, 3], 2)
    first, *_, last = found.topics[0].partitions
    assert (first.leader_id, first.leader_epoch, first.isr_nodes, first.offline_replicas) == (2, 1, [2, 3], [1])
    assert last.leader_id == 2
    after = {1: 2, 2: 2, 3: 3}
    assert all(broker.coordinator(group=one) == after[before[one]] for one in groups)
    broker.stop_node(2)
    assert broker.leader("orders") == 3 and broker.controller == 3

    broker.start_node(1)
    found = metadata(broker, 1)
    assert [one.node_id for one in found.brokers] == [1, 3] and found.topics[0].partitions[0].leader_id == 3
    broker.move_leader("orders", 0, to=1)
    assert produced(broker, 1)[1].error_code == 0


def test_a_node_returns_at_its_port_whatever_was_connected_to_it() -> None:
    async def run() -> None:
        async with FakeBroker(nodes=2) as broker:
            async with aio.connect(address(broker, 2), timeout=20) as connection:
                request = MetadataRequest()
                await connection.request(request)
                broker.stop_node(2)
                with pytest.raises(aio.Failure):
                    await connection.request(request)
            broker.start_node(2)
            await asyncio.sleep(0)
            async with asyncio.timeout(TIMEOUT):
                while True:
                    try:
                        async with aio.connect(address(broker, 2), timeout=20) as connection:
                            assert len((await connection.request(request)).brokers) == 2
                            return
                    except aio.Refused:
                        await asyncio.sleep(0.01)

    asyncio.run(run())


def test_a_paused_node_takes_requests_and_answers_them_when_it_goes_on(broker: FakeBroker) -> None:
    broker.pause_node(2)
    found: list[Any] = []
    waiting = Thread(target=lambda: found.append(metadata(broker, 2)))
    waiting.start()
    broker.wait_until(lambda: bool(broker.requests(ApiKey.API_VERSIONS, node=2)), TIMEOUT)
    assert metadata(broker, 1).brokers and not found
    broker.start_node(2)
    waiting.join(TIMEOUT)
    assert len(found) == 1


def test_coordinators_are_those_of_kafkas_hash() -> None:
    nodes = Nodes("h", [0] * 50)  # as many as Kafka's internal topics have partitions
    java = {
        "billing": 9,
        "": 0,
        "payments": 13,
        "my-group": 12,
        "é€😀": 6,
        "polygenelubricants": 0,
    }
    found = {one: nodes.coordinator(CoordinatorType.GROUP, one) - 1 for one in java}
    assert found == java


def test_only_the_coordinator_answers_for_its_group_and_its_transactional_id(broker: FakeBroker) -> None:
    broker.move_coordinator(group="g", to=2)
    broker.move_coordinator(transactional_id="t", to=3)
    found = asked(broker, 1, "FindCoordinator", 6, key_type=0, coordinator_keys=["g"])
    assert found.coordinators[0].node_id == 2
    found = asked(broker, 2, "FindCoordinator", 3, key_type=1, key="t")
    assert (found.node_id, f"{found.host}:{found.port}") == (3, address(broker, 3))

    def error(node: int, name: str, version: int, **fields: Any) -> int:
        answer = asked(broker, node, name, version, **fields)
        for rows in ("groups", "results", "transaction_states"):
            answer = getattr(answer, rows, [answer])[0]
        return int(answer.error_code)

    joining: dict[str, Any] = {"group_id": "g", "session_timeout_ms": 100, "rebalance_timeout_ms": 100}
    joining |= {"member_id": "", "protocol_type": "consumer", "protocols": []}
    of_groups: list[tuple[str, int, dict[str, Any]]] = [
        ("JoinGroup", 9, joining),
        ("Heartbeat", 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}),
        ("LeaveGroup", 5, {"group_id": "g", "members": []}),
        ("DescribeGroups", 5, {"groups": ["g"]}),
        ("DeleteGroups", 2, {"groups_names": ["g"]}),
        ("OffsetFetch", 9, {"groups": [{"group_id": "g", "topics": None}]}),
        ("OffsetFetch", 7, {"group_id": "g", "topics": None}),
        ("OffsetDelete", 0, {"group_id": "g", "topics": []}),
    ]
    producer: dict[str, Any] = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
    of_transactions: list[tuple[str, int, dict[str, Any]]] = [
        ("InitProducerId", 5, {**producer, "transaction_timeout_ms": 1000}),
        ("EndTxn", 4, {**producer, "committed": True}),
        ("EndTxn", 5, {**producer, "committed": True}),
        ("AddOffsetsToTxn", 4, {**producer, "group_id": "g"}),
        ("DescribeTransactions", 0, {"transactional_ids": ["t"]}),
    ]
    for cases, right in ((of_groups, 2), (of_transactions, 3)):
        for name, version, fields in cases:
            for node in (1, 2, 3):
                is_refused = error(node, name, version, **fields) == ErrorCode.NOT_COORDINATOR
                assert is_refused == (node != right), (name, version, node)


def test_groups_and_transactions_are_listed_by_their_coordinators(broker: FakeBroker) -> None:
    CLIENTS["aiokafka"].send(broker.bootstrap_servers, "orders", [b"v"])
    CLIENTS["aiokafka"].read(broker.bootstrap_servers, "orders", 1, "g")
    asked(broker, broker.coordinator(transactional_id="t"), "InitProducerId", 5, transactional_id="t", **NEW)
    listed = {node: [one.group_id for one in asked(broker, node, "ListGroups", 5).groups] for node in (1, 2, 3)}
    assert listed == {node: ["g"] * (node == broker.coordinator(group="g")) for node in (1, 2, 3)}
    transactions = {node: len(asked(broker, node, "ListTransactions", 1).transaction_states) for node in (1, 2, 3)}
    assert transactions == {node: int(node == broker.coordinator(transactional_id="t")) for node in (1, 2, 3)}


def test_only_the_controller_creates_and_deletes_topics(broker: FakeBroker) -> None:
    topics = [{"name": "new", "num_partitions": 1, "replication_factor": -1}]

    def created(node: int) -> int:
        return int(asked(broker, node, "CreateTopics", 7, topics=topics, timeout_ms=100).topics[0].error_code)

    assert created(2) == ErrorCode.NOT_CONTROLLER
    broker.move_controller(to=2)
    assert (metadata(broker).controller_id, created(1), created(2)) == (2, ErrorCode.NOT_CONTROLLER, 0)


@pytest.mark.parametrize("client", with_slow("confluent-kafka"))
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_clients_find_their_way_while_nodes_come_and_go(broker: FakeBroker, client: str) -> None:
    CLIENTS[client].send(broker.bootstrap_servers, "orders", [b"a"])
    broker.move_leader("orders", 0, to=2)
    broker.move_coordinator(group="g", to=3)
    CLIENTS[client].send(broker.bootstrap_servers, "orders", [b"b"])
    assert CLIENTS[client].read(broker.bootstrap_servers, "orders", 2, "g") == [b"a", b"b"]
    broker.stop_node(2)
    broker.stop_node(broker.coordinator(group="g"))
    CLIENTS[client].send(broker.bootstrap_servers, "orders", [b"c"])
    assert CLIENTS[client].read(broker.bootstrap_servers, "orders", 1, "g") == [b"c"]


def test_a_rebalance_that_waits_is_refused_when_its_coordinator_moves(broker: FakeBroker) -> None:
    broker.move_coordinator(group="g", to=1)
    protocols = [{"name": "range", "metadata": b""}]
    fields: dict[str, Any] = {"group_id": "g", "session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    fields |= {"member_id": "", "protocol_type": "consumer", "protocols": protocols}
    assert asked(broker, 1, "JoinGroup", 3, **fields).error_code == 0
    found: list[Any] = []
    waiting = Thread(target=lambda: found.append(asked(broker, 1, "JoinGroup", 3, **fields)))
    waiting.start()
    broker.wait_until(lambda: len(broker.group("g").members) == 2, TIMEOUT)
    broker.move_coordinator(group="g", to=2)
    waiting.join(TIMEOUT)
    assert [one.error_code for one in found] == [ErrorCode.NOT_COORDINATOR]


def test_the_clock_ends_sessions_transactions_and_fetches(broker: FakeBroker) -> None:
    found: list[Any] = []
    waiting = Thread(target=lambda: found.append(fetched(broker, 1, wait=600_000)[1]))
    waiting.start()
    broker.wait_until(lambda: bool(broker.requests(ApiKey.FETCH)), TIMEOUT)
    broker.advance(601)
    waiting.join(TIMEOUT)
    assert [one.error_code for one in found] == [0]

    node = broker.coordinator(group="g")
    fields: dict[str, Any] = {"group_id": "g", "session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    fields |= {"protocols": [{"name": "range", "metadata": b""}], "protocol_type": "consumer"}
    asked(broker, node, "JoinGroup", 3, member_id="", **fields)
    broker.advance(59)
    assert len(broker.group("g").members) == 1
    broker.advance(2)
    assert broker.group("g").state == "Empty"

    node = broker.coordinator(transactional_id="t")
    begun = asked(broker, node, "InitProducerId", 4, transactional_id="t", **NEW)
    producer: dict[str, Any] = {"transactional_id": "t", "producer_id": begun.producer_id, "producer_epoch": 0}
    assert asked(broker, node, "AddOffsetsToTxn", 3, **producer, group_id="g").error_code == 0
    broker.advance(61)
    assert asked(broker, node, "EndTxn", 3, **producer, committed=True).error_code == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda broker: FakeBroker(nodes=0), "nodes must be 1 or more, not 0"),
        (lambda broker: broker.move_leader("orders", 0, to=4), "there is no node 4; the nodes are 1 to 3"),
        (lambda broker: broker.move_controller(to=3), "node 3 is stopped"),
        (lambda broker: broker.move_coordinator(group="g", to=3), "node 3 is stopped"),
        (lambda broker: broker.coordinator(), "give either a group or a transactional id"),
        (lambda broker: broker.advance(-1), "seconds must be 0 or more, not -1"),
        (lambda broker: broker.stop_node(0), "there is no node 0"),
        (lambda broker: broker.fail(ApiKey.FETCH, 1, node=9), "there is no node 9"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(broker: FakeBroker, wrong: Any, reason: str) -> None:
    broker.stop_node(3)
    with pytest.raises(ValueError, match=reason):
        wrong(broker)


@pytest.mark.parametrize("name", ["DescribeAcls", "DescribeClientQuotas", "ShareFetch", "StreamsGroupHeartbeat"])
def test_a_request_for_what_is_not_included_is_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, broker: FakeBroker, name: str
) -> None:
    newest = versions(f"{name}Request")[-1]
    request: Any = of_defaults(message(f"{name}Request", newest))
    with caplog.at_level(logging.WARNING, "kipwire.testing"), Connection(broker) as connection:
        fields = {one.name: getattr(request, one.name) for one in request.ATTRIBUTES}
        assert connection.ask(request.API_KEY, request.VERSION, **fields) is None
    (line,) = [one.getMessage() for one in caplog.records if one.name == "kipwire.testing"]
    reason = f"does not serve {ApiKey.text(request.API_KEY)} in version {newest}"
    assert reason in line
    with pytest.raises(AssertionError, match=reason):
        broker.check()
    broker.clear_requests()
    broker.check()


@pytest.mark.parametrize(
    ("host", "port", "told"),
    [
        ("kafka.example", None, None),
        ("kafka.example", 29092, ["kafka.example:29092", "kafka.example:29093"]),
        (None, 29092, ["127.0.0.1:29092", "127.0.0.1:29093"]),
        ("::1", 29092, ["[::1]:29092", "[::1]:29093"]),
        ("[::1]", 29092, ["[::1]:29092", "[::1]:29093"]),
    ],
)
def test_clients_are_told_the_advertised_addresses(host: str | None, port: int | None, told: list[str] | None) -> None:
    with FakeBroker(nodes=2, advertised_host=host, advertised_port=port) as broker:
        own = [broker._node.nodes[one].listens_at for one in broker.node_ids]
        told = told or [f"{host}:{one}" for one in own]
        assert broker.bootstrap_servers == ",".join(told)

        async def ask() -> list[tuple[str, int]]:
            async with aio.connect(("127.0.0.1", own[1])) as connection:
                return [(one.host, one.port) for one in (await connection.request(MetadataRequest(topics=[]))).brokers]

        assert asyncio.run(ask()) == [aio.parse_address(one) for one in told]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"advertised_host": "kafka:9092"}, "give the port as advertised_port"),
        ({"advertised_host": "a b"}, "'a b' is not a valid address"),
        ({"advertised_host": "http://x"}, "'http://x' is not a valid address"),
        ({"advertised_port": 0}, "must be from 1 to 65,534 for 2 nodes, not 0"),
        ({"advertised_port": 65535}, "must be from 1 to 65,534 for 2 nodes, not 65,535"),
    ],
)
def test_an_advertised_address_that_is_none_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FakeBroker(nodes=2, **wrong)

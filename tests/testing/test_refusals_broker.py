"""The fake broker refuses what Kafka refuses, with the same error codes. For `make test-broker`."""

from __future__ import annotations

import socket
from time import monotonic, sleep
from typing import Any
from uuid import UUID, uuid4

import pytest

import kafka_messages
from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import ClientConnection
from kipwire.testing import FakeBroker
from tests.support.live.real_broker import ADDRESS
from tests.support.subjects.fake_broker_requests import batch, error_codes, request

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

TIMEOUT = 30.0
UNKNOWN_ID = UUID(int=77)
NOT_YET = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
STILL = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


class Talk:
    """Requests on one connection; keeps the error codes of each response, in the order of numbers."""

    def __init__(self, address: str, name: str) -> None:
        host, _, port = address.rpartition(":")
        self.name = name
        self.codes: dict[str, list[str]] = {}
        self._socket = socket.create_connection((host, int(port)), timeout=TIMEOUT)
        self._connection = ClientConnection(kafka_messages.REGISTRY, "tests")

    def close(self) -> None:
        self._socket.close()

    def ask(self, label: str, api: ApiKey, version: int, retried: set[ErrorCode] = NOT_YET, /, **values: Any) -> Any:
        """Return the response; repeat the request while Kafka is not ready, unlike the fake broker."""
        until = monotonic() + TIMEOUT
        while True:
            body = self._once(request(api, version, values).body)
            codes = sorted(error_codes(body))
            if not retried & set(codes) or monotonic() > until:
                assert label not in self.codes
                self.codes[label] = [ErrorCode.text(code) for code in codes]
                return body
            sleep(0.1)

    def _once(self, body: Any) -> Any:
        self._socket.sendall(self._connection.send(body))
        while data := self._socket.recv(65536):
            self._connection.receive_data(data)
            for event in self._connection.events():
                return kafka_messages.REGISTRY.decode_response(event.raw, type(body)).body
        raise ConnectionError("the broker has closed the connection")


def topics(talk: Talk) -> None:
    new: dict[str, Any] = {"num_partitions": 2, "replication_factor": 1}
    asked = [{"name": talk.name, **new}, {"name": "a b", **new}, {"name": "z", **new, "num_partitions": 0}]
    talk.ask("create", ApiKey.CREATE_TOPICS, 7, topics=asked)
    talk.ask("describe", ApiKey.METADATA, 12, STILL, topics=[{"name": talk.name}])
    talk.ask("create again", ApiKey.CREATE_TOPICS, 7, topics=asked)
    unknown = [{"name": "unknown"}, {"name": "a b"}]
    talk.ask("unknown", ApiKey.METADATA, 12, topics=unknown, allow_auto_topic_creation=False)
    talk.ask("unknown id", ApiKey.METADATA, 12, topics=[{"name": None, "topic_id": UNKNOWN_ID}])
    counts = [{"name": name, "count": 2, "assignments": None} for name in (talk.name, "unknown")]
    talk.ask("extend", ApiKey.CREATE_PARTITIONS, 3, topics=counts, timeout_ms=5000)
    talk.ask("configs", ApiKey.DESCRIBE_CONFIGS, 4, resources=[{"resource_type": 2, "resource_name": "unknown"}])


def records(talk: Talk) -> None:
    good = batch(b"a")

    def produce(label: str, data: bytes, partition: int = 0, version: int = 12, acks: int = -1, **names: Any) -> None:
        topic = {"name": talk.name, **names, "partition_data": [{"index": partition, "records": data}]}
        talk.ask(f"produce {label}", ApiKey.PRODUCE, version, acks=acks, timeout_ms=5000, topic_data=[topic])

    produce("good", good)
    produce("to no partition", good, 9)
    produce("to no topic", good, name="unknown")
    produce("to no id", good, version=13, topic_id=UNKNOWN_ID)
    produce("with wrong acks", good, acks=2)
    wrong = {"corrupt": good[:-1] + b"\7", "two": good + good, "nothing": b"", "control": batch(b"a", is_control=True)}
    for label, data in {**wrong, "a gap": batch(b"a", last_offset_delta=3)}.items():
        produce(label, data)
    producer_id = talk.ask("begin", ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None).producer_id
    numbers = [(0, at) for at in range(7)] + [(0, 6), (0, 9), (0, 0), (1, 5), (1, 0), (0, 7)]
    for at, (epoch, sequence) in enumerate(numbers):
        fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
        produce(f"sequence {at}", batch(b"x", **fields), 1)
    parts = [{"fetch_offset": 99}, {"fetch_offset": -1}, {"partition": 7}, {"current_leader_epoch": 5}, {}]
    for at, part in enumerate(parts):
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, **part}
        limits = {"max_wait_ms": 10, "min_bytes": 1, "max_bytes": 1000}
        talk.ask(f"fetch {at}", ApiKey.FETCH, 12, **limits, topics=[{"topic": talk.name, "partitions": [partition]}])
    talk.ask("fetch in a session", ApiKey.FETCH, 12, max_bytes=1000, session_id=5, session_epoch=1)
    for part in ({"partition_index": 7}, {"current_leader_epoch": 4}, {}):
        listed = {"name": talk.name, "partitions": [{"partition_index": 0, "timestamp": -1, **part}]}
        talk.ask(f"list {part}", ApiKey.LIST_OFFSETS, 9, topics=[listed])


def groups(talk: Talk) -> None:
    unknown: dict[str, Any] = {"group_id": f"{talk.name}-unknown", "generation_id": 1, "member_id": "m"}
    protocol: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
    talk.ask("find", ApiKey.FIND_COORDINATOR, 4, coordinator_keys=[talk.name])
    talk.ask("sync of no group", ApiKey.SYNC_GROUP, 5, **unknown, **protocol)
    # After it: while Kafka loads a group's partition it says so to a sync, but answers any heartbeat without an error.
    talk.ask("heartbeat of no group", ApiKey.HEARTBEAT, 4, **unknown)
    talk.ask("sync without protocol", ApiKey.SYNC_GROUP, 5, **unknown)
    talk.ask("leave no group", ApiKey.LEAVE_GROUP, 5, **unknown, members=[{"member_id": "m"}])
    talk.ask("leave no group before 3", ApiKey.LEAVE_GROUP, 2, **unknown)
    for version in (5, 6):
        talk.ask(f"describe no group in {version}", ApiKey.DESCRIBE_GROUPS, version, groups=["unknown"])

    def commit(label: str, generation: int, member_id: str, name: str = talk.name) -> None:
        parts = [{"partition_index": at, "committed_offset": 1, "committed_metadata": ""} for at in (0, 9)]
        who = {"group_id": name, "generation_id_or_member_epoch": generation, "member_id": member_id}
        talk.ask(f"commit {label}", ApiKey.OFFSET_COMMIT, 8, **who, topics=[{"name": talk.name, "partitions": parts}])

    commit("to no group", 1, "m", "unknown")
    metadata = [{"name": "range", "metadata": bytes.fromhex("0000 00000000 ffffffff")}]
    joining: dict[str, Any] = {
        "group_id": talk.name,
        "session_timeout_ms": 10000,
        "rebalance_timeout_ms": 10000,
        "protocols": metadata,
    }
    joining |= {"member_id": "", "protocol_type": "consumer"}
    wrong_ones: list[dict[str, Any]] = [{"member_id": "unknown"}, {"group_id": ""}, {"protocols": []}]
    for wrong in wrong_ones:
        talk.ask(f"join with {wrong}", ApiKey.JOIN_GROUP, 9, **{**joining, **wrong})
    me = talk.ask("join", ApiKey.JOIN_GROUP, 9, **joining).member_id
    generation = talk.ask("join with an id", ApiKey.JOIN_GROUP, 9, **{**joining, "member_id": me}).generation_id
    member: dict[str, Any] = {"group_id": talk.name, "generation_id": generation, "member_id": me}
    talk.ask("join as another type", ApiKey.JOIN_GROUP, 3, **{**joining, "protocol_type": "connect"})
    commit("too early", generation, me)
    talk.ask("heartbeat too early", ApiKey.HEARTBEAT, 4, **member)
    wrong_ones = [{"generation_id": 77}, {"protocol_name": "sticky"}]
    for wrong in wrong_ones:
        talk.ask(f"sync with {wrong}", ApiKey.SYNC_GROUP, 5, **{**member, **protocol, **wrong})
    assignments = [{"member_id": me, "assignment": b"a"}]
    talk.ask("sync", ApiKey.SYNC_GROUP, 5, **member, **protocol, assignments=assignments)
    talk.ask("heartbeat", ApiKey.HEARTBEAT, 4, **member)
    talk.ask("heartbeat of before", ApiKey.HEARTBEAT, 4, **{**member, "generation_id": 77})
    cases = {"": (generation, me), "of before": (77, me), "of nobody": (generation, "q"), "from outside": (-1, "")}
    for label, who in cases.items():
        commit(label, *who)
    talk.ask("delete too early", ApiKey.DELETE_GROUPS, 2, groups_names=[talk.name, "unknown"])
    talk.ask("leave", ApiKey.LEAVE_GROUP, 5, group_id=talk.name, members=[{"member_id": me}, {"member_id": "q"}])
    commit("from outside when empty", -1, "")
    talk.ask("delete", ApiKey.DELETE_GROUPS, 2, groups_names=[talk.name])


def transactions(talk: Talk) -> None:
    names: dict[str, Any] = {"transactional_id": talk.name}
    talk.ask("find for transactions", ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=[talk.name])
    talk.ask("end unknown", ApiKey.END_TXN, 3, **names, producer_id=5, producer_epoch=0, committed=True)
    begun = talk.ask("begin a", ApiKey.INIT_PRODUCER_ID, 4, **names, transaction_timeout_ms=10000)
    producer = {**names, "producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
    talk.ask("end nothing", ApiKey.END_TXN, 3, **producer, committed=True)
    for label, partitions, epoch in (("unknown", [0, 9], 0), ("fenced", [0], 7), ("known", [0], 0)):
        values = {**producer, "producer_epoch": epoch, "topics": [{"name": talk.name, "partitions": partitions}]}
        values = {f"v3_and_below_{name}": value for name, value in values.items()}
        talk.ask(f"add {label}", ApiKey.ADD_PARTITIONS_TO_TXN, 3, set(), **values)
    talk.ask("commit a", ApiKey.END_TXN, 3, **producer, committed=True)
    retried = {ErrorCode.CONCURRENT_TRANSACTIONS}
    talk.ask("commit a again", ApiKey.END_TXN, 3, retried, **producer, committed=True)
    talk.ask("abort a after that", ApiKey.END_TXN, 3, retried, **producer, committed=False)
    talk.ask("begin b", ApiKey.INIT_PRODUCER_ID, 4, retried, **names, transaction_timeout_ms=10000)
    for version in (1, 3):
        talk.ask(f"commit as a fenced one in {version}", ApiKey.END_TXN, version, **producer, committed=True)


def the_end(talk: Talk) -> None:
    named = [{"name": talk.name}, {"name": "unknown"}, {"name": None, "topic_id": UNKNOWN_ID}]
    talk.ask("delete topics", ApiKey.DELETE_TOPICS, 6, topics=named, timeout_ms=5000)


def error_codes_of(address: str, name: str) -> dict[str, list[str]]:
    """Return the error codes in each response of the whole conversation."""
    talk = Talk(address, name)
    try:
        for part in (topics, records, groups, transactions, the_end):
            part(talk)
    finally:
        talk.close()
    return talk.codes


@pytest.mark.smoke
def test_wrong_requests_get_the_error_codes_that_kafka_gives() -> None:
    name = f"like-kafka-{uuid4()}"
    kafka = error_codes_of(ADDRESS, name)
    with FakeBroker() as broker:
        fake = error_codes_of(broker.bootstrap_servers, name)
    assert fake == kafka
    assert len(kafka) > 70

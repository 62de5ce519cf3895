"""Requests of every API that the fake broker serves, in every version, and a node that can answer them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire import Message, build
from kipwire.connection import Request
from kipwire.records import Record, read_batches, write_batch
from kipwire.testing.broker import server
from kipwire.testing.broker.apis import SERVED
from kipwire.testing.broker.interceptors import Call, Interceptors, Step
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.nodes import Nodes
from kipwire.testing.broker.state.topics import Topics

REGISTRY = kafka_messages.REGISTRY
TOPIC = "orders"
GROUP = "billing"
TRANSACTIONAL_ID = "payments"
ALONE = {"member_id": "", "group_instance_id": None}


def node(**settings: Any) -> Node:
    """Return a node with the topic `orders` of two partitions; the first has three records."""
    nodes = Nodes("127.0.0.1", [9])
    made = Node(dict(SERVED), nodes, Topics(nodes.leader_of_new), **settings)
    made.topics.create(TOPIC, 2, {"retention.ms": "1000"})
    for number in range(3):
        made.topics.named(TOPIC).partition(0).append(batch(b"v%d" % number, timestamp=1000 + number))
    return made


def batch(*values: bytes, timestamp: int = 1000, **fields: Any) -> bytes:
    """Return a batch as a producer sends it."""
    records = [Record(offset=at, timestamp=timestamp, value=value) for at, value in enumerate(values)]
    return write_batch(records, **fields)


def request(api: int, version: int, values: dict[str, Any], client_id: str = "tests") -> Request:
    """Return a request as it comes over a connection; values of other versions are left out."""
    cls = REGISTRY.request(api, version)
    body = build(cls, _known(cls, values))
    return Request(REGISTRY, REGISTRY.encode_request(body, 7, client_id))


async def answer(to: Node, asked: Request, fault: Step | None = None) -> Message:
    """Return the response that a node gives, with a fault or without."""
    interceptors = Interceptors(to)
    if fault is not None:
        interceptors.add(asked.api_key, fault, None, None, None)
    return await server.answer(Call(to, asked), interceptors)


def ask(to: Node, asked: Request, fault: Step | None = None) -> Any:
    """Return the response, as the client reads it."""
    body = asyncio.run(asyncio.wait_for(answer(to, asked, fault), 10))
    return REGISTRY.decode_response(REGISTRY.encode_response(body, 7), type(asked.body)).body


def ask_newest(to: Node, api: int, values: dict[str, Any]) -> Any:
    """Return the response to a request in the newest version that is served."""
    return ask(to, request(api, SERVED[api][-1], values))


def error_codes(body: Any) -> list[int]:
    """Return all error codes in a message."""
    found: list[int] = []
    for field in body.ATTRIBUTES:
        value = getattr(body, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found.append(value)
        if field.struct is not None and value is not None:
            for one in value if field.array else [value]:
                found += error_codes(one)
    return found


def _known(cls: Any, values: Any) -> dict[str, Any]:
    """Return the values that a struct has fields for."""
    fields = {field.name: field for field in cls.ATTRIBUTES}
    return {name: _value(fields[name], value) for name, value in values.items() if name in fields}


def _value(field: Any, value: Any) -> Any:
    if field.struct is None or value is None:
        return value
    return [_known(field.struct, one) for one in value] if field.array else _known(field.struct, value)


def examples(to: Node) -> dict[int, dict[str, Any]]:
    """Return a request of each API, as plain values for all versions, with one value for each version's own fields."""
    topic_id: UUID = to.topics.named(TOPIC).topic_id
    both = {"name": TOPIC, "topic": TOPIC, "topic_id": topic_id}
    producer = {"transactional_id": TRANSACTIONAL_ID, "producer_id": 1000, "producer_epoch": 0}
    offsets = [{"partition_index": 0, "committed_offset": 2, "committed_metadata": "m"}]
    member = {"group_id": GROUP, **ALONE}
    resource = {"resource_type": 2, "resource_name": TOPIC}
    return {
        ApiKey.PRODUCE: {
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [{**both, "partition_data": [{"index": 1, "records": batch(b"new")}]}],
        },
        ApiKey.FETCH: {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1000,
            "topics": [{**both, "partitions": [{"partition": 0, "fetch_offset": 1, "partition_max_bytes": 1000}]}],
        },
        ApiKey.LIST_OFFSETS: {"topics": [{**both, "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
        ApiKey.METADATA: {"topics": [{"name": TOPIC}]},
        ApiKey.OFFSET_COMMIT: {
            **member,
            "generation_id_or_member_epoch": -1,
            "retention_time_ms": -1,
            "topics": [{**both, "partitions": offsets}],
        },
        ApiKey.OFFSET_FETCH: {
            "group_id": GROUP,
            "topics": [{**both, "partition_indexes": [0, 1]}],
            "groups": [{"group_id": GROUP, "topics": [{**both, "partition_indexes": [0, 1]}]}],
        },
        ApiKey.SASL_HANDSHAKE: {"mechanism": "PLAIN"},
        ApiKey.SASL_AUTHENTICATE: {"auth_bytes": b""},
        ApiKey.FIND_COORDINATOR: {"key": GROUP, "coordinator_keys": [GROUP]},
        ApiKey.JOIN_GROUP: {
            **member,
            "session_timeout_ms": 1000,
            "rebalance_timeout_ms": 1000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"m"}],
        },
        ApiKey.SYNC_GROUP: {**member, "generation_id": 1},
        ApiKey.HEARTBEAT: {**member, "generation_id": 1},
        ApiKey.LEAVE_GROUP: {**member, "members": [ALONE]},
        ApiKey.DESCRIBE_GROUPS: {"groups": [GROUP]},
        ApiKey.LIST_GROUPS: {},
        ApiKey.API_VERSIONS: {},
        ApiKey.CREATE_TOPICS: {"topics": [{"name": "new", "num_partitions": 3, "replication_factor": 1}]},
        ApiKey.DELETE_TOPICS: {"topic_names": [TOPIC], "topics": [{"name": TOPIC}]},
        ApiKey.INIT_PRODUCER_ID: {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": 1000},
        ApiKey.OFFSET_FOR_LEADER_EPOCH: {"topics": [{**both, "partitions": [{"partition": 0, "leader_epoch": 0}]}]},
        ApiKey.ADD_PARTITIONS_TO_TXN: {
            **{f"v3_and_below_{name}": value for name, value in producer.items()},
            "v3_and_below_topics": [{"name": TOPIC, "partitions": [0]}],
            "transactions": [{**producer, "topics": [{"name": TOPIC, "partitions": [0]}]}],
        },
        ApiKey.ADD_OFFSETS_TO_TXN: {**producer, "group_id": GROUP},
        ApiKey.TXN_OFFSET_COMMIT: {**producer, **member, "topics": [{**both, "partitions": offsets}]},
        ApiKey.END_TXN: {**producer, "committed": True},
        ApiKey.WRITE_TXN_MARKERS: {
            "markers": [
                {
                    "producer_id": producer["producer_id"],
                    "producer_epoch": producer["producer_epoch"],
                    "transaction_result": False,
                    "topics": [{"name": TOPIC, "partition_indexes": [0]}],
                    "coordinator_epoch": 0,
                }
            ]
        },
        ApiKey.DESCRIBE_CONFIGS: {"resources": [{**resource, "configuration_keys": None}]},
        ApiKey.CREATE_PARTITIONS: {"topics": [{"name": TOPIC, "count": 5, "assignments": None}]},
        ApiKey.DELETE_GROUPS: {"groups_names": [GROUP]},
        ApiKey.DESCRIBE_CLUSTER: {},
        ApiKey.DELETE_RECORDS: {"topics": [{**both, "partitions": [{"partition_index": 0, "offset": 2}]}]},
        ApiKey.ALTER_CONFIGS: {"resources": [{**resource, "configs": [{"name": "flush.ms", "value": "5"}]}]},
        ApiKey.INCREMENTAL_ALTER_CONFIGS: {
            "resources": [{**resource, "configs": [{"name": "flush.ms", "config_operation": 0, "value": "5"}]}]
        },
        ApiKey.DESCRIBE_LOG_DIRS: {"topics": [{**both, "partitions": [0]}]},
        ApiKey.LIST_PARTITION_REASSIGNMENTS: {"topics": [{**both, "partition_indexes": [0]}]},
        ApiKey.OFFSET_DELETE: {"group_id": GROUP, "topics": [{**both, "partitions": [{"partition_index": 0}]}]},
        ApiKey.DESCRIBE_PRODUCERS: {"topics": [{**both, "partition_indexes": [0]}]},
        ApiKey.DESCRIBE_TRANSACTIONS: {"transactional_ids": [TRANSACTIONAL_ID]},
        ApiKey.LIST_TRANSACTIONS: {},
        ApiKey.CONSUMER_GROUP_HEARTBEAT: {
            "group_id": GROUP,
            "member_id": "m",
            "member_epoch": 0,
            "rebalance_timeout_ms": 1000,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        },
        ApiKey.CONSUMER_GROUP_DESCRIBE: {"group_ids": [GROUP]},
    }


def message(api: int, version: int) -> type[Message]:
    """Return the class of a request."""
    return REGISTRY.request(api, version)


def fetch(to: Node, *partitions: dict[str, Any], version: int = 12, **values: Any) -> Any:
    """Return the response to a Fetch of partitions of `orders`."""
    usual = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10_000}
    topics = [{"topic": TOPIC, "partitions": [{**usual, **one} for one in partitions or ({},)]}]
    body = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 10_000, "topics": topics, **values}
    return ask(to, request(ApiKey.FETCH, version, body))


def fetched(response: Any) -> list[list[bytes | None]]:
    """Return the values in each partition."""
    return [
        [record.value for one in read_batches(partition.records) for record in one.records]
        for topic in response.responses
        for partition in topic.partitions
    ]


def produce(to: Node, data: bytes, partition: int = 0, acks: int = -1, **names: Any) -> Any:
    """Return the response for one partition."""
    topic = {"name": TOPIC, **names, "partition_data": [{"index": partition, "records": data}]}
    version = 13 if "topic_id" in names else 12
    body = ask(to, request(ApiKey.PRODUCE, version, {"acks": acks, "timeout_ms": 1, "topic_data": [topic]}))
    return body.responses[0].partition_responses[0]

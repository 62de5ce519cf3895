"""Cases of topics, of the cluster, and of requests that are not served."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka_messages.enums import ApiKey
from tests.support.broker_cases.talking import STILL, Talk

UNKNOWN_ID = UUID(int=77)
NO_ID = UUID(int=0)
_REMOVED = (
    *((ApiKey.PRODUCE, 2), (ApiKey.FETCH, 3), (ApiKey.OFFSET_COMMIT, 1), (ApiKey.DESCRIBE_CONFIGS, 0)),
    *((ApiKey.CREATE_TOPICS, 1), (ApiKey.LIST_OFFSETS, 0), (ApiKey.JOIN_GROUP, 1), (ApiKey.DELETE_TOPICS, 0)),
)
"""Versions that Kafka 4 has removed."""


def new(name: str, partitions: int = 1, replicas: int = 1, **values: Any) -> dict[str, Any]:
    """Return a topic of CreateTopics."""
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas, **values}


def create(talk: Talk) -> None:
    """Topics are created, or not."""
    name = talk.name

    def ask(case: str, *asked: dict[str, Any], version: int = 5, **values: Any) -> None:
        talk.ask(case, ApiKey.CREATE_TOPICS, version, timeout_ms=5000, topics=list(asked), **values)

    ask("create", new(f"{name}-t", 2), version=7)
    talk.ask("metadata", ApiKey.METADATA, 12, STILL, topics=[{"name": f"{name}-t"}])
    ask("create again", new(f"{name}-t", 2), version=7)
    ask("create validate only", new(f"{name}-v", 2), version=7, validate_only=True)
    for label in ("", ".", "..", "a b", "x" * 250, "é", "__consumer_offsets"):
        ask(f"create name {label[:8]!r}", new(label))
    ask("create name with a dot", new(f"{name}.a"))
    ask("create name that collides", new(f"{name}_a"))
    for count, replicas in ((0, 1), (-2, 1), (-1, -1), (1, 0), (1, -2), (1, 9), (0, 0)):
        ask(f"create partitions {count} replication {replicas}", new(f"{name}q{count}{replicas}", count, replicas))
    ask("create twice in one request", *[new(f"{name}w")] * 2, new(f"{name}x"))
    at = [{"partition_index": 0, "broker_ids": [1]}, {"partition_index": 1, "broker_ids": [1]}]
    ask("create assignment", new(f"{name}as", -1, -1, assignments=at))
    ask("create assignment and count", new(f"{name}as2", 2, -1, assignments=at))
    ask("create assignment and replication", new(f"{name}as3", -1, 1, assignments=at))
    ask("create assignment with a gap", new(f"{name}as4", -1, -1, assignments=at[1:]))
    ask("create assignment twice", new(f"{name}as5", -1, -1, assignments=at[:1] * 2))
    ask("create assignment to nobody", new(f"{name}as6", -1, -1, assignments=[{"partition_index": 0}]))
    wrong = {"no.such": "1", "retention.ms": "long", "cleanup.policy": "keep", "min.insync.replicas": "0"}
    for at_fault, value in {**wrong, "flush.ms": None}.items():
        label = "create unknown config" if at_fault == "no.such" else f"create config {at_fault}={value}"
        ask(label, new(f"{name}cf{at_fault}", configs=[{"name": at_fault, "value": value}]))
    ask("create config", new(f"{name}cg", configs=[{"name": "retention.ms", "value": " 1000 "}]))
    for count in (9_999, 10_000, 10_001, 2**31 - 1):
        ask(f"create partitions {count}", new(f"{name}many", count), validate_only=True)
    ask("create too many in one request", new(f"{name}m1", 6_000), new(f"{name}m2", 6_000), validate_only=True)


def extend_and_delete(talk: Talk) -> None:
    """Topics get more partitions, and are deleted, or not."""
    name = talk.name

    def extend(case: str, *counts: tuple[str, int], **values: Any) -> None:
        asked = [{"name": one, "count": count, "assignments": None, **values} for one, count in counts]
        talk.ask(case, ApiKey.CREATE_PARTITIONS, 3, timeout_ms=5000, validate_only=True, topics=asked)

    extend("create partitions fewer", (f"{name}-t", 1))
    extend("create partitions same", (f"{name}-t", 2))
    extend("create partitions unknown", (f"{name}none", 3))
    extend("create partitions more", (f"{name}-t", 4))
    extend("create partitions twice in one request", (f"{name}-t", 4), (f"{name}-t", 5))
    extend("create partitions too few assignments", (f"{name}-t", 4), assignments=[{"broker_ids": [1]}])
    extend("create partitions assignments", (f"{name}-t", 3), assignments=[{"broker_ids": [1]}])
    for count in (10_001, 10_002, 10_003, 2**31 - 1):
        extend(f"create partitions more {count}", (f"{name}-t", count))

    def delete(case: str, *asked: dict[str, Any], version: int = 6) -> None:
        names = [one["name"] for one in asked]
        talk.ask(case, ApiKey.DELETE_TOPICS, version, timeout_ms=5000, topics=list(asked), topic_names=names)

    delete("delete unknown", {"name": f"{name}none"}, version=5)
    delete("delete unknown id", {"name": None, "topic_id": UNKNOWN_ID})
    delete("delete name and id", {"name": f"{name}-t", "topic_id": UNKNOWN_ID})
    delete("delete neither", {"name": None, "topic_id": NO_ID})
    delete("delete twice in one request", *[{"name": f"{name}-t"}] * 2)
    delete("delete unknown id twice", *[{"name": None, "topic_id": UNKNOWN_ID}] * 2)


def describe(talk: Talk) -> None:
    """Describe topics and configurations."""
    name, unknown = talk.name, f"{talk.name}none"

    def ask(case: str, version: int, asked: dict[str, Any], may_create: bool = False) -> None:
        talk.ask(case, ApiKey.METADATA, version, topics=[asked], allow_auto_topic_creation=may_create)

    ask("metadata unknown no create", 9, {"name": unknown})
    ask("metadata invalid name", 9, {"name": "a b"}, True)
    ask("metadata unknown id", 12, {"name": None, "topic_id": UNKNOWN_ID})
    for version in (10, 11, 12):
        ask(f"metadata neither in v{version}", version, {"name": None, "topic_id": NO_ID})
        ask(f"metadata name and id in v{version}", version, {"name": f"{name}-t", "topic_id": UNKNOWN_ID})

    def configs(case: str, kind: int, of: str) -> None:
        asked = [{"resource_type": kind, "resource_name": of, "configuration_keys": ["flush.ms"]}]
        talk.ask(case, ApiKey.DESCRIBE_CONFIGS, 4, resources=asked)

    configs("describe configs unknown topic", 2, unknown)
    configs("describe configs invalid topic", 2, "a b")
    configs("describe configs type 99", 99, "x")
    configs("describe configs broker 9", 4, "9")


def cluster(talk: Talk) -> None:
    """Find coordinators and nodes. The first such request makes Kafka's own topics, such as `__consumer_offsets`."""
    for kind in (9, 0, 1):
        for label, key in (("empty", ""), ("key", f"{talk.name}-k")):
            case = f"find coordinator {label} type {kind}"
            talk.ask(case, ApiKey.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=[key])
    for label, kind in (("", 1), (" controllers", 2), (" of an unknown type", 9)):
        talk.ask(f"describe cluster{label}", ApiKey.DESCRIBE_CLUSTER, 1, endpoint_type=kind)


def removed(talk: Talk) -> None:
    """Delete the topic; call versions that Kafka has removed, and APIs that the fake broker lacks."""
    talk.ask("delete topic", ApiKey.DELETE_TOPICS, 5, timeout_ms=5000, topic_names=[f"{talk.name}-t"])
    talk.ask("delete topic that is gone", ApiKey.DELETE_TOPICS, 5, timeout_ms=5000, topic_names=[f"{talk.name}-t"])
    for api, version in _REMOVED:
        talk.ask(f"{api.name} v{version}", api, version)
    talk.ask("PRODUCE v2 with acks=0", ApiKey.PRODUCE, 2, acks=0)
    talk.ask("DESCRIBE_ACLS v3", ApiKey.DESCRIBE_ACLS, 3)

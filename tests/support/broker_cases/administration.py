"""Cases of the APIs that administrators call: deleted records, settings, folders of logs, reassignments."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey
from tests.support.broker_cases.producing import batch, produce
from tests.support.broker_cases.talking import STILL, Talk
from tests.support.broker_cases.topics import new

_TOPIC, _BROKER = 2, 4
"""Kinds of resources with settings."""
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
"""Operations on a setting."""


def records(talk: Talk) -> None:
    """Delete records, with success and without."""
    name = f"{talk.name}-r"
    talk.ask("create for deleting records", ApiKey.CREATE_TOPICS, 5, timeout_ms=5000, topics=[new(name, 2)])
    talk.ask("metadata for deleting records", ApiKey.METADATA, 12, STILL, topics=[{"name": name}])
    for number in range(3):
        produce(talk, f"produce for deleting records {number}", batch(3), name=name, retried=STILL)

    def delete(case: str, *offsets: tuple[int, int], topic: str = name, version: int = 2) -> None:
        partitions = [{"partition_index": index, "offset": offset} for index, offset in offsets]
        topics = [{"name": topic, "partitions": partitions}]
        talk.ask(
            f"delete records {case}",
            ApiKey.DELETE_RECORDS,
            version,
            timeout_ms=5000,
            topics=topics,
            also=("low_watermark",),
        )

    def first(case: str, timestamp: int = -2) -> None:
        topics = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}]
        talk.ask(f"list offsets {case}", ApiKey.LIST_OFFSETS, 5, replica_id=-1, topics=topics)

    def fetch(case: str, offset: int) -> None:
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 10**6}
        topics = [{"topic": name, "partitions": [partition]}]
        talk.ask(f"fetch {case}", ApiKey.FETCH, 11, max_wait_ms=100, min_bytes=0, max_bytes=10**6, topics=topics)

    delete("unknown topic", (0, 1), topic=f"{talk.name}none")
    delete("unknown partition", (9, 1))
    delete("beyond the end", (0, 10))
    delete("negative", (0, -2))
    delete("of a partition that is empty", (1, -1))
    delete("0", (0, 0))
    delete("4", (0, 4))
    delete("before the first", (0, 2))
    delete("4 again in v0", (0, 4), version=0)
    delete("two partitions", (0, 4), (1, 3))
    delete("a partition twice", (0, 4), (0, 5))
    first("after deleting")
    first("of a time before deleted records", 0)
    fetch("before deleted records", 3)
    fetch("after deleted records", 4)
    produce(talk, "produce after deleting", batch(), name=name)
    delete("all", (0, -1))
    first("after deleting all")
    first("of the newest after deleting all", 0)
    produce(talk, "produce after deleting all", batch(), name=name)
    fetch("after deleting all", 10)


def settings(talk: Talk) -> None:
    """Settings of topics are altered, all at once or one by one, or not."""
    name, unknown = f"{talk.name}-t", f"{talk.name}none"

    def shown(case: str, *keys: str) -> None:
        asked = [{"resource_type": _TOPIC, "resource_name": name, "configuration_keys": list(keys)}]
        talk.ask(
            f"configs {case}", ApiKey.DESCRIBE_CONFIGS, 4, resources=asked, also=("name", "value", "config_source")
        )

    def alter(
        case: str, configs: dict[str, str | None], kind: int = _TOPIC, of: str = name, times: int = 1, **values: Any
    ) -> None:
        asked = {"resource_type": kind, "resource_name": of}
        asked["configs"] = [{"name": one, "value": value} for one, value in configs.items()]
        talk.ask(f"alter configs {case}", ApiKey.ALTER_CONFIGS, 2, resources=[asked] * times, **values)

    asked = {"resource_type": _TOPIC, "resource_name": name, "configuration_keys": None}
    talk.ask("configs all", ApiKey.DESCRIBE_CONFIGS, 4, resources=[asked], also=("name", "value", "config_type"))
    talk.ask("configs all in v1", ApiKey.DESCRIBE_CONFIGS, 1, resources=[asked], also=("name", "value", "config_type"))
    alter("", {"retention.ms": "1000", "flush.ms": "7"})
    shown("after altering", "retention.ms", "flush.ms")
    alter("others", {"flush.ms": "8"})
    shown("after altering others", "flush.ms")
    alter("validate only", {"flush.ms": "9"}, validate_only=True)
    shown("after validating", "flush.ms")
    alter("unknown topic", {"flush.ms": "9"}, of=unknown)
    alter("invalid topic", {"flush.ms": "9"}, of="a b")
    alter("empty topic", {"flush.ms": "9"}, of="")
    alter("unknown name", {"no.such": "9"})
    alter("wrong type", {"flush.ms": "long"})
    alter("null", {"flush.ms": None})
    alter("kind 99", {"flush.ms": "9"}, kind=99)
    alter("kind 0", {"flush.ms": "9"}, kind=0)
    alter("twice", {"flush.ms": "9"}, times=2)
    alter("none", {})

    def change(
        case: str,
        *changes: tuple[str, int, str | None],
        kind: int = _TOPIC,
        of: str = name,
        times: int = 1,
        **values: Any,
    ) -> None:
        asked = {"resource_type": kind, "resource_name": of}
        asked["configs"] = [{"name": one, "config_operation": how, "value": value} for one, how, value in changes]
        talk.ask(f"change configs {case}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[asked] * times, **values)

    change("set", ("retention.ms", _SET, "1000"), ("flush.ms", _SET, "7"))
    change("set another", ("flush.messages", _SET, " 5 "))
    shown("after changing", "retention.ms", "flush.ms", "flush.messages")
    change("delete", ("retention.ms", _DELETE, None))
    change("delete what is not set", ("segment.ms", _DELETE, None))
    change("delete unknown name", ("no.such", _DELETE, None))
    change("append", ("cleanup.policy", _APPEND, "compact"))
    shown("after appending", "cleanup.policy", "flush.ms")
    change("append again", ("cleanup.policy", _APPEND, "compact"))
    change("subtract", ("cleanup.policy", _SUBTRACT, "delete"))
    shown("after subtracting", "cleanup.policy")
    change("subtract what is not there", ("cleanup.policy", _SUBTRACT, "delete"))
    change("append to a number", ("flush.ms", _APPEND, "7"))
    change("subtract from a number", ("flush.ms", _SUBTRACT, "7"))
    change("operation 9", ("flush.ms", 9, "7"))
    change("set null", ("flush.ms", _SET, None))
    change("append null", ("cleanup.policy", _APPEND, None))
    change("a name twice", ("flush.ms", _SET, "1"), ("flush.ms", _DELETE, None))
    change("twice", ("flush.ms", _SET, "1"), times=2)
    change("validate only", ("flush.ms", _SET, "9"), validate_only=True)
    change("unknown topic", ("flush.ms", _SET, "9"), of=unknown)
    change("invalid topic", ("flush.ms", _SET, "9"), of="a b")
    change("empty topic", ("flush.ms", _SET, "9"), of="")
    change("unknown name", ("no.such", _SET, "9"))
    change("wrong type", ("flush.ms", _SET, "long"))
    change("kind 99", ("flush.ms", _SET, "9"), kind=99)
    change("one right and one wrong", ("flush.ms", _SET, "99"), ("retention.ms", _SET, "long"))
    shown("after wrong changes", "flush.ms")
    change("reset", ("flush.ms", _DELETE, None), ("flush.messages", _DELETE, None), ("cleanup.policy", _DELETE, None))


def logs(talk: Talk) -> None:
    """Folders of logs are described, and reassignments listed."""
    name = f"{talk.name}-r"

    def folders(case: str, version: int, topics: Any) -> None:
        also = ("partition_size", "offset_lag", "is_future_key", "is_cordoned")
        talk.ask(f"log dirs {case}", ApiKey.DESCRIBE_LOG_DIRS, version, topics=topics, also=also)

    topic = {"topic": name, "partitions": [1]}
    for version in (1, 3, 5):
        folders(f"in v{version}", version, [topic])
    folders("both partitions", 4, [{**topic, "partitions": [0, 1]}])
    folders("unknown topic", 4, [{**topic, "topic": f"{talk.name}none"}])
    folders("unknown partition", 4, [{**topic, "partitions": [9]}])
    folders("no partitions", 4, [{**topic, "partitions": []}])
    folders("no topics", 4, [])

    def moves(case: str, topics: Any) -> None:
        talk.ask(f"reassignments {case}", ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, timeout_ms=5000, topics=topics)

    moves("of all topics", None)
    moves("of a topic", [{"name": name, "partition_indexes": [0, 1]}])
    moves("of an unknown topic", [{"name": f"{talk.name}none", "partition_indexes": [0]}])
    moves("of an unknown partition", [{"name": name, "partition_indexes": [9]}])
    moves("of no topics", [])


def group_offsets(talk: Talk) -> None:
    """Offsets of groups are deleted, or not."""
    name, group = talk.name, f"{talk.name}-od"

    def commit(case: str, generation: int = -1, member_id: str = "") -> None:
        partitions = [{"partition_index": at, "committed_offset": 1, "committed_metadata": ""} for at in (0, 1)]
        topics = [{"name": one, "partitions": partitions} for one in (f"{name}-t", f"{name}-r")]
        who: dict[str, Any] = {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member_id}
        talk.ask(f"commit {case}", ApiKey.OFFSET_COMMIT, 7, **who, topics=topics)

    def delete(case: str, *indexes: int, of: str = group, topic: str = f"{name}-t") -> None:
        topics = [{"name": topic, "partitions": [{"partition_index": at} for at in indexes]}]
        talk.ask(f"delete offsets {case}", ApiKey.OFFSET_DELETE, 0, group_id=of, topics=topics)

    def fetched(case: str) -> None:
        asked: dict[str, Any] = {"group_id": group, "topics": None}
        talk.ask(f"offset fetch {case}", ApiKey.OFFSET_FETCH, 7, **asked, groups=[asked])

    delete("of an unknown group", 0)
    delete("of an empty group id", 0, of="")
    commit("for deleting offsets")
    delete("", 0)
    fetched("after deleting offsets")
    delete("that are gone", 0)
    delete("of an unknown topic", 0, topic=f"{name}none")
    delete("of an unknown partition", 9, 1)
    fetched("after deleting more offsets")
    subscription = (
        bytes.fromhex("0001 00000001")
        + len(f"{name}-t").to_bytes(2, "big")
        + f"{name}-t".encode()
        + b"\xff" * 4
        + b"\0" * 4
    )
    joining: dict[str, Any] = {"group_id": group, "session_timeout_ms": 10000, "rebalance_timeout_ms": 10000}
    joining |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": subscription}]}
    joined = talk.ask("join for deleting offsets", ApiKey.JOIN_GROUP, 3, left_out=("metadata",), **joining)
    delete("while the group rebalances", 1, topic=f"{name}-r")
    me, generation = joined.member_id, joined.generation_id
    assignments = [{"member_id": me, "assignment": b""}]
    talk.ask(
        "sync for deleting offsets",
        ApiKey.SYNC_GROUP,
        3,
        group_id=group,
        member_id=me,
        generation_id=generation,
        assignments=assignments,
    )
    commit("of a member for deleting offsets", generation, me)
    delete("of a topic that a member reads", 0, 1)
    delete("of another topic of a live group", 0, topic=f"{name}-r")
    fetched("after deleting offsets of a live group")
    talk.ask("leave for deleting offsets", ApiKey.LEAVE_GROUP, 2, group_id=group, member_id=me)
    delete("after the members have gone", 0, 1)
    other = f"{name}-odc"
    joining |= {"group_id": other, "protocol_type": "connect", "protocols": [{"name": "default", "metadata": b"x"}]}
    me = talk.ask("join of connect for deleting offsets", ApiKey.JOIN_GROUP, 3, **joining).member_id
    delete("of a live group of connect", 0, of=other)
    talk.ask("leave of connect", ApiKey.LEAVE_GROUP, 2, group_id=other, member_id=me)

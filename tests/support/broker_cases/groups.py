"""Cases of groups, their members and their offsets."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey
from tests.support.broker_cases.talking import Talk
from tests.support.broker_cases.topics import NO_ID, UNKNOWN_ID

_RANGE = {"name": "range", "metadata": bytes.fromhex("0000 00000000 ffffffff")}


def _joining(group: str, member_id: str = "", **values: Any) -> dict[str, Any]:
    protocol = {"protocol_type": "consumer", "protocols": [_RANGE]}
    usual = {"session_timeout_ms": 10000, "rebalance_timeout_ms": 10000, **protocol}
    return {"group_id": group, "member_id": member_id, **usual, **values}


def members(talk: Talk) -> None:
    """Members join, are assigned partitions and stay, or not."""
    group = f"{talk.name}-g"
    wrong: tuple[tuple[str, dict[str, Any]], ...] = (
        ("session 1", {"session_timeout_ms": 1}),
        ("session 10^8", {"session_timeout_ms": 10**8}),
        ("session 0", {"session_timeout_ms": 0}),
        ("no protocols", {"protocols": []}),
        ("no protocol type", {"protocol_type": ""}),
    )
    for label, values in wrong:
        talk.ask(f"join {label}", ApiKey.JOIN_GROUP, 3, **_joining(f"{talk.name}j{label}", **values))
    talk.ask("join empty group id", ApiKey.JOIN_GROUP, 3, **_joining(""))
    talk.ask("join unknown member", ApiKey.JOIN_GROUP, 5, **_joining(group, "nobody"))
    me = talk.ask("join v5 first", ApiKey.JOIN_GROUP, 5, **_joining(group)).member_id
    generation = talk.ask("join v5 with id", ApiKey.JOIN_GROUP, 5, **_joining(group, me)).generation_id
    member = {"group_id": group, "generation_id": generation, "member_id": me}
    talk.ask("join other protocol type", ApiKey.JOIN_GROUP, 3, **_joining(group, protocol_type="connect"))
    other: dict[str, Any] = {"protocols": [{"name": "zzz", "metadata": b""}]}
    talk.ask("join other protocol", ApiKey.JOIN_GROUP, 3, **_joining(group, **other))
    talk.ask("heartbeat before sync", ApiKey.HEARTBEAT, 3, **member)
    _commit(talk, "before sync", group, generation, me)

    def sync(case: str, version: int = 3, **values: Any) -> None:
        talk.ask(f"sync{case}", ApiKey.SYNC_GROUP, version, **{**member, **values})

    def heartbeat(case: str, **values: Any) -> None:
        talk.ask(f"heartbeat{case}", ApiKey.HEARTBEAT, 3, **{**member, **values})

    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    sync(" wrong generation", generation_id=generation + 1)
    sync(" unknown member", member_id="x")
    sync(" unknown group", group_id=f"{talk.name}zz")
    sync(" without protocol", 5)
    sync(" other protocol", 5, **{**protocol, "protocol_name": "sticky"})
    sync("", assignments=[{"member_id": me, "assignment": b"x"}])
    heartbeat("")
    heartbeat(" wrong generation", generation_id=generation + 1)
    heartbeat(" unknown group", group_id=f"{talk.name}zz")
    _commit(talk, "", group, generation, me)
    _commit(talk, "wrong generation", group, generation + 1, me)
    _commit(talk, "no generation, live group", group, -1, "")
    _commit(talk, "unknown member", group, generation, "x")
    _commit(talk, "unknown topic", group, generation, me, topic=f"{talk.name}none")
    _commit(talk, "unknown partition", group, generation, me, index=99)
    _commit(talk, "metadata 4096", group, generation, me, metadata="é" * 4096, index=1)
    _commit(talk, "metadata 5000", group, generation, me, metadata="x" * 5000)
    _commit(talk, "metadata 5000 wrong generation", group, generation + 1, me, metadata="x" * 5000)
    talk.ask("delete live group", ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    for version in (5, 6):
        case = "describe group" if version == 5 else f"describe group v{version}"
        talk.ask(case, ApiKey.DESCRIBE_GROUPS, version, groups=[group, f"{talk.name}zz"])
    _fetch(talk, "offset fetch", 7, group, topics=[{"name": f"{talk.name}-t", "partition_indexes": [0]}])
    leave: dict[str, Any] = {"group_id": group, "member_id": "x", "members": [{"member_id": "x"}]}
    talk.ask("leave unknown member", ApiKey.LEAVE_GROUP, 2, **leave)
    talk.ask("leave unknown group", ApiKey.LEAVE_GROUP, 5, **{**leave, "group_id": f"{talk.name}zz"})
    leave = {**leave, "member_id": me, "members": [{"member_id": me}, {"member_id": "x"}]}
    talk.ask("leave", ApiKey.LEAVE_GROUP, 5, **leave)
    talk.ask("leave again", ApiKey.LEAVE_GROUP, 2, **leave)


def _commit(
    talk: Talk,
    case: str,
    group: str,
    generation: int,
    member_id: str,
    *,
    topic: str = "",
    index: int = 0,
    metadata: str | None = "",
) -> None:
    partition = {"partition_index": index, "committed_offset": 1, "committed_metadata": metadata}
    topics = [{"name": topic or f"{talk.name}-t", "partitions": [partition]}]
    who: dict[str, Any] = {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member_id}
    talk.ask(f"commit {case}" if case else "commit", ApiKey.OFFSET_COMMIT, 7, **who, topics=topics)


def _fetch(talk: Talk, case: str, version: int, group: str, topics: Any) -> None:
    asked = {"group_id": group, "topics": topics}
    talk.ask(case, ApiKey.OFFSET_FETCH, version, **asked, groups=[asked])


def offsets(talk: Talk) -> None:
    """Offsets of groups without members are committed and fetched, or not."""
    name, group = talk.name, f"{talk.name}-g"
    _commit(talk, "new group simple", f"{name}simple", -1, "")
    _commit(talk, "new group simple null metadata", f"{name}simple", -1, "", metadata=None, index=1)
    _commit(talk, "new group generation 3", f"{name}simple2", 3, "m")
    _commit(talk, "new group member", f"{name}simple3", -1, "m")
    _commit(talk, "empty group with a member", group, 0, "m")
    _commit(talk, "empty group", "", -1, "")
    topic = {"name": f"{name}-t", "partition_indexes": [0, 1]}
    _fetch(talk, "offset fetch both", 7, group, [topic])
    _fetch(talk, "offset fetch all", 7, group, None)
    _fetch(talk, "offset fetch unknown group", 7, f"{name}zz", [topic])
    _fetch(talk, "offset fetch unknown topic", 7, group, [{**topic, "name": f"{name}none"}])
    _fetch(talk, "offset fetch unknown partition", 7, group, [{**topic, "partition_indexes": [99]}])
    _fetch(talk, "offset fetch empty group", 7, "", [topic])
    _fetch(talk, "offset fetch several", 9, group, [topic])
    for label, topic_id in (("unknown", UNKNOWN_ID), ("zero", NO_ID)):
        _fetch(talk, f"offset fetch {label} id", 10, group, [{"topic_id": topic_id, "partition_indexes": [0]}])


def ends(talk: Talk) -> None:
    """Groups are found and deleted, or not."""
    group = f"{talk.name}-g"
    talk.ask("delete unknown group", ApiKey.DELETE_GROUPS, 2, groups_names=[f"{talk.name}zz"])
    talk.ask("delete group", ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    talk.ask("delete group that is gone", ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    talk.ask("describe group that is gone", ApiKey.DESCRIBE_GROUPS, 5, groups=[group])

"""Cases of groups that pass from the classic to the consumer protocol, and back."""

from __future__ import annotations

from typing import Any

from kafka_messages import REGISTRY
from kafka_messages.enums import ApiKey
from kipwire import build
from tests.support.broker_cases.consumer_groups import ASSIGNED, Member, describe
from tests.support.broker_cases.talking import Talk

_SUBSCRIPTION, _ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"


def _bytes(name: str, version: int, values: dict[str, Any]) -> bytes:
    return version.to_bytes(2, "big") + build(REGISTRY.message(name, version), values).encode()


class Classic:
    """A member of the classic protocol."""

    def __init__(self, talk: Talk, group: str, topic: str, instance_id: str | None = None) -> None:
        self.talk, self.group, self.topic = talk, group, topic
        self.instance_id = instance_id
        self.member_id, self.generation = "", -1

    def join(self, case: str, version: int = 5, owned: list[int] | None = None, **values: Any) -> Any:
        """Join, or join again."""
        has = [{"topic": self.topic, "partitions": owned}] if owned else []
        metadata = _bytes(_SUBSCRIPTION, 1, {"topics": [self.topic], "owned_partitions": has})
        usual: dict[str, Any] = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": metadata}]}
        usual |= {"session_timeout_ms": 20000, "rebalance_timeout_ms": 20000}
        asked = {**self._who(), **usual, **values}
        found = self.talk.ask(case, ApiKey.JOIN_GROUP, version, left_out=("metadata",), **asked)
        if found is not None and not values:
            self.member_id = found.member_id or self.member_id
            self.generation = found.generation_id
        return found

    def sync(self, case: str, *partitions: int, **values: Any) -> list[int]:
        """Ask for the assignment; the leader gives partitions to itself."""
        rows = [{"topic": self.topic, "partitions": list(partitions)}]
        assigned = _bytes(_ASSIGNMENT, 1, {"assigned_partitions": rows})
        mine = [{"member_id": self.member_id, "assignment": assigned}]
        found = self.talk.ask(case, ApiKey.SYNC_GROUP, 5, **{**self._asks(), "assignments": mine, **values})
        if found is None or not found.assignment:
            return []
        got: Any = REGISTRY.message(_ASSIGNMENT, found.assignment[1]).decode(found.assignment[2:])
        return sorted(at for row in got.assigned_partitions for at in row.partitions)

    def beat(self, case: str, **values: Any) -> None:
        """Heartbeat."""
        self.talk.ask(case, ApiKey.HEARTBEAT, 4, **{**self._asks(), **values})

    def leave(self, case: str, **values: Any) -> None:
        """Leave."""
        member = {"member_id": self.member_id, "group_instance_id": self.instance_id, **values}
        self.talk.ask(case, ApiKey.LEAVE_GROUP, 5, group_id=self.group, members=[member])

    def _who(self) -> dict[str, Any]:
        return {"group_id": self.group, "member_id": self.member_id, "group_instance_id": self.instance_id}

    def _asks(self) -> dict[str, Any]:
        protocol = {"protocol_type": "consumer", "protocol_name": "range"}
        return {**self._who(), **protocol, "generation_id": self.generation}


def empty(talk: Talk) -> None:
    """Groups without members change their protocol."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-m0"
    old, new = Classic(talk, group, topic), Member(talk, group, topic)
    old.join("mg classic joins", 3)
    old.sync("mg classic syncs", 0, 1, 2, 3)
    old.leave("mg classic leaves")
    new.beat("mg consumer is not in a classic group", member_epoch=1)
    new.join("mg consumer joins an empty classic group", ASSIGNED)
    new.commit("mg consumer commits")
    new.beat("mg consumer leaves", member_epoch=-1)
    old = Classic(talk, group, topic)
    old.beat("mg classic heartbeat to an empty consumer group", generation_id=1)
    old.join("mg classic joins an empty consumer group", 3)
    describe(talk, "mg describe as consumer", group)
    talk.ask("mg describe as classic", ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    new.fetch("mg offsets are kept", member_id=None, member_epoch=-1)
    old.leave("mg classic leaves at last")
    other = Classic(talk, f"{talk.name}-m1", topic)
    other.join("mg connect joins", 3, protocol_type="connect", protocols=[{"name": "range", "metadata": b""}])
    Member(talk, f"{talk.name}-m1", topic).join("mg consumer joins a group of connect")


def up(talk: Talk) -> None:
    """Let a member with the consumer protocol join a classic group, and leave it."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-m2"
    old, new = Classic(talk, group, topic), Member(talk, group, topic)
    old.join("up classic joins", 3)
    old.sync("up classic syncs", 0, 1, 2, 3)
    new.beat("up consumer without joining", member_epoch=1)
    new.join("up consumer joins", ASSIGNED)
    talk.ask(
        "up describe",
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        1,
        also=("group_epoch", "member_epoch", "member_type"),
        group_ids=[group],
    )
    talk.ask("up describe as classic", ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    old.beat("up classic has to join again")
    old.sync("up classic syncs too early")
    old.beat("up classic of another generation", generation_id=9)
    old.beat("up classic unknown", member_id="x")
    old.beat("up consumer as classic", member_id=new.member_id, generation_id=new.epoch)
    old.sync("up consumer syncs as classic", member_id=new.member_id, generation_id=new.epoch)
    old.join("up classic with other protocols", protocols=[{"name": "zzz", "metadata": b""}])
    old.join("up classic of another type", protocol_type="connect")
    old.join("up classic joins again, still owning", owned=[0, 1, 2, 3])
    remaining = old.sync("up classic gets half")
    new.beat("up consumer waits", ASSIGNED)
    old.beat("up classic has to give up")
    old.join("up classic has given up", owned=remaining)
    old.sync("up classic syncs again")
    old.sync("up classic syncs with another protocol", protocol_name="zzz")
    old.beat("up classic goes on")
    new.beat("up consumer gets half")
    talk.answers["up both have half"] = [len(remaining), sum(len(row["partitions"]) for row in new.owned)]
    third = Classic(talk, group, topic)
    third.join("up third needs an id")
    third.join("up third joins with its id")
    third.sync("up third has nothing yet")
    third.leave("up third leaves")
    third.leave("up third leaves again")
    talk.ask("up commit by classic", ApiKey.OFFSET_COMMIT, 7, **_commit(old, old.generation))
    talk.ask("up commit by classic, later generation", ApiKey.OFFSET_COMMIT, 7, **_commit(old, old.generation + 5))
    talk.ask("up commit by classic, not its own", ApiKey.OFFSET_COMMIT, 7, **_commit(old, 0))
    old.leave("up classic leaves")
    new.beat("up consumer gets all", ASSIGNED)
    new.beat("up consumer leaves", member_epoch=-1)


def _commit(member: Classic, generation: int) -> dict[str, Any]:
    offsets = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]
    topics = [{"name": member.topic, "partitions": offsets}]
    who: dict[str, Any] = {"group_id": member.group, "member_id": member.member_id}
    return {**who, "generation_id_or_member_epoch": generation, "topics": topics}


def down(talk: Talk) -> None:
    """Let classic members join a consumer group, which becomes classic when the last consumer has left."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-m3"
    old, new = Classic(talk, group, topic), Member(talk, group, topic)
    new.join("down consumer joins", ASSIGNED)
    old.join("down classic needs an id")
    old.join("down classic joins")
    old.sync("down classic has nothing yet")
    new.beat("down consumer has to give up", topic_partitions=new.owned)
    new.beat("down consumer has given up", topic_partitions=new.owned)
    old.beat("down classic can have more")
    old.join("down classic joins again")
    old.sync("down classic gets half")
    new.beat("down consumer leaves", member_epoch=-1)
    talk.ask("down describe", ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    old.beat("down classic has to join again")
    old.join("down classic leads")
    old.sync("down classic assigns", 0, 1, 2, 3)
    describe(talk, "down describe as consumer", group)
    talk.ask("down describe at last", ApiKey.DESCRIBE_GROUPS, 6, groups=[group])
    old.leave("down classic leaves")
    static, again = Member(talk, f"{group}s", topic, "i"), Classic(talk, f"{group}s", topic, "i")
    static.join("down static joins", ASSIGNED)
    again.join("down static is replaced by classic")
    static.beat("down static is fenced")
    again.beat("down static goes on")
    again.sync("down static syncs")
    talk.ask("down static is described", ApiKey.DESCRIBE_GROUPS, 6, groups=[f"{group}s"])
    Member(talk, f"{group}s", topic, "i").join("down static is a consumer again", ASSIGNED)
    again.leave("down static is removed", member_id="")

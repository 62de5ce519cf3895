"""Cases of groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from kafka_messages.enums import ApiKey
from tests.support.broker_cases.talking import NOT_YET, STILL, Talk

TAKEN_EXPRESSIONS = (
    *(
        "",
        "a|b",
        "()",
        "(|a)*",
        "(a+)+b",
        "(?:a)",
        "(?P<n>a)",
        "(?<n>a)",
        "(?i-s:A)",
        "(?)a",
        "(?s).",
        "(?m)^a$",
        "(?U)a+",
    ),
    *(
        "a+?",
        "a??",
        "a{2}",
        "a{,2}",
        "a{",
        "a]",
        "[]a]",
        "[a-]",
        "[[:alpha:]]",
        "[[=a=]]",
        "[a&&b]",
        r"[\d-z]",
        r"^\b*$",
    ),
    *(
        r"\(?=",
        r"\07",
        r"\x{10FFFF}",
        r"\pL",
        r"\p{Greek}",
        r"\Qa.b\E+",
        r"\A\z",
        "\u00e9+",
        "((a{10}){10}){10}",
        "a{1000}",
    ),
)
"""Regular expressions that Kafka takes."""
REFUSED_EXPRESSIONS = (
    *(
        "(",
        ")",
        "[a",
        "[b-a]",
        "[]",
        "[[:foo:]]",
        "{1}",
        "*",
        "+a",
        "a**",
        "a++",
        "a???",
        "a?+",
        "a{2}{3}",
        "a{2,1}",
        "a{1001}",
    ),
    *("a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?>a)", "(?#c)a", "(?x)a", "(?P=n)", "(?P<a-b>c)", "(?i"),
    *(r"(a)\1", r"\8", r"\e", r"\h", r"\N", r"\Z", r"\G", r"\u0041", r"\xg", r"\x{110000}", r"\pX", r"\p{Alpha}", "\\"),
)
"""Regular expressions that Kafka refuses."""
OTHER_EXPRESSIONS = ("(?:a{101}){10}", "(?P<n>a)(?P<n>b)")
"""Regular expressions of which RE2 in C++ and in Java say different things."""

EPOCHS = ("member_epoch",)
ASSIGNED = ("member_epoch", "partitions")
DESCRIBED = (
    *("group_epoch", "assignment_epoch", "assignor_name", "member_epoch", "member_type", "instance_id", "rack_id"),
    *("subscribed_topic_names", "subscribed_topic_regex", "partitions", "client_id", "client_host"),
)
Owned = list[dict[str, Any]]


class Member:
    """A member of a group, which says what it has been told."""

    def __init__(self, talk: Talk, group: str, topic: str, instance_id: str | None = None) -> None:
        self.talk, self.group, self.topic, self.instance_id = talk, group, topic, instance_id
        self.member_id, self.epoch = str(uuid4()), 0
        self.owned: Owned = []

    def join(self, case: str, also: tuple[str, ...] = EPOCHS, **values: Any) -> Any:
        """Join, or say everything once more."""
        self.epoch, self.owned = 0, []
        usual = {"rebalance_timeout_ms": 10000, "subscribed_topic_names": [self.topic], "topic_partitions": []}
        return self.beat(case, also, **{**usual, **values})

    def beat(self, case: str, also: tuple[str, ...] = EPOCHS, version: int = 1, **values: Any) -> Any:
        """Heartbeat, and take what comes."""
        who = {"group_id": self.group, "member_id": self.member_id, "instance_id": self.instance_id}
        asked = {**who, "member_epoch": self.epoch, **values}
        found = self.talk.ask(case, ApiKey.CONSUMER_GROUP_HEARTBEAT, version, also=also, **asked)
        if found is not None and not found.error_code:
            self.member_id, self.epoch = found.member_id or self.member_id, found.member_epoch
            if found.assignment is not None:
                self.owned = rows(found.assignment.topic_partitions)
        return found

    def commit(self, case: str, version: int = 9, epoch: int | None = None, **values: Any) -> None:
        """Commit offsets of partition 0."""
        partitions = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]
        who: dict[str, Any] = {"group_id": self.group, "member_id": self.member_id}
        who |= {"generation_id_or_member_epoch": self.epoch if epoch is None else epoch}
        topics = [{"name": self.topic, "partitions": partitions}]
        self.talk.ask(case, ApiKey.OFFSET_COMMIT, version, **{**who, "topics": topics, **values})

    def fetch(self, case: str, **values: Any) -> None:
        """Fetch the offsets of partition 0."""
        asked = {"group_id": self.group, "member_id": self.member_id, "member_epoch": self.epoch}
        asked |= {"topics": [{"name": self.topic, "partition_indexes": [0]}], **values}
        self.talk.ask(case, ApiKey.OFFSET_FETCH, 9, groups=[asked])


def rows(topics: Any) -> Owned:
    """Partitions as a request has them."""
    return [{"topic_id": one.topic_id, "partitions": one.partitions} for one in topics]


def create(talk: Talk, case: str, topic: str, partitions: int = 4) -> None:
    """Create a topic, and wait until it is known."""
    made = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
    talk.ask(case, ApiKey.CREATE_TOPICS, 7, topics=[made], timeout_ms=10000)
    talk.ask(f"{case} known", ApiKey.METADATA, 12, NOT_YET | STILL, topics=[{"name": topic}])


def describe(talk: Talk, case: str, *groups: str, version: int = 1) -> None:
    """Describe groups; the names of this run are left out."""
    talk.ask(case, ApiKey.CONSUMER_GROUP_DESCRIBE, version, also=DESCRIBED, group_ids=list(groups))
    talk.answers[case] = json.loads(json.dumps(talk.answers[case]).replace(talk.name, "NAME"))


def _list(talk: Talk, case: str, group: str, **values: Any) -> None:
    """List groups, and keep the rows of this one: a broker may have others."""
    found = talk.ask(case, ApiKey.LIST_GROUPS, 5, **values)
    talk.answers[case] = sorted(
        [one.protocol_type, one.group_state, one.group_type] for one in found.groups if one.group_id == group
    )


def wrong(talk: Talk) -> None:
    """Heartbeats that no group takes."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-cw"
    create(talk, "cg topic", topic)
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("no group id", {"group_id": ""}),
        ("no member id", {"member_id": ""}),
        ("no instance id", {"instance_id": ""}),
        ("no rack id", {"rack_id": ""}),
        ("no rebalance timeout", {"rebalance_timeout_ms": -1}),
        ("no owned partitions", {"topic_partitions": None}),
        ("no topics", {"subscribed_topic_names": None}),
        ("unknown assignor", {"server_assignor": "sticky"}),
        ("epoch -3", {"member_epoch": -3}),
        ("epoch -2 without instance", {"member_epoch": -2}),
        ("leave unknown group", {"member_epoch": -1}),
        ("unknown group", {"member_epoch": 1}),
        ("invalid regex", {"subscribed_topic_regex": "("}),
        ("regex with look-ahead", {"subscribed_topic_regex": "a(?=b)"}),
        ("regex with back-reference", {"subscribed_topic_regex": r"(a)\1"}),
        ("regex with atomic group", {"subscribed_topic_regex": "(?>a)"}),
        ("regex with possessive quantifier", {"subscribed_topic_regex": "a++"}),
    )
    for label, values in cases:
        Member(talk, group, topic).join(f"cg {label}", **values)
    Member(talk, group, topic).join("cg v0 leaves without id", member_id="", member_epoch=-1, version=0)
    describe(talk, "cg describe unknown", group, f"{talk.name}none")
    describe(talk, "cg describe no id", "")


def alone(talk: Talk) -> None:
    """Send heartbeats of one member, with right and wrong epochs."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-c1"
    one = Member(talk, group, topic)
    one.join("cg v0 joins without id", ASSIGNED, member_id="", version=0)
    one.beat("cg goes on", ASSIGNED)
    one.beat(
        "cg full heartbeat",
        ASSIGNED,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=[topic],
        topic_partitions=one.owned,
    )
    describe(talk, "cg describe one", group)
    describe(talk, "cg describe one v0", group, version=0)
    for version in (5, 6):
        talk.ask(f"cg describe as classic v{version}", ApiKey.DESCRIBE_GROUPS, version, groups=[group])
    _list(talk, "cg list", group)
    _list(talk, "cg list consumer", group, types_filter=["Consumer"])
    _list(talk, "cg list classic", group, types_filter=["classic"])
    _list(talk, "cg list stable", group, states_filter=["stable"])
    _list(talk, "cg list empty", group, states_filter=["Empty"])
    one.beat("cg later epoch", member_epoch=7)
    Member(talk, group, topic).beat("cg unknown member", member_epoch=1)
    Member(talk, group, topic).beat("cg leave unknown member", member_epoch=-1)
    one.commit("cg commit")
    one.commit("cg commit v10 without topic", 10)
    one.commit("cg commit v8", 8)
    one.commit("cg commit later epoch", epoch=7)
    one.commit("cg commit earlier epoch", epoch=0)
    one.commit("cg commit without epoch", epoch=-1)
    one.commit("cg commit no member", member_id="", epoch=-1)
    one.commit("cg commit unknown member", member_id="x")
    one.commit(
        "cg commit unknown topic",
        topics=[{"name": f"{topic}none", "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
    )
    one.commit("cg commit unknown group", group_id=f"{group}none")
    one.commit("cg commit unknown group v8", 8, group_id=f"{group}none")
    one.fetch("cg fetch")
    one.fetch("cg fetch as administrator", member_id=None, member_epoch=-1)
    one.fetch("cg fetch later epoch", member_epoch=7)
    one.fetch("cg fetch without epoch", member_epoch=-1)
    one.fetch("cg fetch unknown member", member_id="x")
    one.fetch("cg fetch no member", member_id=None)
    one.fetch("cg fetch unknown group", group_id=f"{group}none")
    deleted: dict[str, Any] = {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": 0}]}]}
    talk.ask("cg delete offsets that are read", ApiKey.OFFSET_DELETE, 0, **deleted)
    talk.ask("cg delete live group", ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    one.beat("cg other topics", ASSIGNED, subscribed_topic_names=[], topic_partitions=one.owned)
    one.commit("cg commit what it gives up")
    one.beat("cg has given up", ASSIGNED, topic_partitions=[])
    one.commit("cg commit what it gave up, earlier epoch", epoch=1)
    describe(talk, "cg describe without topics", group)
    talk.ask("cg delete offsets that are not read", ApiKey.OFFSET_DELETE, 0, **deleted)
    one.beat("cg topics again", ASSIGNED, subscribed_topic_names=[topic, f"{topic}none"], topic_partitions=[])
    one.beat("cg prefers range", ASSIGNED, server_assignor="range")
    describe(talk, "cg describe range", group)
    one.join("cg joins again", ASSIGNED)
    one.beat("cg leaves", member_epoch=-1)
    one.beat("cg leaves again", member_epoch=-1)
    describe(talk, "cg describe empty", group)
    _list(talk, "cg list when empty", group, states_filter=["Empty"])
    one.commit("cg commit to empty", epoch=-1, member_id="")
    one.join("cg joins the empty group", ASSIGNED, rack_id="r")
    describe(talk, "cg describe rack", group)
    one.beat("cg leaves at last", member_epoch=-1)
    talk.ask("cg delete group", ApiKey.DELETE_GROUPS, 2, groups_names=[group])
    describe(talk, "cg describe deleted", group)


def together(talk: Talk) -> None:
    """Add a second member, which gets the partitions that the first gives up; create topics and partitions."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-c2"
    one, two = Member(talk, group, topic), Member(talk, group, topic)
    one.join("cg first joins", ASSIGNED)
    two.join("cg second joins", ASSIGNED)
    before = one.owned
    one.beat("cg first has to give up", topic_partitions=before)
    one.beat("cg first does not yet", topic_partitions=before)
    one.beat("cg first says nothing")
    two.beat("cg second waits", ASSIGNED)
    one.commit("cg commit of what remains, with the earlier epoch", topics=_offsets(topic, one.owned))
    _list(talk, "cg list reconciling", group)
    one.beat("cg first has given up", topic_partitions=one.owned)
    one.beat("cg answer was lost", member_epoch=one.epoch - 1, topic_partitions=one.owned)
    one.beat("cg answer was lost, and more is owned", member_epoch=one.epoch - 1, topic_partitions=before)
    one.beat("cg answer was lost, and nothing is said", member_epoch=one.epoch - 1)
    one.commit("cg commit with the epoch before", epoch=one.epoch - 1, topics=_offsets(topic, one.owned))
    one.commit("cg commit of another's", epoch=one.epoch - 1, topics=_offsets(topic, before))
    one.commit("cg commit of another's, right epoch", topics=_offsets(topic, before))
    two.beat("cg second gets the rest")
    two.commit("cg commit before it was assigned", epoch=two.epoch - 1, topics=_offsets(topic, two.owned))
    describe_both: dict[str, Any] = {"also": ("group_epoch", "assignment_epoch", "member_epoch"), "group_ids": [group]}
    talk.ask("cg describe both", ApiKey.CONSUMER_GROUP_DESCRIBE, 1, **describe_both)
    talk.answers["cg both have half"] = [sum(len(row["partitions"]) for row in who.owned) for who in (one, two)]
    two.beat("cg second leaves", member_epoch=-1)
    one.beat("cg first gets all again", ASSIGNED, topic_partitions=one.owned)
    more = f"{topic}-more"
    one.beat("cg reads a topic that is not there", ASSIGNED, subscribed_topic_names=[topic, more])
    create(talk, "cg more topics", more, 1)
    talk.ask(
        "cg topic is noticed",
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        also=EPOCHS,
        until=lambda found: found.assignment,
        **_of(one),
    )
    one.epoch += 1
    grown = {"name": more, "count": 3, "assignments": None}
    talk.ask("cg topic grows", ApiKey.CREATE_PARTITIONS, 3, topics=[grown], timeout_ms=10000)
    talk.ask(
        "cg growth is noticed",
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        also=EPOCHS,
        until=lambda found: found.assignment,
        **_of(one),
    )
    one.epoch += 1
    talk.ask("cg topic is deleted", ApiKey.DELETE_TOPICS, 6, topics=[{"name": more}], timeout_ms=10000)
    talk.ask(
        "cg deletion is noticed",
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        also=ASSIGNED,
        until=lambda found: found.assignment,
        **_of(one),
    )
    one.beat("cg first leaves", member_epoch=-1)


def _of(member: Member) -> dict[str, Any]:
    return {"group_id": member.group, "member_id": member.member_id, "member_epoch": member.epoch}


def _offsets(topic: str, owned: Owned) -> Any:
    places = [{"partition_index": at, "committed_offset": 1} for row in owned for at in row["partitions"]]
    return [{"name": topic, "partitions": places}]


def expressions(talk: Talk) -> None:
    """Members read what a regular expression matches."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-c3"
    one, two = Member(talk, group, topic), Member(talk, group, topic)
    regex = f"{talk.name}-(c|d)g"
    one.join("cg regex joins", ASSIGNED, subscribed_topic_names=None, subscribed_topic_regex=regex)
    talk.ask(
        "cg regex is resolved",
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        also=ASSIGNED,
        until=lambda found: found.assignment,
        **_of(one),
    )
    one.epoch = 2
    describe(talk, "cg describe regex", group)
    two.join("cg known regex joins", subscribed_topic_names=None, subscribed_topic_regex=regex)
    two.beat("cg known regex leaves", member_epoch=-1)
    one.beat("cg regex after both", ASSIGNED)
    one.beat("cg regex becomes invalid", subscribed_topic_regex="[")
    one.beat("cg regex is given up", ASSIGNED, subscribed_topic_regex="", topic_partitions=[])
    one.beat("cg names instead", ASSIGNED, subscribed_topic_names=[topic], topic_partitions=[])
    one.beat("cg regex leaves", member_epoch=-1)


def syntax(talk: Talk) -> None:
    """Regular expressions that are taken, and those that are refused."""
    topic = f"{talk.name}-cg"
    one = Member(talk, f"{talk.name}-c5", topic)
    one.join("cg syntax joins")
    for regex in (*TAKEN_EXPRESSIONS, *REFUSED_EXPRESSIONS, *OTHER_EXPRESSIONS):
        one.beat(f"cg syntax {regex}", also=(), subscribed_topic_regex=regex)
    one.beat("cg syntax leaves", member_epoch=-1)


def static(talk: Talk) -> None:
    """Static members pause and come back, and fence each other."""
    topic, group = f"{talk.name}-cg", f"{talk.name}-c4"
    one, other = (Member(talk, group, topic, "i") for _ in range(2))
    one.join("cg static joins", ASSIGNED)
    one.beat("cg static goes on", ASSIGNED)
    other.join("cg static instance is not released", ASSIGNED)
    one.join("cg static joins twice", ASSIGNED)
    one.epoch = 1
    other.beat("cg static is fenced", member_epoch=1)
    other.beat("cg static leaves for another", member_epoch=-1)
    other.beat("cg static pauses for another", member_epoch=-2)
    other.beat("cg static unknown instance", member_epoch=1, instance_id="j")
    other.beat("cg static unknown instance leaves", member_epoch=-1, instance_id="j")
    one.beat("cg static later epoch", member_epoch=9)
    one.beat("cg static pauses", member_epoch=-2)
    describe(talk, "cg describe paused", group)
    one.commit("cg commit paused", epoch=1)
    one.beat("cg static goes on when paused", member_epoch=1)
    one.fetch("cg fetch paused", member_epoch=1)
    other.join("cg static comes back", ASSIGNED)
    describe(talk, "cg describe back", group)
    one.beat("cg static of before is fenced", member_epoch=1)
    one.commit("cg commit of before")
    other.beat("cg static pauses again", member_epoch=-2)
    other.join("cg static comes back with other topics", ASSIGNED, subscribed_topic_names=[f"{topic}none"])
    other.beat("cg static leaves", member_epoch=-1)
    describe(talk, "cg describe static gone", group)

"""Cases of transactions that are listed and described, of their timeouts, and of KIP-890's second part."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from tests.support.broker_cases.talking import STILL, Talk
from tests.support.broker_cases.topics import new
from tests.support.broker_cases.transactions import Producer

_SHOWN = ("transaction_state", "transaction_timeout_ms", "partitions")
_OF_PRODUCER = ("producer_epoch", "last_sequence", "coordinator_epoch", "current_txn_start_offset")


class _Looks:
    """Looks at producers and transactions."""

    def __init__(self, talk: Talk, topic: str) -> None:
        self._talk, self._topic = talk, topic

    def describe(self, case: str, *names: str, **values: Any) -> Any:
        return self._talk.ask(
            f"describe transactions {case}",
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            transactional_ids=names,
            also=_SHOWN,
            **values,
        )

    def list(self, case: str, version: int = 2, **values: Any) -> None:
        pattern = {"transactional_id_pattern": f"{self._talk.name}-l.*", **values}
        usual = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
        self._talk.ask(
            f"list transactions {case}",
            ApiKey.LIST_TRANSACTIONS,
            version,
            **{**usual, **pattern},
            also=("transaction_state", "unknown_state_filters"),
        )

    def producers(self, case: str, *indexes: int, topic: str = "") -> None:
        topics = [{"name": topic or self._topic, "partition_indexes": list(indexes)}]
        self._talk.ask(
            f"describe producers {case}",
            ApiKey.DESCRIBE_PRODUCERS,
            0,
            frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER,)),
            topics=topics,
            also=_OF_PRODUCER,
        )


def looks(talk: Talk) -> None:
    """Producers and transactions are listed and described."""
    name = f"{talk.name}-l"
    talk.ask("create for transactions", ApiKey.CREATE_TOPICS, 5, timeout_ms=5000, topics=[new(name, 3)])
    talk.ask("metadata for transactions", ApiKey.METADATA, 12, STILL, topics=[{"name": name}])
    look = _Looks(talk, name)
    look.describe("unknown", f"{talk.name}none")
    look.describe("empty id", "")
    look.describe("none")
    look.producers("of nobody", 0)
    look.producers("unknown partition", 0, 9)
    look.producers("unknown topic", 0, topic=f"{talk.name}none")
    look.producers("invalid topic", 0, topic="a b")
    producer = Producer(talk, "l1")
    found = producer.begin("look init")
    producer.has(found)
    look.describe("empty", f"{name}1")
    look.list("empty")
    producer.add("look add", topic=name)
    producer.add("look add another", topic=name, partition=2)
    look.describe("ongoing", f"{name}1", f"{talk.name}none")
    look.producers("before records", 0)
    producer.send("look produce", 0, name=name)
    look.producers("ongoing", 0, 2)
    look.list("ongoing")
    look.list("in a state", state_filters=["Ongoing"])
    look.list("in another state", state_filters=["CompleteCommit"])
    look.list("in a state that is not one", state_filters=["Ongoing", "Fine"])
    look.list("in a state in lower case", state_filters=["ongoing"])
    look.list("of a producer", 1, producer_id_filters=[found.producer_id])
    look.list("of another producer", producer_id_filters=[found.producer_id + 10**6])
    look.list("of a producer in v0", 0, producer_id_filters=[found.producer_id])
    look.list("longer than an hour", duration_filter=3_600_000)
    look.list("of another name", transactional_id_pattern=f"{talk.name}-zz.*")
    look.list("of a part of the name", transactional_id_pattern=f"{talk.name}-")
    look.list("of a pattern that is none", transactional_id_pattern="(")
    producer.end("look commit")
    committed = {"until": lambda found: found.transaction_states[0].transaction_state == "CompleteCommit"}
    look.describe("committed", f"{name}1", **committed)
    look.producers("committed", 0, 2)
    look.list("committed")


def second_protocol(talk: Talk) -> None:
    """Transactions of KIP-890's second part: partitions are added by producing, and each end raises the epoch."""
    name, group = f"{talk.name}-l", f"{talk.name}-v2g"
    look = _Looks(talk, name)
    producer = Producer(talk, "v2")
    producer.has(producer.begin("v2 init"))
    producer.end("v2 commit before anything", version=5)
    producer.has(producer.end("v2 abort before anything", committed=False, version=5))
    producer.send("v2 produce", 0, version=12, name=name)
    look.describe("v2 ongoing", f"{talk.name}-v2")
    producer.offsets("v2 offsets", 5, group)
    old = dict(producer.names)
    producer.has(producer.end("v2 commit", version=5))
    producer.committed("v2 offsets of a committed transaction", group, is_ended=True)
    look.producers("v2 committed", 0)
    producer.end("v2 commit again with the old epoch", version=5, **old)
    producer.end("v2 abort with the old epoch", committed=False, version=5, **old)
    producer.end("v2 commit with the new epoch", version=5)
    producer.has(producer.end("v2 abort with the new epoch", committed=False, version=5))
    producer.end("v2 commit with an epoch long gone", version=5, **old)
    producer.send(
        "v2 produce with an old epoch", 1, version=12, name=name, numbers={"producer_epoch": old["producer_epoch"]}
    )
    producer.send("v2 produce out of order", 1, version=12, name=name)
    producer.send("v2 produce the next", 0, version=12, name=name)
    producer.send("v2 produce more", 1, version=12, name=name, index=1)
    producer.send("v2 produce from 0", 0, version=12, name=name, index=1)
    producer.end("v2 end with a wrong id", version=5, producer_id=producer.names["producer_id"] + 1)
    producer.end("v2 end of an empty id", version=5, transactional_id="")
    producer.end("v2 end of an unknown id", version=5, transactional_id=f"{talk.name}zz")
    old = dict(producer.names)
    producer.has(producer.end("v2 abort", committed=False, version=5))
    producer.end("v2 abort again with the old epoch", committed=False, version=5, **old)
    producer.end("v2 commit with the old epoch after abort", version=5, **old)
    producer.offsets("v2 offsets alone", 5, group)
    producer.has(producer.end("v2 commit offsets alone", version=5))
    producer.offsets("v2 offsets wrong epoch", 5, group, producer_epoch=99)
    producer.offsets("v2 offsets empty group", 5, "")
    producer.send("v2 produce before init", 0, version=12, name=name)
    look.describe("v2 before init", f"{talk.name}-v2")
    again = Producer(talk, "v2")
    again.has(again.begin("v2 init again, which aborts"))
    producer.end("v2 zombie commit", version=5)
    producer.send("v2 zombie produce", 1, version=12, name=name)
    again.send("v2 produce of the successor", 0, version=12, name=name)
    again.end("v2 commit of the successor", version=5)


def batched(talk: Talk) -> None:
    """Partitions are added for several transactions at once, as brokers do."""
    name = f"{talk.name}-l"
    producer = Producer(talk, "b")
    producer.has(producer.begin("batched init"))

    def add(case: str, *changes: dict[str, Any], version: int = 4) -> None:
        topics = [{"name": name, "partitions": [0, 1]}]
        usual = {**producer.names, "verify_only": False, "topics": topics}
        asked = [{**usual, **change} for change in changes or ({},)]
        talk.ask(f"batched {case}", ApiKey.ADD_PARTITIONS_TO_TXN, version, transactions=asked)

    add("verify before add", {"verify_only": True})
    add("add")
    add("verify", {"verify_only": True}, version=5)
    add("verify another partition", {"verify_only": True, "topics": [{"name": name, "partitions": [0, 2]}]})
    add("wrong epoch", {"producer_epoch": 9})
    add("unknown id", {"transactional_id": f"{talk.name}zz"})
    add(
        "unknown topic",
        {"topics": [{"name": f"{talk.name}none", "partitions": [0]}, {"name": name, "partitions": [0]}]},
    )
    add("two", {}, {"transactional_id": f"{talk.name}zz"}, version=5)
    producer.end("batched end")


def timeouts(talk: Talk) -> None:
    """Transactions that last too long are aborted, and their producers fenced."""
    name = f"{talk.name}-l"
    look = _Looks(talk, name)
    ended = {"until": lambda found: found.transaction_states[0].transaction_state == "CompleteAbort"}
    for label, version, produced in (("v1", 4, 9), ("v2", 5, 12)):
        producer = Producer(talk, f"late-{label}")
        producer.has(producer.begin(f"late init {label}", transaction_timeout_ms=300))
        if version < 5:
            producer.add(f"late add {label}", topic=name, partition=1)
        producer.send(f"late produce {label}", 0, version=produced, name=name, index=1)
        look.describe(f"late {label}", f"{talk.name}-late-{label}", **ended)
        producer.end(f"late commit {label}", version=version)
        producer.send(f"late produce after it {label}", 1, version=produced, name=name, index=1)
        producer.has(producer.begin(f"late init again {label}"))
        producer.send(f"late produce outside {label}", 0, version=9, name=name, index=1)

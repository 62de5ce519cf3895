"""Cases of transactions, in the versions of clients that do without KIP-890's second part."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey
from kipwire.records import read_batches
from tests.support.broker_cases.producing import batch, produce
from tests.support.broker_cases.talking import ENDING, NOT_YET, Talk

_READ_COMMITTED = 1


class Producer:
    """A transactional producer: its numbers, and its requests."""

    def __init__(self, talk: Talk, name: str) -> None:
        self._talk = talk
        self.names: dict[str, Any] = {"transactional_id": f"{talk.name}-{name}", "producer_id": -1}
        self.names["producer_epoch"] = -1

    def begin(self, case: str, version: int = 4, **values: Any) -> Any:
        """Ask for an id and an epoch, as a producer without them."""
        usual = {"transactional_id": self.names["transactional_id"], "transaction_timeout_ms": 10000}
        asked = {**usual, "producer_id": -1, "producer_epoch": -1, **values}
        return self._talk.ask(f"tx {case}", ApiKey.INIT_PRODUCER_ID, version, ENDING | NOT_YET, **asked)

    def has(self, found: Any) -> None:
        """Take the numbers of an answer."""
        self.names |= {"producer_id": found.producer_id, "producer_epoch": found.producer_epoch}

    def add(self, case: str, version: int = 3, *, topic: str = "", partition: int = 0, **values: Any) -> None:
        topics = [{"name": topic or f"{self._talk.name}-t", "partitions": [partition]}]
        asked = {**self.names, **values, "topics": topics}
        asked = {f"v3_and_below_{name}": value for name, value in asked.items()}
        self._talk.ask(f"tx {case}", ApiKey.ADD_PARTITIONS_TO_TXN, version, ENDING | NOT_YET, **asked)

    def end(self, case: str, *, committed: bool = True, version: int = 3, **values: Any) -> Any:
        asked = {**self.names, "committed": committed, **values}
        return self._talk.ask(f"tx {case}", ApiKey.END_TXN, version, ENDING | NOT_YET, **asked)

    def send(self, case: str, sequence: int, *, version: int = 9, is_transactional: bool = True, **values: Any) -> None:
        numbers = {name: self.names[name] for name in ("producer_id", "producer_epoch")} | values.pop("numbers", {})
        data = batch(base_sequence=sequence, is_transactional=is_transactional, **numbers)
        values.setdefault("transactional_id", self.names["transactional_id"])
        produce(self._talk, f"tx {case}", data, version=version, **values)

    def offsets(self, case: str, version: int, group: str, **values: Any) -> None:
        partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": values.pop("metadata", "")}
        topics = [{"name": f"{self._talk.name}-t", "partitions": [partition]}]
        who: dict[str, Any] = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": topics,
        }
        self._talk.ask(f"tx {case}", ApiKey.TXN_OFFSET_COMMIT, version, ENDING | NOT_YET, **(self.names | who | values))

    def add_group(self, case: str, group: str, version: int = 3, **values: Any) -> None:
        asked = {**self.names, "group_id": group, **values}
        self._talk.ask(f"tx {case}", ApiKey.ADD_OFFSETS_TO_TXN, version, ENDING | NOT_YET, **asked)

    def committed(self, case: str, group: str, *, is_ended: bool = False) -> None:
        def is_there(found: Any) -> bool:
            return not is_ended or bool(found.groups[0].topics[0].partitions[0].committed_offset >= 0)

        topics = [{"name": f"{self._talk.name}-t", "partition_indexes": [0]}]
        asked: dict[str, Any] = {"groups": [{"group_id": group, "topics": topics}], "require_stable": False}
        self._talk.ask(f"tx {case}", ApiKey.OFFSET_FETCH, 9, until=is_there, **asked)

    def read(self, case: str, offset: int) -> None:
        def is_whole(found: Any) -> bool:
            (partition,) = found.responses[0].partitions
            batches = list(read_batches(partition.records or b""))
            end: int = partition.last_stable_offset
            return (batches[-1].last_offset + 1 if batches else offset) == end

        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 10**6}
        topics = [{"topic": f"{self._talk.name}-t", "partitions": [partition]}]
        limits: dict[str, Any] = {
            "max_wait_ms": 100,
            "min_bytes": 0,
            "max_bytes": 10**6,
            "isolation_level": _READ_COMMITTED,
        }
        self._talk.ask(f"tx {case}", ApiKey.FETCH, 11, until=is_whole, topics=topics, **limits)

    def end_offset(self, case: str) -> int:
        topics = [{"name": f"{self._talk.name}-t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
        found = self._talk.ask(f"tx {case}", ApiKey.LIST_OFFSETS, 5, replica_id=-1, topics=topics)
        offset: int = found.topics[0].partitions[0].offset
        return offset


def transaction(talk: Talk) -> None:
    """Transactions are begun, filled and ended, or not."""
    group = f"{talk.name}-txg"
    producer = Producer(talk, "tx")
    producer.has(producer.begin("init"))
    producer_id = producer.names["producer_id"]
    producer.begin("empty id", transactional_id="")
    for timeout in (0, 10**9, -1, 900_000, 900_001):
        label = "10^9" if timeout == 10**9 else str(timeout)
        values: dict[str, Any] = {"transactional_id": f"{talk.name}x{timeout}", "transaction_timeout_ms": timeout}
        producer.begin(f"timeout {label}", **values)
    producer.begin("id without epoch", producer_id=producer_id)
    producer.begin("epoch without id", producer_epoch=0)
    producer.begin("new with numbers", transactional_id=f"{talk.name}-new", producer_id=5, producer_epoch=3)
    producer.end("end without begin")
    producer.send("produce before add", 0)
    producer.send("produce before add in v11", 0, version=11)
    producer.offsets("offsets before add", 3, group)
    producer.offsets("offsets before add in v4", 4, group)
    producer.add("add unknown topic", topic=f"{talk.name}none")
    producer.add("add unknown topic wrong pid", topic=f"{talk.name}none", producer_id=producer_id + 1)
    producer.add("add unknown id", transactional_id=f"{talk.name}zz")
    producer.add("add empty id", transactional_id="")
    producer.add("add")
    producer.add("add again")
    before = producer.end_offset("end offset")
    producer.send("produce", 0)
    producer.send("produce non-transactional batch", 1, is_transactional=False)
    producer.send("produce without id", 1, transactional_id=None)
    producer.send("produce to another partition", 0, index=1)
    producer.send("produce with another pid", 0, numbers={"producer_id": producer_id + 1})
    producer.add("add wrong pid", producer_id=producer_id + 1)
    producer.add("add wrong epoch", producer_epoch=5)
    producer.add_group("add group", group)
    producer.add_group("add group empty", "")
    producer.add_group("add group wrong epoch", group, producer_epoch=5)
    producer.add_group("add group wrong epoch in v1", group, 1, producer_epoch=5)
    producer.offsets("offsets", 3, group)
    producer.offsets("offsets metadata", 3, group, metadata="x" * 5000)
    producer.offsets("offsets wrong epoch", 3, group, producer_epoch=5)
    producer.offsets("offsets wrong pid", 3, group, producer_id=producer_id + 1)
    producer.offsets("offsets empty group", 3, "")
    producer.offsets("offsets generation", 3, group, generation_id_or_member_epoch=3, member_id="m")
    producer.committed("offsets of an open transaction", group)
    producer.read("read what is committed before the end", before)
    producer.end("commit")
    producer.end("commit again")
    producer.end("abort after commit", committed=False)
    producer.end("unknown id", transactional_id=f"{talk.name}zz")
    producer.end("end empty id", transactional_id="")
    producer.committed("offsets of a committed transaction", group, is_ended=True)
    producer.send("produce after the end", 1)
    producer.send("produce non-transactional after the end", 1, is_transactional=False)
    producer.add("add for the next")
    producer.send("produce the next", 2)
    producer.end("abort", committed=False)
    producer.end("abort again", committed=False)
    producer.end("commit after abort")
    producer.has(producer.begin("init after aborting"))
    producer.send("produce in v12, which adds the partition", 0, version=12)
    producer.end("commit what v12 has begun")
    producer.begin("init before reading")  # it waits for the markers
    producer.end_offset("end offset after all")


def fencing(talk: Talk) -> None:
    """Producers take each other's place (KIP-360), and those before are refused."""
    first, second = Producer(talk, "tx"), Producer(talk, "tx")
    found = first.begin("init again")
    first.has(found)
    producer_id, epoch = found.producer_id, found.producer_epoch
    first.begin("init with own id and epoch", producer_id=producer_id, producer_epoch=epoch)
    first.begin("init with own id and epoch once more", producer_id=producer_id, producer_epoch=epoch)
    first.begin("init with stale epoch", producer_id=producer_id, producer_epoch=epoch + 9)
    first.begin("init with older epoch", producer_id=producer_id, producer_epoch=epoch - 1)
    first.begin("init with older epoch in v3", 3, producer_id=producer_id, producer_epoch=epoch - 1)
    first.begin("init with foreign id (kafka-go sends 0, 0)", producer_id=producer_id + 77, producer_epoch=0)
    first.end("zombie commit")
    first.end("zombie commit in v1", version=1)
    first.send("zombie produce", 0)
    first.add("zombie add")
    first.add("zombie add in v1", 1)
    first.has(first.begin("init a"))
    before = first.end_offset("end offset before the zombie")
    first.add("add of a")
    first.send("produce of a", 0)
    second.has(second.begin("init b, which fences a"))
    first.send("zombie produce in its transaction", 1)
    first.send("zombie produce in v12", 1, version=12)
    first.send("zombie produce without a transaction", 1, is_transactional=False, transactional_id=None)
    second.add("add of b")
    first.send("zombie produce in the transaction of b", 1)
    second.send("produce of b", 0)
    second.end("commit of b")
    first.end("commit of a")
    second.begin("init before reading again")
    second.read("read committed after a zombie", before)

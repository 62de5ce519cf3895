"""Cases of records that consumers ask for, and of offsets."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey
from tests.support.broker_cases.producing import batch, produce
from tests.support.broker_cases.talking import STILL, Talk
from tests.support.broker_cases.topics import UNKNOWN_ID, new

_ENOUGH = 10**6


def fetch(talk: Talk) -> None:
    """Fetch records, with success and without."""

    def ask(case: str, *, topic: str = "", offset: int = 0, version: int = 11, **values: Any) -> None:
        of_partition: dict[str, Any] = {
            name: values.pop(name) for name in ("current_leader_epoch", "partition") if name in values
        }
        most = values.pop("partition_max_bytes", _ENOUGH)
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": most, **of_partition}
        topics = [{"topic": topic or f"{talk.name}-t", "topic_id": UNKNOWN_ID, "partitions": [partition]}]
        usual = {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 0, "max_bytes": _ENOUGH, "topics": topics}
        talk.ask(case, ApiKey.FETCH, version, **{**usual, **values})

    ask("fetch")
    ask("fetch beyond", offset=9999)
    ask("fetch negative", offset=-1)
    ask("fetch unknown topic", topic=f"{talk.name}none")
    ask("fetch unknown partition", partition=7)
    ask("fetch epoch 9", current_leader_epoch=9)
    ask("fetch session -1 epoch -1 (kafka-go)", session_id=-1, session_epoch=-1)
    sessions = ((77, 0), (77, 1), (77, -1), (77, -2), (0, -1), (0, 5), (-1, 0), (-1, 3), (0, -3))
    for session_id, epoch in sessions:
        ask(f"fetch session {session_id} epoch {epoch}", session_id=session_id, session_epoch=epoch)
    ask("fetch session of no topics", session_id=77, session_epoch=0, topics=[])
    ask("fetch max 0 bytes", partition_max_bytes=0)
    ask("fetch max 0 bytes of all", max_bytes=0)
    ask("fetch unknown id", version=13)
    produce(talk, "produce zstd for a fetch", batch(compression="zstd"), index=1)
    for version in (4, 9, 10):
        ask(f"fetch zstd in v{version}", version=version, partition=1)


def sessions(talk: Talk) -> None:
    """Sessions are begun, gone on with and ended, or not."""
    name = f"{talk.name}-fs"
    talk.ask("create for sessions", ApiKey.CREATE_TOPICS, 5, timeout_ms=5000, topics=[new(name, 3)])
    talk.ask("metadata for sessions", ApiKey.METADATA, 12, STILL, topics=[{"name": name}])
    for index in range(3):
        produce(talk, f"produce for sessions {index}", batch(), name=name, index=index, retried=STILL)

    def ask(
        case: str,
        session: tuple[int, int],
        *offsets: tuple[int, int],
        forgotten: Any = (),
        topic: str = name,
        **values: Any,
    ) -> int:
        partitions = [
            {"partition": index, "fetch_offset": offset, "partition_max_bytes": _ENOUGH} for index, offset in offsets
        ]
        topics = [{"topic": topic, "topic_id": UNKNOWN_ID, "partitions": partitions}] if partitions else []
        left = [{"topic": name, "topic_id": UNKNOWN_ID, "partitions": list(forgotten)}] if forgotten else []
        usual = {"max_wait_ms": 100, "min_bytes": 0, "max_bytes": _ENOUGH, "topics": topics, "version": 11}
        asked = {
            **usual,
            "session_id": session[0],
            "session_epoch": session[1],
            "forgotten_topics_data": left,
            **values,
        }
        found = talk.ask(f"session {case}", ApiKey.FETCH, asked.pop("version"), left_out=("leader_epoch",), **asked)
        talk.answers[f"session {case}"]["has_id"] = found.session_id != 0
        session_id: int = found.session_id
        return session_id

    me = ask("begun", (0, 0), (0, 0), (1, 0), (2, 1))
    ask("with the epoch of the beginning", (me, 2))
    ask("next", (me, 1))
    ask("same epoch again", (me, 1))
    ask("with positions", (me, 2), (0, 1), (1, 1))
    ask("without news", (me, 3), max_wait_ms=1)
    produce(talk, "produce into a session", batch(), name=name, index=2)
    ask("with news", (me, 4))
    ask("with a position again", (me, 5), (2, 2))
    ask("with a partition that there is not", (me, 6), (9, 0))
    ask("with an error that stays", (me, 7))
    ask("without the partition that there is not", (me, 8), forgotten=[9])
    ask("with a topic that there is not", (me, 9), (0, 0), topic=f"{name}none")
    ask("with a position beyond the end", (me, 10), (1, 99))
    ask("with a position that is right again", (me, 11), (1, 0))
    ask("with ids", (me, 12), version=13)
    ask("after ids", (me, 12), (1, 1))
    ask("without a partition", (me, 13), forgotten=[0])
    produce(talk, "produce to what is forgotten", batch(), name=name, index=0)
    ask("does not have what is forgotten", (me, 14))
    ask("of another id", (me + 1, 15))
    ask("begun again", (me, 0), (0, 1))
    ask("that has ended", (me, 15))
    other = ask("to be ended", (0, 0), (0, 2), (1, 1))
    ask("in which all is forgotten", (other, 1), forgotten=[0, 1])
    ask("after all is forgotten", (other, 2))
    last = ask("to be ended by its client", (0, 0), (0, 2))
    ask("ended by its client", (last, -1))
    ask("after its end", (last, 1))
    ask("of no partitions", (0, 0))


def offsets(talk: Talk) -> None:
    """Offsets are found by timestamp and by epoch, or not."""
    name = talk.name

    def ask(case: str, version: int, *timestamps: int, topic: str = "", **values: Any) -> None:
        partitions = [{"partition_index": 0, "timestamp": one, **values} for one in timestamps]
        topics = [{"name": topic or f"{name}-t", "partitions": partitions}]
        talk.ask(case, ApiKey.LIST_OFFSETS, version, replica_id=-1, timeout_ms=100, topics=topics)

    for at in (-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_001, 9 * 10**12):
        ask(f"list offsets {at}", 9 if at > -6 else 11, at)
    for version, at in ((1, -3), (6, -3), (7, -4), (8, -5), (10, -6), (1, -7)):
        ask(f"list offsets {at} in v{version}", version, at)
    ask("list offsets unknown", 5, -1, topic=f"{name}none")
    ask("list offsets unknown -7", 11, -7, topic=f"{name}none")
    ask("list offsets twice", 9, -1, -2)
    ask("list offsets epoch 9", 9, -1, current_leader_epoch=9)
    ask("list offsets v1 -1", 1, -1)

    def end_of(case: str, epoch: int, topic: str = "", **values: Any) -> None:
        topics = [{"topic": topic or f"{name}-t", "partitions": [{"partition": 0, "leader_epoch": epoch, **values}]}]
        talk.ask(case, ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, replica_id=-1, topics=topics)

    end_of("epoch end 0", 0)
    end_of("epoch end 5", 5)
    end_of("epoch end -1", -1)
    end_of("epoch end unknown topic", 0, f"{name}none")
    end_of("epoch end epoch 9", 0, current_leader_epoch=9)

"""One meaning of lag, unread, stalled and the other words, in a look at brokers and in the job on log folders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_messages.consumer_protocol_assignment.v0 import ConsumerProtocolAssignment, TopicPartition
from kafka_messages.group_metadata_key.v0 import GroupMetadataKey
from kafka_messages.group_metadata_value.v3 import GroupMetadataValue, MemberMetadata
from kipjobs.engines import Session
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.report.metrics import exposition
from kipjobs.report.report import total_row
from kipwire.cluster import unread
from kipwire.cluster.brokers import Brokers, Node
from kipwire.cluster.fetching import Part
from kipwire.cluster.lag import Row, Stand, find_stalled, rows_of, totals_of
from kipwire.cluster.metrics import metrics_of
from kipwire.cluster.model import Group, Kind, Look, Member
from kipwire.cluster.settings import Settings
from kipwire.logs.names import Partition
from kipwire.records import Record, RecordBatch, read_batches
from kipwire.records.control import control_type
from tests.support.subjects.exposition import by_labels, samples
from tests.support.subjects.lag_states import NOW, STALLED_AFTER, STATES, State, Verdict
from tests.support.subjects.offset_logs import Batch, Commit, ms, write_logs
from tests.support.subjects.spark_tables import rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PLACES = {name: Partition("t", number) for number, name in enumerate(STATES)}
LEADER = Node(1, ("kafka", 9092))
METRICS = ("lag", "unread", "stalled_seconds", "too_late", "without_offset")


def batches_of(state: State) -> list[RecordBatch]:
    return list(read_batches(b"".join(state.log)))


def end_of(state: State) -> int:
    return max([0, *(batch.last_offset + 1 for batch in batches_of(state))])


def answered(state: State, offset: int, *, committed: bool) -> Part:
    """Answer as a leader does: a batch, with the aborted transactions that reach it, before the last stable offset."""
    started: dict[int, int] = {}
    aborted: list[Any] = []
    for batch in batches_of(state):
        if batch.is_control and (first := started.pop(batch.producer_id)) >= 0:
            if control_type(batch.records[0]) == "ABORT" and batch.last_offset >= offset:
                aborted.append(SimpleNamespace(producer_id=batch.producer_id, first_offset=first))
        elif batch.is_transactional:
            started.setdefault(batch.producer_id, batch.base_offset)
    end = min(started.values(), default=end_of(state)) if committed else end_of(state)
    assert bool(started) is not state.is_closed
    left = [
        data
        for data, batch in zip(filter(None, state.log), batches_of(state), strict=True)
        if offset <= batch.last_offset < end
    ]
    return Part(left[0] if left else b"", end, aborted if committed else ())


async def fetched(
    _brokers: object, _leader: object, asked: Iterable[tuple[Partition, int, int]], _size: int, *, committed: bool
) -> dict[Partition, Part]:
    states = list(STATES.values())
    return {place: answered(states[place.number], offset, committed=committed) for place, offset, _ in asked}


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """A look at all states, as by their leader."""
    monkeypatch.setattr(unread, "fetch", fetched)
    ends = {PLACES[name]: end_of(state) for name, state in STATES.items()}
    starts = {PLACES[name]: state.start for name, state in STATES.items()}
    behind = {
        PLACES[name]: [state.offset]
        for name, state in STATES.items()
        if state.offset is not None and state.offset < end_of(state)
    }
    searches = unread.searches_of(behind, dict.fromkeys(ends, LEADER), starts, ends)
    firsts, problems = asyncio.run(unread.find_firsts(Brokers("kafka:9092", Settings()), searches))
    assert not problems
    groups = tuple(
        Group(name, Kind.CLASSIC, "Stable", (Member("m", "c", "h", frozenset((PLACES[name],))),), offsets)
        for name, state in STATES.items()
        if (offsets := {} if state.offset is None else {PLACES[name]: state.offset}) is not None
    )
    return Look(ms(NOW) / 1000, tuple(STATES), groups, starts, ends, frozenset(), firsts, ())


def of_look(look: Look) -> tuple[dict[str, Verdict], str, dict[str, int]]:
    """Return the verdicts of `kipwire.cluster`, its metrics, and numbers of groups of its totals."""
    every: list[Row] = rows_of(look)
    stands = {
        (name, PLACES[name]): Stand(state.offset, ms(state.committed_at) / 1000, end_then(state))
        for name, state in STATES.items()
        if state.offset is not None
    }
    stalled = {one.row.group: one for one in find_stalled(every, stands, look.time, STALLED_AFTER)}
    verdicts = {
        row.group: Verdict(
            *(row.lag, row.unread, row.seconds, row.group in stalled),
            stalled[row.group].grown if row.group in stalled else None,
            *(row.too_late, row.ahead, row.has_no_offset),
        )
        for row in every
    }
    totals = totals_of(look, every, list(stalled.values()))
    numbers = {name: getattr(totals, name) for name in ("behind", "stalled", "too_late", "ahead", "without_offset")}
    sums = {"lag": totals.lag, "unread": totals.unread}
    return verdicts, metrics_of(look, every, stalled.values()), {name: n.groups for name, n in numbers.items()} | sums


def end_then(state: State) -> int | None:
    """Return the end of a partition when the offset was committed, as far as times of records say."""
    times = [
        (max(one.timestamp for one in batch.records), batch.last_offset + 1)
        for batch in batches_of(state)
        if batch.records
    ]
    known = [end for time, end in times if 0 <= time <= ms(state.committed_at)]
    return max(known, default=None)


def metadata(name: str) -> Record:
    """Make the record of a group whose member has the partition of a state."""
    topics = [TopicPartition(topic="t", partitions=[PLACES[name].number])]
    assignment = b"\0\3" + ConsumerProtocolAssignment(assigned_partitions=topics).encode()
    member = MemberMetadata(member_id="m", client_id="c", client_host="/h", assignment=assignment)
    value = GroupMetadataValue(protocol_type="consumer", generation=1, protocol="range", leader="m", members=[member])
    key = b"\0\2" + GroupMetadataKey(group=name).encode()
    return Record(offset=0, timestamp=ms(1), key=key, value=b"\0\3" + value.encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All states in the folder of a broker."""
    records: list[Commit | Record] = [metadata(name) for name in STATES]
    records += [
        Commit(name, PLACES[name].number, state.offset, state.committed_at)
        for name, state in STATES.items()
        if state.offset is not None
    ]
    logs = {PLACES[name].number: state.log for name, state in STATES.items()}
    made = write_logs(tmp_path, "t", {**logs, len(logs): [Batch(0, [NOW])]}, records)
    starts = [f"t {PLACES[name].number} {state.start}" for name, state in STATES.items() if state.start]
    (made / "log-start-offset-checkpoint").write_text("\n".join(["0", str(len(starts)), *starts, ""]))
    return made


def of_folder(session: Session, folder: Path) -> tuple[dict[str, Verdict], str, dict[str, int]]:
    """Return the same of the job."""
    report = offsets_report(session, folder, STALLED_AFTER)
    tables = {one.name: rows(one.frame) for one in report.tables}
    text, totals = exposition(report.metrics), total_row(report)
    stalled = {row["group"]: row for row in tables["stalled"]}
    without = {row["group"] for row in tables["without_offset"]}
    assert {row["group"]: row["too_late"] for row in tables["too_late"]} == {
        row["group"]: row["too_late"] for row in tables["groups"] if row["too_late"]
    }
    assert not without & {row["group"] for row in tables["groups"]}
    verdicts = {
        row["group"]: Verdict(
            *(row["lag"], row["unread"], row["lag_seconds"], row["group"] in stalled),
            stalled[row["group"]]["grown"] if row["group"] in stalled else None,
            *(row["too_late"], max(row["offset"] - row["end_offset"], 0)),
        )
        for row in tables["groups"]
    }
    for name, state in STATES.items():
        if state.offset is None:
            verdicts[name] = Verdict(None, None, None, without_offset=name in without)
    return verdicts, text, totals


def test_each_state_has_one_verdict_by_brokers_and_by_folders(look: Look, session: Session, folder: Path) -> None:
    expected = {name: state.verdict for name, state in STATES.items()}
    by_brokers, metrics, totals = of_look(look)
    by_folder, metrics_of_folder, totals_of_folder = of_folder(session, folder)
    for name, verdict in expected.items():
        assert by_brokers[name] == verdict, name
        assert by_folder[name] == verdict, name
    assert {name: totals_of_folder[name] for name in totals} == totals
    found, of_job = samples(metrics), samples(metrics_of_folder)
    for kind in METRICS:
        series = "kafka_consumergroup_lag" if kind == "lag" else f"kipwire_consumergroup_{kind}"
        labels = ("consumergroup", "topic", "partition")
        by_name = by_labels(found, series, labels)
        assert by_name and by_name == by_labels(of_job, series, labels), kind
    seconds = ("kafka_consumergroup_group_lag_seconds", ("group", "topic", "partition"))
    assert by_labels(found, *seconds) == by_labels(of_job, *seconds)

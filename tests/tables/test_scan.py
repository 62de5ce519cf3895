"""`kipwire.tables.scan` gives the same rows as the sources of jobs, and polars reads only what it needs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from kafka_messages.fetch_request.v12 import FetchRequest
from kafka_messages.offset_commit_value.v3 import OffsetCommitValue
from kipwire import KipwireError
from kipwire.cluster import ONCE, Cluster
from kipwire.records import Bounds, Record, write_batch
from kipwire.tables import JobError, SourceError, Wanted, scan, scan_polars
from kipwire.tables.messages.records import Records, decode_coordinator, decode_metadata
from kipwire.tables.sources import logs
from kipwire.tables.sources.formats import FORMATS
from kipwire.testing import FakeBroker
from tests.support.places import DATA, ROOT
from tests.support.subjects.random_logs import write_random_logs, write_random_metadata

SEGMENTS = DATA / "segments"
START = datetime(2026, 11, 28, tzinfo=UTC)


def rows_of_jobs(source: str, schema: pa.Schema, path: Path, **options: str) -> pa.Table:
    """Return what jobs get from a source."""
    given = {"path": str(path), "columns": ",".join(schema.names), **options}
    plan = FORMATS[source].plan({name: text for name, text in given.items() if source == "kafka_log" or name == "path"})
    return pa.Table.from_batches([batch for piece in plan.work() for batch in plan.read(piece)]).select(schema.names)


def log(folder: Path, *batches: bytes, base: int = 0) -> Path:
    """Write the only segment of a partition."""
    folder.mkdir(parents=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    return folder


def numbered(count: int, start: int = 0) -> list[Record]:
    """Return records with a time each minute."""
    first = int(START.timestamp() * 1000)
    return [Record(offset=at, timestamp=first + at * 60_000, value=b"%d" % at) for at in range(start, start + count)]


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_those_of_the_sources_of_jobs(tmp_path: Path, seed: int) -> None:
    write_random_logs(tmp_path / "broker", seed, 1)
    for path in (SEGMENTS, tmp_path / "broker"):
        for level in ("records", "batches"):
            all_of_them = scan(path, level=level, columns=logs.GRANULARITIES[level].schema.names, control=True)
            expected = rows_of_jobs("kafka_log", all_of_them.schema, path, level=level, includeControl="true")
            assert all_of_them.read_all().equals(expected) and len(expected)
    frames = scan(ROOT / "examples/capture", level="frames").read_all()
    assert frames.equals(rows_of_jobs("kafka_frames", frames.schema, ROOT / "examples/capture")) and len(frames)


@pytest.mark.parametrize("seed", range(2))
def test_decoded_records_are_those_of_jobs(tmp_path: Path, seed: int) -> None:
    write_random_logs(tmp_path, seed, 1)
    write_random_metadata(tmp_path, seed)
    families = {"__consumer_offsets": "group", "__transaction_state": "transaction", "__share_group_state": "share"}
    for path in (SEGMENTS, tmp_path):
        for topic, family in families.items():
            raw = scan(path, topics=topic, columns=["key", "value"]).read_all()
            ours = scan(path, topics=topic, decode="coordinator", columns=["record"], mode="PERMISSIVE").read_all()
            keys, values = (column.combine_chunks() for column in raw.columns)
            assert ours.column("record").combine_chunks().equals(decode_coordinator(Records(family), keys, values).rows)
    values = scan(tmp_path, topics="__cluster_metadata", columns=["value"]).read_all()["value"].combine_chunks()
    ours = scan(tmp_path, decode="metadata", columns=["record"]).read_all()["record"].combine_chunks()
    assert ours.equals(decode_metadata(Records("metadata"), values).rows) and len(ours)


def test_records_below_the_log_start_are_left_out(tmp_path: Path) -> None:
    log(tmp_path / "t-0", write_batch(numbered(9)))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    for first, from_log_start in ((0, False), (5, True)):
        found = scan(tmp_path, columns=["offset"], from_log_start=from_log_start).read_all()
        assert found["offset"].to_pylist() == [*range(first, 9)]


def test_values_are_decoded_as_messages_and_chosen_fields_of_them(tmp_path: Path) -> None:
    commits = [OffsetCommitValue(offset=at, metadata="m").encode() for at in range(3)]
    values = [*(b"\0\3" + commit for commit in commits), None]
    log(tmp_path / "t-0", write_batch([Record(offset=at, value=value) for at, value in enumerate(values)]))
    found = scan(tmp_path, message="OffsetCommitValue", fields=["offset"], columns=["offset", "message"]).read_all()
    messages = found.column("message").to_pylist()
    assert [one and one["offset"] for one in messages] == [0, 1, 2, None]
    assert list(messages[0]) == ["_version", "offset"]
    assert scan(tmp_path, message="OffsetCommitValue").schema.names == [
        *("topic", "partition", "offset", "timestamp", "message")
    ]


def test_pandas_duckdb_and_polars_take_it_in_a_line() -> None:
    expected = scan(SEGMENTS, topics="orders").read_all()
    assert len(scan(SEGMENTS, topics="orders").read_pandas()) == len(expected)
    orders = scan(SEGMENTS, topics="orders")
    relation = duckdb.sql("from orders")
    assert relation is not None and relation.to_arrow_table().cast(orders.schema).equals(expected)
    assert scan_polars(SEGMENTS, topics="orders").collect().to_arrow().cast(expected.schema).equals(expected)


# polars

_OFFSET, _TIME = pl.col("offset"), pl.col("timestamp")


def minute(number: int) -> int:
    return int(START.timestamp() * 1000) + number * 60_000


FILTERS: list[tuple[pl.Expr, Bounds | None]] = [
    (_OFFSET >= 40, Bounds(40)),
    (_OFFSET > 40, Bounds(41)),
    (pl.lit(40) > _OFFSET, Bounds(None, 40)),
    (_OFFSET <= 40, Bounds(None, 41)),
    (_OFFSET == 40, Bounds(40, 41)),
    (_OFFSET.is_between(3, 5), Bounds(3, 6)),
    (_OFFSET.is_between(3, 5, closed="none"), Bounds(4, 5)),
    ((_OFFSET >= 3) & (_OFFSET >= 7) & (_OFFSET < 9) & (_OFFSET < 20), Bounds(7, 9)),
    (START + timedelta(minutes=5) <= _TIME, Bounds(None, None, minute(5))),
    (START + timedelta(minutes=5) > _TIME, Bounds(None, None, None, minute(5))),
    (START + timedelta(minutes=5) < _TIME, Bounds(None, None, minute(5) + 1)),
    (START + timedelta(minutes=5) >= _TIME, Bounds(None, None, None, minute(5) + 1)),
    (_TIME.eq(START + timedelta(minutes=5)), Bounds(None, None, minute(5), minute(5) + 1)),
    (START + timedelta(microseconds=1) <= _TIME, Bounds(None, None, minute(0) + 1)),
    (START + timedelta(microseconds=1) > _TIME, Bounds(None, None, None, minute(0) + 1)),
    ((_OFFSET < 5) | (_OFFSET > 90), Bounds()),
    (~(_OFFSET < 5), None),  # polars may turn it around
    (_OFFSET.is_in([3, 4]), Bounds()),
    ((_OFFSET % 2 == 0) & (_OFFSET < 10), Bounds(None, 10)),
    ((pl.col("value") == b"7") & (_OFFSET > 5), Bounds(6)),
    (_OFFSET != 4, Bounds()),
    (pl.col("headers").list.len() > 0, Bounds()),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[logs.Request]:
    """The requests that the source got."""
    found: list[logs.Request] = []
    read = logs.read

    def noting(request: logs.Request, work: list[logs.Work]) -> Iterator[pa.RecordBatch]:
        found.append(request)
        return read(request, work)

    monkeypatch.setattr(logs, "read", noting)
    return found


def test_a_filter_of_polars_reads_only_what_it_needs(tmp_path: Path, asked: list[logs.Request]) -> None:
    for number in range(2):
        log(tmp_path / f"t-{number}", *(write_batch(numbered(10, at)) for at in range(0, 100, 10)))
    everything = scan_polars(tmp_path).collect()
    for expression, bounds in FILTERS:
        asked.clear()
        assert scan_polars(tmp_path).filter(expression).collect().equals(everything.filter(expression)), expression
        assert bounds is None or {one.row_filter.bounds for one in asked} == {bounds}, expression
        # ... beside bounds of its own, of which the tighter ones hold.
        narrow = everything.filter(_OFFSET >= 4, _OFFSET < 95)
        found = scan_polars(tmp_path, from_offset=4, to_offset=95).filter(expression).collect()
        assert found.equals(narrow.filter(expression)), expression


def test_polars_reads_the_partitions_and_the_columns_that_it_needs(tmp_path: Path, asked: list[logs.Request]) -> None:
    for name in ("a-0", "a-1", "b-0"):
        log(tmp_path / name, write_batch(numbered(3)))
    lazy = scan_polars(tmp_path)
    assert len(lazy.filter(pl.col("topic") == "a", pl.col("partition") == 1).select("offset").collect()) == 3
    (request,) = asked
    assert request.chosen[:2] == (("a",), (1,))
    assert sorted(request.schema.names) == ["offset", "partition", "topic"]
    asked.clear()
    assert lazy.select(pl.len()).collect().item() == 9
    assert lazy.filter(pl.col("topic") == "none").collect().is_empty()
    assert lazy.filter(pl.col("topic") == "a", pl.col("topic") == "b").collect().is_empty()
    assert scan_polars(tmp_path, topics="a").filter(pl.col("topic") == "b").collect().is_empty()
    assert scan_polars(tmp_path, partitions=[1]).filter(pl.col("partition") == 0).collect().is_empty()


def test_polars_stops_reading_at_its_limit(tmp_path: Path, asked: list[logs.Request]) -> None:
    log(tmp_path / "t-0", write_batch(numbered(50)))
    log(tmp_path / "u-0", b"damaged" * 20)
    assert scan_polars(tmp_path).head(7).collect()["offset"].to_list() == [*range(7)]
    with pytest.raises((KipwireError, pl.exceptions.ComputeError), match="magic at byte 16"):  # the second before 2.0
        scan_polars(tmp_path).collect()


def test_each_collect_finds_what_there_is(tmp_path: Path) -> None:
    folder = log(tmp_path / "t-0", write_batch(numbered(5)))
    lazy = scan_polars(tmp_path).select(pl.len())
    assert lazy.collect().item() == 5
    with (folder / f"{0:020}.log").open("ab") as file:
        file.write(write_batch(numbered(3, 5)))
    assert lazy.collect().item() == 8


# What cannot be read.

WRONG: list[tuple[Wanted, type[Exception], str]] = [
    ({"topics": "ordres"}, SourceError, "there is no folder of topic 'ordres'; did you mean orders? There is orders"),
    ({"partitions": [7]}, SourceError, "there is no folder of partition 7; there are 0, 1"),
    ({"columns": ["offest"]}, JobError, "there is no column 'offest'; did you mean offset?"),
    ({"columns": ["message"]}, JobError, "there is no column 'message'; it is made by message or decode"),
    ({"columns": []}, JobError, "columns is empty; name some of topic, "),
    ({"columns": ["key", "key"]}, JobError, "the column 'key' is named twice"),
    ({"columns": [1]}, JobError, "columns must be texts, not 1"),  # type: ignore[list-item]
    ({"message": "Fetch"}, KipwireError, "kafka_messages has no message named 'Fetch'"),
    ({"message": "OffsetCommitValue"}, KipwireError, "orders/0 offset 0: OffsetCommitValue: version at byte 0: "),
    ({"message": "OffsetCommitValue", "decode": "metadata"}, JobError, "exclude each other"),
    ({"version": 3}, JobError, "version and fields are of a message; give its name as message"),
    ({"types": ["OffsetCommit"]}, JobError, "types are of an internal topic; give decode"),
    ({"decode": "coordinator"}, SourceError, "there is no folder of topic '__consumer_offsets'"),
    ({"decode": "coordinator", "topics": "orders"}, JobError, "reads one topic, of __consumer_offsets, "),
    ({"decode": "group"}, JobError, "decode must be coordinator or metadata, not 'group'"),  # type: ignore[typeddict-item]
    ({"message": "OffsetCommitValue", "topics": "__share_group_state"}, JobError, "the values of __share_group_state"),
    ({"level": "frames", "topics": "a"}, JobError, "topics, partitions, bounds, control, committed, from_log_start "),
    ({"level": "batches", "message": "OffsetCommitValue"}, JobError, 'message and decode need level="records"'),
    ({"level": "rows"}, JobError, "level must be one of records, batches, frames, not 'rows'"),  # type: ignore[typeddict-item]
    ({"mode": "LENIENT"}, JobError, "mode must be FAILFAST or PERMISSIVE, not 'LENIENT'"),
    ({"from_offset": -1}, JobError, "from_offset is -1; it must be an offset, 0 or more"),
    ({"cores": 0}, JobError, "cores is 0; it must be a number of processes, 1 or more"),
    ({"level": "frames", "committed": True}, JobError, "from_log_start and PERMISSIVE need logs, not captures"),
]


@pytest.mark.parametrize(("wanted", "error", "text"), WRONG)
def test_a_wrong_argument_is_one_line(tmp_path: Path, wanted: Wanted, error: type[Exception], text: str) -> None:
    for number in range(2):
        log(tmp_path / f"orders-{number}", write_batch(numbered(2)))
    with pytest.raises(error) as raised:
        scan(tmp_path, **wanted).read_all()
    assert text in str(raised.value) and "\n" not in str(raised.value)


def test_a_partition_in_two_folders_is_refused_since_its_rows_would_be_there_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log(tmp_path / name / "orders-0", write_batch(numbered(2)))
    with pytest.raises(SourceError, match=r"orders/0 is in .*/a/orders-0 and in .*/b/orders-0, so its rows would be"):
        scan(tmp_path)
    assert len(scan(tmp_path / "a").read_all()) == 2
    with pytest.raises(SourceError, match="there is no path to read"):
        scan([])


def test_what_cannot_be_decoded_is_an_error_of_its_row_if_that_is_wanted(tmp_path: Path) -> None:
    batches = [
        write_batch([Record(offset=0, value=b"\0\3" + OffsetCommitValue().encode())]),
        write_batch([Record(offset=1, value=b"junk")]),
        write_batch([Record(offset=2, value=None)]),
    ]
    batches[2] = batches[2][:-1] + bytes([batches[2][-1] ^ 1])
    log(tmp_path / "t-0", *batches)
    log(tmp_path / "u-0", write_batch([Record(offset=0, value=b"\0\3" + OffsetCommitValue().encode())]))
    found = scan(tmp_path, message="OffsetCommitValue", mode="PERMISSIVE").read_all().to_pylist()
    assert [(one["topic"], one["offset"], one["message"] is None) for one in found] == [
        *(("t", 0, False), ("t", 1, True), ("t", None, True), ("u", 0, False))
    ]
    assert [one["error"] and one["error"][:25] for one in found] == [
        *(None, "OffsetCommitValue: version"[:25], "RecordBatch v2: crc at by", None)
    ]


# Brokers

TOPICS = {"orders": 2, "paid": 1}


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics=TOPICS) as fake:
        for at in range(30):
            fake.append("orders", b"%d" % at, key=b"k", partition=at % 2)
        yield fake


def cluster_of(broker: FakeBroker) -> Cluster:
    return Cluster(broker.bootstrap_servers, patience=ONCE)


def test_records_of_brokers_are_those_that_were_appended(broker: FakeBroker) -> None:
    found = scan(cluster_of(broker), topics="orders").read_all()
    assert sorted((one["partition"], one["offset"], one["key"], one["value"]) for one in found.to_pylist()) == [
        (number, at, b"k", b"%d" % (2 * at + number)) for number in range(2) for at in range(15)
    ]
    everything = scan(cluster_of(broker), columns=[*logs.GRANULARITIES["records"].schema.names]).read_all()
    assert len(everything) == 30
    assert {everything[name].null_count for name in ("segment", "batch_position", "error")} == {30}
    some = scan(cluster_of(broker), topics="orders", partitions=[1], from_offset=3, to_offset=5, columns=["value"])
    assert some.read_all()["value"].to_pylist() == [b"7", b"9"]
    assert len(scan(cluster_of(broker), topics="paid").read_all()) == 0


def test_brokers_are_asked_for_the_offsets_of_a_time(broker: FakeBroker) -> None:
    broker.advance(1000)
    later = broker.records("orders")[0].timestamp + 500_000
    broker.append("orders", b"late", partition=1)
    assert scan(cluster_of(broker), topics="orders", since=later).read_all()["value"].to_pylist() == [b"late"]
    fetched = [request.body_as(FetchRequest) for request in broker.requests(FetchRequest)]
    assert {one.fetch_offset for body in fetched for topic in body.topics for one in topic.partitions} == {15}
    assert len(scan(cluster_of(broker), topics="orders", until=later).read_all()) == 30


def test_rows_of_brokers_are_read_where_an_event_loop_is_running(broker: FakeBroker) -> None:
    async def notebook() -> int:
        return len(scan(cluster_of(broker), topics="orders").read_all())

    assert asyncio.run(notebook()) == 30
    lazy = scan_polars(cluster_of(broker), topics="orders")
    assert lazy.filter(pl.col("partition") == 1, _OFFSET >= 10).select(pl.len()).collect().item() == 5


def test_polars_reads_the_partitions_of_brokers_that_it_needs(broker: FakeBroker) -> None:
    lazy = scan_polars(cluster_of(broker))
    for expression, count in (
        (pl.col("partition") == 1, 15),  # which paid has not
        ((pl.col("topic") == "orders") & (pl.col("partition") == 0), 15),
        (pl.col("partition") == 7, 0),
        (pl.col("topic") == "none", 0),
    ):
        assert len(lazy.filter(expression).collect()) == count
    assert len(scan(cluster_of(broker), partitions=[1]).read_all()) == 15


def test_a_reader_of_brokers_that_is_left_leaves_no_thread(broker: FakeBroker) -> None:
    before = threading.active_count()
    reader = scan(cluster_of(broker), topics="orders")
    assert len(reader.read_next_batch())
    del reader
    assert threading.active_count() == before


def test_what_brokers_do_not_have_is_one_line(broker: FakeBroker) -> None:
    cases: list[tuple[Wanted, str]] = [
        ({"topics": "ordres"}, "has no topic 'ordres': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?"),
        ({"topics": "orders", "partitions": [5]}, "has no orders partition 5; orders has 2 partitions"),
        ({"level": "batches"}, "level='batches' needs paths, not a cluster"),
    ]
    for wanted, text in cases:
        with pytest.raises(KipwireError) as raised:
            scan(cluster_of(broker), **wanted)
        assert text in str(raised.value)
    with pytest.raises(KipwireError, match="connection refused"):
        scan(Cluster("127.0.0.1:1", patience=ONCE), topics="orders")


def test_random_records_of_brokers_are_those_that_they_have() -> None:
    chance = Random(5)
    with FakeBroker(topics={"t": 1}) as fake:
        for _ in range(40):
            headers = [("h", chance.choice((None, b"x")))] * chance.randrange(3)
            fake.append("t", chance.randbytes(chance.randrange(200)), key=chance.choice((None, b"k")), headers=headers)
        ours: Any = scan(cluster_of(fake), topics="t").read_all().to_pylist()
        theirs = fake.records("t")
    assert [(one["offset"], one["key"], one["value"], one["timestamp"]) for one in ours] == [
        (one.offset, one.key, one.value, START.fromtimestamp(one.timestamp / 1000, UTC)) for one in theirs
    ]
    assert [[(h["key"], h["value"]) for h in one["headers"]] for one in ours] == [[*one.headers] for one in theirs]

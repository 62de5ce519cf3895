"""Topics of a real broker give the same rows as its log folder, and as a consumer of committed records."""

from __future__ import annotations

from pathlib import Path
from random import Random
from uuid import uuid4

import polars as pl
import pyarrow.dataset
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kipwire.cluster import Cluster
from kipwire.tables import scan, scan_polars
from kipwire.tables.query import query_of
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS
from kipwire.tables.writing.export import export
from tests.support.live.real_broker import ADDRESS, LOGS

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
OF_FILES = ("segment", "batch_position")


def produce(topic: str, count: int, start: int = 0) -> None:
    """Produce records of every codec, some of them in transactions, of which every second is aborted."""
    chance = Random(start)
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": ADDRESS, "compression.type": codec, "linger.ms": 5})
        for at in range(start, start + count):
            key = chance.choice((None, b"k%d" % at))
            producer.produce(
                topic, b"%s-%d" % (codec.encode(), at), key, partition=at % 3, headers=[("h", b"v"), ("n", None)]
            )
        producer.flush()
    for number in range(4):
        producer = Producer({"bootstrap.servers": ADDRESS, "transactional.id": str(uuid4())})
        producer.init_transactions()
        producer.begin_transaction()
        for at in range(10):
            producer.produce(topic, b"txn-%d-%d-%d" % (start, number, at), partition=at % 3)
        producer.flush()
        (producer.abort_transaction if number % 2 else producer.commit_transaction)()


@pytest.fixture
def topic() -> str:
    name = f"tables-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for future in admin.create_topics([NewTopic(name, 3, 1)]).values():
        future.result()
    return name


def test_rows_of_a_topic_are_those_of_its_folder(topic: str) -> None:
    produce(topic, 300)
    columns = [name for name in ALL_LOG_COLUMNS.names if name not in OF_FILES]
    order = [("partition", "ascending"), ("offset", "ascending")]
    for control in (False, True):
        ours = scan(Cluster(ADDRESS), topics=topic, columns=columns, control=control).read_all().sort_by(order)
        theirs = scan(LOGS, topics=topic, columns=columns, control=control).read_all().sort_by(order)
        assert ours.equals(theirs) and len(ours) > 1500
    committed = scan(Cluster(ADDRESS), topics=topic, committed=True, columns=["value"]).read_all()["value"].to_pylist()
    assert len(committed) == 1500 + 20
    assert {one.split(b"-")[2] for one in committed if one.startswith(b"txn")} == {b"0", b"2"}
    lazy = scan_polars(Cluster(ADDRESS), topics=topic).filter(pl.col("partition") == 1, pl.col("offset") >= 400)
    assert lazy.select(pl.len()).collect().item() == len(
        scan(LOGS, topics=topic, partitions=[1], from_offset=400).read_all()
    )


def test_runs_over_a_topic_that_grows_are_one_scan_of_it(topic: str, tmp_path: Path) -> None:
    out, kept, start = tmp_path / "rows.parquet", tmp_path / "state.json", 0
    for _ in range(3):
        produce(topic, 50, start)
        start += 50
        assert (
            export(query_of(Cluster(ADDRESS), topics=topic, committed=True), out, ("date",), kept).rows == 5 * 50 + 20
        )
        assert export(query_of(Cluster(ADDRESS), topics=topic, committed=True), out, ("date",), kept).rows == 0
    order = [("partition", "ascending"), ("offset", "ascending")]
    whole = scan(Cluster(ADDRESS), topics=topic, committed=True).read_all().sort_by(order)
    assert (
        pyarrow.dataset.dataset(out, format="parquet").to_table(columns=whole.schema.names).sort_by(order).equals(whole)
    )

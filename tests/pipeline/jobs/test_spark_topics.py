"""Topics of brokers on every Spark, as a batch and as a stream, with a fake broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kipjobs.engines.embedded.session import EmbeddedSession
from kipspark.reasons import SPARK_ERRORS, reason
from kipwire.testing import FakeBroker

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
KEY = ["partition", "offset"]


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={"orders": 2}) as fake:
        fill(fake, 40)
        yield fake


def fill(broker: FakeBroker, count: int) -> None:
    for at in range(count):
        broker.append("orders", b"%d" % at if at % 7 else None, partition=at % 2, headers=[("h", None), ("", b"v")])


@pytest.mark.every_spark
def test_topics_of_brokers_are_rows_and_streams(spark: SparkSession, broker: FakeBroker, tmp_path: Path) -> None:
    options = {"brokers": broker.bootstrap_servers, "topics": "orders"}
    with EmbeddedSession() as session:
        expected = session.read.format("kafka_topic").options(**options).load().toArrow()
    for more in ({}, {"maxRecordsPerPartition": "7"}):
        found = spark.read.format("kafka_topic").options(**options, **more).load()
        assert places(found) == sorted(
            expected.select([*KEY, "value"]).to_pylist(), key=lambda row: (row["partition"], row["offset"])
        )
        assert found.where("size(headers) = 2 and headers[0].value is null").count() == 40
    stream = spark.readStream.format("kafka_topic").options(**options, maxBytesPerTrigger="1500").load()
    out = str(tmp_path / "rows")
    for added, count in ((0, 40), (10, 50)):
        fill(broker, added)
        for _ in range(1 if spark.version >= "4.2" else 12):  # where a run is one batch
            writer = stream.select(*KEY, "value").writeStream.format("parquet")
            query = writer.option("checkpointLocation", str(tmp_path / "seen")).trigger(availableNow=True).start(out)
            assert query.awaitTermination(120)
            if len(places(spark.read.parquet(out))) == count:
                break
    assert len(places(spark.read.parquet(out))) == 50
    assert places(spark.read.parquet(out)) == places(spark.read.format("kafka_topic").options(**options).load())
    for wrong, text in (
        ({"topics": "ordres"}, "did you mean orders?"),
        ({"ssl.key.password": "geheim"}, "as option config"),
    ):
        with pytest.raises(SPARK_ERRORS) as raised:
            spark.read.format("kafka_topic").options(**options | wrong).load().count()
        assert text in reason(raised.value) and "geheim" not in str(raised.value) and "\n" not in reason(raised.value)


def places(frame: DataFrame) -> list[dict[str, object]]:
    return frame.select(*KEY, "value").orderBy(*KEY).toArrow().to_pylist()  # type: ignore[no-any-return]

"""Topics of a broker by Spark's connector, in columns of messages, as docs/spark.md says; for `make test-broker`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaConsumer
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata, TopicPartition

from kipspark.spark import java
from tests.support.kafka_jars import fetch_jars
from tests.support.live.broker_traffic import admin_client
from tests.support.live.real_broker import ADDRESS
from tests.support.live.spark_environments import environment

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

RELEASE = "4.0.0"
"""The release of Spark with its connector: docs/spark.md names it."""
JARS = (
    (RELEASE, "org.apache.spark", ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")),
    ("3.9.0", "org.apache.kafka", ("kafka-clients",)),
    ("2.12.0", "org.apache.commons", ("commons-pool2",)),
)
PROGRAM = """
import sys
from pyspark.sql import SparkSession
from kipspark import from_coordinator

spark = SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[1]).getOrCreate()
spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
topic = spark.read.format("kafka").option("kafka.bootstrap.servers", sys.argv[2])
log = topic.option("subscribe", "__consumer_offsets").load()
record = log.select("partition", "offset", from_coordinator("key", "value").alias("record"))
commits = record.where("record.type = 'OffsetCommit' and record.key.offset_commit.group = '" + sys.argv[3] + "'")
for row in commits.select("record.value.offset_commit.*").select("offset", "metadata").toJSON().collect():
    print(row)
"""


def test_columns_of_sparks_connector_become_columns_of_messages(tmp_path: Path) -> None:
    java.use_java()
    jars = [jar for version, group, names in JARS for jar in fetch_jars(tmp_path, version, names, group).values()]
    name = f"committed-{uuid4()}"
    with admin_client(ADDRESS) as admin:
        admin.create_topics([NewTopic(name, 1, 1)], wait_for_metadata=True)
    consumer = KafkaConsumer(bootstrap_servers=ADDRESS, group_id=name)
    for offset in (3, 5):
        consumer.commit({TopicPartition(name, 0): OffsetAndMetadata(offset, f"note {offset}", -1)})
    consumer.close(autocommit=False)
    python = str(environment(RELEASE) / "bin" / "python")
    command = [python, "-c", PROGRAM, ",".join(map(str, jars)), ADDRESS, name]
    workers = os.environ | {"PYSPARK_PYTHON": python}
    done = subprocess.run(command, env=workers, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [{"offset": 3, "metadata": "note 3"}, {"offset": 5, "metadata": "note 5"}]

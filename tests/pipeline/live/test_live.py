"""Live topics, as far as no broker is needed: refusals with reasons, the connector's jars, and jobs on such rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import JobError, SourceError
from kipspark import commands, connector_jars, live, live_ends
from kipspark.jobs import offsets
from kipspark.spark import connector
from kipspark.spark.client_config import client_options
from kipspark.spark.connector import CONNECTOR, fetch, folder
from kipwire import KipwireError
from tests.support.places import DATA

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEGMENTS = DATA / "segments"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def publish(
    repository: Path, group: str, name: str, version: str, needs: tuple[tuple[str, str, str], ...] = ()
) -> None:
    """Put a jar into a Maven repository."""
    place = repository.joinpath(*group.split("."), name, version)
    place.mkdir(parents=True)
    head = "<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    dependencies = "".join(f"<dependency>{head.format(*one)}</dependency>" for one in needs)
    pom = f"<modelVersion>4.0.0</modelVersion>{head.format(group, name, version)}"
    text = f"<project>{pom}<dependencies>{dependencies}</dependencies></project>"
    (place / f"{name}-{version}.pom").write_text(text)
    (place / f"{name}-{version}.jar").write_bytes(name.encode())


# The connector.


def test_the_connector_and_what_spark_does_not_have_are_fetched(cache: Path, tmp_path: Path) -> None:
    repository, version = tmp_path / "maven", pyspark.__version__
    needs = (("org.apache.kafka", "kafka-clients", "3.9.0"), ("org.apache.hadoop", "hadoop-client-api", "3.4.1"))
    publish(repository, "org.apache.spark", CONNECTOR, version, needs)
    publish(repository, "org.apache.kafka", "kafka-clients", "3.9.0")
    with pytest.raises(JobError, match=r"run: kipspark connector"):
        connector_jars()
    assert fetch(repository.as_uri()) == folder() == cache / "kipwire" / "spark-kafka" / version
    assert [Path(jar).name for jar in connector_jars().split(",")] == [
        "kafka-clients-3.9.0.jar",
        f"{CONNECTOR}-{version}.jar",
    ]
    fetch(repository.as_uri())  # again, in place of the first fetch
    assert [place.name for place in folder().parent.iterdir()] == [version]


def test_a_missing_artifact_is_named_and_nothing_is_left(cache: Path, tmp_path: Path) -> None:
    repository, version = tmp_path / "maven", pyspark.__version__
    token_provider = ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", version)
    publish(repository, "org.apache.spark", CONNECTOR, version, (token_provider,))
    with pytest.raises(
        JobError, match=f"does not have {':'.join(token_provider)}.*pyspark=={connector.TESTED_VERSION}"
    ):
        fetch(repository.as_uri())
    assert list(folder().parent.iterdir()) == []


def test_a_repository_that_cannot_be_reached_is_distinguished_from_one_that_lacks_something(cache: Path) -> None:
    with pytest.raises(JobError, match=r"http://127.0.0.1:1/: cannot be reached .*--repository"):
        fetch("http://127.0.0.1:1/", allow_http=True)


# Refusals.


def test_a_session_without_the_connector_gets_the_way_to_fetch_it(spark: SparkSession) -> None:
    with pytest.raises(SourceError, match=r"no Kafka connector(.|\n)*kipspark connector(.|\n)*connector_jars"):
        live(spark, "127.0.0.1:1", ["orders"])


@pytest.mark.parametrize(
    ("topics", "options", "text"),
    [
        ("orders", {}, r"topics must be a list of names, not a string: \['orders'\]"),
        ([], {}, "name at least one topic"),
        (["a,b"], {}, "'a,b' is not a valid topic name"),
        (["__cluster_metadata"], {}, "brokers do not let clients read it; .*kafka_log"),
        (["a"], {"subscribePattern": "a.*"}, "leave out the option subscribepattern; use the argument topics"),
        (["a"], {"kafka.bootstrap.servers": "b:1"}, "use the argument bootstrap_servers"),
    ],
)
def test_topics_that_would_be_read_wrongly_are_refused(
    spark: SparkSession, topics: Any, options: dict[str, str], text: str
) -> None:
    with pytest.raises(SourceError, match=text):
        live(spark, "127.0.0.1:1", topics, options)


def test_no_topics_have_no_ends(spark: SparkSession) -> None:
    assert live_ends(spark, "127.0.0.1:1", []).count() == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--bootstrap-servers", "b:1", "."], "a PATH or --bootstrap-servers, not both"),
        (["--command-config", "x"], "--command-config needs --bootstrap-servers"),
        (["--bootstrap-servers", "b:1", "--command-config", "missing"], "missing: cannot be read: No such file"),
        (["--bootstrap-servers", "b:1"], "run: kipspark connector"),
    ],
)
def test_the_command_says_what_it_needs(
    cache: Path,
    arguments: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kipspark", "offsets", *arguments])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == 2  # it cannot run
    assert text in capsys.readouterr().err


def test_client_settings_are_read_as_kafkas_tools_read_them(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# who we are\nsecurity.protocol=SASL_SSL\n\nsasl.jaas.config: Module required \\\n    a=b;\n")
    assert client_options(file) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": "Module required a=b;",
    }
    file.write_text("security.protocol=SSL\nMIIEvQ/+\n")
    with pytest.raises(KipwireError, match=r"client.properties: the name of setting 2 has characters other"):
        client_options(file)


# Jobs on the columns of live topics.


@pytest.fixture(scope="module")
def consumed(spark: SparkSession) -> DataFrame:
    """Records as a consumer receives them."""
    log = spark.read.format("kafka_log").option("topics", offsets.TOPIC).load(str(SEGMENTS))
    columns = ["topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "is_control"]
    return log.select(*columns)


def test_groups_use_the_ends_of_now(spark: SparkSession, consumed: DataFrame) -> None:
    commits = offsets.commits(consumed)
    assert "is_transactional" not in commits.columns
    ends_now = spark.createDataFrame(
        [("orders", 0, 1000), ("orders", 1, 5)], "topic string, partition int, end_offset long"
    )
    latest = offsets.latest_with_ends(commits, ends_now).where(sf.col("group").isin("kp-group", "java-new"))
    found = {(row["group"], row["partition"]): row.asDict() for row in latest.collect()}
    assert (found["kp-group", 0]["offset"], found["kp-group", 0]["lag"]) == (323, 1000 - 323)
    assert (found["java-new", 1]["offset"], found["java-new", 1]["lag"]) == (511, 0)  # it is not below 0
    gone = found["kp-group", 2]
    assert (gone["end_offset"], gone["lag"]) == (None, None)

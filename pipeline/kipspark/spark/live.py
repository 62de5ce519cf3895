"""Live topics through Spark's Kafka connector: those columns of `kafka_log` that a consumer receives.

    spark = SparkSession.builder.config("spark.jars", kipspark.connector_jars()).getOrCreate()
    orders = kipspark.live(spark, "localhost:9092", ["orders"])

The connector returns no rows of the broker's own topics, such as `__consumer_offsets`, and no error, unless Spark
fetches offsets in its older way. The older way in turn returns no rows of a topic that does not exist, and waits
forever if no broker answers. So these functions choose the way by topic, and first check brokers and topics.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import SourceError
from kipspark.spark.client_config import without_secrets
from kipwire.records.internal_topics import COORDINATORS, METADATA

OLDER_WAY = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
"""Spark's setting for its older way of fetching offsets, by a consumer that is a member of a group."""

READER_GROUPS = "kipspark-live"
"""The start of the names of the groups that Spark creates for reading."""

COMMITTED_ONLY = {"kafka.isolation.level": "read_committed"}
"""The option that leaves out records of aborted and of open transactions."""

CONNECTOR_ERRORS = (Py4JJavaError, PySparkException)
"""The exceptions of reading with the connector."""

_OURS = {
    "kafka.bootstrap.servers": "bootstrap_servers",
    "subscribe": "topics",
    "subscribepattern": "topics, which are names; a pattern would leave out the broker's own topics",
    "assign": "topics",
}
"""Options of the connector that are arguments here."""
_UNLESS_GIVEN = {
    "groupidprefix": READER_GROUPS,
    "kafka.allow.auto.create.topics": "false",  # else a request for a topic can create it
}
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_SECONDS_TO_ANSWER = 15
_HASTY = {
    "kafka.request.timeout.ms": str(_SECONDS_TO_ANSWER * 1000),
    "kafka.default.api.timeout.ms": str(_SECONDS_TO_ANSWER * 1000),
    "failondataloss": "false",
}
_NO_HEADERS = "array<struct<key:string,value:binary>>"
_CAUSE = re.compile(r"org\.apache\.kafka\.common\.(?:\w+\.)*(\w+Exception): ([^\n]+)")


def live(
    spark: SparkSession, bootstrap_servers: str, topics: Iterable[str], options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the records that live topics have now.

    Columns, as in `kafka_log`: topic, partition, offset, timestamp, timestamp_type, key, value, headers,
    is_control, which is always false.

    Args:
        spark: a session with the connector, such as one with the jars of `kipspark.connector_jars`. To read one of
            the broker's own topics, Spark's older way of fetching offsets is switched on in it.
        bootstrap_servers: such as `localhost:9092`; several are separated by commas.
        topics: their names.
        options: of the connector, such as `startingTimestamp`, or `kafka.security.protocol` for its client.

    Raises:
        SourceError: the session has no connector, no broker answers, a topic does not exist or cannot be read
            this way, or an option is invalid.
    """
    chosen = _choose_options(spark, bootstrap_servers, topics, options or {})
    return _columns(spark.read.format("kafka").options(**chosen).load())


def live_stream(
    spark: SparkSession, bootstrap_servers: str, topics: Iterable[str], options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the records of live topics as a stream, from the first available one unless `startingOffsets` is given.

    Arguments, columns and errors are as for `live`.
    """
    chosen = _choose_options(spark, bootstrap_servers, topics, options or {})
    return _columns(spark.readStream.format("kafka").options(**chosen).load())


def live_ends(
    spark: SparkSession, bootstrap_servers: str, topics: Iterable[str], options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the present ends of live topics: topic, partition, end_offset, which is the offset of the next record.

    Topics that do not exist have no rows, nor have the broker's own. Arguments and errors are as for `live`.
    """
    names = _names(topics)
    rows: list[tuple[str, int, int]] = []
    if names:
        connector_options = _lower(options or {}) | {
            "kafka.bootstrap.servers": bootstrap_servers,
            "startingoffsets": "latest",
        }
        connector_options["subscribepattern"] = "|".join(re.escape(name) for name in names)  # only existing ones match
        connector_options.pop("kafka.isolation.level", None)  # the end counts all records
        # The connector reports ends only in a stream's progress; this stream starts at the end, so it reads nothing.
        stream = spark.readStream.format("kafka").options(**connector_options).load().writeStream.format("noop")
        with newer_way(spark):
            query = stream.trigger(availableNow=True).start()
            query.awaitTermination()
        for progress in query.recentProgress:
            found = json.loads(progress.sources[0].endOffset or "{}")
            rows = [(topic, int(number), end) for topic, ends in found.items() for number, end in ends.items()]
    return spark.createDataFrame(rows, "topic string, partition int, end_offset bigint")


def _choose_options(
    spark: SparkSession, bootstrap_servers: str, topics: Iterable[str], options: Mapping[str, str]
) -> dict[str, str]:
    """Check the connector's options with the brokers, and set how the session fetches offsets of these topics."""
    names = _names(topics)
    if not names:
        raise SourceError("live topics: name at least one topic")
    given = _lower(options)
    for option, argument in _OURS.items():
        if option in given:
            raise SourceError(f"live topics: leave out the option {option}; use the argument {argument}")
    common = _UNLESS_GIVEN | given | {"kafka.bootstrap.servers": bootstrap_servers}
    with newer_way(spark):  # only this way notices a missing topic
        _look(spark, names, common)
    if any(name in COORDINATORS for name in names):
        spark.conf.set(OLDER_WAY, "true")
    return {"startingoffsets": "earliest"} | common | {"subscribe": ",".join(names), "includeheaders": "true"}


@contextmanager
def newer_way(spark: SparkSession) -> Iterator[None]:
    """Fetch offsets without a consumer for a while; then restore the session's setting."""
    with setting(spark, OLDER_WAY, "false"):
        yield


@contextmanager
def setting(spark: SparkSession, name: str, text: str) -> Iterator[None]:
    """Set one of the session's settings for a while; then restore it."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, text)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


def cause_of(error: Exception, settings: Mapping[str, str]) -> str:
    """Return the text of an error of the connector, without the values of secret settings."""
    causes = _CAUSE.findall(str(error))
    text = ": ".join(causes[-1]) if causes else next(iter(str(error).splitlines()[1:2]), str(error)).lstrip(": ")
    return without_secrets(text, settings)


def _names(topics: Iterable[str]) -> list[str]:
    if isinstance(topics, str):
        raise SourceError(f"topics must be a list of names, not a string: [{topics!r}]")
    names = list(dict.fromkeys(topics))
    for name in names:
        if not _TOPIC.fullmatch(name):
            raise SourceError(f"{name!r} is not a valid topic name; use letters, digits, dots, hyphens, underscores")
    if METADATA in names:
        raise SourceError(
            f"{METADATA}: brokers do not let clients read it; read its folder in a broker's log folder: "
            'spark.read.format("kafka_log").option("topics", "__cluster_metadata"), or kipspark metadata PATH'
        )
    return names


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with lower-case names, since Spark ignores case."""
    return {name.lower(): str(text) for name, text in options.items()}


def _look(spark: SparkSession, names: list[str], common: Mapping[str, str]) -> None:
    """Raise a SourceError if the connector, a broker or a topic is missing."""
    failed = _failure(spark, names, common)
    if failed is None:
        return
    servers = common["kafka.bootstrap.servers"]
    if failed.startswith("UnknownTopicOrPartitionException"):
        missing = [name for name in names if len(names) == 1 or _failure(spark, [name], common) is not None]
        raise SourceError(f"{servers}: has no topic {', '.join(missing)}")
    if failed.startswith("TimeoutException"):
        raise SourceError(f"{servers}: no broker answered within {_SECONDS_TO_ANSWER} seconds ({failed})")
    raise SourceError(f"{servers}: {failed}")


def _failure(spark: SparkSession, names: list[str], common: Mapping[str, str]) -> str | None:
    """Return the reason why topics cannot be read; None if they can."""
    # Without the user's own range, which may be empty or outside a topic's.
    own = {name: text for name, text in common.items() if not name.startswith(("starting", "ending"))}
    connector_options = own | _HASTY | {"subscribe": ",".join(names)}
    try:
        spark.read.format("kafka").options(**connector_options).load().isEmpty()
    except AnalysisException as error:
        if "Failed to find data source: kafka" in str(error):
            raise SourceError(_NO_CONNECTOR) from None
        raise
    except CONNECTOR_ERRORS as error:
        return cause_of(error, common)
    return None


_NO_CONNECTOR = (
    "this Spark session has no Kafka connector. Fetch it once with the command\n"
    "  kipspark connector\n"
    "and start the session with it:\n"
    '  SparkSession.builder.config("spark.jars", kipspark.connector_jars())\n'
    "A Spark Connect server, and spark-submit, need it when they start: --jars, or\n"
    "  --packages org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION-OF-SPARK"
)


def _columns(records: DataFrame) -> DataFrame:
    """Turn the connector's columns into the columns of `kafka_log`."""
    return records.select(
        "topic",
        "partition",
        "offset",
        sf.when(sf.unix_millis("timestamp") != -1, sf.col("timestamp")).alias("timestamp"),
        sf.when(sf.col("timestampType") == 0, "CreateTime")
        .when(sf.col("timestampType") == 1, "LogAppendTime")
        .alias("timestamp_type"),
        "key",
        "value",
        sf.coalesce("headers", sf.array().cast(_NO_HEADERS)).alias("headers"),
        sf.lit(False).alias("is_control"),
    )

"""Plan the work of `kafka_topic` from its options, and read it as Arrow batches, without Spark.

This is `kafka_topic` as `logs` is `kafka_log`, for topics of brokers: `request_of` checks the options, `plan` finds the
offsets that there are now and cuts them into pieces, `read` gives the rows of a piece. All of it can be pickled, and
takes secrets along, such as the content of a properties file; so nothing of it is ever shown. Options with secrets in
them are refused, since Spark shows options in plans.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kipwire.cluster import Cluster, Partition, Settings
from kipwire.cluster.given import Certificates, Given, Sasl
from kipwire.tables.sources import logs
from kipwire.tables.sources.decoding import (
    CONTENT_OPTIONS,
    Decoding,
    content_of,
    decoding_of,
    topics_of,
    with_content,
)
from kipwire.tables.sources.log_columns import PLACES
from kipwire.tables.sources.options import CHOSEN_OPTIONS, Options, parse_options
from kipwire.tables.sources.topics import (
    BEGIN,
    EARLIEST,
    END,
    LATEST,
    Positions,
    TopicRequest,
    look,
    read_topics,
)

if TYPE_CHECKING:
    from uuid import UUID

SOURCE = "kafka_topic"
OFFSETS = "offsets"
"""The level at which a row is a partition."""
OFFSETS_SCHEMA = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("start_offset", pa.int64()), ("end_offset", pa.int64())]
)
"""Its columns: the first offset of the log, and the one after its last record."""
_OF_FILES = ("ca", "cert", "key", "keyPasswordFile", "passwordFile", "tokenFile")
BROKER_OPTIONS = ("brokers", "config", "tls", *_OF_FILES, "insecure", "sasl", "user", "clientId", "timeout")
"""The options that say how to reach brokers, with names as on the command line."""
OPTIONS = (
    *BROKER_OPTIONS,
    *CHOSEN_OPTIONS,
    "level",
    "columns",
    *CONTENT_OPTIONS,
    "startingOffsets",
    "endingOffsets",
    "startingOffset",
    "endingOffset",
    "startingTimestamp",
    "endingTimestamp",
    "isolationLevel",
    "includeControl",
    "checkCrc",
    "maxDecompressedSize",
    "maxRecordsPerPartition",
    "mode",
    "failOnDataLoss",
    "maxBytesPerTrigger",
)
_OFFSETS_OF_TASK = 1_000_000
"""Offsets that one task reads at most, by default."""
_FEW = 10_000
"""Offsets up to which partitions share a task: its start, and its connections, cost as much."""
_OF_SPARK = {
    "kafka.bootstrap.servers": "brokers",
    "subscribe": "topics",
    "assign": "topics and partitions",
    "subscribepattern": "topics",
    "minpartitions": "maxRecordsPerPartition",
    "maxoffsetspertrigger": "maxBytesPerTrigger",
}
"""Options of Spark's own source for Kafka, and ours for the same."""
_OF_KAFKA = ("kafka.", "sasl.", "ssl.", "security.", "bootstrap.")
_SECRETS = ("password", "token", "secret")


class Asked(NamedTuple):
    """Checked options of `kafka_topic`."""

    topics: TopicRequest
    schema: pa.Schema
    """The columns of the rows."""
    task_offsets: int
    max_bytes: int | None
    """Limit of a batch of a stream."""
    decoding: Decoding | None
    """Decodes the records; None if their content is bytes."""


class Range(NamedTuple):
    """Offsets of a partition to read."""

    partition: Partition
    first: int
    end: int
    topic_id: UUID | None


def schema_of(given: Mapping[str, str]) -> pa.Schema:
    """Return the columns that the options choose.

    Raises:
        SourceError: an option is not valid.
    """
    return _schema(_checked(given))


def _schema(options: Options) -> pa.Schema:
    if (options.text("level") or "").lower() == OFFSETS:
        return logs.named_columns(options, OFFSETS_SCHEMA) or OFFSETS_SCHEMA
    schema = logs.schema_of(options)
    if options.text("columns") is None:  # brokers have no files
        return pa.schema([field for field in schema if field.name not in PLACES])
    return schema


def request_of(given: Mapping[str, str], columns: Callable[[pa.Schema], pa.Schema] | None = None) -> Asked:
    """Check options, and return them as a request.

    Args:
        given: the options.
        columns: chooses columns from all; None: as `schema_of`.

    Raises:
        SourceError: an option is not valid.
        SettingsError: the properties file cannot be read.
    """
    options = _checked(given)
    content, row_filter = content_of(options), logs.row_filter_of(options)
    level = options.one_of("level", (*logs.GRANULARITIES, OFFSETS), "records")
    whole = OFFSETS_SCHEMA if level == OFFSETS else with_content(logs.GRANULARITIES[level].schema, content)
    schema = _schema(options) if columns is None else columns(whole)
    if level == "batches" and row_filter.committed:
        raise options.error("option isolationLevel needs records; level is batches")
    decoding = decoding_of(options, content, schema, row_filter.control)
    topics = TopicRequest(
        cluster_of(options),
        topics_of(parse_options(options), content),
        row_filter,
        row_filter.committed,
        options.truth("failOnDataLoss", default=True),
        schema if decoding is None else decoding.read,
        _positions(options, BEGIN, {"earliest": EARLIEST, "latest": LATEST}),
        _positions(options, END, {"latest": LATEST}),
        level,
    )
    task_offsets = options.number("maxRecordsPerPartition", 1) or _OFFSETS_OF_TASK
    return Asked(topics, schema, task_offsets, options.number("maxBytesPerTrigger", 1), decoding)


def _checked(given: Mapping[str, str]) -> Options:
    """Check the names of options; no error has a value, which may be a secret."""
    names = {name.lower() for name in OPTIONS}
    for name in given:
        lower = name.lower()
        if (ours := _OF_SPARK.get(lower)) is not None:
            raise Options(SOURCE, {}, ()).error(f"option {name!r} is of Spark's own source; here it is {ours}")
        if lower not in names and (lower.startswith(_OF_KAFKA) or any(one in lower for one in _SECRETS)):
            what = name[len("kafka.") :] if lower.startswith("kafka.") else name
            raise Options(SOURCE, {}, ()).error(
                f"option {name!r} is not taken, since Spark shows options: write {what} to a properties file, "
                "and give its path as option config"
            )
    options = Options(SOURCE, given, OPTIONS)
    if options.text("path") is not None or options.text("paths") is not None:
        raise options.error("brokers have no path: give option brokers, or read a log folder with kafka_log")
    if not options.text("brokers"):
        raise options.error("option brokers is missing; give host:port, and several with commas")
    return options


def cluster_of(options: Options) -> Cluster:
    """Return the cluster that options name; it is not connected to.

    Raises:
        SourceError: an option is not valid.
        SettingsError: the properties file cannot be read.
    """
    addresses = str(options.text("brokers"))
    files = {name: Path(path) for name in ("config", *_OF_FILES) if (path := options.text(name))}
    certificates = Certificates(
        files.get("ca"),
        files.get("cert"),
        files.get("key"),
        files.get("keyPasswordFile"),
        options.truth("insecure", default=False),
    )
    sasl = options.text("sasl")
    login = Given(
        None if sasl is None else Sasl(options.one_of("sasl", tuple(Sasl), "")),
        options.text("user"),
        files.get("passwordFile"),
        files.get("tokenFile"),
    )
    settings = Settings(
        config=files.get("config"),
        tls=None if options.text("tls") is None else options.truth("tls", default=False),
        certificates=certificates,
        login=login,
        client_id=options.text("clientId") or "kipwire",
        timeout=float(options.number("timeout", 1) or 30),
    ).portable()
    try:
        return Cluster(addresses, settings)
    except ValueError as error:
        folder = "; a log folder is read with kafka_log" if "/" in addresses else ""
        raise options.error(f"option brokers: {error}{folder}") from None


def _positions(options: Options, default: Positions, words: Mapping[str, int]) -> Positions:
    """Return the offsets that an option gives: by a word, or by JSON as Spark's own source takes it."""
    text = options.text(default.option)
    if text is None:
        return default
    if (position := words.get(text.strip().lower())) is not None:
        return default._replace(default=position)
    lowest = min(words.values())
    try:
        found = json.loads(text, object_pairs_hook=_without_copies)
        of = {
            Partition(topic, int(number)): offset
            for topic, offsets in found.items()
            for number, offset in offsets.items()
            if _is_offset(offset, lowest) or _refuse(offset)
        }
    except (ValueError, AttributeError, RecursionError):
        meaning = ", ".join(f"{position} for {word}" for word, position in words.items())
        raise options.error(
            f"option {default.option} is {text!r}; it must be {' or '.join(words)}, or JSON such as "
            f'{{"orders": {{"0": 23, "1": -1}}}}, with {meaning}'
        ) from None
    return default._replace(of=of)


def _without_copies(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _is_offset(offset: object, lowest: int) -> bool:
    return isinstance(offset, int) and not isinstance(offset, bool) and offset >= lowest


def _refuse(offset: object) -> bool:
    raise ValueError(offset)


def plan(asked: Asked) -> list[list[Range]]:
    """Find the partitions and their present offsets, and cut them into pieces of work.

    Raises:
        KipwireError: something is not there, or no broker answers.
    """
    found = look(asked.topics).items()
    if asked.topics.level == OFFSETS:
        return [[Range(one, there.start, there.log_end, None) for one, there in found]]
    return pieces(asked, (Range(one, there.first, there.end, there.topic_id) for one, there in found))


def pieces(asked: Asked, found: Iterable[Range]) -> list[list[Range]]:
    """Cut ranges into pieces of work, each of which has some of them, but a partition only once."""
    made: list[list[Range]] = []
    some: list[Range] = []
    size = 0
    for whole in found:
        for start in range(whole.first, whole.end, asked.task_offsets):
            one = whole._replace(first=start, end=min(start + asked.task_offsets, whole.end))
            count = one.end - one.first
            if some and (size + count > _FEW or some[-1].partition == one.partition):
                made.append(some)
                some, size = [], 0
            some.append(one)
            size += count
    return [*made, some] if some else made


def read(asked: Asked, work: list[Range]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece of work."""
    if asked.topics.level == OFFSETS:
        rows = [(*one.partition, one.first, one.end) for one in work]
        columns = zip(*rows, strict=True) if rows else ([] for _ in OFFSETS_SCHEMA)
        made = [pa.array(column, field.type) for column, field in zip(columns, OFFSETS_SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(made, schema=OFFSETS_SCHEMA).select(asked.schema.names)
        return
    ranges = {one.partition: (one.first, one.end) for one in work}
    ids = {one.partition.topic: one.topic_id for one in work}
    for answer in read_topics(asked.topics, ranges, ids):
        yield from answer.rows if asked.decoding is None else map(asked.decoding.finish, answer.rows)


def partitions_of_work(work: list[Range]) -> Iterator[tuple[str, int]]:
    """Yield the partitions of a piece of work, each with its number of offsets."""
    for one in work:
        yield str(one.partition), one.end - one.first

"""Use of APIs by clients and versions, with sizes, latencies and errors, from captured frames.

The input is rows of `kafka_frames`. `inspect_all` replaces each frame by the facts about it, since frames are large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs.shared.totals import one_row, rows, total
from kipwire import KipwireError
from kipwire.message.registry import Registry
from kipwire.tables.sources.captures import FRAMES_SCHEMA
from kipwire.tools.io import no_garbage_collection
from kipwire.traffic import upgrades
from kipwire.traffic.frame_facts import api_name, decode_frame, facts_of
from kipwire.traffic.requests import beside_kafka
from kipwire.traffic.unread import reason_of
from kipwire.traffic.upgrades import client_of

_CODES = pa.list_(
    pa.struct([("path", pa.string()), ("code", pa.int16()), ("error", pa.string()), ("count", pa.int64())])
)
_TAGS = pa.list_(pa.struct([("path", pa.string()), ("tag", pa.int32()), ("bytes", pa.int64())]))

INSPECTED = ("frame", "error", "reason", "unread_bytes")
"""Columns of `kafka_frames` that the columns of `FOUND_SCHEMA` replace."""

FOUND_SCHEMA = pa.schema(
    [
        ("api", pa.string()),
        ("frame_bytes", pa.int64()),
        ("error_codes", _CODES),
        ("unknown_tags", _TAGS),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("max_wait_ms", pa.int32()),
        ("error", pa.string()),
        ("reason", pa.string()),
        ("unread_bytes", pa.int64()),
    ]
)
"""Columns with the facts about a frame; docs/jobs.md explains them. `frame_bytes` is null without a frame."""

_INSPECTED = pa.schema([*[field for field in FRAMES_SCHEMA if field.name not in INSPECTED], *FOUND_SCHEMA])

_UNSERVED = pa.schema(
    [
        ("client_id", pa.string()),
        ("software", pa.string()),
        ("api", pa.string()),
        ("api_key", pa.int16()),
        ("api_version", pa.int16()),
        ("requests", pa.int64()),
        ("served", pa.string()),
        ("fix", pa.string()),
    ]
)
_GIVEN = 5
"""Number of the first columns of `_UNSERVED`, which identify the client, its software, the API and the version."""

WAITING = ("Fetch", "ShareFetch")
"""APIs whose requests let brokers wait for records."""

_OF_EXCHANGE = ("capture", "connection", "correlation_id", "api_key")
"""Columns in which a response equals its request."""


def inspect_all(frames: Frame, packages: tuple[str, ...] = ()) -> Frame:
    """Replace the content of frames by facts about it: api, sizes, error codes, unknown tags, errors."""
    return functions_of(frames).map_batches(frames, partial(inspect_frames, packages=packages), _INSPECTED)


def exchanges(found: Frame) -> Frame:
    """Pair requests with their responses, one row each; columns of the response are null if there is none.

    Sizes of frames that were not captured completely are null, too.

    Args:
        found: of `inspect_all`.
    """
    sf = functions_of(found)
    of_connection = (
        found.where(sf.col("software_name").isNotNull())
        .groupBy("capture", "connection")
        .agg(
            sf.max_by(sf.concat_ws(" ", "software_name", "software_version"), "timestamp_ns").alias("software"),
        )
    )
    frames = found.where(sf.col("api_key").isNotNull())  # other rows describe bytes that are not frames
    requests = frames.where(sf.col("direction") == "request").select(
        *_OF_EXCHANGE,
        "listener",
        "client_id",
        "api",
        "api_version",
        "timestamp",
        "timestamp_ns",
        sf.col("frame_bytes").alias("request_bytes"),
        "max_wait_ms",
        sf.col("unknown_tags").alias("request_unknown_tags"),
        sf.col("error").alias("request_error"),
    )
    responses = frames.where(sf.col("direction") == "response").select(
        *_OF_EXCHANGE,
        sf.col("timestamp_ns").alias("response_ns"),
        sf.col("frame_bytes").alias("response_bytes"),
        "error_codes",
        sf.col("unknown_tags").alias("response_unknown_tags"),
        sf.col("error").alias("response_error"),
    )
    return (
        requests.join(responses, [*_OF_EXCHANGE], "left")
        .join(of_connection, ["capture", "connection"], "left")
        .withColumn("latency_ms", (sf.col("response_ns") - sf.col("timestamp_ns")) / 1e6)
        .drop("timestamp_ns", "response_ns")
    )


def slowness(functions: Functions) -> Column:
    """Return the latency minus the time for which the client lets the broker wait, as a Fetch does for records.

    Args:
        functions: of the frame's engine.
    """
    return functions.col("latency_ms") - functions.coalesce("max_wait_ms", functions.lit(0))


def error_names(functions: Functions) -> Column:
    """Return the names of the error codes of an exchange, or the numbers of unknown ones, separated by commas.

    Args:
        functions: of the frame's engine.
    """
    codes = functions.transform("error_codes", lambda one: functions.coalesce(one["error"], one["code"].cast("string")))
    return functions.concat_ws(", ", codes)


def totals(found: Frame, paired: Frame, missing: Frame, broken: Frame) -> Frame:
    """Return one row: numbers of clients, connections, requests and bytes that were read, and of what is wrong.

    Args:
        found: of `inspect_all`.
        paired: of `exchanges`.
        missing: of `unserved`.
        broken: of `errors`.
    """
    sf = functions_of(paired)
    return one_row(
        paired.agg(
            sf.count_distinct("client_id").alias("clients"),
            rows(sf, "requests"),
            rows(sf, "with_errors", sf.size("error_codes") > 0),
        ),
        missing.agg(total(sf, "requests", "not_served")),
        broken.agg(rows(sf, "not_decoded")),
        paired.select("capture", "connection").distinct().agg(rows(sf, "connections")),
        found.where(sf.col("error").isNull()).agg(total(sf, "frame_bytes", "bytes_read")),
        broken.agg(total(sf, "unread_bytes", "bytes_not_read")),
    )


def unread(broken: Frame) -> Frame:
    """Sum up what was not read, by reason: how many rows of `errors` there are, and their bytes.

    Args:
        broken: of `errors`.
    """
    sf = functions_of(broken)
    return broken.groupBy("reason").agg(
        sf.count(sf.lit(1)).alias("errors"), sf.coalesce(sf.sum("unread_bytes"), sf.lit(0)).alias("bytes")
    )


def by_client(paired: Frame) -> Frame:
    """Sum up the use of APIs by client, software, API and version: counts, bytes and latencies.

    Args:
        paired: of `exchanges`.
    """
    return _sum_exchanges(paired, "client_id", "software", "api", "api_version")


def by_api(paired: Frame) -> Frame:
    """Sum up as `by_client` does, but by API and version only; `clients` is the number of client ids.

    Args:
        paired: of `exchanges`.
    """
    sf = functions_of(paired)
    clients = paired.groupBy("api", "api_version").agg(sf.count_distinct("client_id").alias("clients"))
    return _sum_exchanges(paired, "api", "api_version").join(clients, ["api", "api_version"])


def unserved(paired: Frame, release: str) -> Frame:
    """Find the requests that a release of Kafka does not serve, so that an upgrade to it would break their clients.

    Columns: client_id, software, api, api_key, api_version, requests, served (the versions of the API that the release
    serves, `none` if it has dropped it), and fix (the client library, and its first release that KIP-896 lists as not
    using such versions, with a `?` if the library is a guess by the client id; null if KIP-896 does not list it).

    Args:
        paired: of `exchanges`.
        release: a line of releases of Kafka, such as `4.4`.
    """
    sf = functions_of(paired)
    used = paired.groupBy(*_UNSERVED.names[:_GIVEN]).agg(sf.count(sf.lit(1)).alias("requests"))

    def evaluate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist(
                [found for row in batch.to_pylist() for found in _find_unserved(row, release)], _UNSERVED
            )

    return sf.map_batches(used, evaluate, _UNSERVED)


def error_codes(paired: Frame) -> Frame:
    """Return the error codes other than 0, with their names.

    Columns: api, api_version, client_id, path, code, error (its name, null where Kafka has none), responses and fields:
    the number of each.

    Args:
        paired: of `exchanges`.
    """
    sf = functions_of(paired)
    return (
        paired.select("api", "api_version", "client_id", sf.explode("error_codes").alias("found"))
        .groupBy("api", "api_version", "client_id", "found.path", "found.code", "found.error")
        .agg(sf.count(sf.lit(1)).alias("responses"), sf.sum("found.count").alias("fields"))
    )


def unknown_tags(found: Frame) -> Frame:
    """Return tagged fields unknown to Kafka 4.4: api, direction, api_version, client_id, path, tag, count and bytes.

    Args:
        found: of `inspect_all`.
    """
    sf = functions_of(found)
    return (
        found.select("api", "direction", "api_version", "client_id", sf.explode("unknown_tags").alias("found"))
        .groupBy("api", "direction", "api_version", "client_id", "found.path", "found.tag")
        .agg(sf.count(sf.lit(1)).alias("count"), sf.sum("found.bytes").alias("bytes"))
    )


def errors(found: Frame) -> Frame:
    """Return the rows with an error: frames that cannot be decoded, and bytes of captured packets that are no frame.

    Columns: capture, number, connection, listener, direction, api, api_version, client_id, error, reason, unread_bytes.
    Bytes that are no frame have no number and no API.

    Args:
        found: of `inspect_all`.
    """
    sf = functions_of(found)
    return found.where(sf.col("error").isNotNull()).select(
        *("capture", "number", "connection", "listener", "direction", "api", "api_version", "client_id"),
        *("error", "reason", "unread_bytes"),
    )


def few_values(sf: Functions, milliseconds: Column) -> Column:
    """Round latencies to four digits, and to microseconds at most, so that there are few different values.

    There are 10,000 below 10 ms, and 9,000 more up to each power of ten until 10 s. An exact percentile keeps a count
    of each different value in memory, and a large capture has millions.
    """
    steps = sf.when(milliseconds < 10, 1000).when(milliseconds < 100, 100).when(milliseconds < 1000, 10)
    coarse = steps.when(milliseconds < 10_000, 1).otherwise(0.1)
    return sf.round(milliseconds * coarse) / coarse


def _sum_exchanges(paired: Frame, *by: str) -> Frame:
    sf = functions_of(paired)
    latency = few_values(sf, sf.col("latency_ms"))
    return paired.groupBy(*by).agg(
        sf.count(sf.lit(1)).alias("requests"),
        sf.count("latency_ms").alias("responses"),
        sf.sum("request_bytes").alias("request_bytes"),
        sf.sum("response_bytes").alias("response_bytes"),
        _percentile(sf, latency, 0.5).alias("latency_ms_median"),
        _percentile(sf, latency, 0.99).alias("latency_ms_99"),
        sf.max("latency_ms").alias("latency_ms_highest"),
        sf.count(sf.when(sf.size("error_codes") > 0, 1)).alias("with_errors"),
    )


def _percentile(sf: Functions, values: Column, part: float) -> Column:
    """Return an interpolated percentile, rounded to a nanosecond, since further digits depend on the engine."""
    return sf.round(sf.percentile(values, part) * 1e6) / 1e6


def inspect_frames(batches: Iterable[pa.RecordBatch], packages: tuple[str, ...] = ()) -> Iterator[pa.RecordBatch]:
    """Yield rows of `kafka_frames` with the facts about the frames instead of the frames themselves.

    Args:
        batches: of the rows.
        packages: names of packages with APIs beside Kafka's.
    """
    messages = beside_kafka(packages)
    for batch in filter(len, batches):
        frames = zip(
            batch.column("direction").to_pylist(),
            batch.column("api_key").to_pylist(),
            batch.column("api_version").to_pylist(),
            *(batch.column(name).to_pylist() for name in INSPECTED),
            strict=True,
        )
        with no_garbage_collection():
            columns = zip(*[_find_facts(messages, *frame) for frame in frames], strict=True)
            found = [pa.array(column, field.type) for column, field in zip(columns, FOUND_SCHEMA, strict=True)]
        kept = batch.drop_columns(list(INSPECTED))
        yield pa.RecordBatch.from_arrays([*kept.columns, *found], schema=pa.schema([*kept.schema, *FOUND_SCHEMA]))


def _find_unserved(row: dict[str, Any], release: str) -> Iterator[dict[str, Any]]:
    """Yield the row with the versions that a release serves instead; nothing if it serves the version of the row."""
    name, _, version = (row["software"] or "").partition(" ")
    client = client_of((name, version) if name else None, row["client_id"])
    missing = upgrades.find_unserved(release, row["api_key"], row["api_version"], client)
    if missing is not None:
        yield {**row, "served": missing.served, "fix": missing.fix or None}


def _find_facts(
    messages: Registry,
    direction: str,
    api_key: int | None,
    version: int,
    frame: bytes | None,
    missing: str | None,
    reason: str | None,
    unread_bytes: int | None,
) -> tuple[Any, ...]:
    """Return the values of `FOUND_SCHEMA` for a frame."""
    api = None if api_key is None else api_name(api_key, messages)
    if api_key is None or frame is None:
        return api, None, [], [], None, None, None, missing, reason, unread_bytes
    size = len(frame)
    try:
        body = decode_frame(messages, direction, api_key, version, frame)
    except KipwireError as error:
        return api, size, [], [], None, None, None, str(error), reason_of(error), size
    codes, tags = facts_of(body, messages)
    return (
        api,
        size,
        [{"path": path, "code": code, "error": name, "count": count} for (path, code, name), count in codes.items()],
        [tag._asdict() for tag in tags],
        getattr(body, "client_software_name", None),
        getattr(body, "client_software_version", None),
        getattr(body, "max_wait_ms", None),
        None,
        None,
        None,
    )

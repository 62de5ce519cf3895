"""Records that a source decodes are those that are decoded from its bytes afterwards, and wrong options are named."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from kipwire.tables.errors import BrokenMessageError, SourceError
from kipwire.tables.messages.decoding import Decoded, decode
from kipwire.tables.messages.records import DecodedRecords, Records, decode_coordinator, decode_metadata
from kipwire.tables.messages.selection import Selection
from kipwire.tables.sources.formats import FORMATS
from tests.support.subjects.broken_records import BODIES, MESSAGE, MESSAGES, TOPICS, VERSION, write_broken_records

FIELDS = ("offset", "metadata", "topic_id")
CASES: dict[str, tuple[dict[str, str], Selection | Records]] = {
    **{topic: ({"decode": "coordinator", "topics": topic}, Records(family)) for family, topic in TOPICS.items()},
    "some types": ({"decode": "coordinator", "types": "OffsetCommit"}, Records("group", ("OffsetCommit",))),
    "metadata": ({"decode": "metadata"}, Records("metadata")),
    "message": ({"message": MESSAGE, "topics": MESSAGES}, Selection("kafka_messages", MESSAGE)),
    "fields": (
        {"message": MESSAGE, "topics": MESSAGES, "fields": ",".join(FIELDS)},
        Selection("kafka_messages", MESSAGE, None, FIELDS),
    ),
    "one version": (
        {"message": MESSAGE, "topics": BODIES, "version": str(VERSION)},
        Selection("kafka_messages", MESSAGE, VERSION),
    ),
}
"""Options, and what they choose."""
SLOW = ("__consumer_offsets", "metadata")
"""Those with many types of records, whose classes take time to import."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    write_broken_records(folder, 6)
    return folder


def read(folder: Path, **options: str) -> pa.Table:
    """Return the rows of `kafka_log`, whose plan goes to another process as Spark sends it."""
    given = {"path": str(folder), **options}
    plan = FORMATS["kafka_log"].plan(given)
    rows = pickle.loads(pickle.dumps(plan.read))
    return pa.Table.from_batches(
        [batch for piece in plan.work() for batch in rows(piece)], FORMATS["kafka_log"].schema(given)
    )


def decoded_after(chosen: Selection | Records, rows: pa.Table) -> Decoded | DecodedRecords:
    """Decode the bytes of rows, except control records."""
    controls = rows["is_control"].to_pylist()
    keys, values = (
        pa.array(
            [None if is_control else data.as_py() for data, is_control in zip(rows[name], controls, strict=True)],
            pa.binary(),
        )
        for name in ("key", "value")
    )
    if isinstance(chosen, Selection):
        return decode(chosen, values)
    return decode_metadata(chosen, values) if chosen.family == "metadata" else decode_coordinator(chosen, keys, values)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.night) if name in SLOW else name for name in CASES],
)
def test_records_decoded_in_the_source_are_those_decoded_after_it(logs: Path, name: str) -> None:
    options, chosen = CASES[name]
    topic = options.get("topics") or {"metadata": "__cluster_metadata"}.get(options["decode"], "__consumer_offsets")
    all_rows = {"includeControl": "true", "mode": "PERMISSIVE"}
    columns = "topic,partition,offset,key,value,is_control,error"
    rows = read(logs, topics=topic, columns=columns, **all_rows)
    expected, errors = decoded_after(chosen, rows)
    column = "message" if isinstance(chosen, Selection) else "record"
    found = read(logs, columns=f"error,{column},{columns.removesuffix(',error')}", **options, **all_rows)
    assert found.column(column).combine_chunks().equals(expected)
    assert found.select(columns.split(",")[:-1]).equals(rows.select(columns.split(",")[:-1]))
    texts = [text or (str(errors[at]) if at in errors else None) for at, text in enumerate(rows["error"].to_pylist())]
    assert found["error"].to_pylist() == texts
    assert len(errors) > 1 and expected.null_count < len(expected) and any(rows["error"].to_pylist())
    usual = read(logs, **options, mode="PERMISSIVE")
    assert usual.schema.names == ["topic", "partition", "offset", "timestamp", column, "error"]
    assert len(usual) == len(rows) - rows["is_control"].to_pylist().count(True)


def test_the_first_broken_record_ends_reading_unless_it_is_a_row(tmp_path: Path) -> None:
    write_broken_records(tmp_path, 6)
    options = {"message": MESSAGE, "topics": MESSAGES}
    rows = read(tmp_path, mode="PERMISSIVE", **options)
    first = next(one for one in rows.to_pylist() if one["error"] and one["offset"] is not None)
    whole = rows["offset"].to_pylist().index(None)  # the batch with the wrong checksum
    bounds = {"endingOffset": str(rows["offset"][whole - 1].as_py() + 1)} if whole else {}
    with pytest.raises(BrokenMessageError) as raised:
        read(tmp_path, **options, **bounds)
    assert str(raised.value) == f"{MESSAGES}/0 offset {first['offset']}: {first['error']}"
    passed = read(tmp_path, failOnBrokenMessages="false", **options, **bounds)
    assert passed["message"].to_pylist() == rows["message"].to_pylist()[:whole]
    with pytest.raises(BrokenMessageError):
        read(tmp_path, mode="PERMISSIVE", failOnBrokenMessages="true", **options)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"mesage": MESSAGE}, "kafka_log has no option 'mesage'; it has topics"),
        ({"message": "Fetch"}, "option message: kafka_messages has no message named 'Fetch'"),
        ({"message": "FetchResponse"}, "option version: the bytes of FetchResponse do not include the version"),
        ({"message": MESSAGE, "version": "9"}, "option version: unknown version 9 of OffsetCommitValue"),
        ({"message": MESSAGE, "version": "x"}, "option version is 'x'; it must be a whole number"),
        ({"message": MESSAGE, "fields": "ofset"}, "option fields: .* has no field 'ofset' in any version; did you"),
        ({"message": MESSAGE, "fields": ""}, "option fields is empty"),
        ({"message": MESSAGE, "package": "none"}, "option package: none: cannot be imported"),
        ({"message": MESSAGE, "topics": "__transaction_state"}, "option message: the values of __transaction_state"),
        ({"message": MESSAGE, "decode": "coordinator"}, "message and decode exclude each other"),
        ({"message": MESSAGE, "level": "batches"}, "option level is 'batches'; message and decode need records"),
        ({"message": MESSAGE, "columns": "record"}, "unknown column 'record'; it is made by message or decode"),
        ({"decode": "group"}, "option decode: decode must be coordinator or metadata, not 'group'"),
        ({"decode": "coordinator", "topics": "orders"}, "option decode: .* reads one topic, of __consumer_offsets"),
        ({"decode": "coordinator", "types": "Commit"}, "option types: group records have no type 'Commit'"),
        ({"decode": "coordinator", "fields": "offset"}, "version and fields are of a message"),
        ({"types": "OffsetCommit"}, "types are of an internal topic; give decode"),
        ({"package": "kafka_messages"}, "option package is of decoded records; give message or decode"),
        ({"failOnBrokenMessages": "true"}, "option failOnBrokenMessages is of decoded records"),
    ],
)
def test_options_that_cannot_be_are_named_before_anything_is_read(given: dict[str, str], wrong: str) -> None:
    for planned in (FORMATS["kafka_log"].schema, FORMATS["kafka_log"].plan):
        with pytest.raises(SourceError, match=wrong) as raised:
            planned({"path": "x", **given})
        assert "\n" not in str(raised.value) and str(raised.value).startswith("kafka_log")

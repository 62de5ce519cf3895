"""The table of the 0.8 proposal's alternatives: sums made by hand, and the results file that shows it."""

from __future__ import annotations

import pytest

from benchmarks import space
from benchmarks.wire_format_08 import ALTERNATIVES, FRAMES, MANY, ONE, Contents, handshake, size, table
from tests.support.places import ROOT

CLIENT_ID = 2 + len("web-front-end")
TOPICS = {ONE: [2 + 10], MANY: [2 + 10, 2 + 6, 2 + 9]}
"""Bytes of the names of topics."""


@pytest.mark.parametrize("contents", [ONE, MANY], ids=str)
def test_frames_as_proposed_have_the_bytes_of_their_fields(contents: Contents) -> None:
    partitions, names = contents.partitions, TOPICS[contents]
    count = len(names) * partitions
    request = 4 + 2 + 2 + 4 + CLIENT_ID  # size, request_type_id, version_id, correlation_id, client_id
    response = 4 + 4 + 2 + 2  # size, correlation_id, version_id, error
    data = 2 + sum(name + 2 for name in names) + count * (4 + 4)  # of a partition: number, size of its message set
    assert [size(name, contents) for name in FRAMES] == [
        request + 1 + 4 + data,  # required_acks, ack_timeout
        response + 2 + 2 * count + 2 + 8 * count,  # errors, offsets
        request + 4 + 4 + 4 + 2 + sum(name + 2 + 2 for name in names) + count * (4 + 4),
        response + data,
    ]


@pytest.mark.parametrize("contents", [ONE, MANY], ids=str)
def test_alternatives_differ_by_the_bytes_of_what_they_change(contents: Contents) -> None:
    count, topics = contents.topics * contents.partitions, contents.topics
    again = sum(TOPICS[contents]) * (contents.partitions - 1) - 2 * topics  # names again, but no counts of partitions
    expected = {
        "fields in the order of the drawing": ["", "", 0, ""],
        "error right after the size": ["", 0, "", ""],
        "client_id in an optional Hello": [-CLIENT_ID, "", -CLIENT_ID, ""],
        "version_id, too, in a required Hello": [-CLIENT_ID - 2, -2, -CLIENT_ID - 2, -2],
        "no correlation id": [-4] * 4,
        "the request's id in responses instead": [-4, -2, -4, -2],
        "counts of acknowledgements": ["", 2 + 2 * count, "", ""],
        "errors and offsets in pairs": ["", -2, "", ""],
        "ids of message sets": [4 * count, 2 + 4 * count, "", ""],
        "a flag instead of replica_id": ["", "", -3, ""],
        "no min_size": ["", "", -4, ""],
        "partitions with offset and fetch size": ["", "", 4 * count - 2 * topics, ""],
        "partitions with error and offset, error first": ["", "", "", 12 * count],
        "before: each partition with its topic": [again, "", "", ""],
    }
    assert list(expected) == list(ALTERNATIVES)[1:]
    found = {
        row[0]: [int(cell.split("(")[1][:-1]) if cell else "" for cell in row[1:]] for row in table(contents).rows[1:]
    }
    assert found == expected


def test_every_request_and_response_of_the_proposal_is_in_the_table() -> None:
    specs = {file.stem for file in (ROOT / "schemas/proposals/wire-format-0.8").glob("*.json")}
    shown = {message.partition(" ")[0] for messages in ALTERNATIVES.values() for message in messages}
    assert {name for name in specs if name.startswith(("ProduceRe", "FetchRe"))} == shown - {"MultiProducerRequestData"}


def test_a_hello_takes_its_bytes_once() -> None:
    hello, reply = 2 + CLIENT_ID + 2, 2 + len("broker-1")
    said = " ".join(handshake().split())
    assert said.startswith(f"Hello and HelloReply take {hello + reply} bytes, once on each connection.")
    assert f"saves {CLIENT_ID} bytes in each request;" in said
    assert f"saves {CLIENT_ID + 2 + 2} in each request with its response." in said


def test_the_results_file_shows_the_tables_of_the_benchmark() -> None:
    page = space.RESULTS.read_text(encoding="utf-8")
    assert page == space.results(), "run make bench-space"
    for contents in (ONE, MANY):
        for row in table(contents).rows:
            assert f"| {' | '.join(row)} |" in page, row
    assert " ".join(handshake().split()) in " ".join(page.split())

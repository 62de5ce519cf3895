"""Checkpoints of streams: every version that was ever written can be read, and later versions are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kipwire.tables.errors import SourceError
from kipwire.tables.sources.changing_logs.checkpoints import VERSION, Reached, document, parse_checkpoint
from tests.support.places import DATA

KEPT = sorted((DATA / "stream_offsets").glob("*.json"))
NEXT = {"{logs}/orders-0": 3, "{logs}/orders-1": 1003}
FIRST = {"{logs}/orders-0": 0, "{logs}/orders-1": 1000}


def kept(name: str) -> Any:
    return json.loads((DATA / "stream_offsets" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_offsets_of_every_version_are_read(path: Path) -> None:
    begun = FIRST if path.stem.endswith("-begun") else {}
    assert parse_checkpoint(kept(path.stem)) == Reached(NEXT, begun)


def test_offsets_of_every_version_are_kept() -> None:
    versions = {found[1] for path in KEPT if (found := re.match(r"version-(\d+)", path.stem))}
    assert versions == {str(version) for version in range(1, VERSION + 1)}
    assert (DATA / "stream_offsets" / "unversioned.json") in KEPT


def test_the_present_version_is_written_as_it_is_kept() -> None:
    assert json.dumps(document(Reached(NEXT))) == json.dumps(kept(f"version-{VERSION}"))
    assert json.dumps(document(Reached(NEXT, FIRST))) == json.dumps(kept(f"version-{VERSION}-begun"))


def test_a_stream_that_has_read_nothing_has_an_offset() -> None:
    assert parse_checkpoint(document(Reached())) == parse_checkpoint({}) == Reached()


def test_offsets_of_a_later_version_are_refused() -> None:
    expected = (
        f"kafka_log: the stream's checkpoint has offsets of version {VERSION + 1}, but this release reads versions "
        f"up to {VERSION}; continue with the release that wrote it, or with a later one"
    )
    with pytest.raises(SourceError, match=re.escape(expected)):
        parse_checkpoint({"version": VERSION + 1, "other": []})


@pytest.mark.parametrize(
    "found",
    [
        [],
        None,
        {"/logs/t-0": "3"},
        {"/logs/t-0": -1},
        {"/logs/t-0": True},
        {"version": 0, "next_offsets": {}},
        {"version": "1", "next_offsets": {}},
        {"version": 1},
        {"version": 1, "next_offsets": {"/logs/t-0": 1.5}},
        {"version": 1, "next_offsets": {}, "first_offsets": 3},
        {"partition-1": {"index": 3}, "padding": "x" * 1000},
    ],
)
def test_what_kafka_log_does_not_write_is_refused(found: Any) -> None:
    with pytest.raises(SourceError, match="has offsets that kafka_log does not write: ") as caught:
        parse_checkpoint(found)
    assert len(str(caught.value)) < 300

"""Any number of 64 bits may stand where a time stands: `kipwire dump` shows it, and counts what is not plausible."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kipwire.cli import output
from kipwire.cluster import Patience, fetching
from kipwire.console.dump import topics
from kipwire.console.dump.reading import Summary
from kipwire.records import Record, read_batches, write_batch
from kipwire.testing import FakeBroker
from kipwire.tools.times import DAY, EPOCH, is_plausible, moment_text, moment_text_of_ns
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import batch, log
from tests.console.dump.test_dump_topics import produce
from tests.support.odd_logs import with_times
from tests.support.places import DATA

NOW = 1_700_000_000_000
MICROSECONDS = DATA / "cases" / "times-in-microseconds" / "orders-0"
BEFORE_1970 = -5000


def batch_at(first: int, highest: int, **producer: Any) -> bytes:
    return with_times(write_batch([Record(offset=0, timestamp=0, value=b"v")], **producer), first, highest)


def read_back(text: str) -> int:
    """Return the number that a text of a time in milliseconds has."""
    if text.endswith("ms"):
        return int(text[:-2])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    return round((datetime.fromisoformat(text) - EPOCH).total_seconds() * 1000)


@given(st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**14), 10**15))
@example(253_402_300_799_999)
@example(253_402_300_800_000)
@example(-62_135_596_800_000)
@example(-62_135_596_800_001)
@example(2**63 - 1)
@example(-(2**63))
def test_a_text_has_the_whole_time_whatever_its_number_is(time: int) -> None:
    assert (read_back(moment_text(time)) if time != -1 else -1) == time
    has_date = moment_text(time).endswith("Z")
    in_ns = moment_text_of_ns(time * 10**6)
    assert in_ns == (f"{moment_text(time)[:-1]}000Z" if has_date else f"{time * 10**6}ns") or time == -1


def test_times_without_a_date_are_numbers_with_their_unit(dump: Dump) -> None:
    done = dump(MICROSECONDS, "-r")
    assert (done.returncode, done.stderr) == (0, "")
    assert "offset=1-1 records=1 time=1700000000123456ms " in done.stdout
    assert "  offset=1 time=1700000000123456ms " in done.stdout
    assert moment_text_of_ns(2**70) == f"{2**70}ns"


def test_a_summary_counts_implausible_times_and_names_their_producers(dump: Dump) -> None:
    done = dump(MICROSECONDS, "-s")
    assert "time=2023-11-14T22:13:20.123Z to 1700000000123456ms" in done.stdout
    assert done.stdout.endswith(", 1 batch with times before 1970 or in the future (producer 3)\n")
    shown = json.loads(dump(MICROSECONDS, "-s", "-f", "json").stdout)
    assert (shown["implausible_times"], shown["implausible_producers"]) == (1, [3])
    assert (shown["first_timestamp"], shown["last_timestamp"]) == (1_700_000_000_123, 1_700_000_000_123_456)


def test_a_summary_has_the_times_before_1970_too(tmp_path: Path, dump: Dump) -> None:
    # Brokers store -1 as the highest time of a batch whose records are all before 1970.
    file = log(tmp_path / "orders-0", batch_at(BEFORE_1970, -1))
    assert "time=1969-12-31T23:59:55.000Z to 1969-12-31T23:59:55.000Z" in dump(file, "-s").stdout
    without = log(tmp_path / "others-0", write_batch([Record(offset=0, timestamp=-1)]))
    assert "time=none to none, compression=none:1\n" in dump(without, "-s").stdout


@pytest.mark.parametrize(
    ("time", "plausible"),
    [(-1, True), (0, True), (-2, False), (NOW + DAY, True), (NOW + DAY + 1, False), (2**63 - 1, False)],
)
def test_a_time_is_plausible_from_1970_to_a_day_from_now(time: int, plausible: bool) -> None:
    assert is_plausible(time, NOW) is plausible
    summary = Summary(0, at=NOW)
    (batch,) = read_batches(batch_at(NOW, time, producer_id=9, producer_epoch=0, base_sequence=0))
    summary.add(batch)
    assert summary.implausible_times == (not plausible)
    assert list(summary.implausible_producers) == ([] if plausible else [9])


def test_since_a_time_before_1970_is_from_the_start_of_a_topic_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dump: Dump
) -> None:
    monkeypatch.setattr(topics, "PATIENCE", Patience(7, 0))
    monkeypatch.setattr(fetching, "WAIT", 10)
    some = [write_batch([Record(offset=0, timestamp=NOW + at, value=b"v%d" % at)]) for at in range(3)]
    with FakeBroker(topics={"orders": 1}) as broker:
        asyncio.run(produce(broker.bootstrap_servers, "orders", 0, *some))
        # The first two are -1 and -2 in milliseconds, with which one asks a broker for the end and for the start.
        for since in ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.998Z", "1960-01-01"):
            done = dump("--brokers", broker.bootstrap_servers, "orders", "-r", "--since", since)
            assert (done.returncode, done.stderr) == (0, "")
            assert re.findall(r"value='(v\d)'", done.stdout) == ["v0", "v1", "v2"], since


@pytest.mark.parametrize(("ago", "shown"), [("30s", 1), ("2m", 2), ("3h", 3), ("2d", 4)])
def test_a_time_before_now_is_a_number_with_a_unit(
    ago: str, shown: int, tmp_path: Path, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "now", lambda: NOW)
    ages = (100_000_000, 9_000_000, 100_000, 20_000)
    log(tmp_path / "a-0", *(batch(at, b"v", time=NOW - age) for at, age in enumerate(ages)))
    assert dump(tmp_path / "a-0", "-r", "--since", ago).stdout.count("value=") == shown
    assert dump(tmp_path / "a-0", "-r", "--until", ago).stdout.count("value=") == 4 - shown


def test_times_before_1970_may_be_numbers(tmp_path: Path, dump: Dump) -> None:
    times = ((0, -5000), (1, -4000))  # which only other clients write, so that brokers store -1 as the highest
    log(tmp_path / "a-0", *(with_times(batch(at, b"ab"[at : at + 1]), time, -1) for at, time in times))
    for since in (-4500, "1969-12-31T23:59:55.500"):
        assert re.findall(r"value='(\w)'", dump(tmp_path / "a-0", "-r", "--since", since).stdout) == ["b"]
        assert re.findall(r"value='(\w)'", dump(tmp_path / "a-0", "-r", "--until", since).stdout) == ["a"]

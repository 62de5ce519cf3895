"""The pages of tap and dump show what their JSON lines say: rows that open, with each text escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_messages.produce_request.v9 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire.console import lines_page
from kipwire.records import Record, write_batch
from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import DATA

CAPTURE = DATA / "cases" / "captures" / "young-9092.pcap"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    return lambda *arguments: command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


def test_each_exchange_is_a_row_with_its_bodies(call: Callable[..., Done], tmp_path: Path) -> None:
    lines = [json.loads(one) for one in call("tap", CAPTURE, "--format", "json", "--records").stdout.splitlines()]
    exchanges = [line for line in lines if line["type"] == "exchange"]
    done = call("tap", CAPTURE, "--html", "tap.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote tap.html\n")
    page = (tmp_path / "tap.html").read_text("utf-8")
    assert page.count('<summary class="exchange">') == len(exchanges) > 0
    assert page.count("<h2>request</h2>") == sum(line["request"] is not None for line in exchanges)
    assert re.findall(r'data-frame="(\d+)"', page)[:1] == [str(exchanges[0]["request_frame"])]
    assert "<script" in page and "default-src 'none'" in page


def test_each_batch_is_a_row_with_its_records_and_texts_are_escaped(call: Callable[..., Done], tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    records = [Record(offset=n, timestamp=0, key=bad.encode(), value=b"\xff\x00" if n else None) for n in range(2)]
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(write_batch(records) + b"\x00" * 5 + b"rubbish that is no batch, and long enough to be one" * 2)
    done = call("dump", "orders-0", "--html", "dump.html")
    page = (tmp_path / "dump.html").read_text("utf-8")
    assert done.returncode == call("dump", "orders-0").returncode
    assert page.count('<summary class="batch">') == 1
    assert page.count("<tr><td>") == 2
    assert bad not in page and "&lt;script&gt;alert(1)" in page
    assert "<i>null</i>" in page and "base64" in page


def test_a_page_ends_where_browsers_get_slow_and_says_so(
    call: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_page, "MOST_ROWS", 1)
    monkeypatch.setattr(lines_page, "MOST_RECORDS", 3)
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    log.parent.mkdir()
    batches = [[Record(offset=at + n, timestamp=0, key=None, value=b"v") for n in range(4)] for at in (0, 4)]
    log.write_bytes(b"".join(map(write_batch, batches)))
    assert call("dump", "orders-0", "--html", "dump.html").returncode == 0
    page = (tmp_path / "dump.html").read_text("utf-8")
    assert page.count("<summary") == 1 and page.count("<tr><td>") == 3
    assert "not on this page: 1 line and 5 records; --format json has them" in page


def test_files_beside_segments_and_captures_of_a_dump_have_rows(call: Callable[..., Done], tmp_path: Path) -> None:
    assert call("dump", CAPTURE, "--html", "frames.html").returncode == 0
    assert '<summary class="frame">' in (tmp_path / "frames.html").read_text("utf-8")
    offsets = DATA / "partition_files" / "replication-offset-checkpoint"
    assert call("dump", offsets, "--html", "offsets.html").returncode == 0
    assert "<i>topic</i>" in (tmp_path / "offsets.html").read_text("utf-8")


def test_records_are_opened_on_the_page_of_inspect(call: Callable[..., Done], tmp_path: Path) -> None:
    batch = write_batch([Record(offset=0, timestamp=0, key=None, value=b"lamp")])
    partition = PartitionProduceData(index=0, records=batch)
    body = ProduceRequest(
        acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="orders", partition_data=[partition])]
    )
    message = ("inspect", "ProduceRequest", 9, body.encode().hex())
    assert call(*message, "--html", "page.html").returncode == 0
    assert "records[0]" in (tmp_path / "page.html").read_text("utf-8")
    assert "records[0]" not in call(*message).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("tap", CAPTURE, "--summary"),
        ("tap", CAPTURE, "--format", "json"),
        ("dump", CAPTURE, "--format", "json"),
        ("dump", DATA / "segments" / "orders-0", "--follow"),
    ],
)
def test_what_is_no_page_is_refused(call: Callable[..., Done], arguments: tuple[object, ...]) -> None:
    done = call(*arguments, "--html", "page.html")
    assert done.returncode == 2
    assert "--html" in done.stderr

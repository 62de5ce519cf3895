"""kipwire dump of logs in formats that were only proposed: asked for, and not called damaged where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kipwire.drafts import kip_82, kip_98
from kipwire.records import Record
from tests.console.dump.conftest import Dump

OF_82 = kip_82.write_records(
    [
        kip_82.ProducerRecord(offset=3, timestamp=1_700_000_000_000, key=b"k", value=b"v", headers={1: b"orders"}),
        kip_82.ProducerRecord(offset=4, timestamp=1_700_000_000_001, value=bytes(60)),
    ]
)
OF_98 = kip_98.write_set(
    [Record(offset=3, timestamp=1_700_000_000_000, value=b"v"), Record(offset=5, timestamp=1_700_000_000_001)],
    compression="gzip",
    timestamp_type="LogAppendTime",
    max_timestamp=1_700_000_000_009,
    producer_id=7,
    producer_epoch=0,
    base_sequence=2,
) + kip_98.write_set([kip_98.ControlMessage(offset=6, type_id=kip_98.COMMIT)], producer_id=7, is_transactional=True)
LOGS = {"kip-82": OF_82, "kip-98 draft": OF_98}


@pytest.fixture(params=LOGS)
def magic_2(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def segment(magic_2: str, tmp_path: Path) -> Path:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    path = folder / "00000000000000000003.log"
    path.write_bytes(LOGS[magic_2])
    return path


def test_a_right_log_is_no_error_where_its_format_is_given(magic_2: str, segment: Path, dump: Dump) -> None:
    done = dump(segment, "--records", "--magic-2", magic_2)
    assert (done.returncode, done.stderr) == (0, "")
    for shown in ("offset=3-", "magic=2", "value='v'"):
        assert shown in done.stdout
    assert ("headers={'0x00000001': 'orders'}" in done.stdout) == (magic_2 == "kip-82")
    assert (" sequence=2-4 LogAppendTime" in done.stdout) == (" COMMIT " in done.stdout) == (magic_2 != "kip-82")
    assert dump("-", "--records", "--magic-2", magic_2, stdin=segment.read_bytes()).stdout.splitlines()[1:] == (
        done.stdout.splitlines()[1:]
    )
    line = dump(segment, "--summary", "--magic-2", magic_2).stdout
    assert "2 batches" in line and "offset=3-" in line


def test_json_lines_name_the_format(magic_2: str, segment: Path, dump: Dump) -> None:
    done = dump(segment, "-r", "-f", "json", "--magic-2", magic_2)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["magic_2"] for line in lines if line["type"] == "batch"} == {magic_2}
    offsets = [line["offset"] for line in lines if line["type"] == "record"]
    assert offsets == ([3, 4] if magic_2 == "kip-82" else [3, 5, 6])
    created = [line["create_timestamp"] for line in lines if "create_timestamp" in line]
    assert created == ([] if magic_2 == "kip-82" else [1_700_000_000_000, 1_700_000_000_001])


def test_without_its_format_a_right_log_is_not_called_damaged(magic_2: str, segment: Path, dump: Dump) -> None:
    done = dump(segment)
    assert done.returncode == 1
    assert f"and their checksum is right; give magic_2={magic_2!r}" in done.stderr
    assert "but the bytes after it have" not in done.stderr


def test_a_format_that_was_proposed_is_for_log_files(dump: Dump, segment: Path) -> None:
    done = dump("orders", "--brokers", "localhost:1", "--magic-2", "kip-82")
    assert done.returncode == 2
    assert "--magic-2 'kip-82' cannot be used with --brokers, which have Kafka's batches" in done.stderr
    done = dump(segment, "--magic-2", "kip-83")
    assert done.returncode == 2
    assert "'kip-83' is not one of 'kafka', 'kip-82', 'kip-98 draft'" in done.stderr

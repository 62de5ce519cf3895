"""kipwire dump --space: bytes beyond keys and values by topic, over all logs of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kipwire.records import Record, write_batch
from tests.console.dump.conftest import Dump


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two partitions of a topic with one batch of one record each, of 3 bytes, and a damaged one of another topic."""
    record = Record(offset=0, timestamp=9, key=b"k", value=b"vw")
    for name in ("orders-0", "orders-1", "broken-0"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        data = write_batch([record])
        wrong = data[:-1] + b"x" if name == "broken-0" else data
        (tmp_path / "logs" / name / "00000000000000000000.log").write_bytes(wrong)
    (tmp_path / "loose.log").write_bytes(write_batch([record], compression="gzip"))
    return tmp_path


def test_a_line_for_each_topic_follows_the_summaries(folder: Path, dump: Dump) -> None:
    done = dump(
        "--summary", "--space", folder / "logs" / "orders-0", folder / "logs" / "orders-1", folder / "loose.log"
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 3 + 2
    # 61 for the batch; length, attributes, timestamp, offset, two lengths, count of headers. 45; the same without one
    # length and the count, 8 for the timestamp, and a checksum.
    beyond = "beyond them, not compressed: magic 0 {}, magic 1 {}, kip-98 draft {}, kafka {}"
    assert lines[3] == f"orders: 2 records, 6 bytes of keys and values; {beyond.format(52, 68, 122, 136)}"
    assert lines[4] == f"logs of no topic: 1 record, 3 bytes of keys and values; {beyond.format(26, 34, 61, 68)}"


def test_lines_for_programs_have_the_numbers_and_damage_is_left_out(folder: Path, dump: Dump) -> None:
    done = dump("--summary", "--space", "-f", "json", folder / "logs")
    assert done.returncode == 1
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if one["type"] == "space"] == [
        {
            "type": "space",
            "topic": topic,
            "records": count,
            "contents": 3 * count,
            "headers": 0,
            "beyond": {"magic 0": 26 * count, "magic 1": 34 * count, "kip-98 draft": 61 * count, "kafka": 68 * count},
        }
        for topic, count in (("broken", 0), ("orders", 2))
    ]


@pytest.mark.parametrize("arguments", [("--space",), ("--space", "--summary", "--magic-2", "kip-82")])
def test_space_is_for_summaries_of_kafkas_batches(folder: Path, dump: Dump, arguments: Any) -> None:
    done = dump(*arguments, folder / "logs")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kipwire: --space needs --summary, and batches of Kafka\n"

"""The benchmark on Spark: data is what it should be, and a run that is cut off leaves what it has measured."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reporting.report import Table
from benchmarks.spark import log_data
from benchmarks.spark.__main__ import SECTIONS, results_text
from benchmarks.spark.clock import cost_of_program
from benchmarks.spark.kept import kept
from benchmarks.spark.progress import Progress
from benchmarks.spark.section import Findings
from benchmarks.targets import Verdict
from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipwire.records import read_segment


def test_data_is_made_once(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append((folder / "data").write_text("whole"))

    first = kept(tmp_path, "logs", make)
    assert kept(tmp_path, "logs", make) == first
    assert (first / "data").read_text() == "whole"
    assert len(made) == 1


def test_data_of_other_code_is_replaced_and_unfinished_data_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "logs-00000000").mkdir()
    (tmp_path / "logs.unfinished").mkdir()
    (tmp_path / "logs.unfinished" / "half").touch()

    def fail(folder: Path) -> None:
        (folder / "data").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, "logs", fail)
    found = kept(tmp_path, "logs", lambda folder: (folder / "data").touch())
    assert [path.name for path in found.iterdir()] == ["data"]
    assert list(tmp_path.iterdir()) == [found]


@pytest.mark.parametrize("of_partition", [200_000, 3_000_000])
def test_a_log_has_the_size_and_the_records_that_were_asked_for(
    of_partition: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_data, "SEGMENT_BYTES", 1_000_000)
    size = log_data.log_size("none", of_partition)
    log_data.write_log(tmp_path, size, partitions=2)
    segments = sorted(tmp_path.glob("events-1/*.log"))
    assert len(segments) == size.segments == max(1, of_partition // 1_000_000)
    assert 0.8 * of_partition < sum(path.stat().st_size for path in segments) <= of_partition
    offsets = [record.offset for path in segments for batch in read_segment(path) for record in batch.records]
    assert offsets == list(range(size.records))


def test_the_last_commits_are_known(tmp_path: Path) -> None:
    size = log_data.commits_size(2_500_000)
    log_data.write_commits(tmp_path, size, partitions=1)
    (segment,) = tmp_path.glob("__consumer_offsets-0/*.log")
    found = {}
    count = 0
    for batch in read_segment(segment):
        for record in batch.records:
            assert record.key is not None and record.value is not None
            key = OffsetCommitKey.decode(record.key[2:])
            found[key.group, key.topic, key.partition] = OffsetCommitValue.decode(record.value[2:]).offset
            count += 1
    groups = [log_data.group_name(number) for number in range(log_data.GROUPS)]
    keys = [(group, "events", number) for group in groups for number in range(log_data.COMMITTED_PARTITIONS)]
    assert found == dict.fromkeys(keys, log_data.last_committed())
    assert count == size.records


def test_larger_logs_are_links_to_the_same_files(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "folder"
    log_data.write_log(source, log_data.log_size("none", 100_000))
    log_data.write_commits(source, log_data.commits_size(1))
    size = log_data.link_partitions(source, folder, 6)
    assert size == sum(path.stat().st_size for path in folder.rglob("*.log"))
    assert len(list(folder.iterdir())) == 2 * 6
    name = f"{0:020}.log"
    assert (folder / "events-5" / name).samefile(source / "events-1" / name)


def test_a_run_that_is_cut_off_leaves_what_it_has_measured() -> None:
    done = {
        "commits": Findings((Table("OffsetCommitValue", ("way", "cost"), (("from_avro", "1.00"),)),)),
        "batches": Findings((), (Verdict("level=batches: seconds", "1,024 MiB", 2.5, 2.0, True),)),
    }
    text = results_text(done, list(SECTIONS), "How it was measured.")
    assert "| from_avro | 1.00 |" in text
    assert "| level=batches: seconds | 1,024 MiB | 2.50 | at most 2 | MISSED |" in text
    missing = [name for name in SECTIONS if name not in done]
    assert f"Not measured, since the run did not end: {', '.join(missing)}." in text
    assert "Not measured" not in results_text(done, list(done), "How it was measured.")


def test_progress_is_a_line_for_each_step_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    progress = Progress(2, out)
    progress.begin("logs")
    progress.say("round 1 of 3")
    assert out.getvalue() == "0:00 1/2 logs\n0:00 1/2 logs: round 1 of 3\n"


def test_the_memory_of_workers_is_that_of_their_processes() -> None:
    child = "import time; whole = bytearray(64 << 20); time.sleep(0.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    cost = cost_of_program([sys.executable, "-c", parent], os.environ)
    assert 64 << 20 < cost.largest_worker == cost.workers < 128 << 20
    assert cost.jvm == 0
    assert cost.wall > 0 and cost.cpu > 0
    with pytest.raises(subprocess.CalledProcessError):
        cost_of_program([sys.executable, "-c", "raise SystemExit(3)"], os.environ)

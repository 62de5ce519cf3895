"""`kipwire offsets` and its like: without Spark, on a terminal, interrupted, and what they refuse."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from hashlib import md5
from pathlib import Path
from time import sleep
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kipjobs.commands import MANY_BYTES, Here, here
from kipjobs.engines import engine_of, functions_of
from kipjobs.engines.embedded.columns import Column
from kipjobs.engines.embedded.engine import ENGINE
from kipjobs.engines.embedded.frames import Frame
from kipjobs.engines.embedded.progress import Progress
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs import offsets
from kipwire.cli.jobs import JOBS
from kipwire.records import Record, read_segment, with_offsets, write_batch
from kipwire.tables.errors import JobError, out_of_space
from kipwire.tables.messages.records import DecodedRecords, Records, decode_coordinator
from kipwire.tables.processes import all_cores
from kipwire.tables.sources.log_columns import LOG_SCHEMA
from tests.support.command_line import Done, call
from tests.support.places import DATA, ROOT
from tests.support.subjects.offset_logs import Batch, Commit, write_logs

WITHOUT_SPARK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas", "typer", "kipspark"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["kipwire", *sys.argv[1:]]
from kipwire.console.cli import main
main()
"""


def kipwire(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program where nothing of Spark can be imported."""
    command = [sys.executable, "-c", WITHOUT_SPARK, *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT, env=env)


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=() if job in ("offsets", "traffic") else pytest.mark.night) for job in JOBS]
)
def test_a_job_runs_on_its_samples_without_spark_and_leaves_nothing(job: str, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    out, page = tmp_path / "tables", tmp_path / "page.html"
    done = kipwire(job, "--out", out, "--html", page, TMPDIR=str(tmp_path / "temporary"))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Tables: {out}" in done.stdout and f"Page: {page}" in done.stdout
    assert page.read_text().startswith("<!doctype html>")
    tables = [folder.name for folder in out.iterdir()]
    assert len(tables) > 1
    for name in tables:
        assert pq.read_table(out / name).column_names
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("metadata --at yesterday", r"--at: 'yesterday' is not a valid time"),
        ("offsets {none}", r"none: there is no such file or folder"),
        ("offsets --out-format csv", r"--out-format csv needs --out, the folder for the tables"),
        ("metadata -f prometheus", r"--format prometheus: only offsets and traffic have metrics"),
        ("offsets --metrics {here}", r"is a folder; --metrics needs the name of a file"),
        ("traffic --ports 0", r"--ports: '0' is not a list of ports"),
        ("traffic --upgrade-to 9.9", r"--upgrade-to: '9.9' is not a known release of Kafka"),
        ("compaction {orders} --topics none", r"--topics: no topic 'none' in"),
        ("transactions s3://bucket/logs", r"files beside segments are read in the folders of brokers, not in stores"),
        ("metadata {orders}", r"no records of __cluster_metadata"),
        (
            "offsets {orders}",
            r"orders-0: no partition of __consumer_offsets; give a log folder of a broker \(log\.dirs\) with folders "
            r"such as __consumer_offsets-0$",
        ),
        ("share {orders}", r"orders-0: no partition of __share_group_state; give .* such as __share_group_state-0$"),
        ("tiered {orders}", r"no partition of __remote_log_metadata; give .* such as __remote_log_metadata-0$"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(
    arguments: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments.format(none=tmp_path / "none", here=tmp_path, orders=DATA / "segments" / "orders-0").split()
    done = call(*words, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert re.search(f"^kipwire: .*{wrong}", done.stderr)


def test_an_internal_topic_without_records_is_an_empty_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = write_logs(tmp_path / "logs", "t", {0: [Batch(0, [0])]}, [])
    done = call("offsets", logs, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"groups +0\n", done.stdout)


def test_transactions_of_partitions_alone_are_reported_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = DATA / "segments" / "orders-0"
    done = call("transactions", orders, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert "There is no __transaction_state: no transactional id is known" in done.stdout


def test_json_has_the_rows_of_all_tables_after_the_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line is a line from the file of a table, with the name of the table added."""
    for job in ("offsets", "metadata"):
        out = tmp_path / job
        arguments = (job, "-f", "json", "--out", out, "--out-format", "jsonl")
        done = call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert (done.returncode, done.stderr.split()) == (0, ["Tables:", str(out)])
        lines = done.stdout.splitlines()
        assert json.loads(lines[0])["table"] == "totals"
        assert sorted(lines[1:]) == sorted(
            f'{{"table":"{file.stem}",{line[1:]}' for file in out.iterdir() for line in file.read_text().splitlines()
        )


def test_the_format_of_standard_output_is_the_same_option_for_brokers_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = [
        call("offsets", *more, "--help", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys).stdout
        for more in (("--brokers", "a:1"), ("logs",))
    ]
    at_brokers, in_folders = (text[text.index("-f, --format") :].partition("text]\n")[0] for text in done)
    assert at_brokers == in_folders
    arguments = ("offsets", "-f", "prometheus", "--metrics", tmp_path / "kafka.prom")
    printed = call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert printed.stdout == (tmp_path / "kafka.prom").read_text()
    assert "kafka_consumergroup_lag{" in printed.stdout


def test_a_broken_record_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = write_logs(tmp_path / "logs", "t", {0: [Batch(0, [0, 1])]}, [Commit("g", 0, 1, 2)])
    segment = next((logs / "__consumer_offsets-0").iterdir())
    (batch,) = read_segment(segment)
    (record,) = batch.records
    assert record.value is not None
    record.value = record.value[:9]
    segment.write_bytes(write_batch([record]))
    done = call("offsets", logs, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2
    assert re.fullmatch(
        r"kipwire: __consumer_offsets-0 offset 0: OffsetCommitValue v4: .*need 8 bytes.*\n", done.stderr
    ), done.stderr


def large_log(folder: Path, batches: int) -> Path:
    """Write a log of one partition, and commits that take a while to read: copies of a batch at other offsets."""
    logs = write_logs(folder, "t", {0: [Batch(0, [0])]}, [Commit("g", 0, 1, 2)])
    segment = next((logs / "__consumer_offsets-0").iterdir())
    batch = segment.read_bytes()
    segment.write_bytes(b"".join(offset.to_bytes(8, "big") + batch[8:] for offset in range(batches)))
    return logs


def test_tables_in_a_pipe_of_few_columns_have_whole_cells() -> None:
    done = kipwire("offsets", COLUMNS="80")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and max(map(len, lines)) <= 80
    assert not any(re.search(r"\d-$|^ +:?\d+(\.\d+)?$", line.rstrip()) for line in lines), done.stdout
    assert "kp-txn-group" in done.stdout and "no room for" in done.stdout


MOMENTS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0]
"""Seconds after the session was opened, most of which are before the job ends."""


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        pytest.param(number, seconds, marks=() if (number, seconds) == (signal.SIGTERM, 0.2) else pytest.mark.night)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for seconds in MOMENTS
    ],
)
def test_a_signal_is_said_and_leaves_nothing(tmp_path: Path, number: signal.Signals, seconds: float) -> None:
    logs = large_log(tmp_path / "logs", 400_000)
    (tmp_path / "temporary").mkdir()
    heeded = partial(signal.signal, number, signal.SIG_DFL)  # programs under nohup ignore SIGHUP
    command = [sys.executable, "-c", WITHOUT_SPARK, "offsets", str(logs), "--out", str(tmp_path / "tables"), "--memory"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    running = subprocess.Popen(
        [*command, "128"], stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT, preexec_fn=heeded
    )
    while not list((tmp_path / "temporary").iterdir()):  # until its session is open
        sleep(0.01)
    sleep(seconds)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    how = "interrupted" if number == signal.SIGINT else f"terminated by {number.name}"
    assert (running.returncode, said) == (128 + number, f"kipwire: {how}\n")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "tables").exists()


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    script = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WITHOUT_SPARK}"
    logs = large_log(tmp_path / "logs", 3000)
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(
        [sys.executable, "-c", script, "offsets", str(logs)], stdout=subprocess.DEVNULL, env=environment, cwd=ROOT
    ) as running:
        while running.poll() is None and not list((tmp_path / "temporary").iterdir()):
            sleep(0.01)
        running.send_signal(signal.SIGHUP)
        assert running.wait(60) == 0


def test_progress_is_on_a_terminal_in_the_words_of_users_and_gone_at_the_end(tmp_path: Path) -> None:
    logs = large_log(tmp_path / "logs", 60_000)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", WITHOUT_SPARK, "offsets", str(logs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT) as running:
        os.close(theirs)
        assert running.stdout is not None
        running.stdout.read()
    said = os.read(ours, 100_000).decode()
    assert re.search(r"reading \d of [12] segments?(, \d+ of \d+ MB)?", said), said
    assert said.endswith("\r\x1b[K")


def test_from_many_bytes_on_a_cluster_is_named_with_the_figure(capsys: pytest.CaptureFixture[str]) -> None:
    here = Here(64, Progress())
    with here.session(MANY_BYTES):
        pass
    said = " ".join(capsys.readouterr().err.split())
    assert said == (
        "60 GB take this process about 10 minutes; a cluster of more than 5 cores takes less: kipspark with --master "
        "or --remote runs the same job"
    )
    with here.session(MANY_BYTES - 1):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("given", "cores"), [((), all_cores()), (("--cores", "1"), 1), (("--cores", "7"), 7)])
def test_cores_are_those_of_the_engine_and_of_reading(given: tuple[str, ...], cores: int) -> None:
    found: list[int] = []

    def report(runner: Here) -> None:
        with runner.session(None) as opened:
            session = cast(EmbeddedSession, opened)
            threads = session._database.sql("SELECT current_setting('threads')").fetchall()[0][0]
            found.extend((session._readers.cores, threads))

    here("offsets", report).main(given, prog_name="kipwire", standalone_mode=False)
    assert found == [cores, min(cores, 4)]


@pytest.mark.parametrize("how", ["left", "inner"])
def test_the_right_side_of_a_join_is_in_memory_and_never_a_log(how: str) -> None:
    """The engine takes rows whose number it does not know for one row, and would keep all of a log."""
    with EmbeddedSession() as session:
        log = session.read.format("kafka_log").load(str(DATA / "segments"))
        few = log.select("topic", "partition").distinct().persist()
        assert few.count() > 10
        joined = log.join(few, ["topic", "partition"], how)
        with session._running(joined.sql, joined.needs) as cursor:
            plan = cursor.execute(f"EXPLAIN (FORMAT json) {joined.sql}").fetchall()[0][1]
        (join,) = joins_of(json.loads(plan)[0])
        kept, scanned = (json.dumps(side) for side in reversed(join["children"]))
        assert "ARROW_SCAN" in scanned and "ARROW_SCAN" not in kept


def joins_of(operator: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hash joins of a plan; of each, the second child is kept in memory."""
    below = [join for child in operator["children"] for join in joins_of(child)]
    return [operator, *below] if "HASH_JOIN" in operator["name"] else below


def test_members_are_found_without_decoding_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []

    def counted(records: Records, key: pa.Array, value: pa.Array) -> DecodedRecords:
        rows.extend(key.to_pylist())
        return decode_coordinator(records, key, value)

    monkeypatch.setattr("kipjobs.engines.embedded.decoders.decode_coordinator", counted)
    with EmbeddedSession() as session:
        log: Any = session.read.format("kafka_log").option("topics", offsets.TOPIC).load(str(DATA / "segments"))
        commits = [key for (key,) in log.select("key").collect() if key.startswith(b"\0\1")]
        assert len(offsets.membership(log).collect()) > 10
    assert len(commits) > 10 and rows and not any(key.startswith(b"\0\1") for key in rows)


def test_keys_are_compared_by_all_bits_of_one_hash() -> None:
    with EmbeddedSession() as session:
        log = session.read.format("kafka_log").load(str(DATA / "segments"))
        one, other = functions_of(cast(Any, log)).hashes("value")
        rows = log.select(cast(Any, one).alias("one"), cast(Any, other).alias("other"), "value").collect()
        found = {value: (int(number), rest) for number, rest, value in rows if value is not None}
        expected = {value: int.from_bytes(md5(value).digest(), "little", signed=True) for value in found}
        assert {value: number for value, (number, _) in found.items()} == expected
        assert {rest for _, rest in found.values()} == {0}


def test_tables_that_do_not_fit_in_memory_go_to_the_disk(tmp_path: Path) -> None:
    logs = large_log(tmp_path / "logs", 150_000)
    with EmbeddedSession(64) as session:
        options = {"topics": "__consumer_offsets", "columns": ",".join(LOG_SCHEMA.names)}
        log = session.read.format("kafka_log").options(**options).load(str(logs)).persist()
        assert log.count() == 150_000
        assert log.dropDuplicates(["offset"]).count() == 150_000


def test_an_error_of_memory_says_what_to_set() -> None:
    with EmbeddedSession(64) as session:
        rows = session.read.format("kafka_log").load(str(DATA / "segments"))
        large = rows.limit(1).agg(Column("max(repeat('x', 80000000))", "text"))
        with pytest.raises(
            JobError, match=r"do not fit in 64 MiB and on the disk of .*: set --memory to more MiB, or TMPDIR"
        ):
            large.toArrow()


def test_a_full_disk_of_tables_is_not_that_of_temporary_files() -> None:
    with EmbeddedSession(64) as session:
        rows = session.read.format("kafka_log").load(str(DATA / "segments"))
        with pytest.raises(OSError, match="No space left") as raised:
            session.run(f"COPY ({rows.sql}) TO '/dev/full' (FORMAT parquet)", rows)
        advice = "no space is left on the disk of --out; make room there, or choose a folder on another one"
        assert out_of_space(raised.value) == advice


Call = Callable[..., Done]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the program in this process, which saves its start."""
    return partial(call, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize("mask", [0x40, 0x01])
def test_an_impossible_last_offset_is_an_error_and_no_lag(mask: int, tmp_path: Path, called: Call) -> None:
    done = called("offsets", damaged_offset(tmp_path, -1, mask))
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"/orders-0/0{20}\.log: the batch at byte \d+ ends at offset \d+; offsets there", done.stderr)


def damaged_offset(folder: Path, number: int, mask: int) -> Path:
    """Copy the sample data, with another first byte of the base offset of a batch of orders-0."""
    logs = folder / "logs"
    shutil.copytree(DATA / "segments", logs)
    file = logs / "orders-0" / f"{0:020}.log"
    position = list(read_segment(file))[number].position
    data = bytearray(file.read_bytes())
    data[position] ^= mask
    file.write_bytes(data)
    return logs


@pytest.mark.parametrize("job", ["offsets", "transactions", "compaction"])
def test_a_negative_offset_is_an_error_that_names_the_batch(job: str, tmp_path: Path, called: Call) -> None:
    done = called(job, damaged_offset(tmp_path, 1, 0xFF), *(("--topics", "orders") if job == "compaction" else ()))
    assert (done.returncode, done.stdout) == (2, "")
    batch = r"the batch at byte 4816 ends at offset -\d+; offsets there are from 0 to 2147483647"
    assert re.fullmatch(rf"kipwire: \S+/logs/orders-0/0{{20}}\.log: {batch}", done.stderr.strip())


def test_lags_whose_sum_exceeds_64_bits_have_the_highest_total(tmp_path: Path, called: Call) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(DATA / "segments", logs)
    high = with_offsets(write_batch([Record(offset=0, timestamp=1_700_000_000_000)]), 2**62)
    (logs / "orders-0" / f"{2**62:020}.log").write_bytes(high)
    done = called("offsets", logs, "-f", "json")
    assert (done.returncode, done.stderr) == (0, "")
    totals = json.loads(done.stdout.splitlines()[0])
    assert (totals["table"], totals["lag"]) == ("totals", 2**63 - 1)


def test_ctrl_c_where_the_engine_calls_python_is_an_interruption() -> None:
    """The moment is too short for the signals above: a function is called, and its own code has not begun."""

    def interrupted(_: pa.ChunkedArray) -> pa.Array:
        raise KeyboardInterrupt

    with EmbeddedSession() as session:
        define: Any = session._database.create_function  # whose types do not say that types may be texts
        define("interrupted", interrupted, ["INTEGER"], "INTEGER", type="arrow")
        rows = session.read.format("kafka_log").option("topics", "orders").load(str(DATA / "segments"))
        with pytest.raises(KeyboardInterrupt):
            rows.agg(Column("max(interrupted(partition))", "number")).toArrow()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("max(partition) + 9223372036854775807", "a number in its tables exceeds 64 bits; an offset or a time in the "),
        ("CAST(max(topic) AS BIGINT)", "its engine, DuckDB, cannot compute a table (ConversionException)"),
    ],
)
def test_no_error_has_the_text_of_the_engine(sql: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    def report(_: Here) -> None:
        with EmbeddedSession() as session:
            frame = session.read.format("kafka_log").option("topics", "orders").load(str(DATA / "segments"))
            frame.agg(Column(f"CAST({sql} AS BIGINT)", "number")).toArrow()

    with pytest.raises(SystemExit) as ended:
        here("offsets", report).main(["--memory", "64"], prog_name="kipwire")
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"kipwire: the job offsets: {said}") and err.count("\n") == 1 and "LINE" not in err


def test_the_engine_of_a_frame_is_an_attribute_of_its_class() -> None:
    class Mine(Frame):
        """A frame of a user, in a module of its own."""

    with EmbeddedSession() as session:
        mine: Any = Mine(session, "SELECT 1 AS engine", ["engine"], frozenset())
        for thing in (mine, session):
            engine: Any = engine_of(thing)
            assert engine is ENGINE

"""The command line `kipspark` as far as it comes without a Spark session: what it refuses, and how it writes."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

import kipjobs
import kipspark
from kipjobs.jobs.catalog import JOBS
from kipjobs.report.outputs import write_file
from kipspark import commands
from kipspark.jobs.offsets_stream.command import ctrl_c
from kipspark.reasons import reason
from kipspark.spark.session import quiet_start, reason_in
from kipspark.spark.worker_python import why_not
from kipwire.tables.errors import SourceError
from tests.support.places import DATA

SEGMENTS = DATA / "segments"


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("metadata --out {file}", r"file: is a file; --out needs a folder"),
        ("metadata --out {file}/sub", r"sub: .*file is a file"),
        ("metadata --out {full}", r"full: already has files, and nothing is overwritten"),
        ("metadata --html {full}/none/page.html", r"page.html: the folder .*none does not exist"),
        ("metadata --html {full}", r"full: is a folder; --html needs the name of a file"),
        (
            "metadata --at yesterday",
            r"--at: 'yesterday' is not a valid time; write one such as '2026-11-21 08:00:50', in UTC",
        ),
        (
            "metadata --remote http://localhost",
            r"'http://localhost' is not the address of a Spark Connect server, such as sc:",
        ),
        ("metadata --remote sc://localhost:99999", r"'sc://localhost:99999' is not a valid address: Port out of range"),
        ("metadata --remote sc://127.0.0.1:{closed}", r"cannot connect to 127.0.0.1, port \d+: Connection refused"),
        ("offsets --stream --out {full}", r"--stream needs --out and --checkpoint"),
        ("offsets --stream --out {full} --checkpoint {file}", r"file: is a file; --checkpoint needs a folder"),
        ("offsets --stream --out {full} --checkpoint {full} --html page.html", r"--html cannot be used with --stream"),
        (
            "offsets --stream --out {full} --checkpoint {full} --metrics kafka.prom",
            r"--metrics cannot be used with --stream, which does not end in a report",
        ),
        (
            "offsets --stream --out {full} --checkpoint {full} --out-format csv",
            r"--out-format csv cannot be used with --stream, which writes Parquet files",
        ),
        ("offsets --out-format csv", r"--out-format csv needs --out, the folder for the tables"),
        ("traffic --out-format jsonl", r"--out-format jsonl needs --out"),
        ("offsets --metrics {full}", r"full: is a folder; --metrics needs the name of a file"),
        ("offsets --metrics {full}/none/kafka.prom", r"kafka.prom: the folder .*none does not exist"),
        ("offsets --checkpoint {full}", r"--checkpoint and --every need --stream"),
        ("offsets --every 5", r"--checkpoint and --every need --stream"),
        ("offsets {file}/none", r"none: there is no such file or folder"),
        ("offsets {full}", r"full: no log segments; expected files such as orders-0/0+\.log"),
        ("metadata {full}", r"full: no log segments; expected files such as orders-0/0+\.log"),
        ("transactions {full}", r"full: no log segments; expected files such as orders-0/0+\.log"),
        ("share {file}/none", r"none: there is no such file or folder"),
        ("tiered {full}", r"full: no log segments; expected files such as orders-0/0+\.log"),
        ("compaction {orders} --topics orders,none", r"--topics: no topic 'none' in .*orders-0"),
        ("traffic --upgrade-to 9.9", r"--upgrade-to: '9.9' is not a known release of Kafka; use one from 2.2 to"),
        ("traffic --metrics {full}", r"full: is a folder; --metrics needs the name of a file"),
        ("traffic {file}/none", r"none: there is no such file or folder"),
        ("traffic {full}", r"full: no captures; a capture is a tcpdump file such as a.pcap"),
        ("traffic --ports 9092,x", r"--ports: '9092,x' is not a list of ports; write numbers from 1 to 65535,"),
        ("extract {file} --out {full}/new --ports 0", r"--ports: '0' is not a list of ports"),
        ("extract {file} --out {full}/new", r"file: is empty; give a file that tcpdump wrote"),
        ("extract /dev/null --out {full}/new", r"/dev/null: is neither a file nor a folder"),
        (
            "metadata --master foo",
            r"--master: 'foo' is not a Spark master; write one such as local\[2\] or spark://HOST:",
        ),
        ("metadata --master local[x]", r"--master: 'local\[x\]' is not a Spark master"),
        ("metadata --master spark://host", r"--master: 'spark://host' is not a Spark master"),
        (
            "metadata {orders}",
            r"orders-0: no records of __cluster_metadata; the folder __cluster_metadata-0 is in the log folder of a c",
        ),
        ("offsets {orders}", r"orders-0: no partition of __consumer_offsets; give a log folder of a broker"),
        ("share {orders}", r"orders-0: no partition of __share_group_state; give a log folder of a broker"),
        (f"offsets --html {'a' * 300}", r"^kipspark: a+: File name too long$"),
    ],
)
def test_what_cannot_be_done_is_refused_before_spark_starts(
    arguments: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    named = arguments.format(
        file=tmp_path / "file", full=tmp_path / "full", closed=closed, orders=SEGMENTS / "orders-0"
    )
    monkeypatch.setattr(sys, "argv", ["kipspark", *named.split()])
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert end.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert re.search(wrong, printed.err)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "kept"]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("offsets --out s3://bucket/tables", "--out"),
        ("traffic --out s3a://bucket/tables", "--out"),
        ("extract kafka.pcap --out gs://bucket/frames", "--out"),
        ("offsets --stream --out tables --checkpoint s3://bucket/seen", "--checkpoint"),
    ],
)
def test_a_url_is_not_taken_for_a_folder_to_write_to(
    arguments: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kipspark", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert end.value.code == 2
    printed = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert re.search(f"Invalid value for '{option}': .*bucket/.* is a URL; use a local folder", printed)
    assert list(tmp_path.iterdir()) == []


_OUT_OF_MEMORY = (
    "; its JVM may use 1g: set the environment variable SPARK_DRIVER_MEMORY, such as SPARK_DRIVER_MEMORY=4g"
)
_LOST = "Job aborted due to stage failure: Lost task 0.0 in stage 1.0 (TID 1) (host executor driver): "


_WAITED = (
    "An error occurred while calling o1.getResult.\n: org.a.SparkException: Exception thrown in awaitResult: \n\tat a\n"
)

_OF_TABLES = (
    "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
    "\tat java.base/java.io.FileOutputStream.write(FileOutputStream.java:349)\n"
    "\tat org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileOutputStream.write(RawLocalFileSystem.java:545)\n"
)
"""Java's stack while Spark writes a table to a folder of this machine."""
_OF_SHUFFLE = (
    "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
    "\tat java.base/java.io.FileOutputStream.write(FileOutputStream.java:349)\n"
    "\tat org.apache.spark.storage.TimeTrackingOutputStream.write(TimeTrackingOutputStream.java:59)\n"
    "\tat org.apache.hadoop.fs.FSDataOutputStream.write(FSDataOutputStream.java:1)\n"
)
"""Java's stack while Spark writes rows to a temporary file of its own."""


class JavaError(Py4JJavaError):  # type: ignore[misc]
    """An error of Java with a text that it would otherwise ask the JVM for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PySparkException(f"{_LOST}java.lang.OutOfMemoryError: Java heap space\n\tat a.b(C.scala:1)"), _OUT_OF_MEMORY),
        (
            PySparkException("[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes of memory, got 0."),
            _OUT_OF_MEMORY,
        ),
        (Py4JNetworkError("Answer from Java side is empty"), _OUT_OF_MEMORY),
        (ConnectionRefusedError(111, "Connection refused"), _OUT_OF_MEMORY),
        (
            PySparkException(f"{_LOST}java.io.IOException: No space left on device\n\tat a.b(C.scala:1)"),
            "SPARK_LOCAL_DIRS",
        ),
        (
            PySparkException(f"{_LOST}java.io.IOException: No space left on device\n{_OF_SHUFFLE}"),
            "no space is left on the device in task 0 of stage 1; set SPARK_LOCAL_DIRS",
        ),
        (
            JavaError(
                "An error occurred while calling o1.parquet.\n: org.a.SparkException: [TASK_WRITE_FAILED] Task\n"
                f"{_OF_TABLES}Caused by: java.io.IOException: No space left on device\n{_OF_TABLES}"
            ),
            "no space is left on the disk of --out; make room there, or choose a folder on another one",
        ),
        (
            PySparkException(f"{_LOST}org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device"),
            "no space is left on the disk of --out in task 0 of stage 1; ",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "no space is left on the disk of --out; "),
        (
            PySparkException(f'{_LOST}java.io.IOException: Cannot run program "/none/python": error=2, No such file'),
            "Spark cannot run /none/python, the Python of its workers in task 0 of stage 1; set PYSPARK_PYTHON to one",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "page.html"),
            "no space is left on the disk of page.html; make room there",
        ),
        (
            PySparkException("failed\nTraceback:\n  File x\nModuleNotFoundError: No module named 'kipspark.sources'\n"),
            "Spark's Python workers have no kipspark.sources: install kipwire for the Python that they run, "
            "set PYSPARK_PYTHON to one that has it, or send it along with spark-submit --py-files kipwire.zip",
        ),
        (PySparkException(f"{_LOST}Python worker exited unexpectedly (crashed)\n\tat a"), "--master 'local[1]'"),
        (PySparkException(f"{_LOST}java.io.IOException: Too many open files\n\tat a"), "ulimit -n"),
        (PySparkException(f"{_LOST}org.a.PythonException: Traceback:\n  File x\nMemoryError\n\tat a"), "'local[1]'"),
        (
            PySparkException(f"{_LOST}a.PythonException: T:\nnumpy.core._exceptions._ArrayMemoryError: Unable\n\tat a"),
            "a Python worker of Spark is out of memory in task 0 of stage 1; ",
        ),
        (PySparkException(f"{_LOST}java.lang.OutOfMemoryError: Java heap"), "out of memory in task 0 of stage 1; "),
        (PySparkException(f"{_LOST}java.io.IOException: Too many open files"), "are open in task 0 of stage 1; "),
        (PySparkException(f"{_LOST}java.io.IOException: odd\n\tat a"), "odd"),
        (
            PySparkException(
                "boom\nTraceback:\n  File x\nkipspark.errors.SourceError: a-0/0.log: batch at byte 61: no"
            ),
            "a-0/0.log: b",
        ),
        (
            JavaError(
                f"{_WAITED}Caused by: b.PythonException: T:\n  File x\nkipspark.errors.SourceError: 4.snapshot: no\n"
            ),
            "4.snapshot: no",
        ),
        (JavaError(f"{_WAITED}Caused by: b.X: c.Y: odd\n\tat b\nCaused by: c.Y: odd\n\tat c"), "c.Y: odd"),
        (JavaError("An error occurred while calling o1.text.\n: java.io.IOException: odd\n\tat a"), "IOException: odd"),
    ],
)
def test_a_failure_is_one_line_that_says_what_to_set(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    text = reason(error)
    assert said in text
    assert "\n" not in text
    assert "\tat" not in text
    assert "Lost task" not in text


def test_what_a_jvm_says_when_it_does_not_start_is_the_reason() -> None:
    said = "WARNING: Using incubator modules\nError occurred during initialization of VM\nToo small maximum heap\n"
    assert reason_in(said) == "Error occurred during initialization of VM: Too small maximum heap"
    assert reason_in("WARNING: nothing else\n") == ""


def test_the_lines_of_a_process_that_starts_are_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_start() as printed:
        subprocess.run(["sh", "-c", "echo noise >&2"], check=True)
        assert printed.read_text() == "noise\n"
    print("after", file=sys.stderr)
    assert capfd.readouterr().err == "after\n"


def test_a_page_replaces_an_older_one_only_when_it_is_whole(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_file(page, "first")
    with pytest.raises(UnicodeEncodeError):
        write_file(page, "second \ud800")
    assert page.read_text() == "first"
    assert os.listdir(tmp_path) == ["page.html"]  # noqa: PTH208


def test_the_first_ctrl_c_is_an_event_and_the_second_one_interrupts() -> None:
    with ctrl_c() as pressed:
        assert not pressed.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert pressed.wait(5)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [(KeyboardInterrupt(), 130, "kipspark: interrupted\n"), (SourceError("no"), 2, "kipspark: no\n")],
)
def test_ctrl_c_is_said_as_errors_are(
    raised: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("kipspark.running.open_session", interrupted)
    monkeypatch.setattr(sys, "argv", ["kipspark", "metadata"])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == status
    assert capsys.readouterr().err == said


def test_a_python_without_kipspark_is_named_with_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(sys.executable) is None
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')  # without installed packages
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    fix = f"set the environment variable PYSPARK_PYTHON={sys.executable} before the session starts"
    none = str(tmp_path / "none")
    assert why_not(none) == f"Spark's workers run {none}: there is no such program; {fix}"
    assert why_not("python3") == f"Spark's workers run python3, which is {other}: it has no kipspark; {fix}"
    other.write_text("#!/bin/sh\necho 3.7\n")
    ours = ".".join(map(str, sys.version_info[:2]))
    assert why_not(str(other)) == f"Spark's workers run {other}: it is Python 3.7, and this program runs {ours}; {fix}"


def test_spark_submit_can_run_the_file_by_itself() -> None:
    file = Path(kipspark.__file__).parent / "__main__.py"
    done = subprocess.run([sys.executable, file, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "metadata" in done.stdout


def test_every_folder_with_a_command_is_in_the_list_of_commands_and_no_other() -> None:
    packages = (Path(package.__path__[0]) / "jobs" for package in (kipjobs, kipspark))
    names = {file.parent.name.replace("_", "-") for jobs in packages for file in jobs.glob("*/command.py")}
    assert names - {"offsets-stream"} == set(commands.COMMANDS) == JOBS.keys() | {"extract"}  # "offsets" runs it


@pytest.mark.parametrize(
    ("arguments", "imported"), [("--help", []), ("transactions --help", ["kipjobs.jobs.transactions.command"])]
)
def test_no_module_of_a_command_is_imported_but_of_the_one_that_is_called(arguments: str, imported: list[str]) -> None:
    program = f"""
import sys
from kipspark.commands import app
app({arguments.split()}, standalone_mode=False)
print(*[name for name in sys.modules if ".jobs." in name and name.endswith(".command")], sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if ".jobs." in line] == imported


# Both start Spark: one of them for every run of CI, in `make smoke`.
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.every_spark),
        pytest.param(signal.SIGHUP, marks=pytest.mark.night),
    ],
    ids=lambda one: one.name,
)
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_leaves_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "kipspark", "metadata", "--master", "local[1]", "--format", "json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),  # programs under nohup ignore SIGHUP
    ) as running:
        try:
            while running.poll() is None and not list(tmp_path.glob("kipwire-*")):
                time.sleep(0.01)
            running.send_signal(number)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, said) == (128 + number, f"kipspark: terminated by {number.name}\n")
    assert list(tmp_path.glob("kipwire-*")) == []

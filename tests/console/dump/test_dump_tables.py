"""`kipwire dump --out` writes the table that `kipwire.tables` reads, and refuses in one line what does not fit."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pyarrow.parquet as pq
import pytest

from kipwire.records import Record, write_batch
from kipwire.tables import scan
from kipwire.tables.writing.files import RowFile
from kipwire.testing import FakeBroker
from tests.console.dump.conftest import Dump
from tests.support.places import DATA

SEGMENTS = DATA / "segments"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A broker's log folder, below the folder that commands run in."""
    return Path(copytree(SEGMENTS, tmp_path / "data"))


def test_a_partition_is_written_as_a_file(data: Path, dump: Dump, tmp_path: Path) -> None:
    done = dump("data/orders-0", "--out", "orders.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "orders.parquet: 317 rows\n", "")
    assert pq.read_table(tmp_path / "orders.parquet").equals(scan(data / "orders-0").read_all())
    some = ("--from-offset", "5", "--to-offset", "8", "--columns", "offset, value")
    assert dump("data", "--topic", "orders", "--out", "some.csv", *some).stdout == "some.csv: 9 rows\n"
    assert dump("data", "--topic", "orders", "--out", "none.csv", "--since", "now").stdout == "none.csv: 0 rows\n"
    commits = dump("data", "--as", "__consumer_offsets", "--out", "commits.parquet")
    assert commits.stdout == "commits.parquet: 82 rows\n"
    assert pq.read_table(tmp_path / "commits.parquet").equals(scan(data, decode="coordinator").read_all())


def test_a_second_run_adds_what_is_new(data: Path, dump: Dump, tmp_path: Path) -> None:
    command = ("data/orders-0", "--out", "orders.parquet", "--by", "date", "--state", "orders.json")
    assert dump(*command).stdout == "orders.parquet: 317 rows in 1 file\n"
    assert dump(*command).stdout == "orders.parquet: nothing new\n"
    segment = sorted((data / "orders-0").glob("*.log"))[-1]
    with segment.open("ab") as file:
        file.write(write_batch([Record(offset=at, timestamp=0, value=b"new") for at in (1000, 1001)]))
    assert dump(*command).stdout == "orders.parquet: 2 rows in 1 file\n"
    assert (tmp_path / "orders.parquet/date=1970-01-01/part-000002.parquet").is_file()
    segment.write_bytes(segment.read_bytes()[:-100])
    lost = dump(*command)
    assert lost.returncode == 2 and lost.stderr.endswith("; to continue without them, use --allow-data-loss\n")
    assert lost.stdout == "" and len(lost.stderr.splitlines()) == 1
    done = dump(*command, "--allow-data-loss")
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("kipwire: ") and done.stderr.endswith("; reading continues without them\n")


def test_damage_is_one_line_or_rows_and_exit_status_1(data: Path, dump: Dump) -> None:
    segment = sorted((data / "orders-0").glob("*.log"))[0]
    content = bytearray(segment.read_bytes())
    content[70] ^= 1
    segment.write_bytes(content)
    done = dump("data/orders-0", "--out", "orders.parquet")
    assert done.returncode == 2 and "crc at byte 17" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not Path("orders.parquet").exists()
    done = dump("data/orders-0", "--out", "orders.parquet", "--permissive", "--columns", "offset")
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.endswith(", 1 error\n")


def test_a_full_disk_is_one_line_and_leaves_nothing(data: Path, dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: RowFile, batch: object) -> None:
        raise OSError(28, "No space left on device", str(file.path))

    monkeypatch.setattr(RowFile, "add", full)
    for more in ((), ("--by", "date"), ("--state", "state.json")):
        done = dump("data/orders-0", "--out", "orders.csv", *more)
        assert done.returncode == 2 and done.stderr.startswith("kipwire: no space is left on the disk of ")
        assert len(done.stderr.splitlines()) == 1
    left = [one.name for one in data.parent.rglob("*") if one.is_file() and data not in one.parents]
    assert sorted(left) == [".kipwire.lock", "state.json.lock"]


def test_topics_of_brokers_are_written(dump: Dump, tmp_path: Path) -> None:
    with FakeBroker(topics={"orders": 2, "paid": 1}) as broker:
        for at in range(10):
            broker.append("orders", b"%d" % at, partition=at % 2)
        command = ("--brokers", broker.bootstrap_servers, "--columns", "value", "--out")
        assert dump(*command, "all.jsonl", "orders", "paid").stdout == "all.jsonl: 10 rows\n"
        assert dump(*command, "one.parquet", "orders/1").stdout == "one.parquet: 5 rows\n"
        state = ("--state", "orders.json")
        assert dump(*command, "new.parquet", "orders", *state).stdout == "new.parquet: 10 rows in 1 file\n"
        broker.append("orders", b"10")
        assert dump(*command, "new.parquet", "orders", *state).stdout == "new.parquet: 1 row in 1 file\n"
        for names, text in (
            (("orders/0", "orders/1", "paid/0"), "with --out give whole topics, or partitions of one topic"),
            (("data/orders-0",), "'data/orders-0' is not a topic; with --brokers use TOPIC or TOPIC/PARTITION"),
            (("orders", "--topic", "orders"), "--topic is for folders; with --brokers give topics in its place"),
        ):
            done = dump(*command, "wrong.csv", *names)
            assert done.returncode == 2 and done.stderr.startswith(f"kipwire: {text}"), done.stderr
    assert sorted(int(one) for one in pq.read_table(tmp_path / "one.parquet")["value"].to_pylist()) == [1, 3, 5, 7, 9]
    assert not (tmp_path / "wrong.csv").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--out", "a.csv", "-r"), "--out writes a table; --records cannot be used with it"),
        (("--out", "a.csv", "-f", "json"), "--out writes a table; --format cannot be used with it"),
        (("--out", "a.csv", "-F"), "--out writes a table; --follow cannot be used with it"),
        (("--out", "a.csv", "--last", "3"), "--out writes a table; --last cannot be used with it"),
        (("--out", "a.csv", "--from-offset", "-3"), "--out writes a table; offsets below 0 cannot be used with it"),
        (("--state", "s"), "--state needs --out"),
        (("--by", "date"), "--by needs --out"),
        (("--allow-data-loss",), "--allow-data-loss needs --out"),
        (("--out", "a.txt"), "a.txt: the end of its name does not give a format; it must be one of .parquet, .csv, "),
        (("--out", "a.csv", "--by", "day"), "rows are put into folders by topic and date, not by 'day'"),
        (("--out", "a.csv", "--columns", "offest"), "there is no column 'offest'; did you mean offset?"),
        (("--out", "a.csv", "--message", "Fetch"), "kafka_messages has no message named 'Fetch'"),
        (("--out", "a.csv", "--message", "OffsetCommitValue"), "orders/0 offset 0: OffsetCommitValue: version at "),
        (("--out", "no/a.csv"), "no/a.csv: the folder "),
    ],
)
def test_options_that_do_not_fit_are_one_line(data: Path, dump: Dump, options: tuple[str, ...], line: str) -> None:
    done = dump("data/orders-0", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kipwire: {line}") and len(done.stderr.splitlines()) == 1
    assert not list(data.parent.glob("*.csv"))

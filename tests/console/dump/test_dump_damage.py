"""Damaged logs: kipwire dump reports its place and kind, goes on if the format allows it, and exits with 1."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from kipwire.records import Record, write_batch, write_message_set
from kipwire.records.heads import LAST_OFFSET_DELTA, MAGIC, RECORDS_COUNT, SIZE
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import batch, log
from tests.support.unlisted import forbid

FIRST, SECOND, THIRD = batch(0, b"a"), batch(1, b"b", b"c"), batch(3, b"d")
START = len(FIRST)


def damaged(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize("options", [(), ("-r",), ("-s",), ("-f", "json"), ("--from-offset", "1")])
def test_reading_goes_on_after_a_batch_with_a_wrong_checksum(
    dump: Dump, tmp_path: Path, options: tuple[str, ...]
) -> None:
    wrong = damaged(SECOND, len(SECOND) - 1, b"\xff")
    done = dump(log(tmp_path / "a-0", FIRST, wrong, THIRD), *options)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: {tmp_path}/a-0/00000000000000000000.log: batch at byte {START}: crc at byte {START + 17}: is 0x"
    )
    assert done.stderr.count("\n") == 1
    if options in ((), ("-r",)):
        assert "offset=0-0 " in done.stdout
        assert "offset=3-3 " in done.stdout
    if "-s" in options:
        assert "2 batches, 2 records" in done.stdout
        assert ", 1 error\n" in done.stdout
    if "json" in options:
        error = json.loads(done.stdout.splitlines()[1])
        assert (error["type"], error["position"], error["at"], error["path"]) == ("error", START, START + 17, "crc")
        assert error["partition"] == 0


def test_records_that_cannot_be_read_do_not_end_the_file(dump: Dump, tmp_path: Path) -> None:
    import google_crc32c

    wrong = damaged(SECOND, RECORDS_COUNT, b"\0\0\0\7")
    wrong = damaged(wrong, 17, google_crc32c.value(wrong[21:]).to_bytes(4, "big"))
    file = log(tmp_path / "a-0", FIRST, wrong, THIRD)
    assert dump(file).returncode == 0  # the heads are right
    done = dump(file, "-r")
    assert done.returncode == 1
    assert f"batch at byte {START}: records_count at byte {START + RECORDS_COUNT}: the batch declares 7" in done.stderr
    assert "value='d'" in done.stdout


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (SIZE, b"\xff\xff\xff\xff", "batch_length at byte {at}: a batch cannot have -1 bytes; the smallest has 14"),
        (MAGIC, b"\7", "magic at byte {at}: unknown message format 7; known are 0, 1 and 2"),
    ],
)
def test_reading_goes_on_where_a_whole_batch_starts_if_the_end_of_one_is_not_known(
    dump: Dump, tmp_path: Path, at: int, value: bytes, reason: str
) -> None:
    file = log(tmp_path / "a-0", FIRST, damaged(SECOND, at, value), THIRD)
    done = dump(file, log(tmp_path / "b-0", THIRD))
    assert done.returncode == 1
    where = f"{file}: batch at byte {START}: {reason.format(at=START + at)}"
    assert done.stderr == f"error: {where}; bytes {START} to {START + len(SECOND) - 1} are not read\n"
    shown = [line[:10] for line in done.stdout.splitlines() if line.startswith("offset")]
    assert shown == ["offset=0-0", "offset=3-3", "offset=3-3"]


def test_the_end_of_a_live_segment_is_no_error(dump: Dump, tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST, SECOND[:-1])
    done = dump(file)
    rest = len(SECOND) - 1
    assert (done.returncode, done.stderr) == (
        0,
        f"{file}: {rest} bytes from byte {START} on: a batch that is not complete\n",
    )
    done = dump(log(tmp_path / "a-0", FIRST, bytes(5000)))
    assert (done.returncode, done.stderr) == (
        0,
        f"{file}: 5,000 zero bytes from byte {START} on: space taken in advance\n",
    )


def test_an_incomplete_batch_in_a_finished_file_is_an_error(dump: Dump, tmp_path: Path) -> None:
    log(tmp_path / "a-0", FIRST, SECOND[:-1])
    log(tmp_path / "a-0", THIRD, name="00000000000000000003.log")
    done = dump("a-0")
    assert done.returncode == 1
    assert "where it has to end; copy the file again; bytes" in done.stderr
    log(tmp_path / "b-0", FIRST[:-1], name="00000000000000000000-0000000000.checkpoint")
    assert dump("b-0/00000000000000000000-0000000000.checkpoint").returncode == 1


def test_records_of_an_internal_topic_that_are_something_else_are_shown_as_they_are(dump: Dump, tmp_path: Path) -> None:
    records = [
        Record(offset=0, key=b"\0\x01\0\x01g\0\x01t\0\0\0\0", value=b"\0\x63"),
        Record(offset=1, key=b"\0\x63"),
        Record(offset=2),
        Record(offset=3, key=b"\0\x02\0\x01g", value=None),
    ]
    done = dump(log(tmp_path / "__consumer_offsets-0", write_batch(records)), "-r")
    assert done.returncode == 1
    lines = done.stdout.splitlines()[2:]
    assert "unknown version 99; known versions are 0 to 4" in lines[0]
    assert "__consumer_offsets has no type 99" in lines[1]
    assert "every record of a coordinator has a key" in lines[2]
    assert lines[3].endswith('GroupMetadata key={"group":"g"} value=null')
    assert "3 records of it cannot be decoded" in done.stderr
    records = [Record(offset=0, value=b"\1\x63\0"), Record(offset=1, value=b"")]
    log(tmp_path / "__cluster_metadata-0", write_batch(records))
    lines = dump("__cluster_metadata-0", "-r").stdout.splitlines()[2:]
    assert "__cluster_metadata has no type 99" in lines[0]
    assert "need 3 bytes, but none are left" in lines[1]


@pytest.mark.parametrize("options", [("-r",), ("-r", "-f", "json"), ("-s",), ("-r", "--since", "2023-01-01")])
def test_no_damage_gives_a_traceback(dump: Dump, tmp_path: Path, options: tuple[str, ...]) -> None:
    chance = random.Random(7)
    records = [Record(offset=i, timestamp=i, key=b"k%d" % i, value=b"v" * i) for i in range(20)]
    whole = [
        FIRST,
        write_batch(records, compression="gzip"),
        write_message_set(records, magic=1, compression="gzip"),
        SECOND,
        write_message_set([Record(offset=0, value=b"v")], magic=0),
        write_batch(records, is_control=True),
    ]
    for number in range(60):
        data = bytearray(b"".join(whole))
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        topic = chance.choice(("a", "__consumer_offsets", "__cluster_metadata"))
        done = dump(log(tmp_path / f"{topic}-{number}", bytes(data)), *options)
        assert done.returncode in (0, 1)
        assert (done.returncode == 1) == ("error: " in done.stderr)


def test_a_head_with_offsets_that_wrap_is_shown(dump: Dump, tmp_path: Path) -> None:
    import google_crc32c

    wrong = damaged(SECOND, LAST_OFFSET_DELTA, b"\xff\xff\xff\xf0")
    wrong = damaged(wrong, 17, google_crc32c.value(wrong[21:]).to_bytes(4, "big"))
    done = dump(log(tmp_path / "a-0", wrong), "-r")
    assert "offset=1--15 " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.log",), "missing.log does not exist; give a log segment, a folder of a partition or a capture"),
        (("a-0/x.index", "-r"), "a-0/x.index is an offset index, which is always shown whole; only --format"),
        (("empty",), "empty: no log segments, packets or frames.jsonl; give a file, or a folder with files such as"),
        (("a-0", "-r", "-s"), "--records cannot be used with --summary"),
        (("a-0", "-s", "-F"), "--summary cannot be used with --follow, which has no end"),
        (("a-0", "--since", "yesterday"), "'yesterday' is not a time; write one such as 2026-11-21T08:00:00Z"),
        (("a-0", "--from-offset", "5", "--to-offset", "5"), "--from-offset 5 is not below --to-offset 5"),
        (("a-0", "--since", "2026-01-02", "--until", "2026-01-01"), "--since 2026-01-02 is not before --until"),
        (("a-0", "--port", "9092"), "a-0/00000000000000000000.log is a log; --port is for captures"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(
    dump: Dump, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    log(tmp_path / "a-0", FIRST)
    log(tmp_path / "a-0", b"", name="x.index")
    (tmp_path / "empty").mkdir()
    done = dump(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kipwire: {said}")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_listed_is_an_error(
    dump: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(2):
        log(tmp_path / "logs" / f"a-{number}", FIRST)
    forbid(monkeypatch, tmp_path / "logs" / "a-1")
    done = dump(tmp_path / "logs")
    assert done.returncode == 2
    assert done.stderr == f"kipwire: {tmp_path}/logs/a-1: Permission denied\n"

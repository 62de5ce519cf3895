"""Lines that are not as a dump writes them are refused in one line, and nothing is written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire.console import dump_lines
from kipwire.console.dump_lines import Left, LineError, batches_of
from kipwire.console.pack.segments import Writer
from kipwire.records import Record, write_batch
from tests.console.pack.conftest import Pack
from tests.console.pack.test_pack import NAME, dumped

Change = Callable[[list[dict[str, Any]]], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The lines of two batches of two records."""
    folder = tmp_path_factory.mktemp("logs") / "orders-0"
    folder.mkdir()
    batches = [write_batch([Record(offset=i + j, value=b"v", headers=[("h", b"1")]) for j in (0, 1)]) for i in (0, 2)]
    (folder / NAME).write_bytes(b"".join(batches))
    return [json.loads(line) for line in dumped(folder).splitlines()]


def text_of(lines: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


NUMBER = "must be a whole number from"
CASES: dict[str, tuple[Change, str]] = {
    "a field is missing": (lambda it: it[0].pop("crc"), f':1: "crc" {NUMBER} 0 to 4294967295; it is missing'),
    "a field is no number": (
        lambda it: it[0].update(base_offset="0"),
        f":1: \"base_offset\" {NUMBER} -9223372036854775808 to 9223372036854775807; it is '0'",
    ),
    "a bool": (lambda it: it[0].update(magic=True), f':1: "magic" {NUMBER} 0 to 2; it is true'),
    "a large number": (
        lambda it: it[4].update(offset=2**63),
        f':5: "offset" {NUMBER} -9223372036854775808 to 9223372036854775807; it is 9223372036854775808',
    ),
    "an attribute": (
        lambda it: it[0].update(compression="lz4"),
        ":1: \"compression\" is 'lz4', but \"attributes\" is 0, which says 'none'; change both",
    ),
    "a codec": (
        lambda it: it[0].update(attributes=7, compression=None),
        ":1: RecordBatch v2: attributes: magic 2 has no codec 7",
    ),
    "attributes of two bytes": (
        lambda it: it[0].update(magic=1, attributes=300),
        ':1: "attributes" is 300; magic 1 has one byte for them',
    ),
    "a topic": (
        lambda it: it[0].update(topic="../../etc"),
        ":1: \"topic\" must be the name of a topic; it is '../../etc'",
    ),
    "a file": (lambda it: it[0].update(file=5), ':1: "file" must be a string or null; it is 5'),
    "a record first": (lambda it: it.pop(0), ":1: a record without a batch line before it"),
    "a record of another batch": (
        lambda it: it.pop(3),
        ":4: the record is not of the batch before it, which is at standard input:1",
    ),
    "a record more": (
        lambda it: it.insert(1, it[1]),
        ":4: one record more than the batch at standard input:1 declares in records_count",
    ),
    "no records": (
        lambda it: it.pop(1) and it.pop(1),
        ":1: the batch declares 2 in records_count, and 0 follow; dump with --records and without bounds, or give "
        "--allow-fewer",
    ),
    "no value": (lambda it: it[1].pop("value"), ':2: "value" is missing'),
    "a value in another form": (
        lambda it: it[1].update(value={"id": 1}),
        ':2: "value" must be a string, {"base64": ...} or null; it is an object. A value in another form needs '
        "value_bytes beside it",
    ),
    "no base64": (lambda it: it[1].update(value={"base64": "#"}), ":2: \"value\" must be base64; it is '#'"),
    "no bytes": (lambda it: it[1].update(key_bytes=1), ':2: "key_bytes" must be base64; it is 1'),
    "a surrogate": (lambda it: it[1].update(value="\ud800"), ':2: "value" has a lone surrogate, which is not text'),
    "headers": (lambda it: it[1].update(headers={}), ':2: "headers" must be a list of pairs; it is an object'),
    "a header": (
        lambda it: it[1].update(headers=[["a"]]),
        ':2: "headers[0]" must be a pair of a key and a value; it is a list',
    ),
    "the key of a header": (
        lambda it: it[1].update(headers=[["a", None], [None, "b"]]),
        ':2: "headers[1][0]" is null; a header has a key',
    ),
    "offsets that do not ascend": (
        lambda it: it[3].update(base_offset=1, last_offset=2),
        ':4: "base_offset" 1 is not above 1, where the batch of standard input:1 ends; give the lines of one copy of '
        "orders partition 0, in their order",
    ),
    "a batch that is too long": (
        lambda it: it[0].update(last_offset=2**40),
        ":1: RecordBatch v2: last_offset: 1099511627776 is too far from the base offset, 0",
    ),
    "a negative offset": (
        lambda it: it[0].update(base_offset=-1),
        ':1: "base_offset" is -1; a segment begins with 0 or more',
    ),
    "a summary": (
        lambda it: it.insert(0, {"type": "file"}),
        ":1: \"type\" is 'file': a summary has no records; dump with --records instead of --summary",
    ),
    "a frame": (
        lambda it: it.insert(0, {"type": "frame"}),
        ":1: \"type\" is 'frame': a frame of a capture is not of a log; dump segments, or topics with --brokers",
    ),
    "an index": (
        lambda it: it.insert(0, {"type": "offset_index"}),
        ":1: \"type\" is 'offset_index': an entry of an index is not of a log; brokers make indexes from segments",
    ),
    "another type": (
        lambda it: it[0].update(type="batsh"),
        ':1: "type" is \'batsh\'; it must be "batch", "record" or "error"; did you mean batch?',
    ),
    "no type": (
        lambda it: it[0].pop("type"),
        ':1: "type" is missing; give the lines of kipwire dump --records --format json',
    ),
    "nothing": (lambda it: it.clear(), ": contains no batches; give the lines of kipwire dump --records --format json"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_line_is_named_and_nothing_is_written(
    name: str, good: list[dict[str, Any]], kipwire: Pack, tmp_path: Path
) -> None:
    change, reason = CASES[name]
    changed = [dict(line) for line in good]
    change(changed)
    done = kipwire("pack", "--out", "new", stdin=text_of(changed))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: standard input{reason}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not JSON\n", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]\n", "not a JSON object"),
        (b"\xff\n", "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ("[" * 100_000, "not JSON: maximum recursion depth exceeded while decoding a JSON array from a unicode string"),
    ],
)
def test_what_is_no_line_of_json_is_refused(text: str | bytes, reason: str, kipwire: Pack) -> None:
    done = kipwire("pack", "--out", "new", stdin=text)
    assert (done.returncode, done.stderr) == (2, f"kipwire: standard input:1: {reason}\n")


def test_lines_and_batches_have_bounds(
    monkeypatch: pytest.MonkeyPatch, good: list[dict[str, Any]], kipwire: Pack
) -> None:
    monkeypatch.setattr(dump_lines, "MAX_DECOMPRESSED_SIZE", 1)
    done = kipwire("pack", "--out", "new", stdin=text_of(good))
    assert done.stderr == "kipwire: standard input:3: the records of one batch have more than 1 bytes\n"
    monkeypatch.setattr(dump_lines, "LONGEST_LINE", 100)
    done = kipwire("pack", "--out", "new", stdin=text_of(good))
    assert done.stderr == "kipwire: standard input:1: the line is longer than 100 bytes, the limit for a dump\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
def test_a_disk_without_room_is_named_by_the_folder_that_was_given(good: list[dict[str, Any]], tmp_path: Path) -> None:
    import resource

    limited = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (10, 10))  # bytes of a file
    done = subprocess.run(
        [sys.executable, "-m", "kipwire", "pack", "-", "--out", "new"],
        cwd=tmp_path,
        input=text_of(good),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    assert (done.returncode, done.stderr) == (2, "kipwire: new: File too large\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(kipwire: Pack, good: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/file").write_text("")
    (tmp_path / "file").write_text("")
    for out, reason in (("taken", " is not empty; give a new folder"), ("file", ": is a file, not a folder")):
        done = kipwire("pack", "--out", out, stdin=text_of(good))
        assert (done.returncode, done.stderr) == (2, f"kipwire: {out}{reason}\n")
    done = kipwire("pack", "--out", "missing/new", stdin=text_of(good))
    assert (done.returncode, done.stderr) == (2, "kipwire: missing/new: the folder missing does not exist\n")
    done = kipwire("pack", "absent.jsonl", "--out", "new")
    assert (done.returncode, done.stderr) == (2, "kipwire: absent.jsonl: No such file or directory\n")
    done = kipwire("pack", "--out", "new", "--partition", "orders-0", stdin=text_of(good))
    assert done.returncode == 2
    assert "'orders-0' is not a partition; use TOPIC/PARTITION, such as orders/0" in done.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["base64", "a"]), inner, max_size=1),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=150)
def test_any_value_in_any_field_is_packed_or_refused(
    good: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    import io

    changed = [dict(line) for line in good]
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(changed))
        line[data.draw(st.sampled_from(sorted(line)))] = data.draw(JSON)
    writer = Writer(tmp_path_factory.mktemp("out"), None, None, fewer=data.draw(st.booleans()))
    try:
        for batch in batches_of(io.BytesIO(text_of(changed).encode()), "x", Left()):
            writer.write(batch)
    except LineError as error:
        assert str(error).startswith("x:")
    finally:
        writer.close()

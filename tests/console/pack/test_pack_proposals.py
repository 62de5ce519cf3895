"""kipwire pack makes logs of formats that were only proposed again, from dumps with `--magic-2`, byte for byte."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kipwire.cli.output import Output
from kipwire.console.dump.json_lines import JsonLines
from kipwire.console.dump.log_files import log_file
from kipwire.console.dump.logs import DumpOptions, LogDump
from kipwire.console.dump_lines import Left, batches_of
from kipwire.console.pack.segments import Counts, Writer
from kipwire.drafts import kip_82, kip_98
from kipwire.records import Record, write_batch, write_message_set
from tests.console.pack.conftest import Pack

NAME = "00000000000000000000.log"
TIMES = st.integers(-1, 2**40)
CONTENT = st.none() | st.binary(max_size=6)
CODECS: st.SearchStrategy[Any] = st.sampled_from(["none", "gzip", "lz4", "snappy"])
TIMESTAMP_TYPES: st.SearchStrategy[Any] = st.sampled_from(["CreateTime", "LogAppendTime"])


def dumped(folder: Path, magic_2: Any) -> bytes:
    """Return the JSON lines of a log, without the command line, which takes longer than the rest."""
    text = io.StringIO()
    with redirect_stdout(text):
        out = Output()
        dump = LogDump(JsonLines(magic_2=magic_2), out, DumpOptions(records=True, magic_2=magic_2))
        dump.whole(log_file(folder / NAME, None))
        out.flush()
    assert dump.errors == 0, text.getvalue()
    return text.getvalue().encode()


def back_and_forth(log: bytes, magic_2: Any) -> tuple[bytes, Counts]:
    with TemporaryDirectory() as name:
        source, target = Path(name, "orders-0"), Path(name, "target")
        source.mkdir()
        target.mkdir()
        (source / NAME).write_bytes(log)
        writer = Writer(target, None, None, fewer=False)
        for batch in batches_of(io.BytesIO(dumped(source, magic_2)), "lines", Left(), magic_2):
            writer.write(batch)
        writer.close()
        return (target / "orders-0" / NAME).read_bytes(), writer.counts


@st.composite
def logs(draw: st.DrawFn, batch: Callable[[st.DrawFn, list[int]], bytes]) -> bytes:
    """Draw a log of messages of old, then batches of a format; the offsets have gaps, as compaction leaves them."""
    parts = [write_message_set([Record(offset=0, timestamp=draw(TIMES), value=b"old")], magic=1)] * draw(
        st.integers(0, 1)
    )
    offset = 0
    for _ in range(draw(st.integers(1, 4))):
        offsets = []
        for gap in draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)):
            offset += gap
            offsets.append(offset)
        parts.append(batch(draw, offsets))
    return b"".join(parts)


def of_82(draw: st.DrawFn, offsets: list[int]) -> bytes:
    headers = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=3), max_size=2)
    records = [
        kip_82.ProducerRecord(
            offset=offset, timestamp=draw(TIMES), key=draw(CONTENT), value=draw(CONTENT), headers=draw(headers)
        )
        for offset in offsets
    ]
    compression = draw(CODECS)
    time = draw(st.none() | TIMES) if compression != "none" else None
    return kip_82.write_records(
        records, compression=compression, timestamp_type=draw(TIMESTAMP_TYPES), max_timestamp=time
    )


def of_98(draw: st.DrawFn, offsets: list[int]) -> bytes:
    control = draw(st.booleans())
    messages: list[Any] = [
        (
            kip_98.ControlMessage(
                offset=offset, type_id=draw(st.integers(0, 1)), timestamp=draw(TIMES), value=draw(CONTENT)
            )
            if control
            else Record(offset=offset, timestamp=draw(TIMES), key=draw(CONTENT), value=draw(CONTENT))
        )
        for offset in offsets
    ]
    if draw(st.booleans()):
        messages = messages[: draw(st.integers(0, len(messages)))]  # the rest was compacted
    timestamp_type = draw(TIMESTAMP_TYPES)
    latest = max((one.timestamp for one in messages), default=-1)
    return kip_98.write_set(
        messages,
        compression=draw(CODECS),
        base_offset=offsets[0],
        offset_delta=offsets[-1] - offsets[0] + 1,
        max_timestamp=draw(TIMES) if timestamp_type == "LogAppendTime" else latest + draw(st.integers(0, 3)),
        timestamp_type=timestamp_type,
        producer_id=draw(st.integers(-1, 9)),
        producer_epoch=draw(st.integers(-1, 2**15 - 1)),
        base_sequence=draw(st.integers(-1, 2**31 - 1)),
        is_transactional=draw(st.booleans()),
    )


@settings(max_examples=25)
@given(logs(of_82))
def test_a_log_of_kip_82_comes_back_byte_for_byte(log: bytes) -> None:
    data, counts = back_and_forth(log, "kip-82")
    assert data == log
    assert counts.same == counts.batches > 0


@settings(max_examples=25)
@given(logs(of_98))
@example(kip_98.write_set([], base_offset=0, offset_delta=1) + kip_98.write_set([], base_offset=1, offset_delta=2))
def test_a_log_of_the_kip_98_draft_comes_back_byte_for_byte(log: bytes) -> None:
    data, counts = back_and_forth(log, "kip-98 draft")
    assert data == log
    assert counts.same == counts.batches > 0


LOGS: dict[str, bytes] = {
    "kip-82": kip_82.write_records([kip_82.ProducerRecord(offset=1, timestamp=5, value=b"v", headers={1: b"orders"})]),
    "kip-98 draft": kip_98.write_set([Record(offset=1, timestamp=5, value=b"v")]),
    "kafka": write_batch([Record(offset=1, timestamp=5, value=b"v")]),
}


@pytest.fixture
def lines(tmp_path: Path) -> Callable[[str], list[dict[str, Any]]]:
    """The lines of a short log of a format."""

    def make(magic_2: str) -> list[dict[str, Any]]:
        folder = tmp_path / "orders-0"
        folder.mkdir()
        (folder / NAME).write_bytes(LOGS[magic_2])
        return [json.loads(line) for line in dumped(folder, magic_2).splitlines()]

    return make


def text_of(lines: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.mark.parametrize("magic_2", ["kip-82", "kip-98 draft"])
def test_the_commands_make_the_log_again(
    magic_2: str, lines: Callable[[str], list[dict[str, Any]]], kipwire: Pack, tmp_path: Path
) -> None:
    done = kipwire("pack", "--magic-2", magic_2, "--out", "same", stdin=text_of(lines(magic_2)))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 as they were, byte for byte" in done.stdout
    assert (tmp_path / "same" / "orders-0" / NAME).read_bytes() == LOGS[magic_2]


@pytest.mark.parametrize(
    ("written", "given_", "said"),
    [
        ("kip-82", "kafka", "\"magic_2\" is 'kip-82'; give --magic-2 'kip-82' for such a log"),
        ("kip-98 draft", "kafka", "\"magic_2\" is 'kip-98 draft'; give --magic-2 'kip-98 draft' for such a log"),
        ("kip-82", "kip-98 draft", "\"magic_2\" is 'kip-82'; give --magic-2 'kip-82' for such a log"),
        ("kafka", "kip-82", "\"magic_2\" is missing or 'kafka', but --magic-2 is 'kip-82'"),
    ],
)
def test_lines_of_another_format_are_refused_in_one_line(
    written: str,
    given_: str,
    said: str,
    lines: Callable[[str], list[dict[str, Any]]],
    kipwire: Pack,
    tmp_path: Path,
) -> None:
    done = kipwire("pack", "--magic-2", given_, "--out", "out", stdin=text_of(lines(written)))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"standard input:1: {said}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


CASES: dict[str, tuple[str, Callable[[list[dict[str, Any]]], object], str]] = {
    "no such format": (
        "kip-82",
        lambda it: it[0].update(magic_2="kip-83"),
        "\"magic_2\" is 'kip-83'; it must be one of 'kafka', 'kip-82', 'kip-98 draft'",
    ),
    "no format": ("kip-82", lambda it: it[0].update(magic_2=["kip-82"]), '"magic_2" is a list; it must be one of'),
    "no answer": ("kip-98 draft", lambda it: it[0].update(is_control="yes"), "\"is_control\" is 'yes', but"),
    "a format of older messages": (
        "kip-82",
        lambda it: it[0].update(magic=1, attributes=0),
        "\"magic_2\" is 'kip-82', but magic 1 has one format; leave it out",
    ),
    "bits without a meaning": ("kip-82", lambda it: it[0].update(attributes=0x20), "32 has bits without a meaning"),
    "more than a byte": ("kip-82", lambda it: it[0].update(attributes=300), "magic 2 has one byte for them"),
    "a codec that came later": (
        "kip-82",
        lambda it: it[0].update(attributes=4, compression="zstd"),
        "magic 2 has no codec 4",
    ),
    "a header with a text": (
        "kip-82",
        lambda it: it[1].update(headers=[["trace", "1"]]),
        "a key is a number such as '0x00000001'",
    ),
    "a header that is null": (
        "kip-82",
        lambda it: it[1].update(headers=[["0x00000001", None]]),
        "a value is null; KIP-82 knows no null",
    ),
    "a header of the draft": (
        "kip-98 draft",
        lambda it: it[1].update(headers=[["0x00000001", "1"]]),
        "the draft has no headers",
    ),
    "bits of a set": ("kip-98 draft", lambda it: it[0].update(attributes=0x20), "32 has bits without a meaning"),
    "a key that is no marker": (
        "kip-98 draft",
        lambda it: it[0].update(is_control=True),
        "None is not the key of a COMMIT or an ABORT",
    ),
    "an offset before the set": ("kip-98 draft", lambda it: it[1].update(offset=0), "0 is before the set"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_line_that_its_format_cannot_have_is_refused(
    name: str, lines: Callable[[str], list[dict[str, Any]]], kipwire: Pack
) -> None:
    magic_2, change, said = CASES[name]
    changed = lines(magic_2)
    change(changed)
    done = kipwire("pack", "--magic-2", magic_2, "--out", "out", stdin=text_of(changed))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_headers_of_kip_82_can_be_edited(
    lines: Callable[[str], list[dict[str, Any]]], kipwire: Pack, tmp_path: Path
) -> None:
    changed = lines("kip-82")
    changed[1]["headers"] = []
    done = kipwire("pack", "--magic-2", "kip-82", "--out", "out", stdin=text_of(changed))
    assert "1 changed" in done.stdout
    (made,) = (tmp_path / "out" / "orders-0").iterdir()
    (record,) = kip_82.read_records(made.read_bytes())
    assert (record.value, dict(record.headers)) == (b"v", {})

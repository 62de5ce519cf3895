"""Inspections as text, JSON and pages, and the command that shows them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kafka_messages.describe_topic_partitions_request.v0 import TopicRequest
from kipwire.cli.values import value_text
from kipwire.console.inspect import html
from kipwire.console.inspect.html import page
from kipwire.console.inspect.json import inspection_json, value_json
from kipwire.console.inspect.pasted import parse_hex
from kipwire.console.inspect.tree import inspect_message, inspect_request
from tests.support import command_line
from tests.support.places import ROOT
from tests.support.subjects.inspections import HEARTBEAT, as_text, broker_message, inspected

# Text, JSON and pages.


@pytest.mark.parametrize(
    ("value", "text", "in_json"),
    [
        (None, "null", None),
        (True, "true", True),
        (-7, "-7", -7),
        (float("nan"), "nan", "NaN"),
        (float("-inf"), "-inf", "-Infinity"),
        (1.5, "1.5", 1.5),
        ("a\x1b[2J\n", r"'a\x1b[2J\n'", "a\x1b[2J\n"),
        ("x" * 81, f"'{'x' * 80}' ... 81 characters", "x" * 81),
        (uuid.UUID(int=1), f"{uuid.UUID(int=1)} = AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAQ"),
        (b"\x00a|", "3 bytes |.a||", "AGF8"),
        (b"k" * 17, f"17 bytes |{'k' * 16}|...", "a2tra2tra2tra2tra2tra2s="),
        (b"", "0 bytes", ""),
    ],
)
def test_values_read_as_text_and_as_json(value: object, text: str, in_json: object) -> None:
    assert value_text(value) == text
    assert value_json(value) == in_json


def test_text_is_aligned_and_long_bytes_are_cut() -> None:
    lines = as_text(inspected(broker_message("host-name.example").encode()))
    assert lines[0] == "MetadataResponse v12: 40 bytes, 12 elements"
    assert lines[1] == "offset  bytes                                 path                type                   value"
    assert (
        "    10  68 6f 73 74 2d 6e 61 6d ... 17 bytes  brokers[0].host     string                 'host-name.example'"
        in lines
    )
    assert len({line.rindex("  ") for line in lines[2:]}) == 1


def test_json_has_every_byte_once() -> None:
    data = broker_message().encode()
    found = inspection_json(inspected(data + b"!"))
    assert list(found) == ["message", "version", "size", "elements", "error"]
    assert "".join(it["bytes"] for it in found["elements"]) + found["error"]["rest"] == (data + b"!").hex()
    assert found["elements"][2] == {
        "part": "MetadataResponse v12",
        "path": "brokers[0].node_id",
        "role": "value",
        "type": "int32",
        "offset": 5,
        "size": 4,
        "bytes": "00000001",
        "value": 1,
        "name": None,
    }
    assert found["error"]["offset"] == found["error"]["rest_offset"] == len(data)
    assert inspection_json(inspected(data))["error"] is None


class _Page(HTMLParser):
    """A parsed page: its tags, its hex dump and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.dump: list[tuple[int, str]] = []
        self.text = ""
        self._piece: int | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._piece = int(dict(attrs)["data-p"] or "") if tag == "i" else None

    def handle_endtag(self, tag: str) -> None:
        self._piece = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._piece is not None:
            self.dump.append((self._piece, data))

    def rows(self, kind: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == "tr" and attributes.get("class") == kind]


def test_page_has_every_byte_and_a_row_for_every_piece() -> None:
    data = broker_message().encode()
    for content in (data, data + b"tail", data[:-3]):
        inspection = inspected(content)
        parsed = _Page(page(inspection))
        assert bytes.fromhex("".join(text for _, text in parsed.dump)) == content
        pieces = [int(row["data-f"] or "") for row in parsed.rows("piece")]
        assert pieces == list(range(len(inspection.pieces)))
        assert [row["data-path"] for row in parsed.rows("struct")] == ["brokers[0]"]
        assert len(parsed.rows("rest")) == (inspection.error is not None)
        assert all(a <= b for (a, _), (b, _) in pairwise(parsed.dump))


def test_page_of_a_long_message_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has an end for many elements, for one long element, and for an error after the end."""
    assert (html.MOST_ELEMENTS, html.MOST_BYTES) == (10_000, 2**16)
    monkeypatch.setattr(html, "MOST_ELEMENTS", 1_000)  # a tenth has the same ends, and takes a tenth of the time
    cls: Any = kafka_messages.message("DescribeTopicPartitionsRequest", 0)
    with_blob: Any = kafka_messages.message("SaslAuthenticateRequest", 2)
    many = cls(topics=[TopicRequest(name="a")] * 600).encode()
    blob = with_blob(auth_bytes=bytes(10**6)).encode()
    elements = inspect_message(cls, many)
    small = page(inspect_message(cls, cls().encode()))
    for inspection, text in (
        (elements, f"not on this page: {len(elements.pieces) - 1_000:,} elements, "),
        (inspect_message(cls, many[:-1]), "need 1 byte"),
        (
            inspect_message(with_blob, blob),
            "not on this page: 1 element, 934,468 bytes;",
        ),
    ):
        made = page(inspection)
        parsed = _Page(made)
        assert text in parsed.text
        assert len(made) < len(small) + 1_000 * 1000
        shown = bytes.fromhex("".join(part for _, part in parsed.dump))
        assert inspection.data.startswith(shown) and len(shown) <= 2**16
        assert len(parsed.rows("piece")) <= 1_000
        assert len(parsed.rows("rest")) == 1 + (inspection.error is not None)


def test_page_groups_the_fields_of_nested_structs() -> None:
    data = (ROOT / "benchmarks/data/metadata_v12.bin").read_bytes()
    inspection = inspected(data)
    groups = {row["data-path"]: row for row in _Page(page(inspection)).rows("struct")}
    assert len(groups) == 2 + 1 + 100
    last = groups["topics[0].partitions[99]"]
    first, end = int(last["data-f"] or ""), int(last["data-l"] or "")
    paths = {piece.path for piece in inspection.pieces[first : end + 1]}
    assert {path[:24] for path in paths} == {"topics[0].partitions[99]"}
    assert inspection.pieces[end].role == "tags"
    assert last["style"] == "--d:3"


def test_page_shows_texts_of_a_message_as_text_and_loads_nothing() -> None:
    hostile = "<script>alert('1')</script><img src=x onerror=1>\"'&"
    text = page(inspected(broker_message(hostile).encode()))
    parsed = _Page(text)
    assert repr(hostile) in parsed.text
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1
    assert not {"img", "link", "iframe", "object"} & {tag for tag, _ in parsed.tags}
    assert not any({"src", "href", "onerror"} & set(attributes) for _, attributes in parsed.tags)
    assert not re.search(r"https?:|url\(|@import", text)


# The command.


def kipwire(
    *arguments: object, folder: Path, data: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kipwire", "inspect", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "60", **variables},
        input=data,
        capture_output=True,
        check=False,
        timeout=60,
    )


Call = Callable[..., command_line.Done]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command within this process, in the folder of the test."""
    return partial(command_line.call, "inspect", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


def test_bytes_come_from_hex_text_files_and_standard_input(tmp_path: Path, called: Call) -> None:
    raw = broker_message().encode()
    (tmp_path / "raw.bin").write_bytes(raw)
    (tmp_path / "hex.txt").write_text("\n".join(raw.hex(" ")[at : at + 48] for at in range(0, 999, 48)))
    first = kipwire("MetadataResponse", 12, raw.hex(), folder=tmp_path)
    assert first.returncode == 0, first.stderr
    lines = first.stdout.decode().splitlines()
    assert lines == as_text(inspected(raw))
    assert max(map(len, lines)) > 60  # lines are not wrapped
    for arguments, data in [
        (raw.hex(" ").split(), b""),
        (["raw.bin"], b""),
        (["hex.txt"], b""),
        (["-"], raw),
        ([], raw.hex(":").encode()),
    ]:
        done = called("MetadataResponse", 12, *arguments, stdin=data)
        assert done.stdout == first.stdout.decode(), arguments


def test_the_documentation_shows_real_output(tmp_path: Path, called: Call) -> None:
    text = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")
    for data, name in re.findall(r"^\$ echo ([0-9a-f]+) > (\S+\.hex)$", text, re.MULTILINE):
        (tmp_path / name).write_text(data)
    shown = re.findall(r"^\$ kipwire inspect (.* (?:[0-9a-f ]+|\S+\.hex))\n((?:[^$`].*\n)+)", text, re.MULTILINE)
    assert len(shown) == 2
    for arguments, output in shown:
        assert called(*arguments.split()).stdout == output


@pytest.mark.parametrize("text", ["0a1B", " 0a 1b\n", "0a:1b", "0x0a, 0x1B", r"\x0a\x1b", "0x0a1b"])
def test_hex_text_as_tools_print_it_is_understood(text: str) -> None:
    assert parse_hex(text) == b"\x0a\x1b"


@pytest.mark.parametrize("text", ["0a1", "0g", "0a-1b", "zz", "\u0660\u0660"])
def test_what_is_not_hex_text_is_refused(text: str) -> None:
    assert parse_hex(text) is None


@pytest.mark.parametrize("size", ["", "00000010"])
@pytest.mark.parametrize("version", [5, 99])
def test_a_refusal_is_shown_whatever_version_of_api_versions_was_asked_for(
    called: Call, version: int, size: str
) -> None:
    refused = f"{size} 00000007 0023 00000001 0012 0000 0005"
    done = called("--response", "ApiVersions", version, refused)
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "ApiVersionsResponse v0")
    other = called("--response", "Metadata", 99, refused)
    assert "unknown version 99 of MetadataResponse" in other.stderr


def test_frames_by_api_name_and_number(called: Call) -> None:
    request = called("--request", HEARTBEAT.hex())
    assert request.returncode == 0, request.stderr
    assert [line for line in request.stdout.splitlines() if re.fullmatch(r"\S+ v\d+", line)] == [
        "RequestHeader v1",
        "HeartbeatRequest v0",
    ]
    by_name = called("--response", "Heartbeat", 0, "00000006 00000007 0019")
    assert by_name.returncode == 0, by_name.stderr
    assert "frame size int32" in by_name.stdout
    assert called("--response", 12, 0, "00000006 00000007 0019").stdout == by_name.stdout


def test_json_and_page_of_wrong_bytes_exit_1(tmp_path: Path, called: Call) -> None:
    done = called("HeartbeatResponse", 0, "001900", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["message"], found["version"], found["elements"][0]["value"]) == ("HeartbeatResponse", 0, 25)
    assert found["error"]["reason"] == "1 trailing byte after the message"
    done = called("HeartbeatResponse", 0, "001900", "--html", "page.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: HeartbeatResponse v0: message at byte 2: 1 trailing byte" in done.stderr
    assert "trailing byte after the message" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_terminals_get_colours(tmp_path: Path) -> None:
    data = broker_message().encode()
    done = kipwire("MetadataResponse", 12, data.hex(), folder=tmp_path, FORCE_COLOR="1", TERM="xterm-256color")
    text = done.stdout.decode()
    assert "\x1b[32m'a.example'\x1b[0m" in text
    plain = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()]
    assert plain == as_text(inspected(data))


def test_text_survives_an_encoding_that_lacks_its_characters(tmp_path: Path) -> None:
    data = broker_message("日本").encode()
    done = kipwire("MetadataResponse", 12, data.hex(), folder=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert rb"'\u65e5\u672c'" in done.stdout


def test_a_package_in_the_current_directory_is_found(encodings_package: str, tmp_path: Path) -> None:
    done = kipwire("Odd", 0, "03 00000007 ff 00", "--package", encodings_package, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"int32 packed32" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("capture", "is a capture; --frame N explains a frame, by the number that kipwire tap and dump show"),
        ("frames.jsonl.gz", "is a capture; --frame N"),
        ("x.pcap", "is a capture; --frame N"),
        ("orders-0", "is of a log; kipwire dump shows what is in it"),
        ("00000000000000000000.log", "is of a log; kipwire dump"),
        ("00000000000000000000.index", "is of a log; kipwire dump"),
        ("text.log", "the message is missing; give its name and version"),
        ("missing.index", "the message is missing; give its name and version"),
        ("00" * 3000, "the message is missing; give its name and version"),
    ],
)
def test_a_capture_or_a_log_alone_names_the_command_for_it(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("capture", "orders-0"):
        (tmp_path / folder).mkdir()
    (tmp_path / "capture" / "frames.jsonl").touch()
    (tmp_path / "frames.jsonl.gz").touch()
    (tmp_path / "x.pcap").write_bytes(bytes.fromhex("d4c3b2a102000400") + bytes(16))
    (tmp_path / "orders-0" / "00000000000000000000.log").touch()
    (tmp_path / "00000000000000000000.log").write_bytes(b"\0\0\0\0\0\0\0\0\0\0\0\x40\0\0\0\0\2")
    (tmp_path / "00000000000000000000.index").touch()
    (tmp_path / "text.log").write_text("2026-11-21 began to listen\n")
    done = command_line.call("inspect", name, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the message is missing; give its name and version, or --request, or --response"),
        (["MetadataResponse"], "the message is missing; give its name and version"),
        (["MetadataRespons", "12", "00"], "no message named 'MetadataRespons'; did you mean MetadataResponse"),
        (
            ["MetadataResponse", "99", "00"],
            "unknown version 99 of MetadataResponse in kafka_messages; known versions are 0 to 13",
        ),
        (["MetadataResponse", "twelve", "00"], "'twelve' is not a version of MetadataResponse"),
        (["MetadataResponse", "12", "nothing.bin"], "'nothing.bin' is neither a file nor hex text"),
        (["MetadataResponse", "12", "."], "'.' is neither a file nor hex text"),
        (["MetadataResponse", "12", "0" * 5001], "is neither a file nor hex text"),
        (["--response", "Metadat", "1", "00"], "no API named 'Metadat'; did you mean Metadata"),
        (["--response", "9999", "1", "00"], "9999"),
        (["--response", "Metadata", "one", "00"], "--response"),
        (["--request", "--response", "Metadata", "1"], "--request cannot be used with --response"),
        (["--request", "--package", "no_such_package"], "no_such_package: cannot be imported (No module named"),
        (["--request", "--package", "json"], "json: is not a package generated by kipgen"),
        (
            ["--request", "--package", ".json"],
            "'.json' is not a valid name for a Python package; give one such as my_protocol",
        ),
        (["--request", "--package", "broken"], "broken: cannot be imported ("),
        (["HeartbeatResponse", "0", "0019", "--html", "no/such/folder.html"], "no/such/folder.html"),
    ],
)
def test_what_cannot_be_inspected_is_said_in_a_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    done = command_line.call("inspect", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


def test_numbers_are_shown_with_their_names() -> None:
    cls: Any = kafka_messages.message("DescribeAclsRequest", 2)
    data = cls(operation=15, permission_type=99).encode()
    inspection = inspect_message(cls, data)
    values = [line.split("int8")[1].strip() for line in as_text(inspection) if " int8 " in line]
    assert values == ["0 UNKNOWN", "3 LITERAL", "15 TWO_PHASE_COMMIT", "99"]
    named = {
        it["path"]: (it["value"], it["name"]) for it in inspection_json(inspection)["elements"] if it["role"] == "value"
    }
    assert named["operation"] == (15, "TWO_PHASE_COMMIT")
    assert named["permission_type"] == (99, None)
    assert named["resource_type_filter"] == (0, "UNKNOWN")


def test_elements_of_arrays_and_headers_are_shown_with_their_names() -> None:
    cls: Any = kafka_messages.message("ListConfigResourcesRequest", 1)
    frame = kafka_messages.encode_request(cls(resource_types=[2, 3]), correlation_id=1)
    inspection = inspect_request(kafka_messages.REGISTRY, frame)
    names = {it.path: it.name for it in inspection.pieces if it.role == "value"}
    assert names["request_api_key"] == "LIST_CONFIG_RESOURCES"
    assert names["request_api_version"] is None
    assert (names["resource_types[0]"], names["resource_types[1]"]) == ("TOPIC", None)


def test_sets_of_operations_are_shown_with_their_names() -> None:
    cls: Any = kafka_messages.message("MetadataResponse", 10)
    answer = cls(topics=[], cluster_authorized_operations=0b110000000)
    (piece,) = [
        one for one in inspect_message(cls, answer.encode()).pieces if one.path == "cluster_authorized_operations"
    ]
    assert piece.name == "ALTER, DESCRIBE"
    assert ">384 ALTER, DESCRIBE<" in page(inspect_message(cls, answer.encode()))
    answer.cluster_authorized_operations = -(2**31)  # the value for "not requested"
    (piece,) = [
        one for one in inspect_message(cls, answer.encode()).pieces if one.path == "cluster_authorized_operations"
    ]
    assert piece.name is None


def test_page_explains_the_name_of_a_number() -> None:
    text = page(inspect_message(kafka_messages.message("HeartbeatResponse", 4), bytes.fromhex("00000000001900")))
    assert ">25 UNKNOWN_MEMBER_ID<" in text
    assert "UNKNOWN_MEMBER_ID: The group has no member of this id; join again." in text

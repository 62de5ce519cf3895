"""Inspecting: every byte has one meaning, faults show what was read before them, and all of it can be looked at."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import uuid
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import command_line
import golden_data
import kafka_messages
from kafka_messages.api_versions_response.v3 import ApiVersionsResponse
from kafka_messages.describe_topic_partitions_request.v0 import TopicRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipgen.generate import carry_out, plan
from kipgen.inspect import Inspection, inspect_message, inspect_request, inspect_response
from kipgen.inspect_html import page
from kipgen.inspect_input import parse_hex
from kipgen.inspect_json import json_form
from kipgen.inspect_text import text_lines
from kipgen.inspect_values import value_json, value_text
from kipwire import DecodeError

CAPTURE = Path(__file__).parent.parent / "examples" / "capture"
NAMES = sorted({name for name, _ in golden_data.messages()})


def broker_message(host: str = "a.example") -> Any:
    return MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host=host, port=9092)], cluster_id=None)


def inspected(data: bytes) -> Inspection:
    return inspect_message(MetadataResponse, data)


def as_text(inspection: Inspection) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in text_lines(inspection)]


def element(inspection: Inspection, path: str, role: str = "value") -> tuple[str, object]:
    """Kind and value of the one piece of that path and role."""
    ((kind, value),) = [(it.kind, it.value) for it in inspection.pieces if (it.path, it.role) == (path, role)]
    return kind, value


def assert_without_gaps(inspection: Inspection) -> None:
    ends = [0, *(piece.end for piece in inspection.pieces)]
    assert [piece.start for piece in inspection.pieces] == ends[:-1]
    if inspection.fault is None:
        assert ends[-1] == len(inspection.data)


# What is read.


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_every_golden_message_has_one_meaning(name: str) -> None:
    for (message, version), lines in golden_data.messages().items():
        if message == name:
            for line in lines:
                inspection = inspect_message(kafka_messages.message(name, version), bytes.fromhex(line["hex"]))
                assert inspection.fault is None
                assert_without_gaps(inspection)
                unknown = [it.value for it in inspection.pieces if it.role == "unknown" and isinstance(it.value, bytes)]
                assert sorted(unknown) == sorted(bytes.fromhex(it["hex"]) for it in line.get("unknown", ()))


def test_values_are_those_that_decoding_gives() -> None:
    data = (Path(__file__).parent.parent / "benchmarks/data/metadata_v12.bin").read_bytes()
    message: Any = MetadataResponse.decode(data)
    values = {piece.path: piece.value for piece in inspected(data).pieces if piece.role == "value"}
    for number, partition in enumerate(message.topics[0].partitions):
        path = f"topics[0].partitions[{number}]"
        assert values[f"{path}.partition_index"] == partition.partition_index
        assert values[f"{path}.leader_id"] == partition.leader_id
        assert [values[f"{path}.isr_nodes[{i}]"] for i in range(len(partition.isr_nodes))] == partition.isr_nodes
    assert values["topics[0].topic_id"] == message.topics[0].topic_id


def test_types_tell_compact_from_classic() -> None:
    flexible = inspected(broker_message().encode())
    assert element(flexible, "brokers", "count") == ("compact count", 1)
    assert element(flexible, "brokers[0].host", "length") == ("compact string length", 9)
    assert element(flexible, "brokers[0].host") == ("string", "a.example")
    assert element(flexible, "brokers[0].rack", "length") == ("compact string length", None)
    assert element(flexible, "", "tags") == ("tag count", 0)
    old = kafka_messages.message("MetadataResponse", 1)
    classic = inspect_message(old, bytes.fromhex("00000001 00000001 0001 61 00002384 ffff 00000001 00000000"))
    assert classic.fault is None
    assert element(classic, "brokers", "count") == ("count int32", 1)
    assert element(classic, "brokers[0].host", "length") == ("string length int16", 1)
    assert element(classic, "brokers[0].rack", "length") == ("string length int16", None)


def test_tagged_fields_known_and_unknown_are_told_apart() -> None:
    message = ApiVersionsResponse(finalized_features_epoch=42)
    message.unknown_tagged_fields = {200: b"new"}
    inspection = inspect_message(ApiVersionsResponse, message.encode())
    assert element(inspection, "", "tags") == ("tag count", 2)
    assert element(inspection, "finalized_features_epoch", "tag") == ("tag", 1)
    assert element(inspection, "finalized_features_epoch", "size") == ("tagged field size", 8)
    assert element(inspection, "finalized_features_epoch") == ("int64", 42)
    assert element(inspection, "<tag 200>", "tag") == ("tag", 200)
    assert element(inspection, "<tag 200>", "unknown") == ("unknown tagged field", b"new")


@pytest.fixture
def encodings_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a generated package whose integers and structs are written in ways that Kafka's are not."""
    fields = [
        {"name": "Zigzag", "type": "int32", "versions": "0+", "encoding": "packed32"},
        {"name": "Narrow", "type": "int64", "versions": "0+", "encoding": "fixed32"},
        {"name": "Cursor", "type": "Cursor", "versions": "0+", "nullableVersions": "0+", "fields": [
            {"name": "At", "type": "int8", "versions": "0+"}]},
        {"name": "Late", "type": "Late", "versions": "0+", "taggedVersions": "0+", "tag": 0, "nullableVersions": "0+",
         "default": "null", "fields": [{"name": "At", "type": "int8", "versions": "0+"}]},
    ]  # fmt: skip
    head = {"name": "Odd", "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "Odd.json").write_text(json.dumps({**head, "fields": fields}))
    name = f"odd_{uuid.uuid4().hex}"  # modules of other tests must not be found
    planned = plan(tmp_path / "specs", tmp_path / name, name, lambda done, total: None)
    assert not planned.has_errors, planned.problems
    carry_out(planned)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_types_tell_encodings_and_markers(encodings_package: str) -> None:
    cls = __import__(encodings_package).message("Odd", 0)
    inspection = inspect_message(cls, bytes.fromhex("03 00000007 01 05 00 01 00 03 01 06 00"))
    assert inspection.fault is None
    assert element(inspection, "zigzag") == ("int32 packed32", -2)
    assert element(inspection, "narrow") == ("int64 fixed32", 7)
    assert element(inspection, "cursor", "marker") == ("marker int8", 1)
    assert element(inspection, "cursor.at") == ("int8", 5)
    assert element(inspection, "late", "marker") == ("marker varint", 1)
    assert element(inspection, "late.at") == ("int8", 6)


# Faults.


def test_a_message_cut_anywhere_shows_all_that_was_read() -> None:
    data = broker_message().encode()
    whole = inspected(data).pieces
    for size in range(len(data)):
        inspection = inspected(data[:size])
        assert inspection.fault is not None
        assert inspection.pieces == whole[: len(inspection.pieces)]
        following = whole[len(inspection.pieces)]
        assert following.end > size  # all that could be read was
        assert inspection.rest == following.start


GOLDEN_FAULTS = [
    line for line in golden_data.lines("negative") if line["version"] in kafka_messages.versions(line["message"])
]


@pytest.mark.parametrize("part", range(16))
def test_faults_are_those_that_decoding_finds(part: int) -> None:
    for line in GOLDEN_FAULTS[part::16]:
        data, cls = bytes.fromhex(line["hex"]), kafka_messages.message(line["message"], line["version"])
        inspection = inspect_message(cls, data)
        try:
            cls.decode(data)
        except DecodeError as error:
            assert inspection.fault is not None
            assert str(inspection.fault) == str(error)
            assert inspection.rest <= error.offset
        else:
            assert inspection.fault is None
        assert_without_gaps(inspection)
        assert as_text(inspection)
        assert json.dumps(json_form(inspection), allow_nan=False)


def test_text_shows_the_fault_and_the_bytes_from_there_on() -> None:
    data = broker_message().encode() + bytes(range(0x10, 0x24))
    end = len(data) - 20
    assert as_text(inspected(data))[-3:] == [
        f"fault: MetadataResponse v12: message at byte {end}: 20 bytes are left over behind the message",
        f"{end:>6}  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f",
        f"{end + 16:>6}  20 21 22 23",
    ]
    assert as_text(inspected(data[:3]))[-2:] == [
        "fault: MetadataResponse v12: throttle_time_ms at byte 0: need 4 bytes, 3 left",
        "     0  00 00 00",
    ]
    assert as_text(inspected(data[:4]))[-1] == "the bytes end here"


def test_bytes_of_a_broken_string_are_shown_from_its_start() -> None:
    data = broker_message("ab\0").encode().replace(b"ab\0", b"ab\xff")
    inspection = inspected(data)
    assert inspection.fault is not None
    start = data.index(b"ab")
    assert (inspection.fault.offset, inspection.rest) == (start + 2, start)


# Frames.


def captured_frames() -> list[tuple[dict[str, Any], bytes]]:
    index = gzip.decompress((CAPTURE / "frames.jsonl.gz").read_bytes()).decode().splitlines()
    data = gzip.decompress((CAPTURE / "frames.bin.gz").read_bytes())
    lines = map(json.loads, index)
    return [(line, data[line["off"] : line["off"] + 4 + line["len"]]) for line in lines]


def inspect_frame(line: dict[str, Any], frame: bytes) -> Inspection:
    if line["dir"] == "req":
        return inspect_request(kafka_messages.REGISTRY, frame)
    cls = kafka_messages.response(line["api_key"], line["api_version"])
    return inspect_response(kafka_messages.REGISTRY, cls, frame)


def test_captured_frames_are_read_with_and_without_their_size() -> None:
    for line, frame in captured_frames():
        sized, bare = inspect_frame(line, frame), inspect_frame(line, frame[4:])
        for inspection in (sized, bare):
            assert inspection.fault is None
            assert_without_gaps(inspection)
        assert element(sized, "size", "length") == ("frame size int32", line["len"])
        assert [(it.path, it.start + 4, it.value) for it in bare.pieces] == [
            (it.path, it.start, it.value) for it in sized.pieces[1:]
        ]
        assert element(bare, "correlation_id")[1] == line["correlation_id"]


def test_requests_cut_short_are_still_recognised() -> None:
    frame = next(frame for line, frame in captured_frames() if (line["dir"], line["api_key"]) == ("req", 18))
    for data in (frame, frame[4:]):
        for size in range(20, len(data)):
            inspection = inspect_request(kafka_messages.REGISTRY, data[:size])
            assert inspection.fault is not None
            assert inspection.message == "ApiVersionsRequest"
            assert (inspection.pieces[0].part == "frame") == (data is frame)


HEARTBEAT = bytes.fromhex("000c 0000 00000007 ffff 0001 67 00000001 0001 6d")


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (b"\0\0\0\x18" + HEARTBEAT, "message at byte 24: the frame's size is 24, 20 bytes follow it"),
        (b"\0\0\0\x14" + HEARTBEAT + b"\0\0", "message at byte 24: 2 bytes are left over behind the frame of 20 bytes"),
        (HEARTBEAT + b"\0", "message at byte 20: 1 byte is left over behind the message"),
    ],
)
def test_frames_of_another_size_than_they_say_are_at_fault(frame: bytes, fault: str) -> None:
    assert len(HEARTBEAT) == 20
    inspection = inspect_request(kafka_messages.REGISTRY, frame)
    assert str(inspection.fault) == f"HeartbeatRequest v0: {fault}"
    assert element(inspection, "member_id") == ("string", "m")


def test_the_header_of_an_unknown_version_is_shown() -> None:
    inspection = inspect_request(kafka_messages.REGISTRY, bytes.fromhex("0003 0063 00000007 0001 61"))
    assert element(inspection, "request_api_version") == ("int16", 99)
    assert element(inspection, "client_id") == ("string", "a")
    assert inspection.fault is not None
    assert "no version 99 of MetadataRequest" in inspection.fault.reason


@pytest.mark.parametrize("size", range(9))
def test_fragments_of_a_header_are_a_fault(size: int) -> None:
    for inspection in (
        inspect_request(kafka_messages.REGISTRY, HEARTBEAT[:size]),
        inspect_response(kafka_messages.REGISTRY, kafka_messages.response(12, 0), HEARTBEAT[: min(size, 5)]),
    ):
        assert inspection.fault is not None
        assert_without_gaps(inspection)


@pytest.mark.parametrize("version", [0, 1, 3, 5])
@pytest.mark.parametrize("size", [b"", b"\0\0\0\x10"])
def test_a_refused_version_of_api_versions_is_shown_as_its_answer_is_in_version_0(version: int, size: bytes) -> None:
    frame = size + bytes.fromhex("00000007 0023 00000001 0012 0000 0005")
    inspection = inspect_response(kafka_messages.REGISTRY, kafka_messages.response(18, version), frame)
    assert (inspection.message, inspection.version, inspection.fault) == ("ApiVersionsResponse", 0, None)
    assert element(inspection, "api_keys[0].max_version") == ("int16", 5)


def test_packages_with_headers_of_their_own_use_them() -> None:
    import proposals

    body = proposals.message("FooRequest", 9)()
    frame = proposals.REGISTRY.encode_request(body, correlation_id=7, client_id="me")
    inspection = inspect_request(proposals.REGISTRY, frame)
    assert inspection.fault is None
    assert element(inspection, "client_id", "length") == ("compact string length", 2)  # classic in Kafka's own header


# How it looks.


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
    form = json_form(inspected(data + b"!"))
    assert list(form) == ["message", "version", "size", "elements", "error"]
    assert "".join(it["bytes"] for it in form["elements"]) + form["error"]["rest"] == (data + b"!").hex()
    assert form["elements"][2] == {
        "part": "MetadataResponse v12",
        "path": "brokers[0].node_id",
        "role": "value",
        "type": "int32",
        "offset": 5,
        "size": 4,
        "bytes": "00000001",
        "value": 1,
    }
    assert form["error"]["offset"] == form["error"]["rest_offset"] == len(data)
    assert json_form(inspected(data))["error"] is None


class _Page(HTMLParser):
    """What a page consists of."""

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
        assert len(parsed.rows("rest")) == (inspection.fault is not None)
        assert all(a <= b for (a, _), (b, _) in pairwise(parsed.dump))


def test_page_of_a_long_message_has_an_end() -> None:
    """Of many elements, of one long element, and of a fault behind the end."""
    cls: Any = kafka_messages.message("DescribeTopicPartitionsRequest", 0)
    with_blob: Any = kafka_messages.message("SaslAuthenticateRequest", 2)
    many = cls(topics=[TopicRequest(name="a")] * 20_000).encode()
    blob = with_blob(auth_bytes=bytes(10**6)).encode()
    elements = inspect_message(cls, many)
    small = page(inspect_message(cls, cls().encode()))
    for inspection, text in (
        (elements, f"not on this page: {len(elements.pieces) - 10_000:,} elements, "),
        (inspect_message(cls, many[:-1]), "need 1 byte"),
        (
            inspect_message(with_blob, blob),
            "not on this page: 1 element, 934,468 bytes;",
        ),
    ):
        made = page(inspection)
        parsed = _Page(made)
        assert text in parsed.text
        assert len(made) < len(small) + 10_000 * 1000
        shown = bytes.fromhex("".join(part for _, part in parsed.dump))
        assert inspection.data.startswith(shown) and len(shown) <= 2**16
        assert len(parsed.rows("piece")) <= 10_000
        assert len(parsed.rows("rest")) == 1 + (inspection.fault is not None)


def test_page_groups_the_fields_of_nested_structs() -> None:
    data = (Path(__file__).parent.parent / "benchmarks/data/metadata_v12.bin").read_bytes()
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


def kipgen(*arguments: object, folder: Path, data: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kipgen", "inspect", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "60", **variables},
        input=data,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_bytes_come_from_hex_text_files_and_standard_input(tmp_path: Path) -> None:
    raw = broker_message().encode()
    (tmp_path / "raw.bin").write_bytes(raw)
    (tmp_path / "hex.txt").write_text("\n".join(raw.hex(" ")[at : at + 48] for at in range(0, 999, 48)))
    first = kipgen("MetadataResponse", 12, raw.hex(), folder=tmp_path)
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
        done = kipgen("MetadataResponse", 12, *arguments, folder=tmp_path, data=data)
        assert done.stdout == first.stdout, arguments


def test_the_documentation_shows_real_output(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "inspect.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ kipgen inspect (.* [0-9a-f ]+)\n((?:[^$`].*\n)+)", text, re.MULTILINE)
    assert len(shown) == 3
    for arguments, output in shown:
        assert kipgen(*arguments.split(), folder=tmp_path).stdout.decode() == output


@pytest.mark.parametrize("text", ["0a1B", " 0a 1b\n", "0a:1b", "0x0a, 0x1B", r"\x0a\x1b", "0x0a1b"])
def test_hex_text_as_tools_print_it_is_understood(text: str) -> None:
    assert parse_hex(text) == b"\x0a\x1b"


@pytest.mark.parametrize("text", ["0a1", "0g", "0a-1b", "zz", "\u0660\u0660"])
def test_what_is_no_hex_text_is_refused(text: str) -> None:
    assert parse_hex(text) is None


@pytest.mark.parametrize("size", ["", "00000010"])
@pytest.mark.parametrize("version", [5, 99])
def test_a_refusal_is_shown_whatever_version_of_api_versions_was_asked_for(
    tmp_path: Path, version: int, size: str
) -> None:
    refused = f"{size} 00000007 0023 00000001 0012 0000 0005"
    done = kipgen("--response", "ApiVersions", version, refused, folder=tmp_path)
    assert (done.returncode, done.stdout.partition(b":")[0]) == (0, b"ApiVersionsResponse v0")
    other = kipgen("--response", "Metadata", 99, refused, folder=tmp_path)
    assert b"no version 99 of MetadataResponse" in other.stderr


def test_frames_by_api_name_and_number(tmp_path: Path) -> None:
    request = kipgen("--request", HEARTBEAT.hex(), folder=tmp_path)
    assert request.returncode == 0, request.stderr
    assert [line for line in request.stdout.decode().splitlines() if re.fullmatch(r"\S+ v\d+", line)] == [
        "RequestHeader v1",
        "HeartbeatRequest v0",
    ]
    by_name = kipgen("--response", "Heartbeat", 0, "00000006 00000007 0019", folder=tmp_path)
    assert by_name.returncode == 0, by_name.stderr
    assert b"frame size int32" in by_name.stdout
    assert kipgen("--response", 12, 0, "00000006 00000007 0019", folder=tmp_path).stdout == by_name.stdout


def test_json_and_page_of_bytes_at_fault_exit_1(tmp_path: Path) -> None:
    done = kipgen("HeartbeatResponse", 0, "001900", "--json", folder=tmp_path)
    assert done.returncode == 1
    form = json.loads(done.stdout)
    assert (form["message"], form["version"], form["elements"][0]["value"]) == ("HeartbeatResponse", 0, 25)
    assert form["error"]["reason"] == "1 byte is left over behind the message"
    done = kipgen("HeartbeatResponse", 0, "001900", "--html", "page.html", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"fault: HeartbeatResponse v0: message at byte 2: 1 byte is left over" in done.stderr
    assert "left over behind the message" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_terminals_get_colours(tmp_path: Path) -> None:
    data = broker_message().encode()
    done = kipgen("MetadataResponse", 12, data.hex(), folder=tmp_path, FORCE_COLOR="1", TERM="xterm-256color")
    text = done.stdout.decode()
    assert "\x1b[32m'a.example'\x1b[0m" in text
    plain = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()]
    assert plain == as_text(inspected(data))


def test_text_survives_an_encoding_that_lacks_its_characters(tmp_path: Path) -> None:
    data = broker_message("日本").encode()
    done = kipgen("MetadataResponse", 12, data.hex(), folder=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert rb"'\u65e5\u672c'" in done.stdout


def test_a_package_in_the_current_directory_is_found(encodings_package: str, tmp_path: Path) -> None:
    done = kipgen("Odd", 0, "03 00000007 ff 00", "--package", encodings_package, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"int32 packed32" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give name and version of a message, or --request, or --response"),
        (["MetadataResponse"], "give name and version of a message"),
        (["MetadataRespons", "12", "00"], "no message named 'MetadataRespons'; did you mean MetadataResponse"),
        (["MetadataResponse", "99", "00"], "no version 99 of MetadataResponse; it has 0 to 13"),
        (["MetadataResponse", "twelve", "00"], "'twelve' is not a version of MetadataResponse"),
        (["MetadataResponse", "12", "nothing.bin"], "'nothing.bin' is neither a file nor hex text"),
        (["MetadataResponse", "12", "."], "'.' is neither a file nor hex text"),
        (["MetadataResponse", "12", "0" * 5001], "is neither a file nor hex text"),
        (["--response", "Metadat", "1", "00"], "no API named 'Metadat'; did you mean Metadata"),
        (["--response", "9999", "1", "00"], "9999"),
        (["--response", "Metadata", "one", "00"], "--response"),
        (["--request", "--response", "Metadata", "1"], "give one of --request and --response"),
        (["--request", "--package", "no_such_package"], "no_such_package: cannot be imported (No module named"),
        (["--request", "--package", "json"], "json: is not a package that kipgen generated"),
        (["--request", "--package", ".json"], "'.json' cannot be the name of a Python package"),
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

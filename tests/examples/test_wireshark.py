"""The Wireshark dissector of the examples: tshark shows with it what `kipwire inspect` says, offset by offset."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import kafka_messages
import kafka_records
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse
from kafka_messages.produce_request.v3 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire import Message
from kipwire.console.inspect.tree import Piece, inspect_message, inspect_request, inspect_response
from kipwire.records import Record, write_batch
from kipwire.testing.strategies import messages
from kipwire.traffic.any_capture import capture_at, frames_of
from kipwire.traffic.packet_headers import ACK
from kipwire.traffic.requests import Request
from tests.support import golden_data, wireshark
from tests.support.packet_dumps import Disorder, Tcp, dump, segments, shipped_frames
from tests.support.places import DATA, ROOT

pytestmark = [
    pytest.mark.night,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark"),
    pytest.mark.xdist_group("wireshark"),
]

FORMER = {
    "AlterIsrResponse",
    "ListClientMetricsResourcesResponse",
    "AlterIsrRequest",
    "ListClientMetricsResourcesRequest",
}
"""Messages whose API has another name now: their frames are read as messages of the new name."""
PORT = 9092
SPECS = ("kafka_messages", "kafka_records")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The resolved specs, and the dissectors of Kafka: on its ports, and on the port of the captures of clients."""
    folder = tmp_path_factory.mktemp("wireshark")
    found = {name: resolved(ROOT / "schemas" / name, folder / f"{name}.json") for name in SPECS}
    arguments = (found["kafka_messages"], "--records", found["kafka_records"], "--name", "kipwire_kafka")
    found["lua"] = wireshark.make_dissector(folder / "kipwire_kafka.lua", *arguments)
    found["clients"] = wireshark.make_dissector(folder / "clients.lua", *arguments[:-1], "clients", "--ports", "24092")
    return found


def resolved(specs: Path, out: Path) -> Path:
    subprocess.run([sys.executable, "-m", "kipgen", "resolve", specs, "--out", out], check=True, timeout=120)
    return out


@cache
def structs_of(*files: Path) -> set[str]:
    return wireshark.struct_names(*(json.loads(file.read_text("utf-8")) for file in files))


def problems(shown: wireshark.Packet, pieces: Sequence[Piece], structs: set[str], offset: int = 0) -> list[str]:
    """Return the differences; batches within records are compared with `inspect` of each batch."""
    fields = [piece for piece in pieces if piece.kind == "records" and piece.value]
    if not fields:
        return wireshark.differences(shown, pieces, structs, offset) + [f"expert: {one}" for one in shown.experts]
    batches = [batch for piece in fields for batch in wireshark.batches(piece)]
    if all(batch.pieces for batch in batches):
        within = [one for batch in batches for one in batch.pieces]
        unpacked = [one for batch in batches for one in batch.unpacked]
        found = wireshark.differences(shown, [*pieces, *within], structs, offset, unpacked)
        # Snappy, LZ4 and zstandard are noted and left packed.
        return [
            one for one in found if not (one.startswith("has ('noted") and any(batch.codec > 1 for batch in batches))
        ]
    # Made-up bytes, of which `inspect` has no batches.
    of_records = ("record_batch.", "records.", "message_and_offset.", "null.key", "null.value", "noted", "damaged")
    found = wireshark.differences(shown, pieces, structs, offset)
    return [one for one in found if not one.startswith(tuple(f"has ('{name}" for name in of_records))]


def alone(cls: type[Message], data: bytes) -> bytes:
    return f"{cls.NAME} {cls.VERSION}\n".encode() + data


def check_alone(lua: Path, found: Sequence[tuple[type[Message], bytes]], structs: set[str], folder: Path) -> None:
    """Check that each message by itself is shown as by `inspect`."""
    capture = folder / "alone.pcap"
    capture.write_bytes(wireshark.user_dump([alone(cls, data) for cls, data in found]))
    shown = wireshark.packets(lua, capture, f"{lua.stem}_message")
    assert len(shown) == len(found)
    for (cls, data), packet in zip(found, shown, strict=True):
        offset = len(alone(cls, b""))
        assert not problems(packet, inspect_message(cls, data).pieces, structs, offset), (cls.NAME, cls.VERSION)


# All messages.


def test_every_message_and_version_of_java_is_shown_as_inspect_does(files: dict[str, Path], tmp_path: Path) -> None:
    found = [
        (kafka_messages.message(*key), bytes.fromhex(line["hex"]))
        for key, lines in golden_data.messages().items()
        for line in lines
    ]
    assert len({(cls.NAME, cls.VERSION) for cls, _ in found}) == 870
    check_alone(files["lua"], found, structs_of(files["kafka_messages"], files["kafka_records"]), tmp_path)


def drawn(cls: type[Message], count: int) -> list[bytes]:
    """Random messages, the same in each run."""
    found: list[bytes] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(messages(cls, long=False))
    def draw(message: Message) -> None:
        found.append(message.encode())

    draw()
    return found


def test_random_messages_of_every_version_are_shown_as_inspect_does(files: dict[str, Path], tmp_path: Path) -> None:
    keys = golden_data.every_message_and_version()
    found = [(kafka_messages.message(*key), data) for key in keys for data in drawn(kafka_messages.message(*key), 3)]
    check_alone(files["lua"], found, structs_of(files["kafka_messages"], files["kafka_records"]), tmp_path)


def test_record_formats_are_shown_as_inspect_does(files: dict[str, Path], tmp_path: Path) -> None:
    keys = [(name, version) for name in kafka_records.names() for version in kafka_records.versions(name)]
    classes = [kafka_records.message(*key) for key in keys]
    found = [(cls, data) for cls in classes if cls.NAME != "RecordBatch" for data in drawn(cls, 50)]
    assert len(found) > 100
    check_alone(files["lua"], found, structs_of(files["kafka_records"]), tmp_path)


# Frames.


def talk(frames: Iterable[tuple[bool, bytes]], most: int = 1400) -> list[Tcp]:
    """Return the segments of one connection: frames one after the other, each with True if the client sends it."""
    sent, sequence = list[Tcp](), {True: 1000, False: 5000}
    for from_client, frame in frames:
        data = len(frame).to_bytes(4) + frame
        for at in range(0, len(data), most):
            part = data[at : at + most]
            numbers = (sequence[side] % 2**32 for side in (from_client, not from_client))
            sent.append(Tcp(len(sent) * 1000, 40000, PORT, from_client, next(numbers), part, ACK, next(numbers)))
            sequence[from_client] += len(part)
    return sent


def test_frames_of_every_api_and_version_are_shown_as_inspect_does(files: dict[str, Path], tmp_path: Path) -> None:
    frames: list[tuple[bool, bytes]] = []
    due: list[tuple[Sequence[Piece], str]] = []
    for number, (name, version) in enumerate(golden_data.every_message_and_version()):
        cls = kafka_messages.message(name, version)
        if cls.TYPE != "request":
            continue
        answer = kafka_messages.message(name.removesuffix("Request") + "Response", version)
        request, response = (
            golden_data.message_of(one, golden_data.messages()[one.NAME, version][-1]) for one in (cls, answer)
        )
        frames.append((True, kafka_messages.encode_request(request, correlation_id=number, client_id="me")))
        frames.append((False, kafka_messages.encode_response(response, correlation_id=number)))
        sized = [len(frame).to_bytes(4) + frame for _, frame in frames[-2:]]
        due.append((inspect_request(kafka_messages.REGISTRY, sized[0]).pieces, name))
        due.append((inspect_response(kafka_messages.REGISTRY, answer, sized[1]).pieces, answer.NAME))
    capture = tmp_path / "frames.pcap"
    capture.write_bytes(dump(talk(frames)))
    shown = wireshark.packets(files["lua"], capture, "kipwire_kafka")
    assert len(shown) == len(due) > 700
    structs = structs_of(files["kafka_messages"], files["kafka_records"])
    for packet, (pieces, name) in zip(shown, due, strict=True):
        if name not in FORMER:
            assert not problems(packet, [one for one in pieces if one.part != "frame"], structs), name


def check_capture(lua: Path, rows: list[dict[str, Any]], structs: set[str], folder: Path) -> None:
    """Check a recorded capture: exchanges are found by correlation ids, and each frame is shown as by `inspect`."""
    capture = folder / "real.pcap"
    capture.write_bytes(dump(segments(rows, random.Random(1), Disorder())))
    shown = wireshark.packets(lua, capture, lua.stem)
    assert len(shown) == len(rows)
    for row, packet in zip(rows, shown, strict=True):
        request = Request(row["api_key"], row["api_version"], 0, None)
        check_frame(packet, row["frame"], row["direction"] == "request", request, structs)


def check_frame(packet: wireshark.Packet, frame: bytes, is_request: bool, request: Request, structs: set[str]) -> None:
    """Check that a frame is shown as by `inspect`, and a response with its request."""
    sized = len(frame).to_bytes(4) + frame
    if is_request:
        inspection = inspect_request(kafka_messages.REGISTRY, sized)
    else:
        answer = kafka_messages.REGISTRY.response(request.api_key, request.api_version)
        inspection = inspect_response(kafka_messages.REGISTRY, answer, sized)
        assert [one.name for one in packet.fields].count("request_in") == 1
    assert inspection.error is None
    assert not problems(packet, [one for one in inspection.pieces if one.part != "frame"], structs), request


def test_the_capture_of_the_examples_is_shown_as_inspect_does(files: dict[str, Path], tmp_path: Path) -> None:
    structs = structs_of(files["kafka_messages"], files["kafka_records"])
    check_capture(files["lua"], shipped_frames(), structs, tmp_path)


@pytest.mark.parametrize("capture", sorted((DATA / "clients").glob("*.pcap.gz")), ids=lambda path: path.name)
def test_captures_of_clients_are_shown_as_inspect_does(capture: Path, files: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / capture.name
    shutil.copyfile(capture, copy)
    shown = wireshark.packets(files["clients"], copy, "clients")
    recorded = capture_at(capture)
    assert recorded is not None
    frames = [one.found for one in frames_of(recorded, ())]
    structs = structs_of(files["kafka_messages"], files["kafka_records"])
    assert len(shown) == len(frames) > 25
    for packet, found in zip(shown, frames, strict=True):
        assert found.frame is not None and found.request is not None
        check_frame(packet, found.frame, found.direction == "request", found.request, structs)


def test_an_api_versions_answer_in_version_0_is_read_as_such(files: dict[str, Path], tmp_path: Path) -> None:
    ask = kafka_messages.message("ApiVersionsRequest", 4)()
    refusal = ApiVersionsResponse(error_code=35)
    frames = [
        (True, kafka_messages.encode_request(ask, correlation_id=1, client_id="me")),
        (False, kafka_messages.encode_response(refusal, correlation_id=1)),
    ]
    capture = tmp_path / "refused.pcap"
    capture.write_bytes(dump(talk(frames)))
    _, answer = wireshark.packets(files["lua"], capture, "kipwire_kafka")
    shown = {field.name: field.show for field in answer.fields}
    assert (shown["version"], shown["api_versions_response.error_code"], answer.experts) == ("0", "35", [])


# Faults.


def test_damaged_frames_are_told_and_never_a_defect(files: dict[str, Path], tmp_path: Path) -> None:
    choice = random.Random(0)
    frames: list[tuple[bool, bytes]] = []
    for number, row in enumerate(choice.sample(shipped_frames(), 400)):
        data = bytearray(row["frame"])
        for _ in range(choice.randrange(1, 4)):  # the first bytes of a frame stay, so that its body is read
            data[choice.randrange(min(8, len(data) - 1), len(data))] = choice.choice((0, 1, 127, 128, 255))
        frames.append((number % 2 == 0 or row["direction"] == "request", bytes(data)))
    frames += (
        (row["direction"] == "request", row["frame"][: choice.randrange(4, len(row["frame"]))])
        for row in choice.sample(shipped_frames(), 200)
    )
    capture = tmp_path / "damaged.pcap"
    capture.write_bytes(dump(talk(frames)))
    done = wireshark.tshark(files["lua"], capture, "-V")
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0
    assert text.count("kipwire_kafka") > 500
    assert "Expert Info (Error/Malformed)" in text
    assert "Lua Error" not in text + done.stderr.decode() and "defect:" not in text
    assert "DISSECTOR BUG" not in text.upper()


def test_a_count_without_elements_costs_nothing(files: dict[str, Path], tmp_path: Path) -> None:
    cls = kafka_messages.message("MetadataResponse", 1)
    capture = tmp_path / "counts.pcap"
    huge = (2**31 - 1).to_bytes(4)
    capture.write_bytes(wireshark.user_dump([alone(cls, huge), alone(cls, b"\0" * 4 + b"\0" * 4 + huge)]))
    shown = wireshark.packets(files["lua"], capture, "kipwire_kafka_message")
    assert [one.experts for one in shown] == [
        ["2147483647 elements, but only 0 bytes are left at byte 19"],
        ["2147483647 elements, but only 0 bytes are left at byte 27"],
    ]


# A protocol of one's own.


def test_a_section_that_might_unpack_to_megabytes_stays_packed(files: dict[str, Path], tmp_path: Path) -> None:
    short, bomb, shorter = (
        write_batch([Record(offset=0, timestamp=0, key=b"", value=bytes(size))], compression="gzip")
        for size in (15, 60 << 20, 12 << 20)
    )
    captured = []
    for batches in (short, bomb, shorter * 3):
        topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=batches)])
        captured.append(alone(ProduceRequest, ProduceRequest(topic_data=[topic]).encode()))
    capture = tmp_path / "sections.pcap"
    capture.write_bytes(wireshark.user_dump(captured))
    done = wireshark.tshark(files["lua"], capture, "-V")
    told = re.findall(r"Undecoded\): (compressed by gzip: .*)\]", done.stdout.decode())
    assert [re.sub(r"\d+ bytes", "N bytes", one) for one in told] == [
        "compressed by gzip: N bytes, more than the preference unpack",
        "compressed by gzip: N bytes, in a packet of which N bytes were unpacked already",
    ]


def test_a_protocol_of_ones_own_has_a_dissector_on_its_port(
    layouts_package: Any, forms_package: Any, tmp_path: Path
) -> None:
    for package, specs in ((forms_package, "forms"), (layouts_package, "layouts")):
        document = resolved(ROOT / "tests/data" / specs, tmp_path / f"{specs}.json")
        lua = wireshark.make_dissector(
            tmp_path / f"own_{specs}.lua", document, "--name", f"own_{specs}", "--ports", "7000"
        )
        registry = package.REGISTRY
        keys = [(name, version) for name in package.names() for version in package.versions(name)]
        found = [(registry.message(*key), data) for key in keys for data in drawn(registry.message(*key), 5)]
        check_alone(lua, found, structs_of(document), tmp_path)

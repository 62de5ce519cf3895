"""kipwire inspect CAPTURE --frame N explains the frame that tap and dump show under that number."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafka_messages import encode_request, encode_response
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kipwire.connection.framing import add_size
from tests.support import packet_dumps as made
from tests.support.command_line import Done, call
from tests.support.packet_dumps import Disorder
from tests.support.places import ROOT
from tests.support.subjects.packet_talks import COUNT, shipped

Kipwire = Callable[..., Done]
CAPTURE = ROOT / "examples" / "capture"


@pytest.fixture
def kipwire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kipwire:
    def run(*arguments: object) -> Done:
        return call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    """The shipped capture as packets, whose frames are complete in another order."""
    file = tmp_path / "shipped.pcap"
    file.write_bytes(made.dump(made.segments(shipped(), Random(5), Disorder(shuffled=True))))
    return file


@pytest.mark.parametrize("number", [0, 1, 7, 261, COUNT - 1])
def test_the_number_is_that_of_dump(kipwire: Kipwire, packets: Path, number: int) -> None:
    for capture in (CAPTURE, packets):
        lines = [json.loads(line) for line in kipwire("dump", capture, "-f", "json").stdout.splitlines()]
        (shown,) = [one for one in lines if one["frame"] == number]
        done = kipwire("inspect", capture, "--frame", number, "--json")
        assert done.returncode == 0
        explained = json.loads(done.stdout)
        assert explained["size"] == shown["size"]
        assert explained["version"] == shown["api_version"]
        assert explained["message"].lower() == f"{shown['api']}{shown['direction']}".lower()
        data = bytes.fromhex("".join(one["bytes"] for one in explained["elements"]))
        frames = {row["frame"] for row in shipped()}
        assert data in frames or len(data) == shown["size"]


def test_the_number_is_that_of_tap_with_the_same_ports(kipwire: Kipwire, packets: Path) -> None:
    lines = kipwire("tap", packets, "--port", 9093, "-f", "json").stdout.splitlines()
    shown = json.loads(lines[3])
    done = kipwire("inspect", packets, "--frame", shown["response_frame"], "--port", 9093, "--json")
    assert json.loads(done.stdout)["size"] == shown["response_size"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((CAPTURE, "--frame", COUNT), f"has no frame {COUNT}: its frames are 0 to {COUNT - 1}"),
        (("nothing", "--frame", 0), "nothing does not exist; give a capture"),
        (
            (ROOT / "README.md", "--frame", 0),
            "is not a capture; give packets (pcap, pcapng) or a capture of kipwire's own",
        ),
        (("--frame", 0), "--frame needs one capture"),
        (("-", "--frame", 0), "--frame needs one capture"),
        ((CAPTURE, "--frame", 0, "--request"), "--frame cannot be used with --request or --response"),
        ((CAPTURE, "--port", 9092), "--port needs --frame"),
    ],
)
def test_what_is_not_there_is_one_line(kipwire: Kipwire, arguments: tuple[object, ...], said: str) -> None:
    done = kipwire("inspect", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_capture_without_frames_says_so(kipwire: Kipwire, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(made.dump([]))
    assert "a.pcap has no frame 0: it has no whole frame" in kipwire("inspect", "a.pcap", "--frame", 0).stderr


HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
REQUEST = encode_request(HEARTBEAT, 7, "me")
ANSWER = encode_response(HeartbeatResponse(), 7)


@pytest.mark.parametrize(
    ("words", "frame", "option"),
    [
        ("HeartbeatRequest 4", REQUEST, "--request"),
        ("HeartbeatRequest 4", add_size(REQUEST), "--request"),
        ("HeartbeatRequest 3", add_size(REQUEST), "--request"),
        ("MetadataResponse 12", add_size(REQUEST), "--request"),
        ("HeartbeatResponse 4", add_size(ANSWER), "--response Heartbeat 4"),
    ],
)
def test_a_frame_in_place_of_a_message_is_named_with_its_option(
    kipwire: Kipwire, words: str, frame: bytes, option: str
) -> None:
    said = f"the bytes are a whole frame with its header: give {option}, not {words}"
    for more in ((), ("--json",), ("--html", "page.html")):
        done = kipwire("inspect", *words.split(), *more, frame.hex())
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, said)
    assert kipwire("inspect", *option.split(), frame.hex()).returncode == 0


@pytest.mark.parametrize(
    ("words", "data"),
    [
        ("HeartbeatRequest 3", REQUEST),  # of another version, and without its size it could be anything
        ("HeartbeatRequest 4", add_size(REQUEST)[:-1]),
        ("HeartbeatRequest 4", HEARTBEAT.encode()[:-1]),
        ("HeartbeatResponse 4", ANSWER),
        ("HeartbeatResponse 3", bytes(20)),
        ("MetadataResponse 12", add_size(bytes(4))),
    ],
)
def test_other_bytes_get_no_hint(kipwire: Kipwire, words: str, data: bytes) -> None:
    done = kipwire("inspect", *words.split(), data.hex())
    assert (done.returncode, done.stderr) == (1, "")


def test_records_of_a_frame_stand_after_their_bytes_in_text_json_and_page(kipwire: Kipwire, tmp_path: Path) -> None:
    produced = kipwire_json(kipwire("tap", CAPTURE, "--api", "Produce", "--records", "--format", "json"))
    number, data = produced["request_frame"], produced["request"]["topicData"]
    records = [one for topic in data for place in topic["partitionData"] for one in place["records"]]
    page = tmp_path / "page.html"
    arguments = "inspect", CAPTURE, "--frame", number, "--records"
    shown = kipwire_json(kipwire(*arguments, "--html", page, "--format", "json"))
    found = [one for one in shown["elements"] if one["type"] == "record"]
    assert [json.loads(one["value"]) for one in found] == records
    assert all(one["size"] == 0 for one in found)
    assert "".join(one["bytes"] for one in shown["elements"]) == "".join(
        one["bytes"] for one in kipwire_json(kipwire(*arguments[:-1], "--format", "json"))["elements"]
    )
    last = json.dumps(records[-1], ensure_ascii=False)
    assert last in kipwire(*arguments).stdout
    assert html.escape(last) in page.read_text()


def kipwire_json(done: Done) -> dict[str, Any]:
    """Parse the first JSON object that a command printed."""
    return dict(json.JSONDecoder().raw_decode(done.stdout)[0])

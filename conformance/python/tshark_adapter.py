"""Wireshark's own dissector of Kafka for `kipwire conform`: tshark_adapter.py.

tshark says whether bytes are wrong, and no more. All questions that wait are frames of one capture, each in a
connection of its own; before a response there is a request.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from select import select
from struct import pack
from typing import Any

import kafka_messages
import kipwire

PORT, CLIENT_PORT, BROKER, FIRST_CLIENT = 9092, 40000, 0x0A000001, 0x0B000000
RAW_IP4 = 228
MOST_DATA = 60_000
"""Bytes of a segment."""
PAUSE = 0.05
"""Seconds without another question after which those that there are go to tshark."""
BETWEEN = "\x1f"
TSHARK = (
    *("tshark", "-n", "-r", "-", "-o", "tcp.analyze_sequence_numbers:FALSE", "-Y", "kafka", "-T", "fields"),
    *("-E", f"aggregator={BETWEEN}", "-e", "tcp.stream", "-e", "tcp.dstport"),
    *("-e", "_ws.expert.group", "-e", "_ws.expert.message"),
)
MALFORMED = str(0x07000000)
"""The group of remarks on wrong bytes; others are on versions that tshark does not have, or that a response names."""
NOT_SERVED = re.compile(r"Unknown \d+ API key|Unsupported \S+ version")
NO_REQUEST = "Request missing"
LOOKED_INTO = {"assignment", "auth_bytes", "member_assignment", "member_metadata", "metadata", "records"}
"""Fields whose bytes tshark takes for what clients put there, while vectors have any bytes in them."""

Subject = tuple[str, int, bytes]
Remarks = list[tuple[str, str]]


def frame(name: str, version: int, body: bytes) -> bytes:
    """Return the frame of a body, with the header of its version."""
    cls: Any = kafka_messages.message(name, version)
    header: Any = kafka_messages.message(f"{cls.TYPE.capitalize()}Header", cls.HEADER_VERSION)()
    if cls.TYPE == "request":
        header.request_api_key, header.request_api_version = cls.API_KEY, version
    data = bytes(header.encode()) + body
    return pack(">i", len(data)) + data


def packets(client: int, name: str, version: int, body: bytes) -> Iterator[bytes]:
    """Yield the packets of a connection that carries this message."""
    to, back = ((client, BROKER), (CLIENT_PORT, PORT)), ((BROKER, client), (PORT, CLIENT_PORT))
    sent = [(to if name.endswith("Request") else back, frame(name, version, body))]
    if name.endswith("Response"):
        request: Any = kafka_messages.message(name.replace("Response", "Request"), version)()
        if request.NAME == "ProduceRequest":
            request.acks = 1  # tshark takes it that 0, the default, has no response
        sent.insert(0, (to, frame(request.NAME, version, request.encode())))
    for (ends, ports), data in sent:
        for at in range(0, len(data), MOST_DATA):
            tcp = pack(">HHIIBBHHH", *ports, 1 + at, 1, 0x50, 0x18, 0xFFFF, 0, 0) + data[at : at + MOST_DATA]
            packet = pack(">BBHHHBBHII", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, *ends) + tcp
            yield pack("<IIII", 0, 0, len(packet), len(packet)) + packet


def dissected(subjects: Sequence[Subject]) -> list[Remarks | None]:
    """Collect the remarks of tshark on each message, with their groups; None if it does not show the message."""
    capture = [pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 24, RAW_IP4)]
    for client, subject in enumerate(subjects, FIRST_CLIENT):
        capture += packets(client, *subject)
    done = subprocess.run(TSHARK, input=b"".join(capture), capture_output=True, check=False)
    if done.returncode:  # it has crashed: this adapter does, too, and is asked again one by one
        print(done.stderr.decode(errors="replace"), file=sys.stderr, flush=True)
        if done.returncode < 0:
            os.kill(os.getpid(), -done.returncode)
        sys.exit(done.returncode)
    found: list[Remarks | None] = [None] * len(subjects)
    for line in done.stdout.decode(errors="replace").splitlines():
        number, port, groups, texts = line.split("\t")
        if subjects[int(number)][0].endswith("Request") == (port == str(PORT)):
            pairs = zip(groups.split(BETWEEN), texts.split(BETWEEN), strict=True)
            found[int(number)] = [pair for pair in pairs if pair[0]]
    return found


def hello() -> dict[str, Any]:
    """Claims the versions of APIs of which tshark does not say that it does not serve them."""
    words = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout.split()
    release = next(word.rstrip(".") for word in words if word[0].isdigit())
    requests = [name for name in kafka_messages.names() if name.endswith("Request")]
    pairs = [(name, version) for name in requests for version in kafka_messages.versions(name)]
    remarks = dissected([(*pair, kafka_messages.message(*pair)().encode()) for pair in pairs])
    claims: dict[str, list[int]] = {}
    for (name, version), said in zip(pairs, remarks, strict=True):
        if said is not None and not any(NOT_SERVED.match(text) for _, text in said):
            for one in (name, name.replace("Request", "Response")):
                claims[one] = [claims.get(one, [version])[0], version]
    return {"name": "tshark", "release": release, "ops": ["accept"], "claims": {"message": claims}}


def has_content(value: object) -> bool:
    """Return True if there are bytes in fields that tshark looks into."""
    if isinstance(value, list):
        return any(map(has_content, value))
    if not isinstance(value, kipwire.Struct):
        return False
    inner = ((field.name, getattr(value, field.name)) for field in value.ATTRIBUTES)
    return any((name in LOOKED_INTO and isinstance(one, bytes) and one) or has_content(one) for name, one in inner)


def answer(subject: Subject, said: Remarks | None) -> dict[str, Any]:
    name, version, data = subject
    if said is None:
        return {"skipped": "tshark shows no frame of it"}
    if any(text == NO_REQUEST for _, text in said):
        return {"skipped": "tshark refuses the request before it, and does not look at the response"}
    wrong = "; ".join(dict.fromkeys(text for group, text in said if group == MALFORMED))
    try:
        if wrong and has_content(kafka_messages.message(name, version).decode(data)):
            return {"skipped": f"tshark looks into bytes that may be anything here: {wrong}"}
    except kipwire.DecodeError:
        pass
    return {"refused": wrong} if wrong else {"accepted": True}


def lines() -> Iterator[list[bytes]]:
    """Yield the lines that arrive without a pause, together."""
    rest = b""
    while chunk := os.read(0, 1 << 16):
        rest += chunk
        while select([0], [], [], PAUSE)[0] and (chunk := os.read(0, 1 << 16)):
            rest += chunk
        *whole, rest = rest.split(b"\n")
        yield whole


for some in lines():
    asked = [json.loads(line) for line in some]
    if asked and asked[0]["op"] == "hello":
        print(json.dumps({"id": asked.pop(0)["id"], **hello()}), flush=True)
    questions = [(one["message"], one["version"], bytes.fromhex(one["bytes"])) for one in asked]
    for one, question, said in zip(asked, questions, dissected(questions) if asked else [], strict=True):
        print(json.dumps({"id": one["id"], **answer(question, said)}))
    sys.stdout.flush()

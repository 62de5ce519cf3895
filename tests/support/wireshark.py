"""tshark with the dissector of examples/wireshark: what it shows of bytes, and what it is due to show."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, iterparse

import kafka_records
from kipwire.console.inspect.tree import Piece, inspect_message
from tests.support.places import ROOT

PROGRAM = ROOT / "examples" / "wireshark" / "dissector.py"
USER0 = 147
"""The link type of captures of messages by themselves."""
_NOT_OF_SPECS = ("message", "version", "size", "request_in", "response_in", "not_dissected", "batch", "expert")


class Shown(NamedTuple):
    """A field as tshark shows it."""

    name: str
    """Its name in filters, without the protocol's."""
    start: int
    """Position from the start of the protocol's bytes."""
    size: int
    show: str
    label: str


@dataclass(frozen=True)
class Packet:
    """A frame or a message in a packet."""

    fields: list[Shown]
    experts: list[str]


def make_dissector(out: Path, *arguments: object) -> Path:
    """Write the dissector, as its users do."""
    subprocess.run([sys.executable, PROGRAM, *map(str, arguments), "--out", out], check=True, timeout=120)
    return out


def tshark(dissector: Path, capture: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run tshark with a dissector."""
    command = ["tshark", "-n", "-r", str(capture), "-X", f"lua_script:{dissector}", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=600)


def packets(dissector: Path, capture: Path, name: str) -> list[Packet]:
    """Everything that a protocol shows of a capture, in the order of its frames."""
    done = tshark(dissector, capture, "-T", "pdml")
    assert done.returncode == 0, done.stderr
    file = capture.with_suffix(".pdml")
    # Not all that texts may have is allowed in XML.
    file.write_bytes(re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]", b"?", done.stdout))
    return [
        packet
        for _, element in iterparse(file)
        if element.tag == "proto" and element.get("name") == name
        for packet in [_packet(element, name)]
    ]


def _packet(proto: Element, name: str) -> Packet:
    start = int(proto.get("pos", 0))
    prefix = name.removesuffix("_message") + "."
    fields, experts = [], []
    for field in proto.iter("field"):
        named = field.get("name", "")
        if named == "_ws.expert.message":
            experts.append(field.get("show", ""))
        elif named.startswith(prefix):
            position, size = int(field.get("pos", 0)) - start, int(field.get("size", 0))
            shown = Shown(named.removeprefix(prefix), position, size, field.get("show", ""), field.get("showname", ""))
            fields.append(shown)
    return Packet(fields, experts)


def user_dump(contents: Iterable[bytes]) -> bytes:
    """Return a capture of messages by themselves."""
    parts = [pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 24, USER0)]
    parts += (pack("<IIII", 0, 0, len(data), len(data)) + data for data in contents)
    return b"".join(parts)


# Output of `kipwire inspect`, in the form that tshark must show.

_KINDS = re.compile(r"-(u?int\d+|bool|string|bytes|double|guid|none)$")
"""End of the name of a field that had another type in another version."""
ESCAPED = "escaped"
Due = Counter[tuple[str, int, int, str]]
"""Number of fields by name, byte offset, size and value."""


def due(pieces: Sequence[Piece], offset: int = 0) -> Due:
    """Return the fields of an inspection; the length of a present value shows in the place of the value."""
    return Counter(_due(pieces, offset))


def _due(pieces: Sequence[Piece], offset: int) -> Iterator[tuple[str, int, int, str]]:
    for at, piece in enumerate(pieces):
        place = piece.start + offset, piece.end - piece.start
        attribute = piece.path.rpartition(".")[2].partition("[")[0]
        name = f"{_snake(piece.part.partition(' ')[0])}.{attribute}"
        is_bit = piece.kind.startswith("bit ") or re.match(r"bits \d", piece.kind)
        if is_bit:  # shown with the bytes of its integer
            integer = next(one for one in reversed(pieces[:at]) if one.role == "bits")
            place = integer.start + offset, integer.end - integer.start
        match piece.role:
            case "marker" if is_bit:
                yield name, *place, str(int(bool(piece.value)))
            case "length" | "count" | "size" if piece.value is None:
                yield f"null.{attribute}", *place, ""
            case "marker" if piece.value != 1:
                yield f"null.{attribute}", *place, ""
            case "count":
                yield f"{name}-count", *place, str(piece.value)
            case "value" | "constant" | "checksum" | "bits":
                yield name, *place, _plain(piece.value)
            case "size" if piece.kind.startswith("rest size"):
                yield name, *place, str(piece.value)
            case "size" if piece.kind.startswith("array size"):
                yield f"{name}-count", *place, str(piece.value)
            case "tags" if piece.value:
                yield "tagged_fields", *place, str(piece.value)
            case "tag":
                yield "tag", *place, str(piece.value)
            case "size":
                yield "tagged_field_size", *place, str(piece.value)
            case "unknown":
                yield "unknown_tagged_field", *place, _plain(piece.value)


def _plain(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case bytes():
            return value.hex(":")
        case float():
            return f"{value:.15g}"
        case str():
            return value if value.isprintable() and not set(value) & set('\\" ') else ESCAPED
        case _:
            return str(value)


def found(packet: Packet) -> Due:
    """Return the fields of a packet that specs have, and the structs that they are in."""
    return Counter(
        (_short(one), one.start, one.size, _shown(one)) for one in packet.fields if one.name not in _NOT_OF_SPECS
    )


def _short(one: Shown) -> str:
    """Return the message and the attribute; paths lead to what they name, but for structs that several fields share."""
    if one.name == "null":
        return f"null.{one.label.removesuffix(': null')}"
    message, *attributes = _KINDS.sub("", one.name).split(".")
    return ".".join([message, *attributes[-1:]])


def _shown(one: Shown) -> str:
    return "" if one.name == "null" else "nan" if one.show == "-nan" else one.show


def _snake(name: str) -> str:
    return re.sub(r"(?<=[^A-Z])(?=[A-Z])", "_", name).lower()


def struct_names(*documents: dict[str, Any]) -> set[str]:
    """Return the messages and attributes whose values are structs or arrays of structs: tshark has a line for each."""
    return {
        f"{_snake(message['name'])}.{item['attribute']}"
        for document in documents
        for message in document["messages"]
        for form in message["forms"]
        for struct in form["structs"]
        for item in (*struct["items"], *struct.get("tagSection", {"fields": ()})["fields"])
        if "struct" in item["value"].get("element", item["value"])
    }


class Batch(NamedTuple):
    """A batch in a field of records, as `inspect` explains it."""

    pieces: list[Piece]
    """Its head, and its records if they are not compressed; nothing if the bytes are no batch."""
    codec: int
    unpacked: tuple[Piece, ...] = ()
    """The records that gzip compressed: tshark shows them in a buffer of their own."""


def batches(records: Piece) -> Iterator[Batch]:
    """Yield the batches of a field of records."""
    data, start = records.value, 0
    assert isinstance(data, bytes)
    while start < len(data):
        end = start + 12 + int.from_bytes(data[start + 8 : start + 12])
        magic = data[start + 16] if len(data) > start + 16 else 3
        if magic > 2 or end > len(data):
            yield Batch([], 0)
            return
        inspection = inspect_message(
            kafka_records.message("RecordBatch" if magic == 2 else "MessageAndOffset", magic), data[start:end]
        )
        yield _batch(inspection.pieces, records.start + start) if inspection.error is None else Batch([], 0)
        start = end


def _batch(pieces: tuple[Piece, ...], offset: int) -> Batch:
    head = {piece.path: piece for piece in pieces}
    codec, is_old = head["compression_type"].value, "records" not in head
    packed = head["value" if is_old else "records"]
    assert isinstance(codec, int)
    here = list(_at(pieces, offset))
    if codec > 1 or (is_old and not codec):
        return Batch(here, codec)
    assert isinstance(packed.value, bytes)
    if is_old:  # a message set within a message
        inner = batches(replace(packed, start=0, value=gzip.decompress(packed.value)))
        return Batch(here, codec, tuple(piece for batch in inner for piece in batch.pieces))
    records = kafka_records.message("Records", 2)
    if codec:
        return Batch(here, codec, inspect_message(records, gzip.decompress(packed.value)).pieces)
    return Batch([*here, *_at(inspect_message(records, packed.value).pieces, offset + packed.start)], codec)


def _at(pieces: Iterable[Piece], offset: int) -> Iterator[Piece]:
    return (replace(piece, start=piece.start + offset, end=piece.end + offset) for piece in pieces)


def differences(
    packet: Packet, pieces: Sequence[Piece], structs: set[str], offset: int = 0, unpacked: Sequence[Piece] = ()
) -> list[str]:
    """Return the differences between tshark and `kipwire inspect`; places of unpacked parts are not compared."""
    wanted, there = due(pieces, offset), found(packet)
    # Wireshark escapes unprintable characters in several ways: only the places of such texts are compared.
    escaped = {one[:3] for one in wanted if one[3] == ESCAPED}
    there = Counter((*one[:3], ESCAPED) if one[:3] in escaped else one for one in there.elements())
    lacking, more = wanted - there, there - wanted
    elsewhere = Counter((name, size, value) for name, _, size, value in due(unpacked).elements())
    for one in list(more.elements()):
        key = (one[0], *one[2:])
        if elsewhere[key]:
            elsewhere[key] -= 1
            more[one] -= 1
    differing = [f"lacks {one}" for one in (*lacking, *+elsewhere)]
    return differing + [f"has {one}" for one in +more if one[0] not in structs]

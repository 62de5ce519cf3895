"""Wireshark's exported PDUs: decrypted TLS is read, whatever was exported twice."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from struct import pack

import pytest

from kipwire.traffic.exported_pdus import ExportedPdus
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_headers import Unreadable, address
from tests.support.places import DATA

CASES = DATA / "cases" / "captures"
FAMILIES = ((20, 21, b"\x7f\0\0\1", b"\x0a\0\0\1"), (22, 23, bytes(15) + b"\1", bytes(15) + b"\2"))


def pdu(data: bytes, *, family: int = 0, **changed: bytes | None) -> bytes:
    """Return a packet as Wireshark exports it; a changed tag may also be left out."""
    source, target, client, broker = FAMILIES[family]
    tags: dict[int, bytes | None] = {12: b"kafka\0\0\0", source: client, target: broker, 24: pack(">I", 2)}
    tags |= {25: pack(">I", 50_000), 26: pack(">I", 9092), 30: pack(">I", 7)}
    tags |= {int(name[1:]): value for name, value in changed.items()}
    return b"".join(pack(">HH", kind, len(of)) + of for kind, of in tags.items() if of is not None) + bytes(4) + data


def test_decrypted_tls_that_wireshark_exported_is_read() -> None:
    """A Fetch response of 90,447 bytes is in it twice, first with the 63 bytes of the first record of TLS."""
    found = list(find_frames([CASES / "exported-tls.pcapng.gz"]))
    assert [one.error for one in found] == [None] * 24
    frames = [(one.direction, one.request.api_key, len(one.frame or b"")) for one in found if one.request is not None]
    assert frames[-2:] == [("request", 1, 86), ("response", 1, 90_443)]
    assert {(one.client or "").rpartition(":")[0] for one in found} == {"127.0.0.1"}
    assert {one.listener for one in found} == {"127.0.0.1:22011"}


def test_pdus_of_tcp_itself_are_counted() -> None:
    (found,) = find_frames([CASES / "exported-tcp.pcapng"])
    assert found.unread == ("exported TCP", 713, 2)


@pytest.mark.parametrize("family", [0, 1])
def test_bytes_are_in_their_places_however_they_are_cut_and_repeated(family: int) -> None:
    for seed in range(100):
        _read_cut_and_repeated(Random(seed), family)


def _read_cut_and_repeated(chance: Random, family: int) -> None:
    frames = [bytes(chance.choices(range(0x40, 0x100), k=chance.randint(9, 40))) for _ in range(chance.randint(1, 6))]
    stream = b"".join(pack(">I", len(one)) + one for one in frames)
    starts = [0]
    for one in frames:
        starts.append(starts[-1] + 4 + len(one))
    pdus, seen = ExportedPdus(), bytearray(len(stream))
    ends = "127.0.0.1:50000", "10.0.0.1:9092"
    if family:
        ends = "[::1]:50000", "[::2]:9092"
    for begin, end in pairwise(
        sorted({0, len(stream), *(cut % len(stream) for cut in chance.choices(range(200), k=12))})
    ):
        first = begin
        # Wireshark waits for the whole frame.
        if chance.random() < 0.6 and any(begin < start <= end for start in starts):
            first = max(start for start in starts if start <= begin)
        segment = pdus.segment_of(pdu(stream[first:end], family=family))
        assert segment is not None
        at = segment.sequence - 1
        assert at == first
        assert (address(segment.source), address(segment.target)) == ends
        seen[at : at + segment.size] = segment.data
    assert bytes(seen) == stream


@pytest.mark.parametrize(
    ("packet", "kind"),
    [
        (b"", "cut short"),
        (pdu(b"", _12=b"x" * 60000)[:300], "cut short"),
        (pdu(b"x", _20=None), "exported PDU"),
        (pdu(b"x", _26=None), "exported PDU"),
        (pdu(b"x", _24=None, _21=bytes(16)), "exported PDU"),
        (pdu(b"x", _34=bytes(19)), "exported TCP"),
    ],
)
def test_pdus_that_cannot_be_read_have_a_kind(packet: bytes, kind: str) -> None:
    with pytest.raises(Unreadable) as error:
        ExportedPdus().segment_of(packet)
    assert error.value.kind == kind


def test_pdus_that_were_not_in_tcp_are_passed_over() -> None:
    assert ExportedPdus().segment_of(pdu(b"x", _24=pack(">I", 3))) is None

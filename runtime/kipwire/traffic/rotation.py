"""The files of one capture, as tcpdump makes them with -C, -G and -W: their names, and their packets by time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush, heapreplace

from kipwire.tools.io import ReadableFile
from kipwire.traffic.packet_files import Damaged, Packet, read_packets

_NAME = re.compile(r".+\.(pcap|pcapng|cap)\d*(\.gz)?", re.IGNORECASE)
"""The digits are what `tcpdump -C` appends to a name."""

_NEVER = 2**64
"""Later than any packet."""


def is_packet_file(path: ReadableFile) -> bool:
    """True if a path is a file with the name of a packet file."""
    return is_packet_name(path.name) and path.is_file()


def is_packet_name(name: str) -> bool:
    """True for a name of a packet file: `a.pcap`, `a.pcap12` or `a.pcapng.gz`."""
    return _NAME.fullmatch(name) is not None


def in_order(files: Sequence[ReadableFile], damage: list[str]) -> Iterator[Packet]:
    """Merge the packets of all files, in the order of time if each file is; only files that overlap are open at once.

    Args:
        files: in any order.
        damage: gets a sentence for each file that cannot be read to its end.

    Raises:
        CaptureError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    starts = sorted(((_first_time(path), number) for number, path in enumerate(files)), reverse=True)
    active: list[tuple[int, int, Packet, Iterator[Packet]]] = []
    while starts or active:
        if starts and (not active or starts[-1][0] <= active[0][0]):
            _, number = starts.pop()
            packets = _readable(files[number], damage)
            first = next(packets, None)
            if first is not None:
                heappush(active, (first.time, number, first, packets))
            continue
        _, number, packet, packets = active[0]
        yield packet
        following = next(packets, None)
        if following is None:
            heappop(active)
        else:
            heapreplace(active, (following.time, number, following, packets))


def _first_time(path: ReadableFile) -> int:
    first = next(_readable(path, []), None)
    return _NEVER if first is None else first.time


def _readable(path: ReadableFile, damage: list[str]) -> Iterator[Packet]:
    return readable_packets(read_packets(path), path.name, damage)


def readable_packets(packets: Iterator[Packet], name: str, damage: list[str]) -> Iterator[Packet]:
    """Yield the packets of a file up to where it is damaged.

    Args:
        packets: of `read_packets`.
        name: what the sentence about damage calls the file.
        damage: gets that sentence.
    """
    try:
        yield from packets
    except Damaged as error:
        damage.append(f"{name}: {error}")

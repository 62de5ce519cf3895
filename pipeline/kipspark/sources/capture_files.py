"""Find captures: folders in kipwire's own format, and files of packets."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kipspark.errors import SourceError
from kipspark.sources.captures import find_indexes
from kipspark.sources.packet_captures import PacketCapture
from kipwire.captures import FRAMES, INDEX
from kipwire.packets.rotation import is_packet_file


class Captures(NamedTuple):
    """The captures at a path."""

    indexes: tuple[Path, ...]
    """The index files of those in kipwire's own format."""
    packets: tuple[PacketCapture, ...]


def find_captures(root: str) -> Captures:
    """The captures at a path: a file of packets, the folder of a capture, or a folder above such folders.

    The files of packets of one folder are one capture, since tcpdump continues in another file when one is full.

    Raises:
        SourceError: the path does not exist, or has no capture.
    """
    path = Path(root)
    if path.is_file():
        return Captures((), (PacketCapture(str(path), (str(path),)),))
    if not path.is_dir():
        reason = "is neither a file nor a folder" if path.exists() else "there is no such file or folder"
        raise SourceError(f"{path}: {reason}")
    files = sorted((file for file in path.rglob("*") if is_packet_file(file)), key=lambda file: (file.parent, file))
    packets = tuple(
        PacketCapture(str(folder), tuple(map(str, of_folder)))
        for folder, of_folder in groupby(files, key=lambda file: file.parent)
    )
    found = Captures(find_indexes(path), packets)
    if not any(found):
        raise SourceError(
            f"{path}: no captures; a capture is a tcpdump file such as a.pcap or a.pcapng, or a folder with "
            f"{INDEX} and {FRAMES}, plain or with .gz"
        )
    return found

"""Find captures: folders in kipwire's own format, and files of packets."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from kipspark.errors import SourceError
from kipspark.files.access import absolute, file_at, files_at
from kipspark.files.stores import HERE, Storage
from kipspark.sources.captures import is_index_name
from kipspark.sources.packet_captures import PacketCapture
from kipwire.captures import FRAMES, INDEX
from kipwire.packets.rotation import is_packet_name
from kipwire.tools.readable import ReadableFile


class Captures(NamedTuple):
    """The captures at a path."""

    indexes: tuple[ReadableFile, ...]
    """The index files of those in kipwire's own format."""
    packets: tuple[PacketCapture, ...]


def find_captures(root: str, storage: Storage = HERE) -> Captures:
    """The captures at a path: a file of packets, the folder of a capture, or a folder above such folders.

    The files of packets of one folder are one capture, since tcpdump continues in another file when one is full.

    Args:
        root: the path, which may be a URL.
        storage: how to reach the store, for a URL.

    Raises:
        SourceError: the path does not exist, cannot be listed, or has no capture.
    """
    listed = files_at(root, _is_capture, storage)
    paths = [file.path for file in listed]
    if paths == [absolute(root)]:  # a file by its own name may have any
        return Captures((), (PacketCapture(paths[0], (paths[0],), storage),))
    packets = sorted((_folder(path), path) for path in paths if is_packet_name(_name(path)))
    found = Captures(
        tuple(file_at(path, storage) for path in sorted(paths) if is_index_name(_name(path))),
        tuple(
            PacketCapture(folder, tuple(path for _, path in of_folder), storage)
            for folder, of_folder in groupby(packets, key=lambda one: one[0])
        ),
    )
    if not any(found):
        raise SourceError(
            f"{root}: no captures; a capture is a tcpdump file such as a.pcap or a.pcapng, or a folder with "
            f"{INDEX} and {FRAMES}, plain or with .gz"
        )
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_capture(path: str) -> bool:
    return is_index_name(_name(path)) or is_packet_name(_name(path))

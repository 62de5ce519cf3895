"""Find captures: folders in kipwire's own format, and files of packets."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import file_at
from kipwire.tables.files.roots import Roots, files_of, roots_text
from kipwire.tables.files.stores import HERE, Storage
from kipwire.tables.sources.captures import is_frames_name, is_index_name
from kipwire.tables.sources.packet_captures import PacketCapture
from kipwire.tools.io import ReadableFile
from kipwire.traffic.captures import FRAMES, INDEX
from kipwire.traffic.rotation import is_packet_name


class Captures(NamedTuple):
    """The captures at some paths."""

    indexes: tuple[ReadableFile, ...]
    """The index files of those in kipwire's own format."""
    packets: tuple[PacketCapture, ...]
    size: int
    """Bytes of all their files."""


def find_captures(roots: Roots, storage: Storage = HERE) -> Captures:
    """Find the captures at some paths: files of packets, folders of captures, or folders above such folders.

    The files of packets of one folder are one capture, since tcpdump continues in another file when one is full. Its
    name is the folder, or the file if it is given by its own name, without others of the folder.

    Args:
        roots: the paths, which may be URLs.
        storage: how to reach the store, for a URL.

    Raises:
        SourceError: a path does not exist or cannot be listed, or none of them has a capture.
    """
    listed = files_of(roots, _is_capture, storage)
    given = {one.file.path for one in listed if one.is_root}  # a file by its own name may have any
    paths = sorted(one.file.path for one in listed)
    packets = [path for path in paths if path in given or is_packet_name(_name(path))]
    indexes = [path for path in paths if path not in given and is_index_name(_name(path))]
    found = Captures(
        tuple(file_at(path, storage) for path in indexes),
        tuple(
            PacketCapture(files[0] if len(files) == 1 and files[0] in given else folder, files, storage)
            for folder, of_folder in groupby(sorted(packets, key=_folder), key=_folder)
            if (files := tuple(of_folder))
        ),
        sum(one.file.size for one in listed),
    )
    if not (found.indexes or found.packets):
        raise SourceError(
            f"{roots_text(roots)}: no captures; a capture is a tcpdump file such as a.pcap or a.pcapng, or a folder "
            f"with {INDEX} and {FRAMES}, plain or with .gz"
        )
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_capture(path: str) -> bool:
    name = _name(path)
    return is_index_name(name) or is_frames_name(name) or is_packet_name(name)

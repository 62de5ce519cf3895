"""Captures of packets written in kipwire's own form, which is small, and read in ranges.

examples/capture/README.md describes that form. What is no frame goes to a file of its own, a JSON object a line.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kipspark.errors import JobError, SourceError
from kipspark.packets.conversation import REQUEST, Found
from kipspark.packets.framing import SIZE
from kipspark.sources.capture_places import find_captures
from kipspark.sources.packet_captures import PacketCapture, numbered_frames
from kipwire.captures import FRAMES, INDEX
from kipwire.tools.atomic import new_folder, rename_new

FAULTS = "faults.jsonl"
"""The file for what is no frame."""


class Extracted(NamedTuple):
    """How much was written."""

    frames: int
    faults: int


def extract(path: Path, out: Path, ports: Collection[int]) -> Extracted:
    """Write the frames in captured packets to a new folder; it is there as a whole, or not at all.

    Args:
        path: a file of packets, or a folder with the files of one capture.
        out: the folder, which must not be there yet.
        ports: those of the brokers; empty if they are not known.

    Raises:
        JobError: `out` is there already, or there is more than one capture.
        SourceError: there is no capture, or it cannot be read.
        OSError: `out` cannot be written.
    """
    capture = _only_capture(path)
    there = JobError(f"{out}: is there already; --out must be the name of a new folder")
    if out.exists():
        raise there
    out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(beside=out) as made:
        written = _write(capture, made, ports)
        try:
            rename_new(made, out)
        except FileExistsError:
            raise there from None
    return written


def _only_capture(path: Path) -> PacketCapture:
    found = list(find_captures(str(path)).packets)
    if not found:
        raise SourceError(f"{path}: no files of packets, such as a.pcap or a.pcapng")
    if len(found) != 1:
        folders = ", ".join(capture.name for capture in found)
        raise JobError(f"{path}: has more than one capture; take them one by one: {folders}")
    return found[0]


def _write(capture: PacketCapture, folder: Path, ports: Collection[int]) -> Extracted:
    frames = faults = at = 0
    with (
        (folder / FRAMES).open("wb") as file,
        (folder / INDEX).open("wb") as index,
        (folder / FAULTS).open("wb") as fault_file,
    ):
        for _, found in numbered_frames(capture, ports):
            if found.frame is None or found.request is None:
                _write_line(fault_file, _fault(found))
                faults += 1
                continue
            file.write(SIZE.pack(len(found.frame)))
            file.write(found.frame)
            _write_line(index, {"i": frames, "off": at, "len": len(found.frame), **_entry(found)})
            at += SIZE.size + len(found.frame)
            frames += 1
    if not faults:
        (folder / FAULTS).unlink()
    return Extracted(frames, faults)


def _entry(found: Found) -> dict[str, object]:
    """What the index says of a frame besides its place; of a fault, as much of it as is known."""
    return {
        "ts_ns": found.time,
        "conn": found.connection,
        "listener": found.listener,
        "dir": None if found.direction is None else "req" if found.direction == REQUEST else "res",
        **(found.request._asdict() if found.request else {}),
    }


def _fault(found: Found) -> dict[str, object]:
    known = {name: value for name, value in _entry(found).items() if value is not None}
    return {**known, "error": found.error}


def _write_line(file: BinaryIO, entry: dict[str, object]) -> None:
    file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

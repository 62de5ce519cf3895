"""`kipspark extract`: write the frames of packets in kipwire's own format, which is smaller, and read in ranges.

examples/capture/README.md describes that format. What is not a frame goes to a file of its own, one JSON object per
line.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from kipjobs.jobs.shared.options import FOLDER_HERE, PLACE, PORTS, port_numbers
from kipwire.codec.wire import pack_i
from kipwire.message.frames import SIZE_BYTES
from kipwire.tables.errors import JobError, SourceError
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.packet_captures import PacketCapture, number_frames
from kipwire.tools.atomic import new_folder, rename_new
from kipwire.tools.text import count_of, print_out
from kipwire.traffic.captures import FRAMES, INDEX
from kipwire.traffic.conversation import REQUEST, Found

ERRORS = "errors.jsonl"
"""The file for bytes that are no frame."""


class Extracted(NamedTuple):
    """The numbers of frames and errors written."""

    frames: int
    errors: int


def extract(roots: Roots, out: Path, ports: Collection[int]) -> Extracted:
    """Write the frames in captured packets to a new folder, completely or not at all.

    Args:
        roots: the files of packets of one capture, or their folder; they may be URLs.
        out: the folder, which must not exist yet.
        ports: the brokers' ports; empty if they are not known.

    Raises:
        JobError: `out` exists already, or there is more than one capture.
        SourceError: there is no capture, or it cannot be read.
        OSError: `out` cannot be written.
    """
    capture = _only_capture(roots)
    there = JobError(f"{out}: already exists; --out must be the name of a new folder")
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


def _only_capture(roots: Roots) -> PacketCapture:
    found = list(find_captures(roots).packets)
    if not found:
        raise SourceError(f"{roots_text(roots)}: no packet files, such as a.pcap or a.pcapng")
    if len(found) != 1:
        folders = ", ".join(capture.name for capture in found)
        raise JobError(f"{roots_text(roots)}: has more than one capture; extract them one by one: {folders}")
    return found[0]


def _write(capture: PacketCapture, folder: Path, ports: Collection[int]) -> Extracted:
    frames = errors = at = 0
    with (
        (folder / FRAMES).open("wb") as file,
        (folder / INDEX).open("wb") as index,
        (folder / ERRORS).open("wb") as error_file,
    ):
        for _, found in number_frames(capture, ports):
            if found.frame is None or found.request is None:
                _write_line(error_file, _error(found))
                errors += 1
                continue
            file.write(pack_i(len(found.frame)))
            file.write(found.frame)
            _write_line(index, {"i": frames, "off": at, "len": len(found.frame), **_entry(found)})
            at += SIZE_BYTES + len(found.frame)
            frames += 1
    if not errors:
        (folder / ERRORS).unlink()
    return Extracted(frames, errors)


def _entry(found: Found) -> dict[str, object]:
    """Return the index entry of a frame, without its position; for an error, with the known fields."""
    return {
        "ts_ns": found.time,
        "conn": found.connection,
        "listener": found.listener,
        "dir": None if found.direction is None else "req" if found.direction == REQUEST else "res",
        **(found.request._asdict() if found.request else {}),
    }


def _error(found: Found) -> dict[str, object]:
    known = {name: value for name, value in _entry(found).items() if value is not None}
    return {**known, "error": found.error}


def _write_line(file: BinaryIO, entry: dict[str, object]) -> None:
    file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


@click.argument(
    "path",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=PLACE,
    help="tcpdump files (pcap, pcapng) of one capture, or their folder, or its URL.",
)
@click.option(
    "--out",
    required=True,
    type=FOLDER_HERE,
    metavar="FOLDER",
    help="New folder for the frames; it must not exist yet.",
)
@PORTS
def command(path: tuple[str, ...], out: Path, ports: str) -> None:
    """Run `kipspark extract`."""
    frames, errors = extract(path, out, port_numbers(ports))
    print_out(f"{count_of(frames, 'frame')}: {out}")
    if errors:
        print_out(f"{count_of(errors, 'error')}: {out / ERRORS}")

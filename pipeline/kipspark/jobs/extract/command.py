"""`kipspark extract`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kipspark.jobs.extract import extraction
from kipspark.jobs.shared.options import Ports, folder_here, place, port_numbers
from kipwire.tools.terminal import OUT
from kipwire.tools.text import counted


def command(
    path: Annotated[
        list[str],
        typer.Argument(
            help="tcpdump files (pcap, pcapng) of one capture, or their folder, or its URL.",
            metavar="PATH",
            parser=place,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="New folder for the frames; it must not exist yet.", metavar="FOLDER", parser=folder_here),
    ],
    ports: Ports = "",
) -> None:
    """Run `kipspark extract`."""
    frames, errors = extraction.extract(path, out, port_numbers(ports))
    OUT.print(f"{counted(frames, 'frame')}: {out}")
    if errors:
        OUT.print(f"{counted(errors, 'error')}: {out / extraction.ERRORS}")

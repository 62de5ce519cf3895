"""`kipgen advise`: which encoding of KIP-625 the integers of a message should have, from sample messages."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from kipgen.console import ERR, DataConsole, fail, one_line, print_problems

_PIPED_WIDTH = 180
"""Columns where there is no terminal to tell: wide enough for every path of Kafka's messages."""


def advise(
    spec: Annotated[Path, typer.Argument(help="The spec of the message.")],
    samples: Annotated[
        list[Path],
        typer.Option(
            "--samples",
            "-s",
            help="Messages to learn from; may be given several times. A folder is a capture (frames.bin and "
            "frames.jsonl); a file holds JSON lines, or request frames with their sizes. All may be packed with gzip.",
        ),
    ],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="More samples.")] = None,
    package: Annotated[
        str, typer.Option("--package", "-p", help="The generated package that decodes the messages.")
    ] = "kafka_messages",
    version: Annotated[
        int | None, typer.Option("--version", help="Version of messages in JSON lines that do not tell it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say it as JSON.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the bytes of each field, too: a .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Advise which encodings (KIP-625) save bytes, from sample messages, with the text to paste into the spec."""
    from kipgen import check
    from kipgen.advise import AdviceError
    from kipgen.advise import advise as advise_on
    from kipgen.advise_samples import SamplesError, read_samples, source
    from kipgen.advise_text import failures, plain, report
    from kipwire.errors import PackageError

    if plot is not None:
        _need_plotting(plot)
    checked = check.read_file(spec)
    if checked.spec is None:
        print_problems(checked.problems)
        fail(f"{spec} has errors, so there is nothing to advise on")
    if checked.spec.served_versions.is_empty:
        fail(f"{spec}: {checked.spec.name} is retired: none of its versions is served, and it gets no new one")
    try:
        classes = source(package, checked.spec)
        with ERR.status("Reading samples") as status:
            read = read_samples(
                [*samples, *(more or ())], classes, version, lambda n: status.update(f"{n:,} messages counted")
            )
        if not read.counts.messages:
            for line in failures(read) if read.not_decoded else ():
                ERR.print(line)
            fail(f"the samples have no {checked.spec.name} that can be decoded ({read.others:,} other frames)")
        advice = advise_on(checked.spec, read.counts)
    except (PackageError, SamplesError, AdviceError) as error:
        fail(str(error))
    if plot is not None:
        from kipgen.advise_plot import draw

        draw(advice, read, plot)
        ERR.print(f"drawn: {one_line(plot)}")
    if as_json:
        print(json.dumps(plain(advice, read, package), indent=2))
    else:
        out = _output()
        for piece in report(advice, read):
            out.print(piece)


def _need_plotting(file: Path) -> None:
    """Find out before all the reading whether a picture can be drawn."""
    from kipgen.advise_plot import SUFFIXES

    if file.suffix.lower() not in SUFFIXES:
        fail(f"{file}: a picture is a file with one of the endings {', '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        fail("--plot needs matplotlib: pip install kipwire[plot]")


def _output() -> DataConsole:
    """Where tables go: as wide as the terminal, or wide enough for all they have to say."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return DataConsole(soft_wrap=False)
    return DataConsole(soft_wrap=False, width=_PIPED_WIDTH)

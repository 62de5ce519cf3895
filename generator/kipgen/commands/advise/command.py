"""`kipgen advise`: which encoding of KIP-625 the integers of a message should have, from sample messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kipgen.commands.console import fail, one_line, print_problems
from kipwire.tools.text import counted, print_err


def advise(
    spec: Annotated[
        Path, typer.Argument(help="The spec of the message, or the name of one of Kafka's, such as ProduceRequest.")
    ],
    samples: Annotated[
        list[Path],
        typer.Option(
            "--samples",
            "-s",
            help="Messages to learn from; may be given several times. A folder is a capture (frames.bin and "
            "frames.jsonl); a file has JSON lines, or request frames with their sizes. All may be packed with gzip.",
        ),
    ],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="More samples.")] = None,
    package: Annotated[
        str, typer.Option("--package", "-p", help="The generated package that decodes the messages.")
    ] = "kafka_messages",
    version: Annotated[
        int | None, typer.Option("--version", help="Version of messages in JSON lines that do not contain it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the bytes of each field, too: a .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Advise which encodings (KIP-625) save bytes, from sample messages, with the text to paste into the spec."""
    from kipgen.commands.advise.samples import SamplesError, read_samples, registry_with
    from kipgen.commands.advise.savings import AdviceError
    from kipgen.commands.advise.savings import advise as advise_on
    from kipgen.commands.advise.text import failures, plain, report
    from kipgen.reading import check
    from kipgen.resources import kafka_spec
    from kipwire.errors import PackageError
    from kipwire.tools.terminal import ERR, table_console

    if not spec.exists():
        spec = kafka_spec(str(spec)) or spec
    if plot is not None:
        _need_plotting(plot)
    checked = check.read_file(spec)
    if checked.spec is None:
        print_problems(checked.problems)
        fail(f"{spec} has errors; correct them first")
    if checked.spec.served_versions.is_empty:
        fail(f"{spec}: {checked.spec.name} is retired: none of its versions is served, so it gets no new one")
    try:
        registry = registry_with(package, checked.spec)
        with ERR.status("Reading samples") as status:
            files = [*samples, *(more or ())]
            read = read_samples(
                files, registry, checked.spec, version, lambda n: status.update(f"{n:,} messages counted")
            )
        if not read.counts.messages:
            for line in failures(read) if read.not_decoded else ():
                ERR.print(line)
            fail(f"the samples have no {checked.spec.name} that can be decoded ({counted(read.others, 'other frame')})")
        advice = advise_on(checked.spec, read.counts)
    except (PackageError, SamplesError, AdviceError) as error:
        fail(str(error))
    if plot is not None:
        from kipgen.commands.advise.plot import draw

        draw(advice, read, plot)
        print_err(f"wrote {one_line(plot)}")
    if as_json:
        print(json.dumps(plain(advice, read, package), indent=2))
    else:
        out = table_console()
        for piece in report(advice, read):
            out.print(piece)


def _need_plotting(file: Path) -> None:
    """Check that a picture can be drawn, before the samples are read."""
    from kipgen.commands.advise.plot import SUFFIXES

    if file.suffix.lower() not in SUFFIXES:
        fail(f"{file}: --plot writes a file with one of the suffixes {', '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        from kipwire.tools.extras import missing_extra

        fail(str(missing_extra("--plot needs", "matplotlib", "plot")))

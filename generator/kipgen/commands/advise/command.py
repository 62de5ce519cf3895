"""`kipgen advise`: which encoding of KIP-625 the integers of a message should have, from sample messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from kipgen.commands.advise.plot import SUFFIXES, draw
from kipgen.commands.advise.samples import SamplesError, read_samples, registry_with
from kipgen.commands.advise.savings import AdviceError
from kipgen.commands.advise.savings import advise as advise_on
from kipgen.commands.advise.text import failures, plain, report
from kipgen.commands.console import print_problems
from kipgen.reading import check
from kipgen.resources import kafka_spec
from kipwire.console.command_line import PATH, fail, one_line
from kipwire.model.errors import PackageError
from kipwire.model.extras import missing_extra
from kipwire.tools.terminal import ERR, table_console
from kipwire.tools.text import counted, print_err


@click.command
@click.argument(
    "spec", type=PATH, help="The spec of the message, or the name of one of Kafka's, such as ProduceRequest."
)
@click.option(
    "--samples",
    "-s",
    required=True,
    multiple=True,
    type=PATH,
    help="Messages to learn from; may be given several times. A folder is a capture (frames.bin and "
    "frames.jsonl); a file has JSON lines, or request frames with their sizes. All may be packed with gzip.",
)
@click.argument("more", nargs=-1, metavar="[FILE]...", type=PATH, help="More samples.")
@click.option("--package", "-p", default="kafka_messages", help="The generated package that decodes the messages.")
@click.option("--version", type=int, help="Version of messages in JSON lines that do not contain it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--plot", type=PATH, help="Draw the bytes of each field, too: a .png, .svg or .pdf file.")
def advise(
    spec: Path,
    samples: Sequence[Path],
    more: Sequence[Path],
    package: str,
    version: int | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Advise which encodings (KIP-625) save bytes, from sample messages, with the text to paste into the spec."""
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
            files = [*samples, *more]
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
    if file.suffix.lower() not in SUFFIXES:
        fail(f"{file}: --plot writes a file with one of the suffixes {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        fail(str(missing_extra("--plot needs", "matplotlib", "plot")))

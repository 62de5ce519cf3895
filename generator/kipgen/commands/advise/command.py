"""`kipgen advise`: which encoding of KIP-625 the integers of a message should have, from sample messages.

With `--plot` it also draws a picture: for each field the bytes under each encoding, the fields that save most on top.
matplotlib, which is an extra of its own and takes a second to import, is imported only where something is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from kipgen.commands.advise.samples import Samples, SamplesError, read_samples, registry_with
from kipgen.commands.advise.savings import Advice, AdviceError, FieldAdvice
from kipgen.commands.advise.savings import advise as advise_on
from kipgen.commands.advise.text import ELEMENT_MARK, failures, label, plain, report, share
from kipgen.commands.console import print_problems, settings_here
from kipgen.commands.settings import DEFAULT_OUT
from kipgen.reading import check
from kipgen.resources import kafka_spec
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import Format, one_format
from kipwire.cli.terminal import ERR, table_console
from kipwire.model.errors import PackageError
from kipwire.model.extras import missing_extra
from kipwire.tools.text import count_of, print_err


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
@one_format
@click.option("--plot", type=PATH, help="Draw the bytes of each field, too: a .png, .svg or .pdf file.")
def advise(
    spec: Path,
    samples: Sequence[Path],
    more: Sequence[Path],
    package: str,
    version: int | None,
    format_: Format,
    plot: Path | None,
) -> None:
    """Advise which encodings (KIP-625) save bytes, from sample messages, with the text to paste into the spec."""
    shown = str(spec)
    if not spec.exists() and (found := kafka_spec(shown)):
        spec, shown = found, found.name  # one's copy of it lies elsewhere than the installed one
    if plot is not None:
        _need_plotting(plot)
    checked = check.read_file(spec)
    if checked.spec is None:
        print_problems(checked.problems)
        fail(f"{spec} has errors; correct them first")
    if checked.spec.served_versions.is_empty:
        fail(f"{spec}: {checked.spec.name} is retired: none of its versions is served, so it gets no new one")
    try:
        registry = registry_with(package, checked.spec, settings_here().out or DEFAULT_OUT)
        with ERR.status("Reading samples") as status:
            files = [*samples, *more]
            read = read_samples(
                files, registry, checked.spec, version, lambda n: status.update(f"{n:,} messages counted")
            )
        if not read.counts.messages:
            for line in failures(read) if read.not_decoded else ():
                ERR.print(line)
            fail(
                f"the samples have no {checked.spec.name} that can be decoded ({count_of(read.others, 'other frame')})"
            )
        advice = advise_on(checked.spec, read.counts)
    except (PackageError, SamplesError, AdviceError) as error:
        fail(str(error))
    if plot is not None:
        draw(advice, read, plot)
        print_err(f"wrote {one_line(plot)}")
    if format_ is Format.JSON:
        print(json.dumps(plain(advice, read, package), indent=2))
    else:
        out = table_console()
        for piece in report(advice, read, shown):
            out.print(piece)


def _need_plotting(file: Path) -> None:
    """Check that a picture can be drawn, before the samples are read."""
    if file.suffix.lower() not in SUFFIXES:
        fail(f"{file}: --plot writes a file with one of the suffixes {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        fail(str(missing_extra("--plot needs", "matplotlib", "plot")))


SUFFIXES = (".png", ".svg", ".pdf")
"""The kinds of pictures that can be drawn."""

_COLOURS = {"fixed": "#9aa5b1", "packed": "#e0a030", "upacked": "#2a7f9e"}
_BAR = 0.27
_ROW_INCHES = 0.5


def draw(advice: Advice, samples: Samples, file: Path) -> None:
    """Draw the fields that have values; the file's suffix decides the format.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    fields = [field for field in advice.fields if field.counts.count]
    figure = Figure(figsize=(11, 1.9 + _ROW_INCHES * max(len(fields), 1)), dpi=130)
    figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.1)
    axes = figure.add_subplot()
    for row, field in enumerate(fields):
        bits = field.field.type.bits
        for offset, scheme in zip((-_BAR, 0.0, _BAR), _COLOURS, strict=True):
            axes.barh(row + offset, field.sizes[f"{scheme}{bits}"], _BAR, color=_COLOURS[scheme], label=scheme)
        longest = max(field.sizes.values())
        axes.annotate(
            _remark(field),
            (longest, row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            fontweight="bold" if field.saved else "normal",
            color="#1d5a71" if field.saved else "#666666",
        )
    axes.set_yticks(range(len(fields)), [label(field) for field in fields])
    axes.set_ylim(max(len(fields), 1) - 0.4, -0.6)
    axes.margins(x=0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"bytes of all values in {count_of(advice.messages, 'message')}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.set_title(_title(advice, samples, fields), loc="left", fontsize=11)
    handles, names = axes.get_legend_handles_labels()
    once = dict(zip(names, handles, strict=True))
    if once:
        figure.legend(list(once.values()), list(once), loc="outside lower right", ncols=3, frameon=False)
    figure.savefig(file)


def _remark(field: FieldAdvice) -> str:
    if field.saved:
        return f"{field.best} saves {field.saved:,} ({share(field.saved, field.current_size)})"
    return field.note or f"{field.best} is best"


def _title(advice: Advice, samples: Samples, fields: list[FieldAdvice]) -> str:
    saved = advice.saved(elements=False) + advice.saved(elements=True)
    title = f"{advice.spec.name}: the best encodings save {saved:,} of {count_of(samples.bytes, 'byte')}"
    title += f" ({share(saved, samples.bytes)})"
    if any(field.is_element for field in fields):
        title += f"\n{ELEMENT_MARK} elements of arrays, which need the extension elementEncoding"
    return title

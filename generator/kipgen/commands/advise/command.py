"""`kipgen advise`: which encoding of KIP-625 the integers of a message should have, from sample messages.

With `--plot` it also draws a picture: for each field the bytes under each encoding, the fields that save most on top.
matplotlib, which is an extra of its own and takes a second to import, is imported only where something is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib import util
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from kipgen.commands.advise.samples import Counting, Samples, SamplesError, read_samples, registry_with
from kipgen.commands.advise.savings import Advice, AdviceError, FieldAdvice
from kipgen.commands.advise.savings import advise as advise_on
from kipgen.commands.advise.tag_counts import TagCounter
from kipgen.commands.advise.tag_savings import WITHOUT_TAGS, advise_on_tags
from kipgen.commands.advise.tag_text import plain_message, plain_package, report_message, report_package
from kipgen.commands.advise.text import ELEMENT_MARK, failures, label, plain, report, share
from kipgen.commands.advise.times import TimesError, measure_times
from kipgen.commands.compat.history import histories_of, used_tags
from kipgen.commands.console import find_spec, print_problems, settings_here
from kipgen.commands.settings import DEFAULT_OUT
from kipgen.commands.terminal import ERR, table_console
from kipgen.language.spec import MessageSpec
from kipgen.reading import check
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import OutputFormat, one_format
from kipwire.drafts.kip_625 import Counts
from kipwire.message.registry import Registry
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
@click.option("--times", is_flag=True, help="Measure how long samples take with and without the advice: some seconds.")
@one_format
@click.option(
    "--tags",
    is_flag=True,
    help="Advise which fields to tag (KIP-482) instead, with what compact lengths save and tag sections cost; also for "
    "a folder of specs.",
)
@click.option("--plot", type=PATH, help="Draw the bytes of each field, too: a .png, .svg or .pdf file.")
def advise(
    spec: Path,
    samples: Sequence[Path],
    more: Sequence[Path],
    package: str,
    version: int | None,
    times: bool,
    format_: OutputFormat,
    tags: bool,
    plot: Path | None,
) -> None:
    """Advise which encodings (KIP-625) or tags save bytes, from sample messages, with the text for the spec."""
    spec, shown = find_spec(spec)
    if times and (tags or spec.is_dir()):
        fail("--times compares encodings of one message: give its spec, without --tags")
    if plot is not None:
        if tags:
            fail("--plot draws encodings; leave it out with --tags")
        _need_plotting(plot)
    if tags and spec.is_dir():
        _advise_on_package(spec, [*samples, *more], package, version, format_)
        return
    checked = check.read_file(spec)
    if checked.spec is None:
        print_problems(checked.problems)
        fail(f"{spec} has errors; correct them first")
    if checked.spec.served_versions.is_empty:
        fail(f"{spec}: {checked.spec.name} is retired: none of its versions is served, so it gets no new one")
    try:
        registry = registry_with(package, [checked.spec], settings_here().out or DEFAULT_OUT)
        counts = TagCounter() if tags else Counts(checked.spec.name)
        read = _read([*samples, *more], registry, [checked.spec], counts, version)
        if isinstance(counts, TagCounter):
            used = used_tags(histories_of([spec])[spec].uses)
            tag_advice = advise_on_tags(checked.spec, counts.by_name[checked.spec.name], used)
            pieces = report_message(tag_advice, read, shown)
            _print(plain_message(tag_advice, read, package), pieces, format_)
            return
        advice = advise_on(checked.spec, counts)
        measured = None
        if times and any(field.encodings for field in advice.fields):
            with ERR.status("Measuring times"):
                measured = measure_times(advice, read.timed.messages)
    except (PackageError, SamplesError, AdviceError, TimesError) as error:
        fail(str(error))
    if plot is not None:
        draw(advice, read, plot)
        print_err(f"wrote {one_line(plot)}")
    _print(plain(advice, read, package, measured), report(advice, read, shown, measured), format_)


def _advise_on_package(
    folder: Path, files: list[Path], package: str, version: int | None, format_: OutputFormat
) -> None:
    """Advise on tags for all messages of a folder of specs."""
    checked, faults = check.read_files(folder)
    problems = [*faults, *(one for file in checked if file.spec is None for one in file.problems)]
    if problems:
        print_problems(problems)
        fail(f"{folder} has errors; correct them first")
    specs = {one.spec.name: one.spec for one in checked if one.spec and _can_be_advised(one.spec)}
    if not specs:
        fail(f"{folder} has no message whose next version could have tags")
    try:
        registry = registry_with(package, list(specs.values()), settings_here().out or DEFAULT_OUT)
        counts = TagCounter()
        read = _read(files, registry, list(specs.values()), counts, version)
        histories = histories_of([Path(specs[name].location.file) for name in counts.by_name])
        advices = [
            advise_on_tags(specs[name], one, used_tags(histories[Path(specs[name].location.file)].uses))
            for name, one in counts.by_name.items()
        ]
    except (PackageError, SamplesError, AdviceError) as error:
        fail(str(error))
    advices.sort(key=lambda advice: -advice.saved)
    _print(plain_package(advices, read, package), report_package(advices, read), format_)


def _can_be_advised(spec: MessageSpec) -> bool:
    return not spec.served_versions.is_empty and spec.type not in WITHOUT_TAGS


def _read(
    files: list[Path], registry: Registry, specs: list[MessageSpec], counts: Counting, version: int | None
) -> Samples:
    """Read the samples; exit with 2 if none of them is one of the messages.

    Raises:
        SamplesError: a sample cannot be read.
    """
    with ERR.status("Reading samples") as status:
        read = read_samples(files, registry, specs, counts, version, lambda n: status.update(f"{n:,} messages counted"))
    if not counts.messages:
        for line in failures(read) if read.not_decoded else ():
            ERR.print(line)
        what = specs[0].name if len(specs) == 1 else "message of these specs"
        fail(f"the samples have no {what} that can be decoded ({count_of(read.others, 'other frame')})")
    return read


def _print(values: dict[str, Any], pieces: Iterable[RenderableType], format_: OutputFormat) -> None:
    if format_ is OutputFormat.JSON:
        print(json.dumps(values, indent=2))
    else:
        out = table_console()
        for piece in pieces:
            out.print(piece)


def _need_plotting(file: Path) -> None:
    """Check that a picture can be drawn, before the samples are read."""
    if file.suffix.lower() not in SUFFIXES:
        fail(f"{file}: --plot writes a file with one of the suffixes {', '.join(SUFFIXES)}")
    if util.find_spec("matplotlib") is None:
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

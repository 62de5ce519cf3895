"""Advice as a picture: for each field the bytes under each encoding, the fields that save most on top.

matplotlib, which is an extra of its own and takes a second to import, is imported only where something is drawn.
"""

from __future__ import annotations

from pathlib import Path

from kipgen.commands.advise.samples import Samples
from kipgen.commands.advise.savings import Advice, FieldAdvice
from kipgen.commands.advise.text import ELEMENT_MARK, label, share
from kipwire.tools.text import counted

SUFFIXES = (".png", ".svg", ".pdf")
"""The kinds of pictures that can be drawn."""

_COLOURS = {"fixed": "#9aa5b1", "packed": "#e0a030", "upacked": "#2a7f9e"}
_BAR = 0.27
_ROW_INCHES = 0.5


def draw(advice: Advice, samples: Samples, file: Path) -> None:
    """Draw the fields that have values; the file's suffix says as what kind of picture.

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
        for offset, form in zip((-_BAR, 0.0, _BAR), _COLOURS, strict=True):
            axes.barh(row + offset, field.sizes[f"{form}{bits}"], _BAR, color=_COLOURS[form], label=form)
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
    axes.set_xlabel(f"bytes of all values in {counted(advice.messages, 'message')}")
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
    title = f"{advice.spec.name}: the best encodings save {saved:,} of {counted(samples.bytes, 'byte')}"
    title += f" ({share(saved, samples.bytes)})"
    if any(field.is_element for field in fields):
        title += f"\n{ELEMENT_MARK} elements of arrays, which need the extension elementEncoding"
    return title

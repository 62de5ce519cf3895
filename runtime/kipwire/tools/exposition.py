"""Prometheus' text format: numbers with labels, each metric in one piece."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Content type of this format, for HTTP servers."""


def gauge_lines(
    name: str, about: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]
) -> Iterator[str]:
    """The lines of a gauge, without ends of lines.

    Args:
        name: of the metric.
        about: what it is, in a sentence.
        labels: their names.
        samples: the texts of the labels, in the same order, and the number.
    """
    yield f"# HELP {name} {_escaped(about)}"
    yield f"# TYPE {name} gauge"
    starts = [f'{label}="' for label in labels]
    for texts, number in samples:
        pairs = ",".join([f'{start}{_quoted(text)}"' for start, text in zip(starts, texts, strict=True)])
        yield f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"


def _quoted(text: str) -> str:
    return text if text.isalnum() else _escaped(text).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")

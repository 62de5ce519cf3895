"""Prometheus' text format: numbers with labels, each metric in one piece."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Content type of this format, for HTTP servers."""


def pairs_text(labels: Sequence[str], texts: Sequence[str]) -> str:
    """Format labels with their texts, such as `group="billing",topic="orders"`; callers join several with commas.

    Args:
        labels: their names.
        texts: in the same order.
    """
    return ",".join([f'{label}="{_quote(text)}"' for label, text in zip(labels, texts, strict=True)])


def gauge_lines(name: str, about: str, samples: Iterable[tuple[str, float]]) -> Iterator[str]:
    """Format a gauge as lines, without ends of lines.

    Args:
        name: of the metric.
        about: what it is, in a sentence.
        samples: labels as `pairs_text`, empty for none, and the number.
    """
    yield f"# HELP {name} {_escape(about)}"
    yield f"# TYPE {name} gauge"
    for pairs, number in samples:
        yield f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"


def _quote(text: str) -> str:
    return text if text.isalnum() else _escape(text).replace('"', '\\"')


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")

"""One picture of results: how many times as fast kipwire is as each peer, as bars that begin at 1.

It is drawn from the tables of ratios in RESULTS.md, and needs nothing but the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from math import log10

MESSAGE = "MetadataResponse v12"
"""The message whose bars are drawn: of the usual ones that with most structs."""
OPERATIONS = ("Decode", "Encode")

_WIDTH, _LEFT, _RIGHT = 500, 95, 62
_ROW, _GROUP, _TOP, _BOTTOM = 22, 40, 34, 24
_LEAST, _MOST = 0.2, 300.0
_TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #212121; } .faint { fill: #5f6368; font-size: 12px; }
.head { font-weight: 600; } line { stroke: #d0d3da; } .one { stroke: #5f6368; }
.faster { fill: #4c6ef5; } .slower { fill: #e8590c; }
@media (prefers-color-scheme: dark) {
  text { fill: #dfe1e8; } .faint { fill: #9da2b3; } line { stroke: #3a3f50; } .one { stroke: #9da2b3; }
  .faster { fill: #91a7ff; } .slower { fill: #ff922b; }
}"""


def ratios(results: str, operation: str) -> dict[str, dict[str, float]]:
    """Read a table of ratios: times as fast as each peer kipwire is with its kernel, by message and peer.

    Args:
        results: the text of RESULTS.md.
        operation: `Decode` or `Encode`.

    Raises:
        ValueError: the text has no such table.
    """
    head = f"## {operation}: peer's time / native\n\n"
    start = results.find(head)
    if start < 0:
        raise ValueError(f"the results have no table {head.strip('# ').strip()!r}")
    lines = re.findall(r"^\| (.+) \|$", results[start : results.find("\n\n", start + len(head))], re.MULTILINE)
    (_, *peers), _, *rows = (line.split(" | ") for line in lines)
    return {name: dict(zip(peers, map(float, figures), strict=True)) for name, *figures in rows}


def bars(results: str) -> str:
    """Draw the picture as SVG.

    Args:
        results: the text of RESULTS.md.

    Raises:
        ValueError: the text lacks a table.
    """
    found = {operation: ratios(results, operation)[MESSAGE] for operation in OPERATIONS}
    height = _TOP + sum(_GROUP + _ROW * len(peers) for peers in found.values()) + _BOTTOM
    title = f"Times as fast as others: {MESSAGE}, with the kernel"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{escape(title)}">\n'
        f"<style>{_STYLE}</style>\n"
        f'<text x="0" y="16" class="head">{escape(title)}</text>\n{"".join(_elements(found, height))}</svg>\n'
    )


def _elements(found: dict[str, dict[str, float]], height: int) -> Iterator[str]:
    for tick in _TICKS:
        kind = ' class="one"' if tick == 1 else ""
        yield f'<line{kind} x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>\n'
        yield f'<text class="faint" x="{_x(tick):.1f}" y="{height - 6}" text-anchor="middle">{tick:g}</text>\n'
    y = _TOP
    for operation, peers in found.items():
        y += _GROUP
        yield f'<text class="head" x="0" y="{y - 8}">{operation}</text>\n'
        for name, ratio in sorted(peers.items(), key=lambda pair: -pair[1]):
            kind, said = (
                ("faster", f"{_text(ratio)} times") if ratio >= 1 else ("slower", f"{_text(ratio)} times: slower")
            )
            left, right = sorted((_x(1), _x(ratio)))
            yield f'<text x="{_LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>\n'
            yield (
                f'<rect class="{kind}" x="{left:.1f}" y="{y + 3}" width="{max(right - left, 1):.1f}" '
                f'height="{_ROW - 6}" rx="2">'
                f"<title>{escape(name)}: {said}</title></rect>\n"
            )
            place = right + 6 if ratio >= 1 else _x(1) + 6
            yield f'<text class="faint" x="{place:.1f}" y="{y + 15}">{said}</text>\n'
            y += _ROW


def _x(ratio: float) -> float:
    """Return the place of a ratio; the axis is logarithmic, so that twice and half are equally far from 1."""
    share = (log10(ratio) - log10(_LEAST)) / (log10(_MOST) - log10(_LEAST))
    return _LEFT + min(max(share, 0), 1) * (_WIDTH - _LEFT - _RIGHT)


def _text(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"

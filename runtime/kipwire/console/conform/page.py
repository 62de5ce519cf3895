"""Results as one self-contained page: messages with their versions, which unfold to the smallest failure of each.

A message is one element of HTML that is folded at first, so that hundreds of failures are a page to look over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kipwire.cli.page import escaped, part
from kipwire.cli.page import page as shell
from kipwire.conformance.vectors import LEVELS, Vector, VectorForm
from kipwire.console.conform.questions import Verdict
from kipwire.console.conform.results import Count, Key, Results
from kipwire.console.inspect.text import text_lines
from kipwire.console.inspect.tree import Inspection, inspect_message, inspect_request, inspect_response
from kipwire.message.registry import Registry
from kipwire.model.errors import KipwireError
from kipwire.tools.text import count_of, printable_line

_LEGEND = """\
<p class="legend"><span class="good">all passed</span> <span class="bad">something required failed</span>
<span class="weak">something recommended failed</span> <span class="expected">only expected failures</span>
<span class="skipped">skipped by the program</span> <span class="unclaimed">not claimed</span></p>"""
_OPEN = """\
"use strict";
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  for (let one = target?.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  target?.parentElement.scrollIntoView({block: "nearest"});
}
addEventListener("hashchange", unfold);
unfold();
"""
"""Unfolds what a link leads to."""
_MOST_BYTES = 256
"""Limit for bytes that are explained."""


def page(results: Results, registry: Registry | None, title: str) -> str:
    """Build the page as HTML text; it loads nothing from anywhere.

    Messages that fail come first, the worst before others, and unfold to what fails in them; versions of which the same
    fails are together.

    Args:
        results: of one run.
        registry: the classes that explain bytes; None if there are none for these vectors.
        title: what stands above, such as the program with its release.
    """
    messages = [(key, list(pairs)) for key, pairs in groupby(results.sorted_counts(), key=lambda pair: pair[0][:2])]
    failing = sorted((one for one in messages if any(count.smallest for _, count in one[1])), key=_rank)
    right = [one for one in messages if one not in failing and any(count.tried for _, count in one[1])]
    others = [one for one in messages if one not in failing and one not in right]
    parts = [f"<h1>{escaped(title)}</h1>\n{_tiles(results)}\n{_LEGEND}\n"]
    if failing:
        parts.append("<h2>What fails</h2>\n" + "".join(_unfolding(*one, registry) for one in failing))
    if right:
        rows = "".join(f"<li><b>{_name(*key)}</b> {_cells(pairs)}</li>\n" for key, pairs in right)
        parts.append(f'<h2>What is right</h2>\n<ul class="messages">\n{rows}</ul>\n')
    if others:
        rows = "".join(f"<li><b>{_name(*key)}</b> {_cells(pairs)}</li>\n" for key, pairs in others)
        what = f"Not claimed, or skipped: {count_of(len(others), 'message')}"
        parts.append(f'<details>\n<summary>{what}</summary>\n<ul class="messages">\n{rows}</ul>\n</details>\n')
    body = f"<header>kipwire conform</header>\n<main>\n{''.join(parts)}</main>"
    return shell(title, body, part("kipwire.console.conform", "page.css"), _OPEN)


def _tiles(results: Results) -> str:
    counts = [count for _, count in results.sorted_counts()]
    tiles = {
        "questions": sum(count.tried for count in counts),
        "versions": sum(1 for count in counts if count.tried),
        "required: failed": results.total("required"),
        "recommended: failed": results.total("recommended"),
        "failed as expected": sum(count.expected for count in counts),
        "skipped": sum(count.skipped for count in counts),
        "versions not claimed": sum(1 for count in counts if count.unclaimed),
    }
    always = ("questions", "versions", "required: failed", "recommended: failed")
    shown = "".join(
        f"<div><dt>{what}</dt><dd>{number:,}</dd></div>\n" for what, number in tiles.items() if number or what in always
    )
    unused = "".join(f"<li>expected to fail, but does not: {escaped(one)}</li>\n" for one in results.unused())
    return f'<dl class="totals">\n{shown}</dl>' + (f'\n<ul class="unused">\n{unused}</ul>' if unused else "")


def _rank(message: tuple[tuple[VectorForm, str], list[tuple[Key, Count]]]) -> tuple[int, int, str]:
    """Lower for more failures of required cases, then of others."""
    (_, name), pairs = message
    required, recommended = (sum(count.failed[level] for _, count in pairs) for level in LEVELS)
    return -required, -recommended, name


def _name(form: VectorForm, message: str) -> str:
    return escaped(message if form == "message" else f"{message} ({form})")


def _cells(pairs: Sequence[tuple[Key, Count]]) -> str:
    return " ".join(_cell(key, count) for key, count in pairs)


def _cell(key: Key, count: Count) -> str:
    kind = _kind(count)
    failed = ", ".join(f"{number} {level} failed" for level, number in count.failed.items() if number)
    said = f"{key.message} v{key.version}: {count.tried} asked, {failed or kind}"
    if count.smallest is None:
        return f'<span class="{kind}" title="{escaped(said)}">{key.version}</span>'
    return f'<a class="{kind}" title="{escaped(said)}" href="#{_anchor(key)}">{key.version}</a>'


def _kind(count: Count) -> str:
    if count.failed["required"]:
        return "bad"
    if count.failed["recommended"]:
        return "weak"
    if count.expected:
        return "expected"
    if count.passed:
        return "good"
    return "skipped" if count.skipped else "unclaimed"


def _unfolding(key: tuple[VectorForm, str], pairs: Sequence[tuple[Key, Count]], registry: Registry | None) -> str:
    """Build the part of one message: its versions, and below them, folded, each failure."""
    failed = (sum(count.failed[level] for _, count in pairs) for level in LEVELS)
    said = " and ".join(f"{number:,} {level}" for number, level in zip(failed, LEVELS, strict=True) if number)
    together: dict[tuple[object, ...], list[tuple[Key, Verdict]]] = {}
    for version, count in pairs:
        if (verdict := count.smallest) is not None:
            same = (verdict.op, verdict.level, verdict.reason)
            together.setdefault(same, []).append((version, verdict))
    failures = "\n".join(_failure(group, registry) for group in together.values())
    return (
        f'<details class="failing">\n<summary><b>{_name(*key)}</b> <span>{_cells(pairs)}</span> '
        f"<small>{said}</small></summary>\n{failures}\n</details>\n"
    )


def _failure(group: Sequence[tuple[Key, Verdict]], registry: Registry | None) -> str:
    """Build the section about the smallest failure of some versions, with the bytes of the shortest explained."""
    _, verdict = min(group, key=lambda one: len(one[1].vector.data))
    vector = verdict.vector
    versions = [one.version for one, _ in group]
    title = f"Version {versions[0]}" if len(versions) == 1 else f"Versions {', '.join(map(str, versions))}"
    about = f"{vector.field}, {vector.case}" if vector.field else vector.case
    said = f"<p><b>{verdict.op}</b>, {verdict.level}: {escaped(verdict.reason)}</p>\n"
    why = f"<p>{escaped(vector.why)}</p>\n" if vector.why and vector.why not in verdict.reason else ""
    heading = "the bytes" if verdict.op == "decode" else "the bytes that it must write"
    data = vector.data if verdict.op == "decode" else vector.written
    shown = [_bytes(heading, data, vector, registry)]
    if verdict.given:
        shown.append(_bytes("what it writes", bytes.fromhex(verdict.given), vector, registry))
    anchors = "".join(f'<a id="{_anchor(one)}"></a>' for one, _ in group)
    place = f"{escaped(vector.id)} ({escaped(about)}; {escaped(vector.origin)})"
    return f"<section>\n{anchors}<h3>{title}</h3>\n{said}{why}<p>{place}</p>\n{chr(10).join(shown)}\n</section>"


def _bytes(heading: str, data: bytes, vector: Vector, registry: Registry | None) -> str:
    shown = data[:_MOST_BYTES].hex() + ("..." if len(data) > _MOST_BYTES else "")
    parts = [f"<h4>{heading}</h4>\n<p><code>{shown or 'none'}</code></p>"]
    inspection = None if registry is None or len(data) > _MOST_BYTES else _inspect(data, vector, registry)
    if inspection is not None:
        lines = (escaped("".join(text for text, _ in line).rstrip()) for line in text_lines(inspection))
        parts.append(f"<pre>{chr(10).join(lines)}</pre>")
    return "\n".join(parts)


def _inspect(data: bytes, vector: Vector, registry: Registry) -> Inspection | None:
    """Explain the bytes as `kipwire inspect` does; None if that is not possible."""
    try:
        if vector.form == "message":
            return inspect_message(registry.message(vector.message, vector.version), data)
        if vector.form != "frame":
            return None
        if registry.entry(vector.message).type == "request":
            return inspect_request(registry, data)
        return inspect_response(registry, registry.message(vector.message, vector.version), data)
    except KipwireError:
        return None


def _anchor(key: Key) -> str:
    return f"{key.form}-{escaped(key.message)}-{key.version}"


def failing_ids(verdicts: list[Verdict]) -> str:
    """Format failures as a list for `--expect`: an id on each line, with the reason behind it."""
    return "".join(f"{one.id}  # {printable_line(one.reason)}\n" for one in verdicts)

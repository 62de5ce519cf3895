"""Results as one self-contained page: a matrix of messages and versions, and the smallest failure of each explained."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kipwire.cli.page import escaped, part
from kipwire.cli.page import page as shell
from kipwire.conformance.vectors import Vector
from kipwire.console.conform.questions import Verdict
from kipwire.console.conform.results import Count, Key, Results
from kipwire.console.conform.text import totals
from kipwire.console.inspect.text import text_lines
from kipwire.console.inspect.tree import Inspection, inspect_message, inspect_request, inspect_response
from kipwire.message.registry import Registry
from kipwire.model.errors import KipwireError
from kipwire.tools.text import printable_line

_LEGEND = """\
<p class="legend"><span class="good">all passed</span> <span class="bad">something required failed</span>
<span class="weak">something recommended failed</span> <span class="expected">only expected failures</span>
<span class="skipped">skipped by the program</span> <span class="unclaimed">not claimed</span></p>"""
_MOST_BYTES = 256
"""Limit for bytes that are explained."""


def page(results: Results, registry: Registry | None, title: str) -> str:
    """Build the page as HTML text; it loads nothing from anywhere.

    Args:
        results: of one run.
        registry: the classes that explain bytes; None if there are none for these vectors.
        title: what stands above, such as the program with its release.
    """
    summary = "\n".join(f"<li>{escaped(''.join(one if isinstance(one, str) else one[0] for one in line))}</li>"
                        for line in totals(results))  # fmt: skip
    failures = "\n".join(_failure(key, count, registry) for key, count in results.sorted_counts() if count.smallest)
    body = (
        f"<h1>{escaped(title)}</h1>\n<ul>\n{summary}\n</ul>\n{_LEGEND}\n"
        f'<table>\n<thead><tr><th scope="col">message</th><th scope="col">versions</th></tr></thead>\n<tbody>\n'
        f"{''.join(_rows(results))}</tbody>\n</table>\n{failures}"
    )
    return shell(title, body, part("kipwire.console.conform", "page.css"))


def _rows(results: Results) -> Iterator[str]:
    """Build a row for each message, with a cell for each version."""
    for (form, message), pairs in groupby(results.sorted_counts(), key=lambda pair: pair[0][:2]):
        name = message if form == "message" else f"{message} ({form})"
        cells = " ".join(_cell(key, count) for key, count in pairs)
        yield f'<tr><th scope="row">{escaped(name)}</th><td>{cells}</td></tr>\n'


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


def _failure(key: Key, count: Count, registry: Registry | None) -> str:
    """Build the section about the smallest failure of a version, with its bytes explained."""
    verdict = count.smallest
    assert verdict is not None
    vector = verdict.vector
    said = [f"<p><b>{verdict.op}</b>, {verdict.level}: {escaped(verdict.reason)}</p>"]
    if vector.why:
        said.append(f"<p>{escaped(vector.why)}</p>")
    about = f"{vector.field}, {vector.case}" if vector.field else vector.case
    said.append(f"<p>{escaped(vector.id)} ({escaped(about)}; {escaped(vector.origin)})</p>")
    heading = "the bytes" if verdict.op == "decode" else "the bytes that it must write"
    data = vector.data if verdict.op == "decode" else vector.written
    said.append(_bytes(heading, data, vector, registry))
    if verdict.given:
        said.append(_bytes("what it writes", bytes.fromhex(verdict.given), vector, registry))
    failed = sum(count.failed.values())
    title = f"{vector.message} v{vector.version}: the smallest of {failed:,} failures"
    return f'<section id="{_anchor(key)}">\n<h2>{escaped(title)}</h2>\n{chr(10).join(said)}\n</section>'


def _bytes(heading: str, data: bytes, vector: Vector, registry: Registry | None) -> str:
    shown = data[:_MOST_BYTES].hex() + ("..." if len(data) > _MOST_BYTES else "")
    parts = [f"<h3>{heading}</h3>\n<p><code>{shown or 'none'}</code></p>"]
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

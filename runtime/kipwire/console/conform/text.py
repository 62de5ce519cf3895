"""Results as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kipwire.conformance.vectors import LEVELS
from kipwire.console.conform.results import Count, Key, Results
from kipwire.tools.text import count_of

_SHOWN_BYTES = 48
_MOST_UNUSED = 20

Line = tuple[str | tuple[str, str], ...]


def summary(results: Results, *, every_message: bool = False) -> Iterator[Line]:
    """Format a line for each message in which something fails, or for each, then the totals."""
    for (form, message), pairs in groupby(results.sorted_counts(), key=lambda pair: pair[0][:2]):
        counts = dict(pairs)
        tried = {key: count for key, count in counts.items() if count.tried}
        failing = [key for key, count in tried.items() if any(count.failed.values())]
        name = message if form == "message" else f"{message} ({form})"
        if failing:
            yield from _failing(name, tried, failing)
        elif every_message and tried:
            number = sum(count.tried for count in tried.values())
            yield ((f"{name} {_versions(tried)}: all {count_of(number, 'question')} passed", "green"),)
    yield from totals(results)


def _failing(name: str, tried: dict[Key, Count], failing: list[Key]) -> Iterator[Line]:
    required, recommended = (sum(count.failed[level] for count in tried.values()) for level in LEVELS)
    words = [f"{required:,} required" if required else "", f"{recommended:,} recommended" if recommended else ""]
    number = sum(count.tried for count in tried.values())
    style = "red" if required else "yellow"
    yield (name, " ", (f"{_versions(failing)}: {' and '.join(filter(None, words))}", style), f" of {number:,} fail")
    found = [count.smallest for count in (tried[key] for key in failing) if count.smallest is not None]
    least = min(found, key=lambda one: (LEVELS.index(one.level), len(one.vector.data)))
    yield (f"  {least.vector.id}: {least.op}: {least.reason}",)
    data = least.vector.data
    shown = data[:_SHOWN_BYTES].hex() + ("..." if len(data) > _SHOWN_BYTES else "")
    yield (f"  {shown or 'no bytes'}",)


def totals(results: Results) -> Iterator[Line]:
    """Summarise the questions: asked, failed and skipped."""
    counts = [count for _, count in results.sorted_counts()]
    tried = sum(count.tried for count in counts)
    versions = sum(1 for count in counts if count.tried)
    program = f"{results.claims.name} {results.claims.release}".strip()
    yield (f"{program}: {count_of(tried, 'question')} about {count_of(versions, 'version')} of messages",)
    for level in LEVELS:
        failed = results.total(level)
        yield ((f"  {level}: {failed:,} failed", ("red" if level == "required" else "yellow") if failed else "green"),)
    if expected := sum(count.expected for count in counts):
        yield (f"  {expected:,} failed as expected",)
    if skipped := sum(count.skipped for count in counts):
        yield (f"  {skipped:,} skipped by the program",)
    unclaimed = [count.unclaimed for count in counts if count.unclaimed]
    if unclaimed:
        what = f"{count_of(sum(unclaimed), 'vector')} of {count_of(len(unclaimed), 'version')}"
        yield (f"  {what} not asked: the program does not claim them",)
    unused = results.unused()
    for line in unused[:_MOST_UNUSED]:
        yield ((f"  expected to fail, but does not: {line}", "red"),)
    if len(unused) > _MOST_UNUSED:
        yield ((f"  ... and {len(unused) - _MOST_UNUSED:,} more", "red"),)


def _versions(keys: dict[Key, Count] | list[Key]) -> str:
    """Format versions, such as `v0-3, v7`."""
    numbers = sorted(key.version for key in keys)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"v{run[0]}" if len(run) == 1 else f"v{run[0]}-{run[-1]}" for run in runs)

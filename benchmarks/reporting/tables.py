"""Results as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.cold_start import BARE
from benchmarks.growth import PARTITIONS
from benchmarks.peers import FLOOR, INTERPRETED, NATIVE
from benchmarks.reporting.report import Table
from benchmarks.reporting.results import Comparison, Results
from benchmarks.targets import Verdict, verdicts
from benchmarks.timing import median_ratio


def tables(results: Results) -> list[Table]:
    """Return all tables, in the order in which they are shown."""
    return [
        *_comparisons(results),
        _targets(verdicts(results)),
        _own_spec(results),
        _conversions(results),
        _growth(results),
        _memory(results),
        _cold_start(results),
        _everything(results),
    ]


def _comparisons(results: Results) -> Iterator[Table]:
    for operation in ("decode", "encode"):
        chosen = [one for one in results.comparisons if one.operation == operation]
        names = list(chosen[0].seconds)
        rows = [
            (one.sample.title, f"{len(one.sample.golden):,}", *(_microseconds(one.seconds[name]) for name in names))
            for one in chosen
        ]
        title = f"{operation.capitalize()}: µs per message"
        yield Table(title, ("message", "bytes", *names), tuple(rows))
        for ours in (INTERPRETED.name, NATIVE.name):
            if ours in names:
                yield _ratios(f"{operation.capitalize()}: peer's time / {ours}", chosen, ours)


def _ratios(title: str, chosen: Sequence[Comparison], ours: str) -> Table:
    peers = [name for name in chosen[0].seconds if name not in (INTERPRETED.name, NATIVE.name, FLOOR)]
    rows = [(one.sample.title, *(_ratio(one.ratio(peer, ours)) for peer in peers)) for one in chosen]
    return Table(title, ("message", *peers), tuple(rows))


def _targets(chosen: Sequence[Verdict]) -> Table:
    reached = sum(one.reached for one in chosen)
    rows = [
        (
            one.target,
            one.what,
            _ratio(one.figure),
            f"{'at most' if one.at_most else 'at least'} {one.bound:g}",
            "reached" if one.reached else "MISSED",
        )
        for one in sorted(chosen, key=lambda one: one.target)
    ]
    return Table(f"Targets: {reached} of {len(chosen)} reached", ("target", "of", "is", "bound", ""), tuple(rows))


def _own_spec(results: Results) -> Table:
    rows = [
        (
            f"{codec} {operation}",
            _microseconds(own),
            _microseconds(shipped),
            f"{median_ratio(own, shipped):.3f}",
        )
        for (codec, operation), (own, shipped) in results.own_spec.items()
    ]
    title = "A user's own copy of MetadataResponse v12, generated a moment ago"
    return Table(title, ("", "own µs", "shipped µs", "own / shipped"), tuple(rows))


def _conversions(results: Results) -> Table:
    rows = [
        (f"{codec}: {case}", _microseconds(one.convert), _microseconds(one.decode), _ratio(one.ratio))
        for (codec, case), one in results.conversions.items()
    ]
    title = "Conversion to another version, beside decoding of the same message"
    return Table(title, ("", "convert µs", "decode µs", "convert / decode"), tuple(rows))


def _growth(results: Results) -> Table:
    rows = [
        (f"{line.codec} {line.operation}", *(f"{taken * 1e9:,.0f}" for taken in line.per_partition))
        for line in results.growth
    ]
    title = "MetadataResponse v12 by its partitions: ns per partition"
    return Table(title, ("", *(f"{count:,}" for count in PARTITIONS)), tuple(rows))


def _memory(results: Results) -> Table:
    names = list(next(iter(results.memory.values())))
    rows = [(title, *(f"{by_codec[name]:,.0f}" for name in names)) for title, by_codec in results.memory.items()]
    return Table("Memory of a decoded message: bytes", ("message", *names), tuple(rows))


def _cold_start(results: Results) -> Table:
    rows = [
        (one.name, f"{one.seconds * 1e3:.1f}", "" if one.name == BARE else f"{one.over_bare * 1e3:.1f}")
        for one in results.cold_starts
    ]
    title = "Cold start: import, decode and encode one MetadataResponse v12"
    return Table(title, ("program", "ms", "over bare, ms"), tuple(rows))


def _everything(results: Results) -> Table:
    rows = [
        (
            one.name,
            f"{one.modules:,}",
            f"{one.lines:,}",
            f"{one.source_bytes / 1e6:.1f}",
            f"{one.seconds:.2f}",
            f"{one.memory_bytes / 2**20:.0f}",
        )
        for one in results.everything
    ]
    header = ("library", "modules", "lines", "MB of source", "import, s", "memory, MiB")
    return Table("All messages in all versions", header, tuple(rows))


def _microseconds(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e6:,.2f}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"

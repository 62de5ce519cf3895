"""Targets of the figures, and their check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import conversion
from benchmarks.bodies import SIX
from benchmarks.growth import PARTITIONS
from benchmarks.peers import FLOOR, INTERPRETED, KAFKA_PYTHON, KIO, MSGPACK, NATIVE
from benchmarks.reporting.results import Comparison, Results
from benchmarks.timing import median_ratio
from benchmarks.workers import GO, RUST

COLD_START_MS = 35
"""Milliseconds that an interpreted cold start may take more than the bare interpreter."""
SAME_SPEED = 1.05
"""Highest ratio of two figures that should be the same, which leaves room for noise."""
LINEAR = 1.25
"""Highest ratio of the time of a partition among the most partitions to one among a hundred: caches are finite."""
TINY = ("ApiVersionsResponse", "HeartbeatRequest")
"""Messages whose encoding is mostly the call itself."""


@dataclass(frozen=True)
class Verdict:
    """One figure and its bound."""

    target: str
    what: str
    figure: float
    bound: float
    at_most: bool

    @property
    def reached(self) -> bool:
        """True if the figure keeps the bound."""
        return self.figure <= self.bound if self.at_most else self.figure >= self.bound


def verdicts(results: Results) -> list[Verdict]:
    """Return all targets whose codecs were measured."""
    return [
        *_ratios(results),
        *_own_spec(results),
        *_conversions(results),
        *_cold_start(results),
        *_growth(results),
    ]


def _ratios(results: Results) -> Iterator[Verdict]:
    for sample in SIX:
        encode, decode = _find(results, sample.title, "encode"), _find(results, sample.title, "decode")
        yield _faster(encode, INTERPRETED.name, KAFKA_PYTHON.name, 3)
        yield _faster(decode, INTERPRETED.name, KAFKA_PYTHON.name, 1.5)
        if NATIVE.name in decode.seconds:
            yield _faster(decode, NATIVE.name, KIO.name, 1.5)
            yield _faster(encode, NATIVE.name, KIO.name, 10 if sample.name in TINY else 30)
            for one in (decode, encode):
                yield _faster(one, NATIVE.name, MSGPACK.name, 1)
            for language, bound in ((GO, 2.0), (RUST, 4.0)):
                if language.name in decode.seconds:
                    yield _slower(decode, NATIVE.name, language.name, bound)
            if RUST.name in encode.seconds:
                yield _slower(encode, NATIVE.name, RUST.name, 2)
    for one in results.comparisons:
        if FLOOR in one.seconds:
            yield _slower(one, NATIVE.name, FLOOR, 1.1)


def _faster(one: Comparison, ours: str, peer: str, bound: float) -> Verdict:
    return Verdict(
        f"{ours} {one.operation}: times as fast as {peer}", one.sample.title, one.ratio(peer, ours), bound, False
    )


def _slower(one: Comparison, ours: str, peer: str, bound: float) -> Verdict:
    return Verdict(
        f"{ours} {one.operation}: times as long as {peer}", one.sample.title, one.ratio(ours, peer), bound, True
    )


def _own_spec(results: Results) -> Iterator[Verdict]:
    for (codec, operation), (own, shipped) in results.own_spec.items():
        ratio = median_ratio(own, shipped)
        yield Verdict("a user's own spec: times as long as shipped", f"{codec} {operation}", ratio, SAME_SPEED, True)


def _conversions(results: Results) -> Iterator[Verdict]:
    bounded = {case.title for case in conversion.CASES if not case.has_more_lists}
    for (codec, case), one in results.conversions.items():
        if codec == NATIVE.name and case in bounded:
            yield Verdict("conversion: times as long as decoding", case, one.ratio, 1, True)


def _cold_start(results: Results) -> Iterator[Verdict]:
    for one in results.cold_starts:
        if one.name == INTERPRETED.name:
            yield Verdict(
                "cold start: ms over the bare interpreter", one.name, one.over_bare * 1e3, COLD_START_MS, True
            )


def _growth(results: Results) -> Iterator[Verdict]:
    target = f"linear: a partition of {PARTITIONS[-1]:,} takes times as long as one of 100"
    for line in results.growth:
        if line.codec in (INTERPRETED.name, NATIVE.name):
            cost = dict(zip(PARTITIONS, line.per_partition, strict=True))
            yield Verdict(target, f"{line.codec} {line.operation}", cost[PARTITIONS[-1]] / cost[100], LINEAR, True)


def _find(results: Results, title: str, operation: str) -> Comparison:
    return next(one for one in results.comparisons if (one.sample.title, one.operation) == (title, operation))

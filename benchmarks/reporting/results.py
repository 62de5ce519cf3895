"""Everything that one run of `make bench` measured, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.bodies import Sample
from benchmarks.cold_start import ColdStart
from benchmarks.conversion import Conversion
from benchmarks.everything import Everything
from benchmarks.growth import Line
from benchmarks.reporting.report import Machine
from benchmarks.timing import median_ratio


@dataclass(frozen=True)
class Comparison:
    """One operation on one body, by all codecs."""

    sample: Sample
    operation: str
    """`decode` or `encode`."""
    seconds: Mapping[str, list[float]]
    """Seconds per call, one figure per round, by codec."""

    def ratio(self, peer: str, ours: str) -> float:
        """Return the peer's time divided by the time of `ours`, median over the rounds."""
        return median_ratio(self.seconds[peer], self.seconds[ours])


@dataclass(frozen=True)
class Results:
    """One run."""

    comparisons: Sequence[Comparison]
    own_spec: Mapping[tuple[str, str], tuple[list[float], list[float]]]
    """Seconds per call of a user's class and of the shipped one, one figure per round, by codec and operation."""
    conversions: Mapping[tuple[str, str], Conversion]
    """Times of conversions, by codec and case."""
    growth: Sequence[Line]
    cold_starts: Sequence[ColdStart]
    memory: Mapping[str, Mapping[str, float]]
    """Bytes per decoded message, by the sample's title and the codec."""
    everything: Sequence[Everything]
    absent: Mapping[str, str]
    """Codecs that could not be measured here, with the reason."""
    machine: Machine

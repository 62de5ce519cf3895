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
    """By codec: seconds per call, one figure per round."""

    def ratio(self, peer: str, ours: str) -> float:
        """How many times as long as ours the peer took, median over the rounds."""
        return median_ratio(self.seconds[peer], self.seconds[ours])


@dataclass(frozen=True)
class Results:
    """One run."""

    comparisons: Sequence[Comparison]
    own_spec: Mapping[tuple[str, str], tuple[list[float], list[float]]]
    """By codec and operation: seconds per call of a user's class and of the shipped one, a figure per round each."""
    conversions: Mapping[tuple[str, str], Conversion]
    """By codec and case."""
    growth: Sequence[Line]
    cold_starts: Sequence[ColdStart]
    memory: Mapping[str, Mapping[str, float]]
    """Bytes per decoded message, by the sample's title and the codec."""
    everything: Sequence[Everything]
    absent: Mapping[str, str]
    """Codecs that could not be measured here, with the reason."""
    machine: Machine

"""Time over the size of a message: n times the content, n times the time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import median

from benchmarks.bodies import Sample, metadata
from benchmarks.peers import PEERS, Codec, checked_codec
from benchmarks.timing import interleaved

PARTITIONS = (1, 10, 100, 1_000, 10_000)


@dataclass(frozen=True)
class Line:
    """One operation of one codec."""

    codec: str
    operation: str
    seconds: tuple[float, ...]
    """Of a MetadataResponse v12 with each number of `PARTITIONS`; medians."""

    @property
    def per_partition(self) -> tuple[float, ...]:
        """Seconds for one of the partitions."""
        return tuple(taken / count for taken, count in zip(self.seconds, PARTITIONS, strict=True))


def measure(rounds: int, seconds: float) -> list[Line]:
    """Time every Python codec on every size, all of them in turn."""
    codecs: dict[tuple[str, int], Codec] = {}
    for count in PARTITIONS:
        sample = Sample("metadata", "MetadataResponse", 12, f"{count} partitions", partial(metadata, count))
        for peer in PEERS:
            codecs[peer.name, count] = checked_codec(peer, sample)
    lines = []
    for operation in ("decode", "encode"):
        functions = {f"{name} {count}": getattr(codec, operation) for (name, count), codec in codecs.items()}
        samples = interleaved(functions, rounds, seconds)
        for peer in PEERS:
            medians = tuple(median(samples[f"{peer.name} {count}"]) for count in PARTITIONS)
            lines.append(Line(peer.name, operation, medians))
    return lines

"""Memory of a decoded message while it is kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bodies import Sample
from benchmarks.peers import Peer, checked_codec
from benchmarks.timing import no_garbage_collection
from benchmarks.workers import Language, started

TOTAL_BYTES = 8 * 2**20
"""Bytes of bodies that are decoded and kept: enough to measure programs by the size of their process."""


def of_peer(peer: Peer, sample: Sample) -> float:
    """Measure the bytes that Python allocates for one message, over several that are kept."""
    decode = checked_codec(peer, sample).decode
    decode()
    count = max(1, TOTAL_BYTES // 8 // len(sample.golden))
    kept: list[object] = [None] * count
    with no_garbage_collection():
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(count):
            kept[number] = decode()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return (after - before) / count


def of_language(language: Language, program: list[str], bodies: Path, sample: Sample) -> float:
    """Measure the bytes that another language takes for one message, in a fresh process."""
    with started(language, program, bodies) as worker:
        return worker.memory(sample, max(1, TOTAL_BYTES // len(sample.golden)))


def measure(
    peers: Sequence[Peer], programs: Sequence[tuple[Language, list[str]]], bodies: Path, samples: Sequence[Sample]
) -> dict[str, dict[str, float]]:
    """Measure the bytes per message, by the sample's title and the codec's name."""
    return {
        sample.title: {
            **{peer.name: of_peer(peer, sample) for peer in peers},
            **{language.name: of_language(language, program, bodies, sample) for language, program in programs},
        }
        for sample in samples
    }

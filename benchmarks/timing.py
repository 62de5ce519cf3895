"""Time functions fairly on a machine that is not quiet.

A sample is a run of many calls. In every round each function gives one sample, one right after the other, so that a
noisy moment affects all alike; ratios are taken within a round, and their median is what counts.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import thread_time

from kipwire.tools import io


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switch Python's cyclic garbage collector off, since it would slow down an arbitrary function."""
    gc.collect()
    with io.no_garbage_collection():
        yield


def sample(function: Callable[[], object], calls: int) -> float:
    """Measure the seconds of this thread's processor time per call, over `calls` calls in a row.

    Time in which another program had the processor does not count; no codec here waits or has threads of its own.
    """
    repeat = range(calls)
    start = thread_time()
    for _ in repeat:
        function()
    return (thread_time() - start) / calls


Sampler = Callable[[int], float]
"""Makes a number of calls in a row, here or in another program, and returns the seconds per call."""


def calibrate(sampler: Sampler, seconds: float) -> int:
    """Find the number of calls that take about `seconds` seconds."""
    calls = 1
    while (taken := sampler(calls) * calls) < seconds / 4:
        calls *= 4
    return max(1, round(calls * seconds / taken))


def interleaved(functions: dict[str, Callable[[], object]], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Measure the seconds per call of each function, one sample per round."""
    return interleaved_samples({name: partial(sample, one) for name, one in functions.items()}, rounds, seconds)


def interleaved_samples(samplers: dict[str, Sampler], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Measure the seconds per call by each sampler, one sample per round; every other round goes backwards."""
    with io.no_garbage_collection():
        calls = {name: calibrate(sampler, seconds) for name, sampler in samplers.items()}
        samples: dict[str, list[float]] = {name: [] for name in samplers}
        for number in range(rounds):
            for name in reversed(samplers) if number % 2 else samplers:
                samples[name].append(samplers[name](calls[name]))
    return samples


def median_ratio(samples: list[float], base: list[float]) -> float:
    """Return the median over the rounds of the ratio of two times of the same round."""
    return median(one / other for one, other in zip(samples, base, strict=True))

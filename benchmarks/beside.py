"""Time this checkout beside another one, such as the state before a change, in one interleaved run.

    python -m benchmarks.compare --beside CHECKOUT [--rounds 41] [--seconds 0.005] [--cold-runs 25]

CHECKOUT has its own .venv, and its kernel if that is to be compared. Each side is a process with that side's Python and
kipwire; both run the benchmarks of this checkout, and time samples in turn, one for each request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import kipwire
from benchmarks import cold_start, columns, memory, records
from benchmarks.bodies import ALIKE, SAMPLES, SIX
from benchmarks.peers import INTERPRETED, NATIVE
from benchmarks.reporting.report import Table, show
from benchmarks.timing import Sampler, interleaved_samples, median_ratio, no_garbage_collection, sample
from kipwire import native

ROOT = Path(__file__).resolve().parents[1]
OURS = (INTERPRETED, NATIVE) if native.in_use else (INTERPRETED,)


class NotComparableError(Exception):
    """The other checkout cannot be run."""


def compare(checkout: Path, rounds: int, seconds: float, cold_runs: int) -> None:
    """Print the time of each operation here, and its ratio to the time in the other checkout.

    Raises:
        NotComparableError: the other checkout has no Python of its own, or does not run with its own kipwire.
    """
    other = checkout.resolve() / ".venv" / "bin" / "python"
    if not other.exists():
        raise NotComparableError(f"{checkout} has no .venv/bin/python; run make setup there")
    pythons = {"before": str(other), "now": sys.executable}
    with ExitStack() as stack:
        before = stack.enter_context(_started(pythons["before"]))
        if not before.kipwire.is_relative_to(checkout.resolve()):
            raise NotComparableError(f"the Python of {checkout} imports kipwire from {before.kipwire}")
        now = stack.enter_context(_started(pythons["now"]))
        known, sizes = before.facts(), now.facts()["memory"]
        times = []
        for name in known["cases"]:
            if name in now.facts()["cases"]:
                print(f"{name} ...", file=sys.stderr)
                samplers: dict[str, Sampler] = {"before": partial(before, name), "now": partial(now, name)}
                times.append(_row(name, interleaved_samples(samplers, rounds, seconds), 1e6, ",.2f"))
        kept = [
            _row(name, {"before": [size], "now": [sizes[name]]}, 1, ",.0f")
            for name, size in known["memory"].items()
            if name in sizes
        ]
    starts = [_row(name, taken, 1e3, ",.1f") for name, taken in _cold_starts(pythons, cold_runs).items()]
    header = ("what", "before", "now", "now / before, median", "fastest")
    show(
        [
            Table("µs per call, by the processor", header, tuple(times)),
            Table("Cold start: ms", header, tuple(starts)),
            Table("Memory of a decoded message: bytes", header, tuple(kept)),
        ]
    )


def _row(name: str, taken: dict[str, list[float]], unit: float, pattern: str) -> tuple[str, ...]:
    before, now = taken["before"], taken["now"]
    shown = [format(median(one) * unit, pattern) for one in (before, now)]
    return name, *shown, f"{median_ratio(now, before):.3f}", f"{min(now) / min(before):.3f}"


def _cold_starts(pythons: dict[str, str], runs: int) -> dict[str, dict[str, list[float]]]:
    """Measure the seconds from the start of each side's interpreter to its end, by the program that it runs."""
    taken: dict[str, dict[str, list[float]]] = {}
    for number in range(runs + 1):
        for peer in OURS:
            for side, python in pythons.items():
                start = perf_counter()
                subprocess.run([python, "-c", cold_start.PROGRAMS[peer.name]], check=True, env=_environment())
                if number:  # the first round compiles, and fills caches
                    taken.setdefault(peer.name, {}).setdefault(side, []).append(perf_counter() - start)
    return taken


def _environment() -> dict[str, str]:
    """Return the environment of both sides: both may keep byte code, and neither finds the other's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}


class _Side:
    """A process that times cases on request."""

    def __init__(self, python: str, process: subprocess.Popen[str]) -> None:
        self._python = python
        self._process = process
        self._facts: Any = None
        self.kipwire = Path(self._answer())

    def facts(self) -> Any:
        """Return the names of the cases that this side can time (`cases`), and its memory of messages (`memory`)."""
        self._facts = self._facts or json.loads(self._answer())
        return self._facts

    def __call__(self, name: str, calls: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{calls} {name}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise NotComparableError(f"{self._python} -m benchmarks.beside ended; its error is above")
        return line.rstrip("\n")


@contextmanager
def _started(python: str) -> Iterator[_Side]:
    command = [python, "-m", "benchmarks.beside"]
    with subprocess.Popen(
        command, cwd=ROOT, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _Side(python, process)
        finally:
            process.kill()


def cases() -> dict[str, Callable[[], object]]:
    """Return the operations that both sides can time, by name."""
    found: dict[str, Callable[[], object]] = {}
    for peer in OURS:
        for body in SAMPLES:
            codec = peer.codec(body)
            found[f"{peer.name} decode: {body.title}"] = codec.decode
            found[f"{peer.name} encode: {body.title}"] = codec.encode
    for batch in records.BATCHES:
        library, made = records.libraries()[0], batch.records()
        data = bytes(library.encode(made, batch.compression))
        found[f"records decode: {batch.name}"] = partial(library.decode, data)
        found[f"records encode: {batch.name}"] = partial(library.encode, made, batch.compression)
    for many in columns.samples():
        array = many.batch()
        found[f"columns decode: {many.name}"] = columns.decoders(many, array)[columns.COLUMNS]
        found[f"columns encode: {many.name}"] = columns.encoders(many, array)[columns.COLUMNS]
    return found


def _serve() -> None:
    """Print the place of kipwire, the cases and the memory of messages; then time the cases that are requested."""
    print(kipwire.__file__, flush=True)
    known = cases()
    kept = {f"{peer.name}: {body.title}": memory.of_peer(peer, body) for peer in OURS for body in (*SIX, ALIKE)}
    print(json.dumps({"cases": [*known], "memory": kept}), flush=True)
    with no_garbage_collection():
        for line in sys.stdin:
            calls, name = line.rstrip("\n").split(" ", 1)
            print(sample(known[name], int(calls)), flush=True)


if __name__ == "__main__":
    _serve()

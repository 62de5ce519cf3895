"""Read and replace two fields of a message by a projection, beside decoding and encoding all of it.

    python -m benchmarks.chosen_fields [--rounds 41] [--seconds 0.005]

The tables go to the terminal and to benchmarks/RESULTS-projection.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import kafka_messages
from benchmarks.bodies import METADATA, SIX, Sample
from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS, WrongBytesError
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import Sampler, interleaved_samples, median_ratio, sample
from benchmarks.workers import GO, RUST, NotBuiltError, Worker, command, missing_tools, started
from kipwire import native
from kipwire.projection import Projection

RESULTS = Path(__file__).parent / "RESULTS-projection.md"
WARM_SECONDS = 0.5
CHOSEN, ALL = "chosen", "all"


class Case(NamedTuple):
    """A message, and the fields that are read of it."""

    body: Sample
    paths: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name in the tables."""
        return f"{self.body.title}: {', '.join(self.paths)}"


CASES = (
    Case(METADATA, ("brokers.host", "brokers.port")),
    Case(METADATA, ("topics.name", "topics.partitions.leader_id")),
    Case(SIX[1], ("topic_data.name", "topic_data.partition_data.index")),
    Case(SIX[2], ("responses.topic", "responses.partitions.high_watermark")),
)


class Ways(NamedTuple):
    """Operations that are timed for a case, by name: first on the chosen fields, then on all fields."""

    read: dict[str, Callable[[], object]]
    replace: dict[str, Callable[[], object]]


def ways(case: Case) -> Ways:
    """Return kipwire's ways to read and to replace, after a check that they agree.

    Raises:
        WrongBytesError: they do not give the same values and bytes.
    """
    cls: Any = kafka_messages.message(case.body.name, case.body.version)
    data = case.body.golden
    chosen = Projection(cls, *case.paths)
    values = chosen.decode(data)
    new = tuple([_other(value) for value in values])
    message = cls.decode(data)
    if values != tuple([_at(message, path.split(".")) for path in case.paths]):
        raise WrongBytesError(f"{case.title}: the values are not those of decoding")
    changed = chosen.replace(data, new)
    if chosen.replace(data, values) != data or chosen.decode(changed) != new or cls.decode(changed).encode() != changed:
        raise WrongBytesError(f"{case.title}: the bytes are not those of encoding")
    return Ways(
        {CHOSEN: partial(chosen.decode, data), ALL: partial(cls.decode, data)},
        {CHOSEN: partial(chosen.replace, data, new), ALL: lambda: cls.decode(data).encode()},
    )


def _other(value: Any) -> Any:
    """Return a value of the same shape with other content."""
    if isinstance(value, list):
        return [_other(one) for one in value]
    return f"proxy-{value}" if isinstance(value, str) else value + 1


def _at(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_at(one, names) for one in value]
    return _at(getattr(value, names[0]), names[1:]) if names else value


def measure(rounds: int, seconds: float, workers: Sequence[Worker]) -> tuple[Table, Table]:
    """Measure reading and replacing, and return a table of each.

    Raises:
        WrongBytesError: a way gives another result than decoding and encoding.
        ChildProcessError: a program in another language ended.
    """
    names = [worker.language.name for worker in workers]
    read, replaced = [], []
    for case in CASES:
        print(f"{case.title} ...", file=sys.stderr)
        found = ways(case)
        samplers: dict[str, Sampler] = {name: partial(sample, way) for name, way in found.read.items()}
        for worker in workers:
            worker.check(case.body)
            samplers[worker.language.name] = partial(worker.sample, "decode", case.body)
            _warm(samplers[worker.language.name])
        read.append(_row(case, interleaved_samples(samplers, rounds, seconds)))
        samplers = {name: partial(sample, way) for name, way in found.replace.items()}
        for worker in workers:
            samplers[worker.language.name] = partial(_decode_and_encode, worker, case.body)
        replaced.append(_row(case, interleaved_samples(samplers, rounds, seconds)))
    header = ("message and fields", "bytes", "these fields", "all fields", *names)
    ratios = tuple(f"{name} / these" for name in ("all", *names))
    return (
        Table("Read: µs per message", (*header, *ratios), tuple(read)),
        Table("Replace: µs per message", (*header, *ratios), tuple(replaced)),
    )


def _row(case: Case, taken: dict[str, list[float]]) -> tuple[str, ...]:
    times = [f"{median(samples) * 1e6:.2f}" for samples in taken.values()]
    ratios = [f"{median_ratio(samples, taken[CHOSEN]):.1f}" for name, samples in taken.items() if name != CHOSEN]
    return (case.title, f"{len(case.body.golden):,}", *times, *ratios)


def _decode_and_encode(worker: Worker, body: Sample, calls: int) -> float:
    return worker.sample("decode", body, calls) + worker.sample("encode", body, calls)


def _warm(sampler: Sampler) -> None:
    end = perf_counter() + WARM_SECONDS
    while perf_counter() < end:
        sampler(100)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=41, help="samples of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.005, help="length of a sample (default: %(default)s)")
    options = parsed(parser, rounds=1, seconds=1e-6)
    try:
        beside = [one for one in (RUST, GO) if not (options.smoke and missing_tools(one))]
        programs = [(language, command(language)) for language in beside]
        with TemporaryDirectory() as name, ExitStack() as stack:
            for case in CASES:
                (Path(name) / f"{case.body.file}.bin").write_bytes(case.body.golden)
            workers = [stack.enter_context(started(*program, Path(name))) for program in programs]
            tables = measure(options.rounds, options.seconds, workers)
    except (NotBuiltError, WrongBytesError, ChildProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    where = machine((OURS,))
    versions = where.versions | {f"{one.library} ({one.name})": one.version for one, _ in programs}
    where = replace(where, versions=versions)
    how = _how(options.rounds, options.seconds)
    file = None if options.smoke else RESULTS
    write_results(file, tables, where, how, title="Results: projection", command="make bench-projection")
    return 0


def _how(rounds: int, seconds: float) -> str:
    engine = "with the compiled kernel" if native.in_use else "in plain Python"
    return (
        f"Two fields read by `Projection.decode` and replaced by `Projection.replace`, {engine}, beside decoding all "
        "fields, and decoding and encoding them. Rust and Go always decode all fields, and leave records where they "
        "are in the buffer; their times of replacing are those of decoding and of encoding, one after the other. "
        f"Medians of {rounds} interleaved rounds of {seconds:g} s; Python's times are those of the processor, with the "
        "garbage collector off. A ratio is the median of the ratios per round; above 1, reading or replacing these "
        "fields is faster."
    )


if __name__ == "__main__":
    sys.exit(main())

"""Decode and encode messages with kipwire and other libraries, in Python and in other languages, in one run.

    python -m benchmarks.compare [--rounds 41] [--seconds 0.005] [--cold-runs 25] [--quick] [--beside CHECKOUT]

Every codec must first give the golden bytes back. The tables go to the terminal, to benchmarks/RESULTS.md and, drawn,
beside it. With --quick there are few and short rounds of the Python codecs alone, and no file is written. With
--beside this checkout is compared with another one instead, see benchmarks/beside.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import kafka_messages
from benchmarks import beside, cold_start, conversion, everything, floor, growth, memory, own_spec
from benchmarks.bodies import ALIKE, SAMPLES, SIX
from benchmarks.options import parsed, parser_of
from benchmarks.peers import FLOOR, OURS, PEERS, WrongBytesError, checked_codec
from benchmarks.reporting import plots, report
from benchmarks.reporting.bars import bars
from benchmarks.reporting.results import Comparison, Results
from benchmarks.reporting.tables import tables
from benchmarks.timing import Sampler, interleaved_samples, sample
from benchmarks.workers import LANGUAGES, Language, NotBuiltError, Worker, command, missing_tools, started
from kipwire import native

HERE = Path(__file__).parent
PICTURE = (
    "![How many times as fast as others kipwire decodes and encodes a MetadataResponse v12](bars.svg)\n\n"
    "A ratio is a peer's time divided by kipwire's. On decode Java, Rust and Go leave records where they are in the "
    "buffer."
)
"""The picture that says most, which comes first."""


@dataclass(frozen=True)
class Effort:
    """Numbers and lengths of the measurements."""

    rounds: int
    seconds: float
    """Length of a sample."""
    cold_runs: int
    warm_seconds: float
    """Seconds that a program runs a case before it counts, for compilers at run time, such as Java's."""
    languages: Sequence[Language]


# Many short rounds rather than few long ones: most of them fit between two interruptions by other programs.
QUICK = Effort(rounds=11, seconds=0.002, cold_runs=3, warm_seconds=0, languages=())


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=41, help="samples per codec (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.005, help="length of a sample (default: %(default)s)")
    parser.add_argument("--cold-runs", type=int, default=25, help="rounds of cold starts (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="Python codecs alone, in under a minute; writes no file")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="compare with that one, before and after")
    options = parsed(parser, rounds=1, seconds=1e-6, cold_runs=1)
    if options.beside:
        try:
            beside.compare(options.beside, options.rounds, options.seconds, options.cold_runs)
        except beside.NotComparableError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    languages = [one for one in LANGUAGES if not (options.smoke and missing_tools(one))]
    effort = Effort(options.rounds, options.seconds, options.cold_runs, 0 if options.smoke else 0.5, languages)
    if options.quick:
        effort = replace(effort, languages=()) if options.smoke else QUICK
    try:
        results = measure(effort)
    except (WrongBytesError, ChildProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.smoke and results.absent:  # what is installed must run, too
        return 1
    shown = tables(results)
    report.show(shown)
    print(results.machine)
    if not (options.quick or options.smoke):
        text = report.markdown(shown, results.machine, _how(effort, results), picture=PICTURE)
        (HERE / "RESULTS.md").write_text(text, "utf-8")
        (HERE / "bars.svg").write_text(bars(text), "utf-8")
        plots.draw_times(results, HERE / "results.svg")
        plots.draw_growth(results, HERE / "growth.svg")
    return 0


def measure(effort: Effort) -> Results:
    """Measure everything.

    Raises:
        WrongBytesError: a codec does not give the golden bytes back.
        ChildProcessError: a program in another language ended.
    """
    load = os.getloadavg()
    programs, absent = _build(effort.languages)
    with TemporaryDirectory() as name:
        bodies = Path(name)
        for one in SAMPLES:
            (bodies / f"{one.file}.bin").write_bytes(one.golden)
        with ExitStack() as stack:
            workers = [stack.enter_context(started(*program, bodies)) for program in programs]
            comparisons = list(_compare(effort, workers))
        _say("memory")
        memory_taken = memory.measure(PEERS, programs, bodies, (*SIX, ALIKE))
    _say("a user's own spec")
    own = own_spec.measure(effort.rounds, effort.seconds)
    _say("conversion")
    conversions = conversion.measure(effort.rounds, effort.seconds)
    _say("growth")
    lines = growth.measure(max(3, effort.rounds // 2), effort.seconds / 2)
    _say("cold start")
    starts = cold_start.measure(effort.cold_runs)
    _say("import of everything")
    whole = everything.measure(max(1, effort.cold_runs // 8))
    machine = report.machine((OURS, *PEERS))
    versions = machine.versions | {f"{one.library} ({one.name})": one.version for one, _ in programs}
    where = replace(machine, versions=versions, load=load)
    return Results(comparisons, own, conversions, lines, starts, memory_taken, whole, absent, where)


def _build(languages: Sequence[Language]) -> tuple[list[tuple[Language, list[str]]], dict[str, str]]:
    """Build the programs; return the built ones, and the reasons for the others."""
    programs, absent = [], {}
    if not native.in_use:
        absent["native"] = native.reason
    for language in languages:
        _say(f"building {language.name}")
        try:
            programs.append((language, command(language)))
        except NotBuiltError as error:
            absent[language.name] = str(error)
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    return programs, absent


def _compare(effort: Effort, workers: Sequence[Worker]) -> Iterator[Comparison]:
    for body in SAMPLES:
        codecs = {peer.name: checked_codec(peer, body) for peer in PEERS}
        for worker in workers:
            worker.check(body)
        for operation in ("decode", "encode"):
            _say(f"{operation} {body.title}")
            samplers: dict[str, Sampler] = {
                name: partial(sample, getattr(codec, operation)) for name, codec in codecs.items()
            }
            if operation == "decode" and native.in_use:
                message = kafka_messages.message(body.name, body.version).decode(body.golden)
                samplers[FLOOR] = partial(sample, floor.maker(message))
            for worker in workers:
                samplers[worker.language.name] = partial(worker.sample, operation, body)
                _warm(samplers[worker.language.name], effort.warm_seconds)
            yield Comparison(body, operation, interleaved_samples(samplers, effort.rounds, effort.seconds))


def _warm(sampler: Sampler, seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        sampler(100)


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr)


def _how(effort: Effort, results: Results) -> str:
    absent = "".join(f" {name} could not be measured: {reason}." for name, reason in results.absent.items())
    return (
        f"Medians of {effort.rounds} rounds of {effort.seconds:g} s per codec. The rounds of all codecs are "
        "interleaved: the Python ones run in one process with the garbage collector off, the other languages in a "
        "process each that times a round when it is asked to. Python's times are those of the processor, which other "
        "programs do not disturb; those of the other languages, whose collectors have threads of their own, are those "
        "of the clock. A ratio is the median of the ratios per round. "
        "`interpreted` is kipwire without the compiled kernel, `native` with it; msgspec reads and writes MessagePack "
        "of equal content. `floor` makes and drops the objects of the decoded message, copied from C without reading a "
        "byte: what native decode cannot be faster than. On decode Java, Rust and Go leave records where they are in "
        "the buffer, Python's codecs copy them.\n\n"
        "Memory: what Python allocates, by tracemalloc; the heap after a collection in Java and Go; what the process "
        "grew by in Rust. Buffers that messages point into do not count.\n\n"
        f"Cold start: {effort.cold_runs} interpreters per program, in turn, with all byte code compiled before and "
        f"without `hypothesis`, which kio would import if it found it.{absent} The load is the one before the run.\n\n"
        "![Times of all codecs](results.svg)\n\n![Times by the number of partitions](growth.svg)"
    )


if __name__ == "__main__":
    sys.exit(main())

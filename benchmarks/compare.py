"""Decode and encode six messages beside other libraries.

    python -m benchmarks.compare [--rounds 15] [--seconds 0.05] [--cold-runs 25] [--json]

Every codec must first give the golden bytes back. The tables go to the terminal and to benchmarks/RESULTS.md; with
--json everything measured goes to the standard output instead, and the file stays as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import cold_start, report
from benchmarks.peers import OURS, PEERS, SAMPLES, WrongBytesError, checked_codec
from benchmarks.timing import interleaved

RESULTS = Path(__file__).parent / "RESULTS.md"


def compare(rounds: int, seconds: float) -> Iterator[report.Comparison]:
    """Time both operations on every message.

    Raises:
        WrongBytesError: a codec does not give the golden bytes back; raised before anything is timed.
    """
    checked = [(sample, {one.name: checked_codec(one, sample) for one in (OURS, *PEERS)}) for sample in SAMPLES]
    for sample, codecs in checked:
        operations: dict[str, dict[str, Callable[[], object]]] = {
            "decode": {name: codec.decode for name, codec in codecs.items()},
            "encode": {name: codec.encode for name, codec in codecs.items()},
        }
        for operation, functions in operations.items():
            print(f"{operation} {sample.file} ...", file=sys.stderr)
            yield report.Comparison(sample, operation, interleaved(functions, rounds, seconds))


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15, help="samples per codec (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a sample (default: %(default)s)")
    parser.add_argument("--cold-runs", type=int, default=25, help="rounds of cold starts (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print everything measured as JSON instead")
    options = parser.parse_args()
    try:
        comparisons = list(compare(options.rounds, options.seconds))
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    print("cold start ...", file=sys.stderr)
    cold_starts = cold_start.measure(options.cold_runs)
    where = report.machine((OURS, *PEERS))
    if options.json:
        print(json.dumps(report.as_json(comparisons, cold_starts, where), indent=1))
        return 0
    tables = [report.comparison_table(operation, comparisons, PEERS) for operation in ("decode", "encode")]
    tables.append(report.cold_start_table(cold_starts))
    how = (
        f"Medians of {options.rounds} rounds of {options.seconds:g} s per codec, interleaved in one process with the "
        f"garbage collector off; a ratio is the median of the ratios per round. Cold start: {options.cold_runs} "
        "interpreters per program, in turn, with all byte code compiled before and without `hypothesis`, which kio "
        "would import if it found it."
    )
    report.show(tables)
    print(where)
    RESULTS.write_text(report.markdown(tables, where, how), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

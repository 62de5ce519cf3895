"""Decode and encode record batches with kipwire, kafka-python (plain Python) and aiokafka (compiled with Cython).

    python -m benchmarks.records [--rounds 15] [--seconds 0.05]

Every library must first read the records of the batch, and write a batch with the same records. The tables go to the
terminal and to benchmarks/RESULTS-records.md. kipwire is timed with the compiled kernel, if it is built, and without,
each in its own process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS, WrongBytesError
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import interleaved, median_ratio
from kipwire import native
from kipwire.records import Record, read_batches, write_batch
from kipwire.records.compression import COMPRESSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records.compression import Compression

RESULTS = Path(__file__).parent / "RESULTS-records.md"
TARGETS = {False: ("kafka-python", 1.0), True: ("aiokafka", 1.0)}
"""Targets, with True for the kernel: a peer, and the lowest ratio of its time to kipwire's."""
PLAIN_DECODE_OF_FIRST = ("kafka-python", 2.0)
"""Target without the kernel for decoding the first batch: a peer, and the lowest ratio."""
START = 1_700_000_000_000
"""The first record's timestamp, in milliseconds since 1970."""


@dataclass(frozen=True)
class Batch:
    """A batch to time."""

    name: str
    count: int
    headers: int = 0
    """Number of headers of each record."""
    compression: Compression = "none"

    def records(self) -> list[Record]:
        """Make its records, of 100 bytes each in key and value."""
        headers = [(f"header-{number}", b"0123456789") for number in range(self.headers)]
        return [
            Record(offset=i, timestamp=START + i, key=b"key-%06d" % i, value=b"value " * 15, headers=headers)
            for i in range(self.count)
        ]


BATCHES = (
    Batch("1,000 records of 100 B", 1000),
    Batch("10 records of 100 B", 10),
    Batch("1 record of 100 B", 1),
    Batch("1,000 records with 2 headers", 1000, headers=2),
    Batch("1,000 records, gzip", 1000, compression="gzip"),
)


@dataclass(frozen=True)
class Library:
    """A library that decodes and encodes batches."""

    name: str
    decode: Callable[[bytes], list[Any]]
    """Reads the records of a batch, and checks its checksum; each has offset, timestamp, key, value and headers."""
    encode: Callable[[list[Record], Compression], bytes | bytearray]


def _decode_ours(data: bytes) -> list[Record]:
    return next(read_batches(data)).records


def _encode_ours(records: list[Record], compression: Compression) -> bytes:
    return write_batch(records, compression=compression)


def _library(name: str, module: str) -> Library:
    """Wrap a peer. Both have the same classes, since one started as a copy of the other."""
    found = import_module(module)

    def decode(data: bytes) -> list[Any]:
        batch = found.DefaultRecordBatch(data)
        if not batch.validate_crc():
            raise WrongBytesError(f"{name} finds a wrong checksum")
        return list(batch)

    def encode(records: list[Record], compression: Compression) -> bytes | bytearray:
        builder = found.DefaultRecordBatchBuilder(
            magic=2,
            compression_type=COMPRESSIONS.index(compression),
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 24,
        )
        for one in records:
            builder.append(one.offset, timestamp=one.timestamp, key=one.key, value=one.value, headers=one.headers)
        built: bytes | bytearray = builder.build()
        return built

    return Library(name, decode, encode)


def libraries() -> tuple[Library, ...]:
    """Return kipwire and the peers."""
    return (
        Library(OURS.name, _decode_ours, _encode_ours),
        _library("kafka-python", "kafka.record.default_records"),
        _library("aiokafka", "aiokafka.record.default_records"),
    )


def check(library: Library, batch: Batch) -> None:
    """Check that a library reads and writes the batch's records.

    Raises:
        WrongBytesError: it does not.
    """
    records = batch.records()
    data = _encode_ours(records, batch.compression)
    written = bytes(library.encode(records, batch.compression))
    if _plain(library.decode(data)) != _plain(records) or _decode_ours(written) != records:
        raise WrongBytesError(f"{library.name} does not read and write the same records: {batch.name}")


def _plain(records: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(one.offset, one.timestamp, one.key, one.value, list(one.headers)) for one in records]


def compare(rounds: int, seconds: float) -> dict[str, Table]:
    """Measure the operations, and return a table for each.

    Raises:
        WrongBytesError: a library does not read or write the right records; raised before anything is timed.
    """
    found = libraries()
    for batch in BATCHES:
        for library in found:
            check(library, batch)
    header = ["batch", "bytes", f"{OURS.name} µs"]
    for library in found[1:]:
        header += [f"{library.name} µs", "ratio"]
    rows: dict[str, list[tuple[str, ...]]] = {"decode": [], "encode": []}
    for batch in BATCHES:
        records = batch.records()
        data = _encode_ours(records, batch.compression)
        for operation in rows:
            print(f"{operation} {batch.name} ...", file=sys.stderr)
            functions = {library.name: _call(library, operation, data, records, batch) for library in found}
            rows[operation].append(_row(batch, operation, len(data), interleaved(functions, rounds, seconds)))
    return {
        operation: Table(f"{operation.capitalize()}, {_ours()}: peer's time / ours", (*header, "target"), tuple(lines))
        for operation, lines in rows.items()
    }


def _ours() -> str:
    return "with the compiled kernel" if native.in_use else "plain Python"


def compare_apart(rounds: int, seconds: float, *, kernel: bool) -> list[Table]:
    """Measure in a fresh process, with the kernel or without, and return its tables.

    Raises:
        WrongBytesError: as `compare`.
    """
    os.environ["KIPWIRE_NATIVE"] = str(int(kernel))  # which that process takes over
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return list(pool.submit(compare, rounds, seconds).result().values())


def _call(library: Library, operation: str, data: bytes, records: list[Record], batch: Batch) -> Callable[[], object]:
    if operation == "decode":
        return lambda: library.decode(data)
    return lambda: library.encode(records, batch.compression)


def _row(batch: Batch, operation: str, size: int, seconds: dict[str, list[float]]) -> tuple[str, ...]:
    ours = seconds[OURS.name]
    row = [batch.name, f"{size:,}", f"{median(ours) * 1e6:,.1f}"]
    for name, taken in seconds.items():
        if name != OURS.name:
            row += [f"{median(taken) * 1e6:,.1f}", f"{median_ratio(taken, ours):.2f}"]
    is_first = batch is BATCHES[0] and operation == "decode" and not native.in_use
    peer, target = PLAIN_DECODE_OF_FIRST if is_first else TARGETS[native.in_use]
    reached = median_ratio(seconds[peer], ours) >= target
    return (*row, f"{peer} {target:g} {'reached' if reached else 'MISSED'}")


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="samples per library (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a sample (default: %(default)s)")
    options = parsed(parser, rounds=1, seconds=1e-6)
    try:
        tables = [
            table
            for kernel in ((True, False) if native.in_use else (False,))
            for table in compare_apart(options.rounds, options.seconds, kernel=kernel)
        ]
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    names = ("kipwire", "kafka-python", "aiokafka", "crc32c", "google-crc32c")
    where = replace(machine((OURS,)), versions={name: version(name) for name in names})
    how = (
        f"Medians of {options.rounds} rounds of {options.seconds:g} s per library, interleaved in one process with the "
        "garbage collector off; a ratio is the median of the ratios per round. All check the checksum and make "
        "records with offset, timestamp, key, value and headers. kafka-python runs as plain Python, its checksum in C; "
        "aiokafka is compiled."
    )
    file = None if options.smoke else RESULTS
    write_results(file, tables, where, how, title="Results: record batches", command="make bench-records")
    return 0


if __name__ == "__main__":
    sys.exit(main())

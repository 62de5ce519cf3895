"""Decode many messages, and batches of records, to Arrow columns and back, compared with doing so row by row.

    python -m benchmarks.columns [--rounds 7] [--seconds 0.2]

Columns are made by the compiled kernel, if that is in use, and by the generated classes; the rows of kio are objects,
from which no columns are made. Everything is checked to give the messages back before it is timed. The tables go to the
terminal and to benchmarks/RESULTS-columns.md.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import kafka_messages
from benchmarks.options import parsed, parser_of
from benchmarks.peers import WrongBytesError
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import interleaved, median_ratio
from kipwire import Message, columns, native
from kipwire.columns import python_engine
from kipwire.columns.arrow_types import columns_of
from kipwire.columns.python_engine import PythonRecords
from kipwire.records import Record, read_batches, write_batch
from kipwire.records.compression import COMPRESSIONS

RESULTS = Path(__file__).parent / "RESULTS-columns.md"
BYTES_OF_A_BATCH = 2_000_000
RECORD_BATCHES = 32
"""Batches of records that are read at once."""
COLUMNS = "columns"
"""Name of the way to which the others are compared."""


@dataclass(frozen=True)
class Sample:
    """A message to time, many times over."""

    message: Message
    kio: str = ""
    """The module of kio that has it; empty for messages that are neither request nor response, which kio lacks."""
    label: str = ""
    """Difference from another sample of the same name and version."""

    @property
    def name(self) -> str:
        """Name in the tables."""
        return f"{self.message.NAME} v{self.message.VERSION}{self.label}"

    def batch(self) -> pa.Array:
        """Return a column that repeats the message."""
        data = self.message.encode()
        return pa.array([data] * (BYTES_OF_A_BATCH // len(data)))


def samples() -> list[Sample]:
    """Return small messages, of kinds that are frequent in logs, and large ones."""
    commit: dict[str, Any] = {"offset": 4711, "leader_epoch": 3, "commit_timestamp": 1_700_000_000_000}
    member: dict[str, Any] = {"group_id": "payments", "generation_id": 7, "member_id": "consumer-1-5a0b2f6d"}
    return [
        Sample(_made("OffsetCommitValue", 3, **commit)),
        Sample(_made("OffsetCommitValue", 4, **commit, topic_id=uuid.UUID(int=2**100))),
        Sample(_made("HeartbeatRequest", 4, **member), kio="heartbeat.v4.request"),
        Sample(metadata(10), kio="metadata.v12.response", label=", 10 partitions"),
        Sample(metadata(100), kio="metadata.v12.response", label=", 100 partitions"),
    ]


def metadata(partitions: int) -> Message:
    """Make a message with two brokers, and a topic of `partitions` partitions with two replicas each."""
    of = import_module("kafka_messages.metadata_response.v12")
    made = [
        of.MetadataResponsePartition(partition_index=i, leader_id=i % 2, replica_nodes=[0, 1], isr_nodes=[0, 1])
        for i in range(partitions)
    ]
    brokers = [of.MetadataResponseBroker(node_id=i, host=f"broker-{i}.example.com", port=9092) for i in range(2)]
    topic = of.MetadataResponseTopic(name="orders", topic_id=uuid.UUID(int=2**100), partitions=made)
    return _made("MetadataResponse", 12, brokers=brokers, cluster_id="cluster", topics=[topic])


def _made(name: str, version: int, **values: Any) -> Message:
    cls: Any = kafka_messages.message(name, version)
    message: Message = cls(**values)
    return message


def decoders(sample: Sample, array: pa.Array) -> dict[str, Callable[[], object]]:
    """Return functions that decode a whole batch, by name. The others are compared with the first one."""
    cls, data = type(sample.message), array.to_pylist()
    found: dict[str, Callable[[], object]] = {COLUMNS: lambda: columns.decode(cls, array)}
    found["no column chosen"] = lambda: columns.decode(cls, array, [])
    found["columns by classes"] = lambda: python_engine.read(cls, columns_of(cls), array, 0, strict=True)
    found["our objects"] = lambda: [cls.decode(one) for one in data]
    if sample.kio:
        read = import_module("kio.serial").entity_reader(_kio_entity(sample))
        found["kio's objects"] = lambda: [read(one, 0) for one in data]
    return found


def _kio_entity(sample: Sample) -> Any:
    return getattr(import_module(f"kio.schema.{sample.kio}"), sample.message.NAME)


def encoders(sample: Sample, array: pa.Array) -> dict[str, Callable[[], object]]:
    """Return functions that encode a whole batch, by name. The others are compared with the first one."""
    cls = type(sample.message)
    rows = columns.decode(cls, array)
    objects = [cls.decode(one) for one in array.to_pylist()]
    return {
        COLUMNS: lambda: columns.encode(cls, rows),
        "columns by classes": lambda: python_engine.write(cls, columns_of(cls), rows, 0),
        "our objects": lambda: [one.encode() for one in objects],
    }


def compare(rounds: int, seconds: float) -> list[Table]:
    """Measure the operations, and return a table for each.

    Raises:
        WrongBytesError: columns do not give the messages back; raised before they are timed.
    """
    tables = []
    for operation, functions_of in (("Decode", decoders), ("Encode", encoders)):
        timed: list[tuple[Sample, int, dict[str, list[float]]]] = []
        for sample in samples():
            array, cls = sample.batch(), type(sample.message)
            if not columns.encode(cls, columns.decode(cls, array)).equals(array):
                raise WrongBytesError(f"{sample.name} does not come back byte for byte")
            print(f"{operation.lower()} {sample.name} ...", file=sys.stderr)
            timed.append((sample, len(array), interleaved(functions_of(sample, array), rounds, seconds)))
        names = [*dict.fromkeys(name for *_, taken in timed for name in taken)]
        header = ("message", "bytes", "columns: ns a message", "millions a second", *(names[1:]))
        rows = [_row(sample, count, taken, names[1:]) for sample, count, taken in timed]
        tables.append(Table(f"{operation}: time of others / columns", header, tuple(rows)))
    return tables


RECORDS = [
    Record(
        offset=at, timestamp=1_700_000_000_000 + at, key=b"key-%07d" % at, value=b"value %09d of this record;" % at * 3
    )
    for at in range(500)
]
"""The records of a batch, some 100 bytes each."""


def compare_records(rounds: int, seconds: float) -> Table:
    """Measure reading record batches, and return a table by codec.

    Raises:
        WrongBytesError: columns have other values than records.
    """
    rows: list[tuple[str, ...]] = []
    others = [*record_decoders(b"")][1:]
    for codec in COMPRESSIONS:
        print(f"decode records, {codec} ...", file=sys.stderr)
        data = write_batch(RECORDS, compression=codec) * RECORD_BATCHES
        found = columns.decode_records(read_batches(data))
        if not found.equals(_by_objects(data)) or len(found) != len(RECORDS) * RECORD_BATCHES:
            raise WrongBytesError(f"records with compression {codec} have other values in columns")
        taken = interleaved(record_decoders(data), rounds, seconds)
        ours = median(taken[COLUMNS]) / len(found)
        ratios = [f"{median_ratio(taken[name], taken[COLUMNS]):.1f}" for name in others]
        rows.append((codec, f"{ours * 1e9:,.0f}", f"{1e-6 / ours:.2f}", *ratios))
    header = ("codec", "columns: ns a record", "millions a second", *others)
    return Table("Read batches of records: time of others / columns", header, tuple(rows))


def record_decoders(data: bytes) -> dict[str, Callable[[], object]]:
    """Return functions that read batches and decode their records, by name; the others are compared with the first."""
    return {
        COLUMNS: lambda: columns.decode_records(read_batches(data)),
        "columns by objects": lambda: _by_objects(data),
        "our objects": lambda: [batch.records for batch in read_batches(data)],
    }


def _by_objects(data: bytes) -> pa.RecordBatch:
    filled = PythonRecords()
    for number, batch in enumerate(read_batches(data)):
        filled.add(number, batch)
    return filled.take(columns.RECORD_SCHEMA)


def _row(sample: Sample, count: int, taken: dict[str, list[float]], others: list[str]) -> tuple[str, ...]:
    ours = median(taken[COLUMNS]) / count
    size = str(sample.message.encoded_size())
    ratios = (f"{median_ratio(taken[name], taken[COLUMNS]):.1f}" if name in taken else "" for name in others)
    return (sample.name, size, f"{ours * 1e9:,.0f}", f"{1e-6 / ours:.2f}", *ratios)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="samples of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a sample (default: %(default)s)")
    options = parsed(parser, rounds=1, seconds=1e-6)
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    try:
        tables = [*compare(options.rounds, options.seconds), compare_records(options.rounds, options.seconds)]
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    where = replace(machine(()), versions={name: version(name) for name in ("kipwire", "pyarrow", "kio")})
    how = (
        f"Batches of {BYTES_OF_A_BATCH // 1_000_000} MB of equal messages, on one core. Medians of {options.rounds} "
        f"rounds of {options.seconds:g} s each, interleaved in one process with the garbage collector off; a ratio is "
        "the median of the ratios per round. Columns are made by the compiled kernel; with no column chosen everything "
        "is checked and nothing built. Objects, ours and kio's, are made and dropped: nobody makes columns of them. "
        f"Records of some 100 bytes are read from {RECORD_BATCHES} batches of {len(RECORDS)}: decompressed, and with "
        "their checksums checked."
    )
    file = None if options.smoke else RESULTS
    write_results(file, tables, where, how, title="Results: columns", command="make bench-columns")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sizes and times of KIP-625's encodings, next to the table of its text.

python -m benchmarks.encodings [--rounds 15] [--seconds 0.02]

The tables go to the terminal and to benchmarks/RESULTS-encodings.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import kip625
from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import interleaved, median_ratio

RESULTS = Path(__file__).parent / "RESULTS-encodings.md"


class Measured(NamedTuple):
    """A row of the KIP's table: a MetadataResponse, measured by the KIP's author on contents that are not given.

    Times are in µs by the KIP, which does not give the number of messages.
    """

    name: str
    size: int
    """In bytes."""
    struct_serialize: int
    """By Kafka's generic structs, as is `struct_deserialize`."""
    struct_deserialize: int
    buffer_serialize: int
    """By generated code on a buffer, as is `buffer_deserialize`."""
    buffer_deserialize: int


KIP_TABLE = (
    Measured("fixed", 3216, 56_458, 14_416, 7_215, 11_508),
    Measured("variable (best case)", 1170, 65_226, 14_713, 7_667, 10_155),
    Measured("variable (worst case)", 4026, 81_328, 14_755, 21_400, 17_681),
)
"""The table of KIP-625; the fixed encoding is the first row."""

_KIP_TIMES = ("Struct Serialize", "Struct Deserialize", "Buffer Serialize", "Buffer Deserialize")
"""The columns of times, with the KIP's names."""

WHAT_DIFFERS = """\
The KIP says that one topic of 100 partitions on two brokers takes 3216 bytes, and does not say what else is in the
message. With two replicas in sync in every partition no such message has less than 3448 bytes, and no contents give
all three of its sizes. Ours are plain: brokers 1 and 2 on "localhost", topic "topic", no racks, no cluster id; at
worst every number takes five bytes (an error code three). The shape is the KIP's: the best case is 2.78 times
smaller than fixed (KIP: 2.75), the worst 1.23 times larger (KIP: 1.25). Unsigned varints are best here, since one
byte holds numbers up to 127, while a signed one ends at 63 and partitions count to 99. Two rows hit the KIP's
3216 and 1170 with contents found by arithmetic (59 partitions with one replica in sync, a topic "to", hosts of one
letter): a coincidence, no reconstruction. Times compare by their ratios to fixed alone: the KIP does not say of how
many messages its times are, and 56 ms are not those of one. The last row has the numbers of the worst case in the
fixed form: they take longer to decode in any encoding, since Python makes an object of each, where small ones exist."""


@dataclass(frozen=True)
class Row:
    """One encoding of one message."""

    name: str
    message: Any
    fixed: Any
    """The same contents in the fixed form."""


def rows() -> tuple[Row, ...]:
    """Return the encodings to compare; the times of all are divided by the times of the first."""
    plain = kip625.plain(kip625.FIXED)
    arithmetic = kip625.arithmetic(kip625.FIXED)
    return (
        Row("fixed", plain, plain),
        Row("best: partitions unsigned", kip625.plain(kip625.PARTITIONS_UNSIGNED), plain),
        Row("best: all unsigned", kip625.plain(kip625.ALL_UNSIGNED), plain),
        Row("small: partitions signed", kip625.plain(kip625.PARTITIONS_SIGNED), plain),
        Row("small: all signed", kip625.plain(kip625.ALL_SIGNED), plain),
        Row("worst: partitions signed", kip625.worst(kip625.PARTITIONS_SIGNED, everywhere=False), plain),
        Row("worst: all signed", kip625.worst(kip625.ALL_SIGNED, everywhere=True), plain),
        Row("by arithmetic: fixed", arithmetic, arithmetic),
        Row("by arithmetic: all unsigned", kip625.arithmetic(kip625.ALL_UNSIGNED), arithmetic),
        Row("numbers of the worst: fixed", kip625.worst(kip625.FIXED, everywhere=True), plain),
    )


class Times(NamedTuple):
    """kipwire's times of one row: medians in seconds, and ratios to the fixed form in the same round."""

    encode: float
    encode_ratio: float
    decode: float
    decode_ratio: float


def measure(measured: tuple[Row, ...], rounds: int, seconds: float) -> dict[str, Times]:
    """Measure kipwire's times, by the names of the rows; the ratios are to the first row."""
    encode = interleaved({row.name: row.message.encode for row in measured}, rounds, seconds)
    decode = interleaved({row.name: _decoder(row.message) for row in measured}, rounds, seconds)
    base = measured[0].name
    return {
        name: Times(
            median(encode[name]),
            median_ratio(encode[name], encode[base]),
            median(decode[name]),
            median_ratio(decode[name], decode[base]),
        )
        for name in encode
    }


def kip_table() -> Table:
    """Return the KIP's sizes and times, and their ratios to its fixed form."""
    fixed = KIP_TABLE[0]
    header = ("encoding", "bytes", "against fixed", *(f"{name} µs" for name in _KIP_TIMES))
    lines = tuple(
        (row.name, f"{row.size:,}", _against(row.size, fixed.size), *map("{:,}".format, row[2:])) for row in KIP_TABLE
    )
    return Table("KIP-625's table", header, lines)


def our_table(measured: tuple[Row, ...], times: Mapping[str, Times]) -> Table:
    """Return kipwire's sizes and times, each compared with the fixed form of the same run.

    Args:
        measured: the rows.
        times: of `measure`.
    """
    lines = []
    for row in measured:
        size, (encode, encode_ratio, decode, decode_ratio) = row.message.encoded_size(), times[row.name]
        shown = (f"{encode * 1e6:.1f}", f"{encode_ratio:.2f}", f"{decode * 1e6:.1f}", f"{decode_ratio:.2f}")
        lines.append((row.name, f"{size:,}", _against(size, row.fixed.encoded_size()), *shown))
    header = ("encoding", "bytes", "against fixed", "encode µs", "/ fixed", "decode µs", "/ fixed")
    return Table("Ours", header, tuple(lines))


def times_table(times: Mapping[str, Times]) -> Table:
    """Return the ratios of the best and the worst case to the fixed form: the KIP's, and kipwire's.

    Args:
        times: of `measure`.
    """
    fixed = KIP_TABLE[0]
    lines = []
    for kip, name in zip(KIP_TABLE, ("fixed", "best: all unsigned", "worst: all signed"), strict=True):
        ratios = [f"{time / base:.2f}" for time, base in zip(kip[2:], fixed[2:], strict=True)]
        lines.append((kip.name, *ratios, f"{times[name].encode_ratio:.2f}", f"{times[name].decode_ratio:.2f}"))
    header = ("times against fixed", *(f"KIP: {name}" for name in _KIP_TIMES), "our encode", "our decode")
    return Table("The KIP's times and ours", header, tuple(lines))


def _against(size: int, fixed: int) -> str:
    if size == fixed:
        return ""
    return f"{fixed / size:.2f} times smaller" if size < fixed else f"{size / fixed:.2f} times larger"


def _decoder(message: Any) -> Any:
    cls, data = type(message), message.encode()
    return lambda: cls.decode(data)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="samples per row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a sample (default: %(default)s)")
    options = parsed(parser, rounds=1, seconds=1e-6)
    measured = rows()
    times = measure(measured, options.rounds, options.seconds)
    tables = [kip_table(), our_table(measured, times), times_table(times)]
    print(WHAT_DIFFERS)
    how = f"{' '.join(WHAT_DIFFERS.split())}\n\nMedians of {options.rounds} rounds of {options.seconds} s."
    command = "make bench-encodings"
    file = None if options.smoke else RESULTS
    write_results(file, tables, machine((OURS,)), how, title="Results: encodings of KIP-625", command=command)
    return 0


if __name__ == "__main__":
    sys.exit(main())

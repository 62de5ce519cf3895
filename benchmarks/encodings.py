"""Sizes and times of KIP-625's encodings, next to the table of its text.

python -m benchmarks.encodings [--rounds 15] [--seconds 0.02]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import kip625
from benchmarks.peers import OURS
from benchmarks.reporting.report import Table, machine, show
from benchmarks.timing import interleaved, median_ratio

KIP_SIZES = (("fixed", 3216), ("variable (best case)", 1170), ("variable (worst case)", 4026))
"""The table of KIP-625: bytes of a MetadataResponse, measured by its author on contents that are not given."""

WHAT_DIFFERS = """\
The KIP says that one topic of 100 partitions on two brokers takes 3216 bytes, and does not say what else is in the
message. With two replicas in sync in every partition no such message has less than 3448 bytes, and no contents give
all three of its sizes. Ours are plain: brokers 1 and 2 on "localhost", topic "topic", no racks, no cluster id; at
worst every number takes five bytes (an error code three). The shape is the KIP's: the best case is 2.78 times
smaller than fixed (KIP: 2.75), the worst 1.23 times larger (KIP: 1.25). Unsigned varints are best here, since one
byte holds numbers up to 127, while a signed one ends at 63 and partitions count to 99. The last two rows hit the
KIP's 3216 and 1170 with contents found by arithmetic (59 partitions with one replica in sync, a topic "to", hosts
of one letter): a coincidence, no reconstruction."""


@dataclass(frozen=True)
class Row:
    """One encoding of one message."""

    name: str
    message: Any
    fixed: Any
    """The same contents in the fixed form."""


def rows() -> tuple[Row, ...]:
    """What is compared; the times of all are compared with those of the first."""
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
    )


def kip_table() -> Table:
    """The KIP's sizes, and how they compare with its fixed form."""
    fixed = KIP_SIZES[0][1]
    lines = tuple((name, f"{size:,}", _against(size, fixed)) for name, size in KIP_SIZES)
    return Table("KIP-625's table", ("encoding", "bytes", "against fixed"), lines)


def our_table(measured: tuple[Row, ...], rounds: int, seconds: float) -> Table:
    """Our sizes and times, each compared with the fixed form of the same run."""
    encode = interleaved({row.name: row.message.encode for row in measured}, rounds, seconds)
    decode = interleaved({row.name: _decoder(row.message) for row in measured}, rounds, seconds)
    base = measured[0]
    lines = []
    for row in measured:
        size = row.message.encoded_size()
        times = [
            text
            for samples in (encode, decode)
            for text in (
                f"{median(samples[row.name]) * 1e6:.1f}",
                f"{median_ratio(samples[row.name], samples[base.name]):.2f}",
            )
        ]
        lines.append((row.name, f"{size:,}", _against(size, row.fixed.encoded_size()), *times))
    header = ("encoding", "bytes", "against fixed", "encode µs", "/ fixed", "decode µs", "/ fixed")
    return Table("Ours", header, tuple(lines))


def _against(size: int, fixed: int) -> str:
    if size == fixed:
        return ""
    return f"{fixed / size:.2f} times smaller" if size < fixed else f"{size / fixed:.2f} times larger"


def _decoder(message: Any) -> Any:
    cls, data = type(message), message.encode()
    return lambda: cls.decode(data)


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15, help="samples per row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a sample (default: %(default)s)")
    options = parser.parse_args()
    show([kip_table(), our_table(rows(), options.rounds, options.seconds)])
    print(WHAT_DIFFERS)
    print()
    print(machine((OURS,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Read the low header keys of a message with 200 headers of KIP-82, beside decoding all of it.

    python -m benchmarks.low_headers [--rounds 15] [--seconds 0.02]

Both are timed side by side in one process, and each engine has a process of its own: decoding with the compiled kernel,
if it is built, and without. The look-up is plain Python in both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median

from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS, WrongBytesError
from benchmarks.reporting.report import Table, machine, show
from benchmarks.timing import interleaved, median_ratio
from kipwire import native
from kipwire.drafts.kip_82 import find_header, headers_up_to
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset

COUNT = 200
KAFKAS = (1, 2, 3)
"""Kafka's own keys in the sample register of the KIP: the lowest ones of the message."""
OPEN = 0x00200000
"""The first key of open use; all other headers are from there on."""
HIGHEST_OF_KAFKA = 0x0000FFFF
DECODE = "decode all"


def message() -> MessageAndOffset:
    """Make a message with 200 headers of ten bytes each, three of them Kafka's."""
    keys = (*KAFKAS, *range(OPEN, OPEN + COUNT - len(KAFKAS)))
    return MessageAndOffset(
        key=b"key", value=bytes(100), headers=[Header(key=key, value=b"0123456789") for key in keys]
    )


def ways(data: bytes) -> dict[str, Callable[[], object]]:
    """Return the operations to time, by name; all are compared with decoding."""
    last = OPEN + COUNT - len(KAFKAS) - 1
    return {
        DECODE: lambda: MessageAndOffset.decode(data),
        "the first header": lambda: find_header(data, KAFKAS[0]),
        "the third header": lambda: find_header(data, KAFKAS[-1]),
        "a low key that is not there": lambda: find_header(data, KAFKAS[-1] + 1),
        "all of Kafka's keys": lambda: headers_up_to(data, HIGHEST_OF_KAFKA),
        "the last header": lambda: find_header(data, last),
    }


def check(data: bytes) -> None:
    """Check that the look-up finds the same headers as decoding.

    Raises:
        WrongBytesError: it does not.
    """
    headers = {header.key: header.value for header in MessageAndOffset.decode(data).headers}
    low = {key: value for key, value in headers.items() if key <= HIGHEST_OF_KAFKA}
    wanted = (*headers, KAFKAS[-1] + 1)
    if [find_header(data, key) for key in wanted] != [headers.get(key) for key in wanted]:
        raise WrongBytesError("find_header does not give the values that decoding gives")
    if headers_up_to(data, HIGHEST_OF_KAFKA) != low:
        raise WrongBytesError("headers_up_to does not give the headers that decoding gives")


def table(rounds: int, seconds: float) -> Table:
    """Measure in this process, and return a table.

    Raises:
        WrongBytesError: a look-up gives another result than decoding; raised before anything is timed.
    """
    data = message().encode()
    check(data)
    taken = interleaved(ways(data), rounds, seconds)
    rows = tuple(
        (name, f"{median(samples) * 1e6:.2f}", f"{median_ratio(taken[DECODE], samples):.1f}")
        for name, samples in taken.items()
    )
    engine = "the compiled kernel" if native.in_use else "plain Python"
    return Table(f"{COUNT} headers, {len(data):,} bytes; decoded by {engine}", ("", "µs", "decode / this"), rows)


def table_apart(rounds: int, seconds: float, *, kernel: bool) -> Table:
    """Measure in a fresh process, with the kernel or without, and return its table.

    Raises:
        WrongBytesError: as `table`.
    """
    os.environ["KIPWIRE_NATIVE"] = str(int(kernel))  # which that process takes over
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(table, rounds, seconds).result()


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="samples per row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a sample (default: %(default)s)")
    options = parsed(parser, rounds=1, seconds=1e-6)
    engines = (True, False) if native.in_use else (False,)
    try:
        show([table_apart(options.rounds, options.seconds, kernel=kernel) for kernel in engines])
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    print(machine((OURS,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The dissector of examples/wireshark beside tshark's own, on the same packets: processor time and memory.

    python -m benchmarks.dissected [--mib 100] [--rounds 1] [--dissector build/wireshark/kipwire_kafka.lua]

The packets are copies of the example's capture, as if many clusters talked at once. They are read with and without
details (`-V`). The table goes to the terminal and to benchmarks/RESULTS-wireshark.md. It needs tshark (apt-get install
tshark).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.dumped import MIB, medians, runs_in_turn
from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.tapped import make_packets, tshark_release
from tests.support import packet_dumps as made

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "RESULTS-wireshark.md"
DISSECTOR = ROOT / "build" / "wireshark" / "kipwire_kafka.lua"
TARGET = 3.0
"""Highest ratio of the dissector's processor time to the time of tshark's own."""
WAYS = {"a line for each packet": (), "all details (-V)": ("-V",)}


def commands(path: Path, dissector: Path, arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the command with this dissector, and the one with tshark's own."""
    start = ["tshark", "-n", *arguments, "-r", str(path)]
    ports = (part for port in made.PORTS.values() for part in ("-d", f"tcp.port=={port},kafka"))
    return [*start, "-X", f"lua_script:{dissector}"], [*start, *ports]


def measure(path: Path, what: str, dissector: Path, rounds: int) -> list[tuple[str, ...]]:
    """Measure a file in interleaved rounds, and return its rows, with medians."""
    rows = []
    for way, arguments in WAYS.items():
        pairs = runs_in_turn(f"{what}, {way}", *commands(path, dissector, arguments), rounds)
        us, them = medians(pairs)
        ratio = median(one.processor / other.processor for one, other in pairs)
        each = (text for one in (us, them) for text in (f"{one.processor:.1f}", f"{one.peak / MIB:,.0f}"))
        size = f"{path.stat().st_size / MIB:,.0f}"
        rows.append((what, way, size, *each, f"{ratio:.2f}", "reached" if ratio <= TARGET else "MISSED"))
    return rows


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--mib", type=int, default=100, help="size of the packets in MiB (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each program (default: %(default)s)")
    parser.add_argument("--dissector", type=Path, default=DISSECTOR, help="the Lua file that make wireshark writes")
    parser.add_argument("--folder", type=Path, help="where the packets are made (default: the system's)")
    options = parsed(parser, mib=1)
    if shutil.which("tshark") is None or not options.dissector.is_file():
        print("it needs tshark (apt-get install tshark) and the dissector (make wireshark)", file=sys.stderr)
        return 0 if options.smoke and options.dissector.is_file() else 2
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = make_packets(Path(folder) / "whole.pcap", options.mib * MIB).path
        rows = measure(path, "the example's capture", options.dissector, options.rounds)
    each = ("CPU s", "peak MiB")
    header = (
        *("packets", "shown", "MiB"),
        *(f"{name} {what}" for name in ("kipwire", "tshark") for what in each),
        *("ratio of CPU", f"target {TARGET:g}"),
    )
    table = Table("The dissector of examples/wireshark beside tshark's own: our time / its", header, tuple(rows))
    where = replace(machine((OURS,)), versions={"kipwire": version("kipwire"), "tshark": tshark_release()})
    how = (
        f"Medians of {options.rounds} run(s), interleaved, each in a process of its own with its start included, "
        "output to /dev/null. tshark's own dissector leaves out the fields of versions that it does not have; ours "
        "shows all. CPU is the processor time of all threads."
    )
    file = None if options.smoke else RESULTS
    write_results(file, [table], where, how, title="Results: dissectors in tshark", command="make bench-wireshark")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""kipwire tap beside tshark with the same columns, on the same packets: time, processor time and memory.

    python -m benchmarks.tapped [--mib 2048] [--rounds 1]

The packets are copies of the example's capture, as if many clusters talked at once, each client at its own address.
Both write to /dev/null. An eighth of the packets is measured, too, to show memory that grows with the packets. The
table goes to the terminal and to benchmarks/RESULTS-tap.md. It needs tshark (apt-get install tshark).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.dumped import MIB, medians, run, runs_in_turn
from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS, WrongBytesError
from benchmarks.reporting.report import Table, machine, write_results
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder

RESULTS = Path(__file__).parent / "RESULTS-tap.md"
AT_ONCE = 64
"""Number of copies of the example's cluster that talk at once."""
SHARES = (0.125, 1.0)
"""Sizes of the files, as shares of `--mib`."""
TARGET = 1.0
"""Lowest ratio of tshark's time to the time of kipwire tap."""
FILE_HEAD, PACKET_HEAD = 24, 16
CLIENT, BROKER = (bytes(map(int, host.split("."))) for host in made.IP4)
SECONDS_OF_COPY = 120
COLUMNS = (
    *("frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "kafka.client_id", "kafka.request_key"),
    *("kafka.response_key", "kafka.request.version", "kafka.response.version", "kafka.correlation_id", "kafka.len"),
    *("kafka.request_frame", "kafka.error"),
)
"""tshark's fields with the content of a line of kipwire tap. A latency is the difference of times of two lines."""


class Packets(NamedTuple):
    """A file that was made."""

    path: Path
    size: int
    packets: int
    connections: int
    exchanges: int


class _Example(NamedTuple):
    """The example's capture as packets."""

    head: bytes
    packets: list[bytes]
    """With their heads."""
    connections: int
    exchanges: int


def example() -> _Example:
    """Return the example's capture as packets, with all clusters at the same address."""
    frames = made.shipped_frames()
    data = made.dump(made.segments(frames, Random(5), Disorder()))
    packets, at = [], FILE_HEAD
    while at < len(data):
        end = at + PACKET_HEAD + int.from_bytes(data[at + 8 : at + 12], "little")
        packets.append(data[at:end])
        at = end
    requests = sum(frame["direction"] == "request" for frame in frames)
    return _Example(data[:FILE_HEAD], packets, len({frame["connection"] for frame in frames}), requests)


def make_packets(path: Path, size: int) -> Packets:
    """Write a file of about `size` bytes: copies of the example at once, and then again, later, by other clients."""
    of = example()
    per_copy = sum(map(len, of.packets))
    rounds = max(round(size / per_copy / AT_ONCE), 1)
    with path.open("wb") as file:
        file.write(of.head)
        for number in range(rounds):
            hosts = [((11 << 24) + number * AT_ONCE + one).to_bytes(4, "big") for one in range(AT_ONCE)]
            for packet in of.packets:
                seconds = int.from_bytes(packet[:4], "little") + number * SECONDS_OF_COPY
                moved = seconds.to_bytes(4, "little") + packet[4:]
                for host in hosts:
                    file.write(moved.replace(CLIENT, host, 1))
    copies = rounds * AT_ONCE
    return Packets(path, path.stat().st_size, copies * len(of.packets), copies * of.connections, copies * of.exchanges)


def our_command(path: Path) -> list[str]:
    """Return the command of kipwire tap."""
    return [str(Path(sys.executable).parent / "kipwire"), "tap", str(path)]


def tshark_command(path: Path) -> list[str]:
    """Return the command of tshark."""
    ports = (part for port in made.PORTS.values() for part in ("-d", f"tcp.port=={port},kafka"))
    fields = (part for column in COLUMNS for part in ("-e", column))
    return ["tshark", "-n", "-r", str(path), *ports, "-Y", "kafka", "-T", "fields", *fields]


def check(folder: Path) -> None:
    """Check that both programs show everything in a small file.

    Raises:
        WrongBytesError: one of them does not.
    """
    packets = make_packets(folder / "small.pcap", 1)
    lines = subprocess.run(our_command(packets.path), stdout=subprocess.PIPE, check=True).stdout.splitlines()
    if len(lines) != packets.exchanges or not all(b" request=" in line for line in lines):
        raise WrongBytesError(f"kipwire shows {len(lines)} exchanges of {packets}")
    said = subprocess.run(tshark_command(packets.path), capture_output=True, check=True).stdout
    if said.count(b"\n") < packets.exchanges:
        raise WrongBytesError(f"tshark shows {said.count(chr(10).encode())} lines of {packets}")
    packets.path.unlink()


def measure(packets: Packets, rounds: int) -> tuple[str, ...]:
    """Measure a file in interleaved rounds, and return its row, with medians."""
    commands = our_command(packets.path), tshark_command(packets.path)
    us, them = medians(runs_in_turn(f"{packets.size / MIB:,.0f} MiB", *commands, rounds))
    ratio = them.seconds / us.seconds
    return (
        f"{packets.size / MIB:,.0f}",
        f"{packets.packets:,}",
        f"{packets.connections:,}",
        f"{packets.exchanges:,}",
        *(
            text
            for one in (us, them)
            for text in (f"{one.seconds:.1f}", f"{one.processor:.1f}", f"{one.peak / MIB:,.0f}")
        ),
        f"{ratio:.2f}",
        f"{them.processor / us.processor:.2f}",
        "reached" if ratio >= TARGET else "MISSED",
    )


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--mib", type=int, default=2048, help="size of the packets in MiB (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each program (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the packets are made (default: that of the system)")
    options = parsed(parser, mib=1)
    if shutil.which("tshark") is None:
        if options.smoke:
            return _ours_alone()
        print("tshark is not installed; install it: apt-get install tshark", file=sys.stderr)
        return 2
    rows = []
    try:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            check(Path(folder))
            for share in SHARES:
                packets = make_packets(Path(folder) / "whole.pcap", int(options.mib * share * MIB))
                rows.append(measure(packets, options.rounds))
                packets.path.unlink()
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    each = ("s", "CPU s", "peak MiB")
    header = (
        *("MiB", "packets", "connections", "exchanges"),
        *(f"{name} {what}" for name in ("tap", "tshark") for what in each),
        *("ratio", "ratio of CPU", f"target {TARGET:g}"),
    )
    table = Table("kipwire tap beside tshark -T fields: tshark's time / that of tap", header, tuple(rows))
    where = replace(machine((OURS,)), versions={"kipwire": version("kipwire"), "tshark": tshark_release()})
    how = (
        f"Medians of {options.rounds} run(s), interleaved, each in a process of its own with its start included, "
        f"output to /dev/null. The packets are those of examples/capture, {AT_ONCE} copies at once, of clients at "
        "addresses of their own. tshark has the same columns, a line for each frame; kipwire one for each request with "
        "its response, and it checks every byte of both. CPU is the processor time of all threads: where others use "
        "the machine, its ratio is the fairer one."
    )
    file = None if options.smoke else RESULTS
    write_results(file, [table], where, how, title="Results: tap of packets", command="make bench-tap")
    return 0


def _ours_alone() -> int:
    print("tshark is left out: it is not installed", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        run(our_command(make_packets(Path(folder) / "small.pcap", 1).path))
    return 0


def tshark_release() -> str:
    """Return the installed release of tshark."""
    env = {**os.environ, "LC_ALL": "C"}
    said = subprocess.run(["tshark", "--version"], check=True, capture_output=True, text=True, env=env).stdout
    return said.split()[2]


if __name__ == "__main__":
    sys.exit(main())

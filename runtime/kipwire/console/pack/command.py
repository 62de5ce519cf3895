"""The command `kipwire pack`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from kipwire.cli.command_line import PATH, OneOf, fail, one_line
from kipwire.cli.options import MagicTwoOption
from kipwire.console.dump_lines import Left, batches_of
from kipwire.console.pack.segments import Counts, Writer
from kipwire.logs.names import Partition, partition_of
from kipwire.model.errors import KipwireError
from kipwire.tools.atomic import new_folder, rename_new
from kipwire.tools.files import need_input
from kipwire.tools.io import no_garbage_collection
from kipwire.tools.text import count_of, print_err, print_out

_STANDARD_INPUT = Path("-")


class PartitionType(click.ParamType[Partition]):
    """Reads a partition such as `orders/0` from an argument."""

    name = "TOPIC/PARTITION"

    def convert(self, value: str | Partition, param: click.Parameter | None, ctx: click.Context | None) -> Partition:
        """Parse a partition; a usage error for what is none."""
        if isinstance(value, Partition):
            return value
        topic, _, number = value.rpartition("/")
        found = partition_of(f"{topic}-{number}")
        if found is None or found.topic != topic:
            self.fail(f"{value!r} is not a partition; use TOPIC/PARTITION, such as orders/0", param, ctx)
        return found


@click.command
@click.argument(
    "file", default="-", type=PATH, metavar="[FILE]", help="Lines of kipwire dump -r -f json; - for standard input."
)
@click.option("--out", required=True, type=PATH, metavar="FOLDER", help="A new folder, for a folder of each partition.")
@click.option(
    "--segment-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Begin another segment before one has more bytes than that; by default where the log did.",
)
@click.option(
    "--partition", type=PartitionType(), help="The partition of batches whose lines do not say one, such as orders/0."
)
@click.option(
    "--magic-2",
    type=OneOf(MagicTwoOption),
    default=MagicTwoOption.KAFKA,
    help="The format of batches with magic 2, as it was given to kipwire dump.",
)
@click.option("--allow-fewer", is_flag=True, help="Write batches of which records are missing, as compaction does.")
def pack(
    file: Path,
    out: Path,
    segment_bytes: int | None,
    partition: Partition | None,
    magic_2: MagicTwoOption,
    allow_fewer: bool,
) -> None:
    """Turn the JSON lines of a dump back into segments; exit 1 if they say that something could not be read."""
    if out.exists() and not out.is_dir():
        fail(f"{out}: is a file, not a folder")
    if out.is_dir() and any(out.iterdir()):
        fail(f"{out} is not empty; give a new folder")
    left = Left()
    try:
        with _open(file) as (stream, name), new_folder(out) as made, no_garbage_collection():
            writer = Writer(made, partition, segment_bytes, fewer=allow_fewer)
            try:
                for batch in batches_of(stream, name, left, magic_2.value):
                    writer.write(batch)
            finally:
                writer.close()
            if not writer.counts.batches:
                fail(f"{name}: contains no batches; give the lines of kipwire dump --records --format json")
            rename_new(made, out)
    except KipwireError as error:
        fail(str(error))
    _report(writer.counts, out)
    if left.errors:
        what = "in the dump; the batches that could not be read are left out"
        print_err(("error: ", "red"), f"{count_of(left.errors, 'error')} {what}")
        sys.exit(1)


@contextmanager
def _open(file: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open the stream to read, with its name in errors."""
    if file == _STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            fail(
                "standard input is a terminal; give it lines: kipwire dump -r -f json FILE | kipwire pack --out FOLDER"
            )
        yield sys.stdin.buffer, "standard input"
        return
    try:
        need_input(file)
    except OSError as error:
        fail(f"{file} {error.strerror}; give a file, or - for standard input")
    with file.open("rb") as stream:
        yield stream, one_line(file)


def _report(counts: Counts, out: Path) -> None:
    segments, batches = count_of(counts.segments, "segment"), count_of(counts.batches, "batch", "batches")
    print_out(f"{out}: {segments}, {batches}, {count_of(counts.records, 'record')}, {count_of(counts.size, 'byte')}")
    print_out(
        f"{counts.same:,} as they were, byte for byte; {counts.recompressed:,} compressed again, with other bytes for "
        f"the same records; {counts.changed:,} changed"
    )
    if counts.fewer:
        print_out(f"{count_of(counts.fewer, 'batch', 'batches')} with fewer records than they declare")

"""The command `kipwire produce`.

Code that writes to brokers is imported when the command is called; `kipwire.console.brokers.options` has the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

import click

from kipwire.cli.command_line import PATH, OneOf, fail, one_line
from kipwire.cli.options import OutputFormat, format_option
from kipwire.console.brokers import BROKERS, broker_options
from kipwire.model.errors import KipwireError
from kipwire.tools.files import need_input
from kipwire.tools.io import no_garbage_collection
from kipwire.tools.text import count_of, print_err

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings

_STANDARD_INPUT = Path("-")


class Codec(StrEnum):
    """Compression of batches, as `kipwire.records.compression.Compression`."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@click.command
@click.argument("topic", help="The topic to write to; it must exist.")
@click.argument(
    "file", default="-", type=PATH, metavar="[FILE]", help="Lines of kipwire dump -r -f json; - for standard input."
)
@click.option("--brokers", type=BROKERS, required=True, metavar="ADDRESSES", help="The cluster: some of its brokers.")
@click.option("--lines", is_flag=True, help="Each line is the value of a record; partitions take turns.")
@click.option(
    "--partition",
    type=click.IntRange(0, 2**31 - 1),
    metavar="N",
    help="Write all records to it; by default where they were.",
)
@click.option("--by-key", is_flag=True, help="Place records by their keys, as Kafka's clients do; others take turns.")
@click.option("--compression", type=OneOf(Codec), default=Codec.NONE, help="The codec of batches.")
@click.option(
    "--state",
    type=PATH,
    metavar="FILE",
    help="Remember here what is written; the same command after a break goes on, and writes nothing twice.",
)
@format_option
@broker_options
def produce(
    topic: str,
    file: Path,
    brokers: tuple[Address, ...],
    lines: bool,
    partition: int | None,
    by_key: bool,
    compression: Codec,
    state: Path | None,
    format_: OutputFormat,
    settings: Settings,
) -> None:
    """Write the JSON lines of a dump into a topic, each record once; exit 1 if they say that something was unreadable.

    Keys, values, headers, timestamps and partitions stay; offsets are new. Control records and aborted transactions are
    left out. Nothing is written if a line is wrong.
    """
    if partition is not None and by_key:
        fail("--partition cannot be used with --by-key")
    from kipwire.console.brokers.running import prepare, run
    from kipwire.console.produce.running import What, source_of, write

    prepare(settings)
    try:
        with _open(file) as (stream, name), _kept(stream) as kept, no_garbage_collection():
            what = What(topic, name, lines, partition, by_key, compression.value, state, format_ is OutputFormat.JSON)
            source = source_of(stream, kept, what)
            run(write(source, brokers, settings, what))
    except KipwireError as error:
        fail(str(error))
    if source.contents.errors:
        what_ = "in the dump; the batches that could not be read are left out"
        print_err(("error: ", "red"), f"{count_of(source.contents.errors, 'error')} {what_}")
        sys.exit(1)


@contextmanager
def _open(file: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open the stream to read, with its name in errors."""
    if file == _STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            fail(
                "standard input is a terminal; give it lines: kipwire dump -r -f json FILE | "
                "kipwire produce --brokers ADDRESSES TOPIC"
            )
        yield sys.stdin.buffer, "standard input"
        return
    try:
        need_input(file)
    except OSError as error:
        fail(f"{file} {error.strerror}; give a file, or - for standard input")
    with file.open("rb") as stream:
        yield stream, one_line(file)


@contextmanager
def _kept(stream: BinaryIO) -> Iterator[BinaryIO | None]:
    """Make a temporary file for lines that can be read only once."""
    if stream is not sys.stdin.buffer:
        yield None
        return
    with TemporaryFile(prefix="kipwire-") as kept:
        yield cast(BinaryIO, kept)

"""The command `kipwire conform`.

The program is asked about what it claims, and nothing else is held against it. Vectors are made or read one by one
while it answers, so that the number of them is no matter of memory. The exit status is 1 for an unexpected failure, and
also for an expected one that did not come: a list of failures must shrink when a program gets better. `program` runs
it, `questions` judges, `results` counts.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

import click

from kipwire.cli.apis import registry_named
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import OutputFormat, one_format
from kipwire.conformance import kafka
from kipwire.conformance.deriving import derive, tagged_defaults
from kipwire.conformance.frames import derive_frames, is_framed
from kipwire.conformance.vectors import LEVELS, Index, Level, Vector, VectorError, read_index, read_vectors
from kipwire.console.conform.page import failing_ids, page
from kipwire.console.conform.program import MOST_DEATHS, Program, ProgramError
from kipwire.console.conform.questions import Claims, evaluate, questions
from kipwire.console.conform.results import Expected, ExpectedError, Results
from kipwire.console.conform.text import summary
from kipwire.message.registry import Registry
from kipwire.model.errors import PackageError
from kipwire.tools.atomic import need_place, write_atomically
from kipwire.tools.text import print_err, print_out

_KAFKA = "kafka_messages"
_HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}


@click.command
@click.argument(
    "command", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...", help="The program that is asked."
)
@click.option(
    "--vectors",
    "folder",
    type=PATH,
    metavar="DIR",
    help="A folder that kipgen vectors has written; without it the vectors are derived from the package.",
)
@click.option(
    "--package",
    "-p",
    default=_KAFKA,
    help="The generated package that vectors are derived from, and that explains bytes.",
)
@click.option(
    "--level", type=click.Choice(LEVELS), default="required", help="Up to which level a failure is exit status 1."
)
@click.option(
    "--expect",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="A list of failures that are expected: an id or a pattern on each line.",
)
@click.option("--save-failures", type=PATH, metavar="FILE", help="Write the failures as such a list.")
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only vectors whose id matches, such as 'FetchRequest:*'; may be given several times.",
)
@click.option("--every", type=click.IntRange(min=1), default=1, metavar="N", help="Only every Nth vector.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.01),
    default=10.0,
    metavar="SECONDS",
    help="How long an answer may take.",
)
@click.option(
    "--start-limit",
    type=click.FloatRange(min=0.01),
    default=60.0,
    metavar="SECONDS",
    help="How long the program may take to start.",
)
@click.option(
    "--most-deaths",
    type=click.IntRange(min=1),
    default=MOST_DEATHS,
    metavar="N",
    help="After so many crashes, time-outs and the like no more is asked; after a tenth no more about one message.",
)
@click.option(
    "--page",
    "page_file",
    type=PATH,
    metavar="FILE",
    help="Write a page with the matrix, where each failure is explained.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show messages without failures, too.")
@one_format
def conform(
    command: Sequence[str],
    folder: Path | None,
    package: str,
    level: Level,
    expect: Sequence[Path],
    save_failures: Path | None,
    only: Sequence[str],
    every: int,
    time_limit: float,
    start_limit: float,
    most_deaths: int,
    page_file: Path | None,
    verbose: bool,
    format_: OutputFormat,
) -> None:
    """Ask a program, in any language, what it makes of a protocol's bytes; exit 1 if it is wrong."""
    for file in (save_failures, page_file):
        if file is not None:
            need_place(file)
    try:
        registry = (
            None if folder is not None and package == _KAFKA and not _is_kafka(folder) else registry_named(package)
        )
        index = read_index(folder) if folder is not None else None
        expected = Expected.read(expect)
    except (PackageError, VectorError, ExpectedError) as error:
        fail(str(error))
    program = Program(command, limit=time_limit, start_limit=start_limit, most_deaths=most_deaths)
    try:
        claims = Claims.of_answer(program.hello())
        if folder is not None and index is not None:
            every_vector: Iterable[Vector] = read_vectors(folder)
        else:
            assert registry is not None
            index, every_vector = _derive(registry, claims, only)
        results = Results(claims, expected)
        chosen = islice(_choose(every_vector, only), 0, None, every)
        for question, answer in program.ask(questions(results.keep_claimed(chosen), claims)):
            results.add(evaluate(question, answer, index))
    except ProgramError as error:
        fail(f"{one_line(command[0])} {error}")
    except VectorError as error:
        fail(str(error))
    finally:
        program.close()
    if not any(count.tried or count.skipped for _, count in results.sorted_counts()):
        fail("no vectors to check: the program claims none, or --only selects none")
    if save_failures is not None:
        write_atomically(save_failures, failing_ids(results.failures).encode())
    if page_file is not None:
        title = f"{claims.name} {claims.release}".strip()
        write_atomically(page_file, page(results, registry, title).encode())
        print_err(f"wrote {one_line(page_file)}")
    if format_ is OutputFormat.JSON:
        print(json.dumps(results.plain(), indent=1))
    else:
        for line in summary(results, every_message=verbose):
            print_out(*line)
    if not results.is_good(level):
        sys.exit(1)


def _is_kafka(folder: Path) -> bool:
    """True if a folder has vectors of Kafka's messages, which the default package can explain."""
    return read_index(folder).specs.startswith("Kafka ")


def _choose(vectors: Iterable[Vector], only: Sequence[str]) -> Iterator[Vector]:
    return (one for one in vectors if not only or any(fnmatchcase(one.id, pattern) for pattern in only))


def _may_match(start: str, only: Sequence[str]) -> bool:
    """True if an id with this start may match a pattern; only the part before a wildcard is compared."""
    plain = [re.split(r"[*?\[]", pattern)[0] for pattern in only]
    return not only or any(one.startswith(start) or start.startswith(one) for one in plain)


def _derive(registry: Registry, claims: Claims, only: Sequence[str]) -> tuple[Index, Iterator[Vector]]:
    """Derive the vectors of the messages of a package and of their frames, made as they are asked.

    Of Kafka's messages there is also what Java wrote, frames among it.
    """
    is_kafka = registry.package == _KAFKA
    index = {
        name: {version: tagged_defaults(registry.message(name, version)) for version in registry.versions(name)}
        for name in registry.names()
        if any(name in messages for messages in claims.versions.values())
    }

    def make() -> Iterator[Vector]:
        for name in registry.names():
            for version in registry.versions(name):
                cls = registry.message(name, version)
                if _may_match(f"{name}:{version}:", only):
                    yield from derive(cls)
                if is_framed(cls) and not is_kafka and _may_match(f"frames:{name}:{version}:", only):
                    yield from derive_frames(registry.header_class(_HEADERS[cls.TYPE], cls), cls)
            if is_kafka and _may_match(f"{name}:", only):
                yield from kafka.golden(name)
        yield from kafka.encodings()
        if is_kafka:
            yield from kafka.frames()
            yield from kafka.batches()

    return Index(0, registry.package, index), make()

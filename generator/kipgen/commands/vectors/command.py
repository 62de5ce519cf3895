"""The command `kipgen vectors`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kipgen.commands.console import SPECS_FOLDER, print_problems
from kipgen.commands.terminal import ERR
from kipgen.commands.vectors.classes import classes_of
from kipgen.data.document import kafka_header
from kipgen.language.spec import HEADERS, MessageSpec
from kipgen.reading.check import read_folder
from kipgen.resolve.headers import header_versions
from kipgen.resources import kafka_specs
from kipwire import KAFKA_VERSION
from kipwire.cli.command_line import PATH, fail
from kipwire.conformance import kafka
from kipwire.conformance.coverage import Coverage
from kipwire.conformance.deriving import DeriveError, derive, tagged_defaults
from kipwire.conformance.frames import derive_frames, is_framed
from kipwire.conformance.vectors import (
    COVERAGE,
    INDEX,
    Index,
    TaggedDefaults,
    Vector,
    VectorError,
    file_of,
    files_of,
    text_of,
    unfinished_index,
)
from kipwire.model.errors import EncodeError
from kipwire.model.structs import Root
from kipwire.tools.atomic import is_leftover, new_folder, rename_new
from kipwire.tools.files import write_whole
from kipwire.tools.text import count_of, print_out


@dataclass(frozen=True, slots=True)
class _Message:
    """A message with its vectors."""

    name: str
    file: str
    vectors: list[Vector]
    frames: list[Vector]
    """Frames of a request or a response; of Kafka's there are those that Java wrote."""
    tagged: dict[int, TaggedDefaults]
    """The tagged fields of each version."""
    gaps: list[str]


class _Headers:
    """The headers of a package: its own, or Kafka's."""

    def __init__(self, specs: Sequence[MessageSpec]) -> None:
        self.versions = header_versions(specs)
        own = {spec.name: spec for spec in specs}
        found = {name: own.get(name) or kafka_header(name) for name in HEADERS.values()}
        self._classes = {
            name: {one.VERSION: one for one in classes_of(spec, self.versions)} for name, spec in found.items()
        }

    def before(self, cls: Any) -> type[Root]:
        """Find the class of the header before a request or a response."""
        return self._classes[HEADERS[cls.TYPE]][cls.HEADER_VERSION]


@click.command
@click.argument(
    "specs",
    nargs=-1,
    type=SPECS_FOLDER,
    help="Folders of specs; kafka, or none, for those of Kafka, with what its Java classes wrote.",
)
@click.option(
    "--out",
    "-o",
    required=True,
    type=PATH,
    help="The folder that the vectors go to: a file for each message, an index, a table.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random messages; the rest has none.")
def vectors(specs: Sequence[Path], out: Path, seed: int) -> None:
    """Write bytes with their meaning, valid and damaged, for implementations of a protocol in any language."""
    old = _own_files(out)
    is_kafka = [one.resolve() for one in specs or (kafka_specs(),)] == [kafka_specs().resolve()]
    found = _specs(specs or (kafka_specs(),))
    title = f"Kafka {KAFKA_VERSION}" if is_kafka else ", ".join(one.name for one in specs)
    if out.is_dir():
        with new_folder(out / INDEX) as made:
            lines = _write(made, out, found, seed, is_kafka, title)
            _replace(made, out, old)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(out) as made:
            lines = _write(made, out, found, seed, is_kafka, title)
            rename_new(made, out)
    for line in lines:
        print_out(line)


def _own_files(out: Path) -> frozenset[str]:
    """Name the vectors of an earlier run, which are replaced; exit with 2 if a folder has other files alone."""
    if out.exists() and not out.is_dir():
        fail(f"{out}: is a file, not a folder")
    if not out.is_dir() or all(is_leftover(one) for one in out.iterdir()):
        return frozenset()
    if not (out / INDEX).exists():
        fail(f"{out} has files and no {INDEX}, so it is not a folder of vectors; give another folder")
    try:
        return files_of(out)
    except VectorError as error:
        fail(f"{error}; give another folder")


def _specs(folders: Sequence[Path]) -> list[MessageSpec]:
    """Read the messages of folders that have versions; exit with 2 if anything is wrong with them."""
    found: dict[str, MessageSpec] = {}
    for folder in folders:
        if not folder.is_dir():
            fail(f"{folder} is not a folder of specs{'; give the folder that it is in' if folder.is_file() else ''}")
        checked, problems = read_folder(folder)
        errors = [one for one in problems if one.severity == "error"]
        if errors:
            print_problems(errors)
            fail(f"{folder} has errors; correct them first")
        for one in checked:
            if one.spec is None or one.spec.valid_versions.is_empty:
                continue
            if one.spec.name in found:
                fail(f"{one.spec.name} is in two folders of specs; write the vectors of each folder to its own --out")
            found[one.spec.name] = one.spec
    if not found:
        fail(f"{folders[0]} has no message with versions; give a folder of specs")
    return [found[name] for name in sorted(found)]


def _write(
    made: Path, out: Path, specs: Sequence[MessageSpec], seed: int, is_kafka: bool, title: str
) -> list[tuple[str, str]]:
    """Write all files to a folder that is going to be `out`, by which errors name them; return what is to be said."""
    coverage = Coverage()
    index: dict[str, dict[int, TaggedDefaults]] = {}
    gaps: list[str] = []
    frames: list[Vector] = []
    headers = _Headers(specs)
    with ERR.status("Writing vectors") as status:
        for number, spec in enumerate(specs, 1):
            status.update(f"{number} of {len(specs)} messages")
            message = _message(spec, headers, seed, coverage, is_kafka)
            _write_text(made, out, message.file, text_of(message.vectors))
            index[message.name] = message.tagged
            gaps += message.gaps
            frames += message.frames
    has_encodings = any(one.encodings for spec in specs for fields in spec.struct_fields.values() for one in fields)
    for vectors_of_form in _others(is_kafka, frames, has_encodings=has_encodings):
        kept = list(coverage.count(vectors_of_form))
        _write_text(made, out, file_of(kept[0]), text_of(kept))
    _write_text(made, out, COVERAGE, coverage.table())
    _write_text(made, out, INDEX, Index(seed, title, index).text())
    kinds = coverage.kinds()
    summary = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in kinds.items())
    counts = f"{out}: {count_of(sum(kinds.values()), 'vector')} of {count_of(len(specs), 'message')}: {summary}"
    return [*((gap, "yellow") for gap in gaps), (counts, "")]


def _write_text(made: Path, out: Path, name: str, text: str) -> None:
    try:
        (made / name).write_text(text, "utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out / name)) from None


def _replace(made: Path, out: Path, old: Collection[str]) -> None:
    """Replace the files of an earlier run; the index is the last, and until then says that the folder is not whole."""
    new = {file.name for file in made.iterdir()}
    write_whole(out / INDEX, unfinished_index(new | set(old)))
    for name in sorted(new - {INDEX}):
        (made / name).replace(out / name)
    for name in sorted(set(old) - new):
        (out / name).unlink(missing_ok=True)
    (made / INDEX).replace(out / INDEX)


def _message(spec: MessageSpec, headers: _Headers, seed: int, coverage: Coverage, is_kafka: bool) -> _Message:
    found: list[Vector] = []
    tagged: dict[int, TaggedDefaults] = {}
    gaps: list[str] = []
    frames: list[Vector] = []
    try:
        for cls in classes_of(spec, headers.versions):
            found += coverage.count(derive(cls, seed))
            tagged[cls.VERSION] = tagged_defaults(cls)
            gaps += coverage.gaps(cls)
            if is_framed(cls) and not is_kafka:
                frames += derive_frames(headers.before(cls), cls)
    except (EncodeError, DeriveError) as error:
        fail(f"{spec.location.file}: no vectors can be made of {spec.name}: {error}")
    if is_kafka:
        found += coverage.count(kafka.golden(spec.name))
    return _Message(spec.name, file_of(found[0]), found, frames, tagged, gaps)


def _others(is_kafka: bool, frames: list[Vector], *, has_encodings: bool) -> Iterator[Iterator[Vector]]:
    """Yield the vectors that are not of single messages, each kind by itself."""
    if is_kafka or has_encodings:
        yield kafka.encodings()
    if is_kafka:
        yield kafka.frames()
        yield kafka.batches()
    elif frames:
        yield iter(frames)

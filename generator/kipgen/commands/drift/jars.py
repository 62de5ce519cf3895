"""Kafka's published jars -> the message specs in them.

Anything wrong with a jar is an error with its location. A spec in it that has errors hides no other: in Kafka 2.8 a
file goes on after its end, and up to 3.0 some lack flexibleVersions.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kipgen.language.problems import Problem
from kipgen.reading.check import understood
from kipgen.reading.draft import Draft
from kipgen.reading.source import MAX_BYTES, load_text

MAX_TOTAL = 4 * MAX_BYTES
"""Limit in bytes for the unpacked specs of a release. Kafka 4.4 has less than 1 MB."""

_SPEC = re.compile(r"(?:common/)?(?:message|metadata)/[^/]+\.json")
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError, OSError)
"""Python's exceptions for a jar that is damaged, encrypted or packed in an unsupported way."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*", re.ASCII)
_GIVE = "give a jar of Kafka, such as kafka-clients-4.4.0.jar"
_VERSIONED_NAME = re.compile(r"(?:kafka-)?(?P<name>.+?)(?:-\d[^/]*)?\.jar")


class JarError(ValueError):
    """The jars are not a release of Kafka; each argument is a line with the reason and the right thing to do."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


@dataclass(frozen=True, slots=True)
class Published:
    """One message of a release."""

    jar: str
    """The jar's file name without `kafka-` and version, as in `group-coordinator`."""
    draft: Draft


@dataclass(frozen=True, slots=True)
class Broken:
    """A spec of a release that cannot be understood as a whole."""

    message: str
    """Name of the message; its file's, if even the name is unknown."""
    errors: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """The specs of a release."""

    messages: Mapping[str, Published]
    """The messages, by name."""
    broken: tuple[Broken, ...]


def read_release(jars: Sequence[Path]) -> Release:
    """Read the messages of a release.

    Args:
        jars: the jars; one without specs is skipped.

    Raises:
        JarError: a jar cannot be read, two have the same message, or none has any that can be understood.
    """
    release: dict[str, Published] = {}
    broken: list[Broken] = []
    left = MAX_TOTAL
    for jar in jars:
        for display, text in _specs(jar, left):
            left -= len(text)
            draft = _draft(text, display)
            if isinstance(draft, Broken):
                broken.append(draft)
                continue
            there = release.setdefault(draft.message.name, Published(_origin(jar), draft))
            if there.draft is not draft:
                first = there.draft.part.document.file
                raise JarError(
                    f"{display}: {draft.message.name} is also in {first}; give the jars of one release, each once"
                )
    if not release:
        names = ", ".join(map(str, jars))
        reasons = [str(problem) for one in broken for problem in one.errors]
        raise JarError(*(reasons or [f"{names}: no message specs inside; {_GIVE}"]))
    return Release(release, tuple(broken))


def _specs(jar: Path, limit: int) -> Iterator[tuple[str, str]]:
    """Yield every spec in a jar: its name for people, and its text."""
    try:
        if jar.exists() and not jar.is_file():
            raise JarError(f"{jar}: is not a file; {_GIVE}")
        with zipfile.ZipFile(jar) as archive:
            for entry in sorted(archive.infolist(), key=lambda it: it.filename):
                if not _SPEC.fullmatch(entry.filename):
                    continue
                display = f"{jar}!{entry.filename}"
                # The size in the directory of a jar may be any number, so what is unpacked is bounded, not what is
                # announced.
                with archive.open(entry) as stream:
                    data = stream.read(min(MAX_BYTES, limit) + 1)
                if len(data) > min(MAX_BYTES, limit):
                    text = "the specs are larger than in any Kafka release; give a jar of Kafka"
                    raise JarError(f"{display}: {text}")
                limit -= len(data)
                yield display, _text(data, display)
    except JarError:
        raise
    except _BROKEN as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise JarError(f"{jar}: cannot be read as a jar: {reason}; {_GIVE}") from error


def _text(data: bytes, display: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JarError(f"{display}: is not UTF-8 from byte {error.start} on") from error


def _draft(text: str, display: str) -> Draft | Broken:
    """Parse a spec as Kafka wrote it. Our rules do not apply to it, but all of it must be understood."""
    parsed = understood(load_text(text, display))
    errors = tuple(problem for problem in parsed.problems if problem.severity == "error")
    if parsed.draft is not None and not errors:
        return parsed.draft
    # Half a spec would make differences of all that is missing in it.
    is_named = parsed.draft is not None and "name" not in parsed.draft.part.broken
    name = parsed.draft.message.name if parsed.draft is not None and is_named else PurePosixPath(display).stem
    return Broken(name, errors)


def _origin(jar: Path) -> str:
    """Name the folder for a jar's messages; never a path."""
    match = _VERSIONED_NAME.fullmatch(jar.name)
    name = match["name"] if match else jar.stem
    # The name becomes a folder below the specs.
    if not _PLAIN_NAME.fullmatch(name):
        text = f"{name!r} is not a plain name; name the jar as Kafka does, such as kafka-clients-4.4.0.jar"
        raise JarError(f"{jar}: {text}")
    return name

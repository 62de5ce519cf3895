"""Choices of messages, as `Metadata` or `Produce:9+`, and the specs that they mean.

A choice names a message, or an API: `Produce` is ProduceRequest and ProduceResponse, `OffsetCommitKey` comes with its
value. A spec is found by the name of its file, which is its message's, so that a few of Kafka's specs are read, not
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kipgen.language.spec import HEADERS, MessageSpec
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.check import read_file, spec_files
from kipgen.reading.enum_spec import is_enum_file
from kipwire.tools.text import did_you_mean

_PAIRS = (("Request", "Response"), ("Key", "Value"))
"""Ends of the names of two messages that rules keep together, an API's first."""
_RECORD = "Record"


class ChoiceError(ValueError):
    """A choice that means no message, or no version of it: the text says what would be right."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A message with the versions that were chosen."""

    file: Path
    spec: MessageSpec
    versions: Versions
    """A range without an open end, within the message's valid versions."""


def choose(choices: Iterable[str], specs: Path) -> list[Chosen]:
    """Find the messages that choices mean, and the headers of the package; sort them by their files.

    Args:
        choices: each the name of a message or an API, alone for the versions that are served, or for all if none is;
            or with a range of versions after a colon.
        specs: the folder of specs.

    Raises:
        ChoiceError: a choice means nothing, two mean one message, or a spec has errors.
    """
    files = {file.stem: file for file in spec_files(specs) if not is_enum_file(file)}
    found: dict[str, Chosen] = {}
    chosen_by: dict[str, str] = {}
    for choice in choices:
        name, colon, written = choice.partition(":")
        for message in _messages(name, files):
            if message in chosen_by:
                text = f"{message} is chosen by {chosen_by[message]} and {choice}; name it once, with one range"
                raise ChoiceError(text)
            chosen_by[message] = choice
            spec = _read(files[message])
            found[message] = Chosen(files[message], spec, _versions(spec, choice, written, is_given=bool(colon)))
    for header in HEADERS.values():
        if header in files and header not in found:
            spec = _read(files[header])
            found[header] = Chosen(files[header], spec, spec.valid_versions)
    return sorted(found.values(), key=lambda one: one.file)


def _messages(name: str, files: Mapping[str, Path]) -> list[str]:
    """List the messages that a name means: with a request its response, with a key its value."""
    for suffix, other in (*_PAIRS, *(pair[::-1] for pair in _PAIRS)):
        partner = f"{name.removesuffix(suffix)}{other}"
        if name in files and name.endswith(suffix) and partner in files:
            return [name, partner]
    if name in files:
        return [name]
    for suffixes in (*_PAIRS, (_RECORD,)):
        if all(f"{name}{suffix}" in files for suffix in suffixes):
            return [f"{name}{suffix}" for suffix in suffixes]
    apis = {one.removesuffix("Request") for one in files if one.endswith("Request")}
    hint = did_you_mean(name, [*apis, *files]) or "; name one such as Metadata, FetchRequest or 'Produce:9+'"
    raise ChoiceError(f"unknown message {name!r}{hint}")


def _read(file: Path) -> MessageSpec:
    checked = read_file(file)
    if checked.spec is None:
        error = next(problem for problem in checked.problems if problem.severity == "error")
        raise ChoiceError(f"{error.location}: {error.text}; correct it, or leave {file.stem} out")
    return checked.spec


def _versions(spec: MessageSpec, choice: str, written: str, *, is_given: bool) -> Versions:
    valid = spec.valid_versions
    if valid.is_empty:
        raise ChoiceError(f"{choice}: {spec.name} is retired: it has no version; leave it out")
    if not is_given:
        return valid if spec.served_versions.is_empty else spec.served_versions
    try:
        asked = Versions.parse(written)
    except ValueError as error:
        raise ChoiceError(f"{choice}: {error}") from None
    end = valid.highest if asked.highest == MAX_VERSION else asked.highest
    if asked.is_empty or not (valid.lowest <= asked.lowest <= end <= valid.highest):
        raise ChoiceError(f"{choice}: {spec.name} has versions {valid}; choose some of these")
    return Versions(asked.lowest, end)

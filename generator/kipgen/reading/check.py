"""Stage three of reading, and all three together: spec files in, checked messages and problems out.

A file passes `source.load`, `schema_check.check_schema`, `parse.parse` and every rule, in this order. Each stage gets
what the one before could read, although there may be problems already, so that one run shows all of them. Only a text
that is no JSON object ends the way. A `MessageSpec` is made last, of a draft without errors: later stages rely on the
rules and check nothing again.

Whatever is wrong with a file is a `Problem` with a location, never an exception. In a folder, a file that breaks a rule
still counts: its draft is the counterpart, or the owner of a name or key, that the rules of the package look for. A
file that cannot be understood counts as unknown, and then nothing is reported as missing.

Commands read specs here. `commands.compat` also reads revisions that are no files (`read_bytes`), and `commands.watch`
gives a `Reader` of its own, which reads only what has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from kipgen.language.problems import Problem, sort_problems
from kipgen.language.spec import Location, MessageSpec
from kipgen.reading import rules
from kipgen.reading.draft import Draft
from kipgen.reading.enum_spec import EnumDraft, EnumSpec, is_enum_file, parse_enum
from kipgen.reading.parse import Parsed, build_message, parse
from kipgen.reading.schema_check import check_schema
from kipgen.reading.source import MAX_BYTES, Loaded, load, load_bytes
from kipwire.tools.files import read_regular

MANIFEST = "kipgen.manifest.json"
"""Name of the file with the origin of a generated package; it is never a spec."""

# Every message needs it, and other JSON rarely has it. The text is not parsed, since a spec with a fault is one, too.
_ONLY_IN_SPECS = b'"validVersions"'


@dataclass(frozen=True, slots=True)
class Checked:
    """One spec file, checked alone."""

    file: str
    """The file as problems name it."""
    spec: MessageSpec | None
    """The message; None if there is an error."""
    problems: tuple[Problem, ...]
    """All errors and warnings, by location."""
    draft: Draft | None = field(default=None, repr=False, compare=False)
    """The message as far as it could be read, for the rules of a package."""
    enum: EnumDraft | None = field(default=None, repr=False, compare=False)
    """The enum that the file holds instead of a message."""

    @property
    def comparable(self) -> MessageSpec | None:
        """The message, also if it only breaks rules that a comparison of revisions judges; else None."""
        if self.spec is not None or self.draft is None:
            return self.spec
        errors = {problem.rule for problem in self.problems if problem.severity == "error"}
        return build_message(self.draft) if errors <= BETWEEN_REVISIONS else None


_NO_WORDS: Mapping[str, str] = MappingProxyType({})
BETWEEN_REVISIONS = frozenset({"tagged-form", "primitive-in-capitals"})
"""The rules whose errors do not keep a message from being compared with a later revision, which judges the same.

Earlier versions of kipgen accepted both, so revisions in a user's history may break them. With other errors a draft may
have stand-ins for what could not be read, and a comparison with these means nothing.
"""


class Reader(Protocol):
    """Checks one spec file alone, as `read_file` does."""

    def __call__(self, path: Path, *, kafka: bool) -> Checked: ...


def read_file(
    path: Path | str,
    display: str | None = None,
    *,
    kafka: bool = False,
    entity_types: Mapping[str, str] = _NO_WORDS,
) -> Checked:
    """Check one spec file alone; everything wrong with it is a problem, never an exception.

    Args:
        path: the file.
        display: the file's name in problems; `path` if not given.
        kafka: whether Kafka's own generator must accept the spec, too.
        entity_types: words for `entityType` beside Kafka's, with the types that they go with.
    """
    file = display if display is not None else str(path)
    return _judge(load(Path(path), file), file, kafka, entity_types)


def reader_with(entity_types: Mapping[str, str]) -> Reader:
    """Return `read_file` with words for `entityType` beside Kafka's."""
    return partial(read_file, entity_types=entity_types) if entity_types else read_file


def read_bytes(
    data: bytes, display: str, *, kafka: bool = False, entity_types: Mapping[str, str] = _NO_WORDS
) -> Checked:
    """Check the content of one spec file alone; as `read_file`."""
    return _judge(load_bytes(data, display), display, kafka, entity_types)


def understood(loaded: Loaded) -> Parsed:
    """Parse a text as a spec, with the problems of its JSON, schema and grammar, without the rules."""
    if loaded.document is None:
        return Parsed(None, loaded.problems)
    checked = check_schema(loaded.document)
    parsed = parse(loaded.document, checked)
    return Parsed(parsed.draft, (*loaded.problems, *checked.problems, *parsed.problems))


def _judge(loaded: Loaded, file: str, kafka: bool, entity_types: Mapping[str, str]) -> Checked:
    # As a spec it would break one rule after the other; a single problem says what the file is instead.
    if Path(file).name == MANIFEST:
        text = "is the manifest of a generated package, not a spec; give a file or a folder of specs"
        return Checked(file, None, (Problem(Location(file, 1, 1), "", "unreadable", text),))
    if loaded.document is not None and is_enum_file(file):
        enum, problems = parse_enum(loaded.document)
        judged = [problem for rule in rules.ALL if enum for problem in rule.judge(enum, kafka)]
        return Checked(file, None, sort_problems([*loaded.problems, *problems, *judged]), enum=enum)
    parsed = understood(loaded)
    if parsed.draft is None:
        return Checked(file, None, sort_problems(parsed.problems))
    draft = replace(parsed.draft, entity_types=entity_types)
    found = list(parsed.problems)
    for rule in rules.ALL:
        found += rule.judge(draft, kafka)
    accepted = not any(problem.severity == "error" for problem in found)
    return Checked(file, build_message(draft) if accepted else None, sort_problems(found), draft)


def read_files(
    path: Path | str, *, kafka: bool = False, read: Reader = read_file
) -> tuple[list[Checked], tuple[Problem, ...]]:
    """Check every message of a folder and its sub-folders, in their `*.json` files, each alone.

    Args:
        path: the folder.
        kafka: whether Kafka's own generator must accept the specs, too.
        read: what checks one file.

    Returns:
        The files in the order of their paths, and what is wrong with the folder itself.
    """
    folder = Path(path)
    try:
        fault = "" if folder.is_dir() else "is not a folder"
        files = [file for file in spec_files(folder) if not is_enum_file(file)]
    except (OSError, ValueError) as error:
        fault, files = f"cannot be read ({error})", []
    if not files:
        text = f"{fault or 'contains no *.json file'}; give a folder with message specs"
        return [], (Problem(Location(str(path), 1, 1), "", "unreadable", text),)
    return [_read_if_it_ends(file, kafka, read) for file in files], ()


# The files of a folder that are specs: all `*.json` in it and below it, but for what kipgen itself writes.


def is_spec_file(path: Path | str) -> bool:
    """True if a file in a folder of specs is read as one, by its name."""
    name = Path(path).name
    return name.endswith(".json") and name != MANIFEST


def spec_files(folder: Path) -> list[Path]:
    """List the specs of a folder and its sub-folders, enums among them, in the order of their paths.

    Raises:
        OSError: the folder cannot be listed.
    """
    return sorted(file for file in folder.rglob("*.json") if is_spec_file(file) and not file.is_dir())


def spec_in(folder: Path) -> Path | None:
    """Find a spec that lies in a folder itself, not in one below it; None if there is none."""
    if not folder.is_dir():
        return None
    files = sorted(file for file in folder.glob("*.json") if is_spec_file(file) and file.is_file())
    return next((file for file in files if is_enum_file(file) or _ONLY_IN_SPECS in read_regular(file, MAX_BYTES)), None)


def enum_files(path: Path | str) -> list[Path]:
    """List the files of a folder and its sub-folders that hold enums, in the order of their paths."""
    return [file for file in spec_files(Path(path)) if is_enum_file(file)]


def read_enum_files(path: Path | str, *, kafka: bool = False, read: Reader = read_file) -> list[Checked]:
    """Check every enum of a folder and its sub-folders, each alone; for the arguments see `read_files`."""
    return [_read_if_it_ends(file, kafka, read) for file in enum_files(path)]


def read_enums(path: Path | str) -> list[EnumSpec]:
    """Read the enums of a folder of specs without problems; sort them by name."""
    found = [read_file(file).enum for file in enum_files(path)]
    return sorted((one.spec for one in found if one is not None), key=lambda enum: enum.name)


def _read_if_it_ends(file: Path, kafka: bool, read: Reader) -> Checked:
    """Check one file of a folder; pipes and devices are read only if they are named.

    A file that does not exist is a broken link, for which reading has a problem of its own.
    """
    if file.is_file() or not file.exists():
        return read(file, kafka=kafka)
    text = "is a pipe or a device; a folder of specs may contain only files"
    return Checked(str(file), None, (Problem(Location(str(file), 1, 1), "", "unreadable", text),))


def read_folder(
    path: Path | str, *, kafka: bool = False, read: Reader = read_file
) -> tuple[list[Checked], tuple[Problem, ...]]:
    """Check every message and enum of a folder and its sub-folders, and the package that they make together.

    For the arguments see `read_files`.

    Returns:
        The messages in the order of their paths, each checked alone, and all problems of messages, enums and the
        package.
    """
    checked, faults = read_files(path, kafka=kafka, read=read)
    if faults:
        return [], faults
    drafts = tuple(one.draft for one in checked if one.draft is not None)
    named = read_enum_files(path, kafka=kafka, read=read)
    enums = tuple(one.enum for one in named if one.enum is not None)
    # A message whose name, type or key is broken may be just the one that another lacks.
    is_complete = all(one.draft is not None and _is_known(one.draft) for one in checked)
    found = [problem for one in (*checked, *named) for problem in one.problems]
    for rule in rules.ALL:
        found += rule.judge(rules.Folder(drafts, is_complete, enums), kafka)
    return checked, sort_problems(found)


def _is_known(draft: Draft) -> bool:
    return draft.part.broken.isdisjoint(("name", "type", "apiKey"))

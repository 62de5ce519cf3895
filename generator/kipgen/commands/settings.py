"""The settings of a project, in `kipgen.toml` or in `[tool.kipgen]` of pyproject.toml, in this folder or one above.

Settings above the top of a git repository belong to another project, whose folders are not in this one's history.

A policy follows from them: warnings are ignored, taken for errors, or fail.
"""

from __future__ import annotations

import errno
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kipgen.language.names import need_package_name
from kipgen.language.problems import Problem
from kipgen.reading.rules import ALL
from kipgen.reading.rules.fields import ENTITY_BASES, NO_ENTITY
from kipwire.model.types import TYPES
from kipwire.tools.files import read_regular
from kipwire.tools.text import did_you_mean, json_words

MAX_BYTES = 16 * 2**20
"""Limit for a file with settings."""

SETTINGS_FILE = "kipgen.toml"
PROJECT_FILE = "pyproject.toml"
DEFAULT_OUT = Path("generated")
"""The folder for generated packages if neither the settings nor the command line name one."""
_REPOSITORY = ".git"
"""A folder at the top of a git repository, or a file there in a worktree or a submodule."""


class SettingsError(ValueError):
    """Settings that cannot be used: the text names the place and what would be right."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults for the arguments of commands; paths are relative to the current folder."""

    specs: tuple[Path, ...] = ()
    """Folders of specs, one for each package."""
    names: tuple[str, ...] = ()
    """The dotted names of their packages; empty where these are the names of the folders."""
    out: Path | None = None
    """The folder for generated packages."""
    newest: bool = False
    """True for a module of newest classes in each package."""
    kafka: bool = False
    """True to apply the rules of Kafka's own generator, too."""
    strict: bool = False
    """True if warnings fail."""
    ignore: frozenset[str] = frozenset()
    """Rules whose warnings are not reported."""
    error: frozenset[str] = frozenset()
    """Rules whose warnings are errors."""
    entity_types: Mapping[str, str] = field(default_factory=dict)
    """Words for `entityType` beside Kafka's, with the types that they go with."""

    def package_name(self, folder: Path) -> str:
        """Return the dotted name of the package of a folder of specs: as the settings say, or the folder's own."""
        full = folder.resolve()
        named = (name for one, name in zip(self.specs, self.names, strict=False) if one.resolve() == full)
        return next(named, full.name)


def find_settings(start: Path | None = None) -> Settings:
    """Find the settings of a folder, or of the nearest folder above it with any, up to the top of its repository.

    Args:
        start: the folder; the current one if not given.

    Raises:
        SettingsError: a file cannot be read as settings.
    """
    here = (start or Path()).resolve()
    for folder in (here, *here.parents):
        # The nearest folder decides alone; settings of several are not merged, so one file has all that holds.
        for name in (SETTINGS_FILE, PROJECT_FILE):
            file = folder / name
            table = _table(file)
            if table is not None:
                # Relative to the current folder, as paths in messages are; the file itself may be further up.
                return _settings(table, file, Path(os.path.relpath(folder, here)))
        if (folder / _REPOSITORY).exists():
            break
    return Settings()


def _table(file: Path) -> dict[str, Any] | None:
    """Read the table of settings in a file; None if it has none."""
    try:
        data = read_regular(file, MAX_BYTES)
    except OSError as error:
        # `read_regular` has this error for a pipe or a device of that name, which would otherwise be passed over.
        if error.errno != errno.EINVAL:  # most often there is no such file
            return None
        raise SettingsError(f"{file}: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise SettingsError(f"{file}: is longer than {MAX_BYTES} bytes, the limit for settings")
    # A pyproject.toml of another tool is not parsed, so that a mistake in it is not reported here.
    if file.name == PROJECT_FILE and b"kipgen" not in data:
        return None
    try:
        parsed = tomllib.loads(data.decode("utf-8"))
    except ValueError as error:
        raise SettingsError(f"{file}: is not valid TOML: {error}") from None
    if file.name == SETTINGS_FILE:
        return parsed
    tool = parsed.get("tool", {})
    table = tool.get("kipgen") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise SettingsError(f"{file}: tool.kipgen: {_shown(table)} is not a table; write [tool.kipgen]")
    return table


def _settings(table: Mapping[str, Any], file: Path, folder: Path) -> Settings:
    prefix = "tool.kipgen." if file.name == PROJECT_FILE else ""
    read: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{file}: {prefix}{key}"
        if key not in _READERS:
            hint = did_you_mean(key, _READERS) or f"; the keys are {', '.join(_READERS)}"
            raise SettingsError(f"{where}: unknown key{hint}")
        try:
            read[key.replace("-", "_")] = _READERS[key](value, folder)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None
    if "package" in read:
        if len(read.get("specs", ())) != 1 or isinstance(table["specs"], dict):
            raise SettingsError(f"{file}: {prefix}package: is the name of one package; give specs with one folder")
        read["names"] = (read.pop("package"),)
    elif isinstance(table.get("specs"), dict):
        try:
            read["names"] = tuple(_name(name, folder) for name in table["specs"])
        except SettingsError as error:
            raise SettingsError(f"{file}: {prefix}specs: {error}") from None
    return Settings(**read)


def _folders(value: object, folder: Path) -> tuple[Path, ...]:
    if isinstance(value, dict):  # by the names of their packages
        value = list(value.values())
    texts = [value] if isinstance(value, str) else _texts(value, "a folder, or a list of folders")
    if not texts:
        raise SettingsError('is empty; write folders of specs, as in ["specs/my_protocol"]')
    for text in texts:
        if not (folder / text).is_dir():
            raise SettingsError(f"{text!r} is not a folder of specs; paths are relative to the folder of this file")
    return tuple(folder / text for text in texts)


def _folder(value: object, folder: Path) -> Path:
    return folder / _text(value, "a folder")


def _name(value: object, _: Path) -> str:
    name = _text(value, "a dotted name")
    try:
        need_package_name(name)
    except ValueError as error:
        raise SettingsError(str(error).partition("; ")[0]) from None
    return name


def _flag(value: object, _: Path) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{_shown(value)} is not valid; write true or false")
    return value


def _parse_ignored(value: object, _: Path) -> frozenset[str]:
    severities = _severities()
    ids = _rules(value, severities)
    for one in ids:
        if severities[one] == "error":
            # An ignored error would reach stages that rely on the rules.
            raise SettingsError(f"{one} is an error of the language, so no code can be generated; only warnings "
                                "and the rules of --kafka can be ignored")  # fmt: skip
    return ids


def _parse_raised(value: object, _: Path) -> frozenset[str]:
    return _rules(value, _severities())


def _parse_entity_types(value: object, _: Path) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise SettingsError(f'{_shown(value)} is not valid; write a table, as in {{streamId = "int64"}}')
    for word, base in value.items():
        if not (word.isascii() and word.isalnum()):
            raise SettingsError(f"{word!r} is not valid; write a word of letters and digits, such as streamId")
        if base not in list(TYPES):  # a list, as some values of TOML have no hash
            hint = did_you_mean(base, TYPES) if isinstance(base, str) else ""
            raise SettingsError(f"{word}: {_shown(base)} is no type of a field{hint or '; write one such as int64'}")
        if word == NO_ENTITY:
            raise SettingsError(f"{word} is Kafka's word for no entity type; leave it out")
        if ENTITY_BASES.get(word, base) != base:
            raise SettingsError(f"{word} is Kafka's, and goes with {ENTITY_BASES[word]}; leave it out")
    return value


def _severities() -> dict[str, str | None]:
    return {rule.id: rule.severity for rule in ALL}


def _rules(value: object, known: Mapping[str, object]) -> frozenset[str]:
    ids = _texts(value, "a list of rules")
    for one in ids:
        if one not in known:
            raise SettingsError(f"unknown rule {one}{did_you_mean(one, known) or '; see kipgen rules --brief'}")
    return frozenset(ids)


def _texts(value: object, due: str) -> list[str]:
    if not isinstance(value, list):
        raise SettingsError(f"{_shown(value)} is not valid; write {due}")
    return [_text(one, "text in a list") for one in value]


def _text(value: object, due: str) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{_shown(value)} is not valid; write {due}, in quotes")
    return value


def _shown(value: object) -> str:
    return json_words(value, mapping="a table")


_READERS: Mapping[str, Callable[[object, Path], object]] = {
    "specs": _folders,
    "out": _folder,
    "package": _name,
    "newest": _flag,
    "kafka": _flag,
    "strict": _flag,
    "ignore": _parse_ignored,
    "error": _parse_raised,
    "entity-types": _parse_entity_types,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Policy for judging problems."""

    ignore: frozenset[str] = frozenset()
    error: frozenset[str] = frozenset()
    strict: bool = False

    @classmethod
    def of(cls, settings: Settings, strict: bool | None) -> Policy:
        """Make the policy of the settings; `--strict` or `--no-strict` wins over them."""
        return cls(settings.ignore, settings.error, settings.strict if strict is None else strict)

    @property
    def judges_warnings(self) -> bool:
        """True if a warning may fail."""
        return self.strict or bool(self.error)

    def evaluate(self, problems: Iterable[Problem]) -> list[Problem]:
        """Choose the problems that are reported, with their severity."""
        return [
            replace(one, severity="error") if one.rule in self.error else one
            for one in problems
            # To raise a rule is stricter than to ignore it, so it wins.
            if one.rule not in self.ignore or one.rule in self.error
        ]

    def fails(self, judged: Iterable[Problem]) -> bool:
        """True if judged problems are a failure."""
        return any(self.strict or one.severity == "error" for one in judged)

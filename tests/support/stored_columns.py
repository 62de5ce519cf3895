"""The columns of Kafka's messages over all versions, and the release of Kafka that first had each of them.

    python -m tests.support.stored_columns FOLDER

writes `tests/data/stored_columns.json` from our specs and the jars of the releases, in a folder each. Needed after a
release of Kafka: what was in the file stays as it was.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kipgen.commands.compat.columns import StoredColumn, StoredColumns, stored_columns
from kipgen.language.spec import MessageSpec
from kipgen.language.versions import Versions
from kipgen.reading import check
from kipgen.reading.parse import build_message
from kipgen.reading.source import load_text
from tests.support.places import DATA, ROOT

FILE = DATA / "stored_columns.json"
RELEASES = {"3.9": "3.9.1", "4.0": "4.0.1", "4.1": "4.1.1", "4.3": "4.3.1", "4.4": "4.4.0"}
"""The last release of each line whose columns are known."""
SINCE_4_0 = {"kafka-share-coordinator"}
"""Artifacts that did not exist before."""
EARLY_ACCESS = {
    "ReadShareGroupStateSummaryResponse": "4.1",
    "ShareGroupMetadataValue": "4.1",
    "ShareGroupStatePartitionMetadataValue": "4.1",
    "ShareSnapshotValue": "4.1",
    "ShareUpdateValue": "4.1",
}
"""Line since which the versions of a message are final; earlier releases could still change them."""

_SPEC = re.compile(r"(?:common/)?(?:message|metadata)/[^/]+\.json")


class Column(NamedTuple):
    """One column in the file."""

    name: str
    type: str
    since: str
    """The line of the first release that had it."""
    inner: tuple[Column, ...]


class Recorded(NamedTuple):
    """One message in the file."""

    versions: Mapping[str, int]
    """Highest version, by the line of releases that introduced it."""
    columns: tuple[Column, ...]

    def highest(self, line: str) -> int | None:
        """Return the highest version that a line of releases has; None before it has the message."""
        known = [version for since, version in self.versions.items() if is_in(since, line)]
        return known[-1] if known else None


def is_in(since: str, line: str) -> bool:
    """True if a line of releases is `since` or a later one."""
    lines = list(RELEASES)
    return lines.index(since) <= lines.index(line)


@cache
def recorded() -> dict[str, Recorded]:
    """Return the content of the file."""
    return {name: _parsed(entry) for name, entry in json.loads(FILE.read_text()).items()}


def _parsed(entry: Any) -> Recorded:
    first = next(iter(entry["versions"]))
    return Recorded(entry["versions"], tuple(_column(one, first) for one in entry["columns"]))


def _column(entry: Any, first: str) -> Column:
    text, inner = (entry, []) if isinstance(entry, str) else (entry[0], entry[1:])
    name, _, rest = text.partition(" ")
    type_, _, since = rest.partition(" since ")
    return Column(name, type_, since or first, tuple(_column(one, since or first) for one in inner))


def our_specs() -> dict[str, MessageSpec]:
    """Return the specs of Kafka's messages that have versions and are no layouts."""
    checked, _ = check.read_folder(ROOT / "schemas" / "kafka_messages")
    specs = [one.spec for one in checked if one.spec is not None]
    return {spec.name: spec for spec in specs if not spec.valid_versions.is_empty and not spec.is_layout}


def specs_in(jars: Path) -> dict[str, MessageSpec]:
    """Return the specs in the jars of a release as far as they can be understood; some of 3.9 have a key twice."""
    found = {}
    for jar in sorted(jars.glob("*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in filter(_SPEC.fullmatch, archive.namelist()):
                draft = check.understood(load_text(archive.read(name).decode(), name)).draft
                assert draft is not None, name
                spec = build_message(draft)
                found[spec.name] = spec
    return found


def document(releases: Mapping[str, Mapping[str, MessageSpec]]) -> str:
    """Return the text of the file, from our specs and the specs of each line of releases."""
    lines = [f"{json.dumps(name)}: {json.dumps(_entry(spec, releases))}" for name, spec in sorted(our_specs().items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entry(ours: MessageSpec, releases: Mapping[str, Mapping[str, MessageSpec]]) -> dict[str, Any]:
    versions: dict[str, int] = {}
    since: dict[tuple[str, ...], str] = {}
    for line, specs in releases.items():
        spec = specs.get(ours.name)
        if spec is None or not is_in(EARLY_ACCESS.get(ours.name, line), line):
            continue
        common = spec.valid_versions.intersect(ours.valid_versions)
        if common.is_empty:
            continue
        if common.highest > max(versions.values(), default=-1):
            versions[line] = common.highest
        for path in _paths(stored_columns(_with_versions(spec, common)), ()):
            since.setdefault(path, line)
    versions = versions or {next(iter(RELEASES)): ours.valid_versions.highest}
    first = next(iter(versions))
    return {"versions": versions, "columns": _texts(stored_columns(ours), (), since, first, first)}


def _with_versions(spec: MessageSpec, versions: Versions) -> MessageSpec:
    return replace(spec, valid_versions=versions)


def _paths(columns: StoredColumns, outer: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for column in columns.columns:
        path = (*outer, f"{column.name} {column.type}")
        yield path
        if column.inner is not None:
            yield from _paths(column.inner, path)


def _texts(
    columns: StoredColumns, outer: tuple[str, ...], since: Mapping[tuple[str, ...], str], first: str, parent: str
) -> list[Any]:
    found: list[Any] = []
    for column in columns.columns:
        path = (*outer, _text(column))
        own = since.get(path, first)
        text = path[-1] if own == parent else f"{path[-1]} since {own}"
        found.append([text, *_texts(column.inner, path, since, first, own)] if column.inner is not None else text)
    return found


def _text(column: StoredColumn) -> str:
    return f"{column.name} {column.type}"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    FILE.write_text(document({line: specs_in(folder / release) for line, release in RELEASES.items()}))

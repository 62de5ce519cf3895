"""Every command costs what the structs and fields of a spec cost, not what ways there are through them.

Steps are counted, see `tests.support.growth`. Each command has a row here: how it is called, or why it goes through no
spec.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kipgen.commands.advise.savings import AdviceError, advise
from kipgen.commands.advise.tag_counts import TagCounts
from kipgen.commands.advise.tag_savings import advise_on_tags
from kipgen.commands.app import app
from kipgen.commands.compat.revisions import compare_paths
from kipgen.data.document import resolve_folder
from kipgen.package.generate import find_changes
from kipgen.python.pymodel import python_structs
from kipgen.reading.check import read_bytes, read_file
from kipgen.resolve.wire import resolve
from kipwire.cli.jobs import JOBS
from kipwire.console.app import app as console
from kipwire.console.call.codes import error_lines
from kipwire.console.call.template import template_lines
from kipwire.console.inspect.text import text_lines
from kipwire.console.inspect.tree import inspect_message
from kipwire.drafts.kip_625 import count
from tests.support.growing_specs import LEVELS, SHAPES, message, of_levels
from tests.support.growth import LINEAR, QUADRATIC, Action, Fresh, Packages, slow, untold
from tests.support.subjects.drifting_specs import drifted, jar


class Case:
    """A spec in files of its own; its package, if needed, has not been used before."""

    def __init__(self, folder: Path, packages: Packages, shape: Callable[[int], dict[str, Any]], name: str, size: int):
        self.folder = folder / f"{''.join(filter(str.isalnum, name))}{size}"
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / "Big.json"
        self.text = json.dumps(shape(size))
        self.file.write_text(self.text, encoding="utf-8")
        self._made = packages, shape, name, size

    def fresh(self) -> Fresh:
        packages, shape, name, size = self._made
        return packages.fresh(shape, name, size)

    def changed(self, old: str, new: str) -> Path:
        """Write the spec with a text replaced; return the file."""
        file = self.folder / "changed" / "Big.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.text.replace(old, new), encoding="utf-8")
        return file


Walk = Callable[[Case], Action]


def compared(old: Path, new: Path) -> Action:
    def compare() -> object:
        found = compare_paths(old, new)
        return found.findings, found.column_findings

    return compare


def advised(it: Case) -> Action:
    spec = read_file(it.file).spec
    assert spec is not None
    fresh = it.fresh()
    counts = count(fresh.cls.decode(fresh.data))

    def action() -> None:
        try:
            advise(spec, counts)
        except AdviceError as error:
            assert "shared structs give its fields" in str(error)

    return action


def advised_on_tags(it: Case) -> Action:
    spec = read_file(it.file).spec
    assert spec is not None
    fresh = it.fresh()
    message = fresh.cls.decode(fresh.data)

    def action() -> None:
        counts = TagCounts(message.NAME)
        counts.add(message)
        try:
            advise_on_tags(spec, counts, {})
        except AdviceError as error:
            assert "shared structs give its fields" in str(error)

    return action


def tags_listed(it: Case) -> Action:
    arguments = ["tags", str(it.file)]
    return lambda: CliRunner().invoke(app, arguments, catch_exceptions=False)


def inspected(it: Case) -> Action:
    fresh = it.fresh()
    return lambda: list(text_lines(inspect_message(fresh.cls, fresh.data)))


def templated(it: Case) -> Action:
    fresh = it.fresh()
    return lambda: list(template_lines(fresh.cls))


def codes_told(it: Case) -> Action:
    fresh = it.fresh()
    message = fresh.cls.decode(fresh.data)
    return lambda: error_lines(message)


def resolved(it: Case) -> Action:
    spec = read_file(it.file).spec
    assert spec is not None
    return lambda: python_structs(resolve(spec, 1))


COMMANDS: dict[str, Walk] = {
    "check": lambda it: lambda: read_bytes(it.text.encode(), "Big.json"),
    "generate": lambda it: lambda: find_changes(it.folder, it.folder / "out", "out", lambda done, total: None),
    "generate, python": resolved,
    "resolve": lambda it: lambda: resolve_folder(it.folder, "out"),
    "compat": lambda it: compared(it.file, it.file),
    "compat, other types": lambda it: compared(it.file, it.changed('"int32"', '"int64"')),
    "compat, other names": lambda it: compared(it.file, it.changed('"name": "Field', '"name": "Other')),
    "compat, new fields": lambda it: compared(it.changed('"fields": [{', '"fields": [{"name": "New", "type": "int8", '
                                                         '"versions": "0+"}, {'), it.file),
    "advise": advised,
    "advise, tags": advised_on_tags,
    "tags": tags_listed,
    "inspect": inspected,
    "call, template": templated,
    "call, error codes": codes_told,
    "drift": lambda it: (lambda published: lambda: drifted(it.folder, published))(jar(it.folder, it.text)),
}  # fmt: skip
"""Words after a comma say which way through the command."""
NO_SPECS = {
    "schema": "prints a file",
    "rules": "prints the rules",
    "new": "writes a spec of a few fields",
    "dump": "Kafka's own messages; see the tests of records and of packets",
    "pack": "Kafka's own batches",
    "produce": "Kafka's own batches, a batch at a time",
    "tap": "Kafka's own messages; see tests/runtime/traffic/test_growth_of_exchanges.py and the tests of packets",
    "broker": "Kafka's own messages; see the tests of the fake broker",
    "proxy": "Kafka's own messages; see the tests of the proxy",
    "vendor": "Kafka's own specs, or those of `resolve` and `generate`",
    "docs": "formats each class with black; see the tests of the site",
    "vectors": "makes a message of all fields for each field: what it writes grows with the square of their number",
    **dict.fromkeys(JOBS, "Kafka's own messages; see benchmarks/RESULTS-spark.md"),
    "conform": "asks what vectors has made; each question takes the same time",
}

ACCEPTED = {
    (name, "of_fields"): "fields that only look alike are matched by the longest common runs, as difflib finds them"
    for name in ("compat, other names",)
}
"""Cases that may grow with the square of a shape's size, each with the reason."""


def test_every_command_has_a_row() -> None:
    assert not untold({*app.commands, *console.commands}, COMMANDS, NO_SPECS)


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path)


def _started(
    walk: Walk, folder: Path, packages: Packages, shape: Callable[[int], dict[str, Any]], name: str, size: int
) -> Action:
    return walk(Case(folder, packages, shape, name, size))


def problems(
    folder: Path,
    packages: Packages,
    shape: Callable[[int], dict[str, Any]],
    name: str,
    sizes: tuple[int, ...],
    without: tuple[str, ...] = (),
) -> list[str]:
    found = []
    for command, walk in COMMANDS.items():
        if command in without:
            continue
        (root := folder / command.replace(" ", "_")).mkdir()
        factor = QUADRATIC if (command, name) in ACCEPTED else LINEAR
        work = partial(_started, walk, root, packages, shape, name)
        if problem := slow(work, *sizes, factor=factor):
            found.append(f"{command}: {problem}")
    return found


@pytest.mark.night
@pytest.mark.parametrize("how", LEVELS)
def test_structs_that_share_structs_cost_no_more_than_structs(how: str, tmp_path: Path, packages: Packages) -> None:
    has_all_ways = (
        "advise",
        "advise, tags",
        "inspect",
        "call, template",
        "call, error codes",
    )  # since a message of those has
    without = has_all_ways if how == "structs" else ()
    assert not problems(tmp_path, packages, of_levels(how), how, (8, 16, 30), without)


@pytest.mark.night
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.__name__ not in ("of_versions", "of_items")])
def test_twice_as_many_fields_or_structs_cost_twice_as_much(
    shape: Callable[[int], dict[str, Any]], tmp_path: Path, packages: Packages
) -> None:
    assert not problems(tmp_path, packages, shape, shape.__name__, (50, 100))


def test_forms_of_shared_structs_are_equal_where_the_bytes_are(tmp_path: Path) -> None:
    pair = [{"name": name, "type": type_, "versions": "0+"} for name, type_ in (("One", "int32"), ("Two", "string"))]
    level = {"name": "Level1", "versions": "0+", "fields": pair}
    use = {"name": "Uses", "type": "Level1", "versions": "0+"}
    old = message(fields=[use, {**use, "name": "Again"}], commonStructs=[level], flexibleVersions="none")
    flat = [{**field, "name": f"{field['name']}{number}"} for number in range(2) for field in pair]
    new = message(fields=flat, flexibleVersions="none")
    files = [tmp_path / side / "Big.json" for side in ("old", "new", "other")]
    for file, spec in zip(files, (old, new, {**new, "fields": flat[::-1]}), strict=True):
        file.parent.mkdir()
        file.write_text(json.dumps(spec), encoding="utf-8")
    assert "type-same-bytes" in {one.rule.id for one in compare_paths(*files[:2]).findings}
    assert "type-same-bytes" not in {one.rule.id for one in compare_paths(files[0], files[2]).findings}

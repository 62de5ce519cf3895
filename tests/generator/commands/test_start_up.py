"""Commands start without the libraries that they do not need, and what replaces these says the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.reading.rules import ALL
from kipgen.reading.schema_check import surely_accepts, without_conditions
from kipgen.reading.source import load, load_text
from kipgen.resources import enum_schema_path, schema_path
from tests.support import command_line
from tests.support.places import ROOT

SLOW = ("black", "jinja2", "jsonschema", "pydantic", "rich", "typer")
SPEC = "schemas/kafka_messages/clients/FetchRequest.json"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["check", "--help"],
        ["--version"],
        ["check", SPEC],
        ["check", "-f", "json", "--strict", SPEC],
        ["rules"],
    ],
    ids=" ".join,
)
def test_a_command_imports_no_library_that_it_does_not_need(arguments: list[str], tmp_path: Path) -> None:
    files = [str(ROOT / one) if one == SPEC else one for one in arguments]
    code = (
        f"import sys\nsys.argv = ['kipgen', *{files!r}]\nfrom kipgen.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"sys.stderr.write(' '.join(one for one in {SLOW} if one in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


SCHEMAS = {path.name: without_conditions(json.loads(path.read_text())) for path in (schema_path(), enum_schema_path())}


def documents() -> list[object]:
    """Return every spec and enum of the repository, and the examples of all rules, good and bad."""
    loaded = [load(file) for file in sorted((ROOT / "schemas").rglob("*.json"))]
    loaded += [load_text(text, "x.json") for rule in ALL for text in (*rule.good, *rule.bad)]
    return [one.document.value for one in loaded if one.document is not None]


def damaged(value: object, choice: random.Random) -> object:
    """Return a copy of a document with a value at one place that may be wrong there."""
    if not isinstance(value, dict | list) or not value or choice.random() < 0.2:
        return choice.choice([None, True, 1, -1, 2**40, 1.0, "", "x", "0+", "none", "request", [], {}, ["x"], {"a": 1}])
    copy = value.copy()
    key = choice.choice(list(copy) if isinstance(copy, dict) else range(len(copy)))
    action = choice.random()
    if action < 0.15:
        del copy[key]
    elif action < 0.3 and isinstance(copy, dict):
        copy[f"{key}x"] = copy.pop(key)
    else:
        copy[key] = damaged(copy[key], choice)
    return copy


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_accepted_quickly_is_what_jsonschema_accepts(name: str) -> None:
    schema = SCHEMAS[name]
    full = Draft202012Validator(schema)
    choice = random.Random(name)
    quick = 0
    for document in documents():
        for value in (document, *(damaged(document, choice) for _ in range(3))):
            full_verdict = full.is_valid(cast(Any, value))
            accepted = surely_accepts(schema, value)
            quick += accepted
            if accepted or "1.0" not in json.dumps(value):
                assert accepted == full_verdict, value
    assert quick > (200 if name == schema_path().name else 5)


@pytest.mark.parametrize(
    "schema",
    [{"type": "integer", "multipleOf": 2}, {"$ref": "other.json"}, {"$ref": "#/$defs/missing"}, {"enum": [[1]]}],
    ids=str,
)
def test_what_is_not_known_is_left_to_jsonschema(schema: dict[str, object]) -> None:
    assert not surely_accepts(schema, 4)


def test_values_of_the_wrong_kind_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> command_line.Done:
        return command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    done = call("new", "Foo", "--api-key", "many")
    assert (done.returncode, "Invalid value for '--api-key'" in done.stderr) == (2, True)
    done = call("new", "Foo", "--api-key", "70000")
    assert (done.returncode, "Invalid value for '--api-key'" in done.stderr) == (2, True)
    done = call("check", "--format", "xml", "x.json")
    assert (done.returncode, "Invalid value for '--format'" in done.stderr) == (2, True)
    assert call("new", "Foo", "--api-key", "7").returncode == 0

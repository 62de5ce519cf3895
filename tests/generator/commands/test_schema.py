"""`kipgen schema` prints what editors check specs with, and a spec may name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.reading.check import read_file
from kipgen.reading.rules.examples import ALPHA, spec
from kipgen.resources import enum_schema_path, resolved_schema_path, schema_path
from tests.support import command_line

FILES = (schema_path(), enum_schema_path(), resolved_schema_path())


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("", schema_path()),
        ("message", schema_path()),
        ("enum", enum_schema_path()),
        ("resolved", resolved_schema_path()),
    ],
)
def test_the_schemas_are_printed(
    kind: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> str:
        words = ("schema", *filter(None, [kind]), *arguments)
        done = command_line.call(*words, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    printed = json.loads(call())
    assert printed == json.loads(file.read_text())
    Draft202012Validator.check_schema(printed)
    assert call("--path") == f"{file}\n"


def test_the_schemas_have_names_of_their_own() -> None:
    ids = [json.loads(file.read_text())["$id"] for file in FILES]
    assert len(set(ids)) == 3
    assert all(one.startswith("urn:kipwire:schema:") for one in ids)


def test_a_spec_may_name_its_schema_except_for_kafka(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(spec(ALPHA, more='"$schema": "../message-spec.schema.json"'))
    assert read_file(file).problems == ()
    assert [one.rule for one in read_file(file, kafka=True).problems] == ["kafka-schema"]
    file.write_text(spec(ALPHA, more='"$schema": 3'))
    assert [one.rule for one in read_file(file).problems] == ["wrong-kind"]

"""VS Code's language service proposes, explains and refuses in specs, by the JSON Schema, what a reader can use."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kipgen.resources import schema_path
from kipwire.model.types import TYPES
from tests.support.places import ROOT, SUPPORT

pytestmark = pytest.mark.night
FOLDER = ROOT / "build" / "foreign" / "editor"  # npm puts its modules where the program is
SECONDS = 300
SCHEMA = json.loads(schema_path().read_text("utf-8"))
CURSOR = "¦"
HEAD = '{"name": "GetRequest", "type": "request", "apiKey": 1, "validVersions": "0-2", "flexibleVersions": "0+"'
LAYOUT = '{"name": "Entry", "type": "layout", "validVersions": "0"'
OF_LAYOUTS = {*SCHEMA["$defs"]["ofLayouts"]["properties"]}
OF_MESSAGES = {*SCHEMA["$defs"]["ofMessages"]["properties"]}

Ask = Callable[[str], dict[str, Any]]


@cache
def _program() -> list[str]:
    """Install the language service; return the command that asks it."""
    shutil.copytree(SUPPORT / "foreign" / "editor", FOLDER, dirs_exist_ok=True)
    install = ["npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(install, cwd=FOLDER, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return ["node", str(FOLDER / "language_service.js")]


@pytest.fixture
def ask() -> Ask:
    """Ask what an editor proposes, shows and finds wrong in a text, at its mark of the cursor."""
    if missing := [tool for tool in ("node", "npm") if not shutil.which(tool)]:
        pytest.skip(f"{', '.join(missing)} not found")

    def answer(text: str) -> dict[str, Any]:
        before, _, after = text.partition(CURSOR)
        question = [{"schema": SCHEMA, "text": before + after, "offset": len(before)}]
        done = subprocess.run(
            _program(), input=json.dumps(question), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        return dict(found)

    return answer


def labels(answer: dict[str, Any]) -> list[str]:
    return [one["label"] for one in answer["proposals"]]


def test_an_empty_file_can_begin_as_a_message_of_each_kind(ask: Ask) -> None:
    answer = ask(CURSOR)
    assert labels(answer) == ["request", "response", "header", "data", "layout"]
    assert answer["proposals"][0]["about"].startswith("A request: a client sends it")
    assert '"type": "request"' in answer["proposals"][0]["text"]


def test_fields_begin_as_what_the_kind_of_spec_has(ask: Ask) -> None:
    assert {*labels(ask(f'{HEAD}, "fields": [{CURSOR}]}}'))} == {"field", "tagged field", "list of structs", "map"}
    of_layouts = {*labels(ask(f'{LAYOUT}, "fields": [{CURSOR}]}}'))}
    assert of_layouts == {"field", "list of structs", "bits", "sized bytes"}


@pytest.mark.parametrize("place", [f'"{CURSOR}"', CURSOR, f'"i{CURSOR}"'], ids=["in quotes", "no quotes", "a letter"])
@pytest.mark.parametrize("head", [HEAD, LAYOUT], ids=["request", "layout"])
def test_every_type_of_a_field_is_proposed_with_its_meaning(head: str, place: str, ask: Ask) -> None:
    proposals = ask(f'{head}, "fields": [{{"name": "Key", "type": {place}}}]}}')["proposals"]
    assert [one["label"] for one in proposals][:12] == [f'"{name}"' for name in TYPES]
    assert all(one["about"] for one in proposals)


def test_properties_of_fields_are_those_of_the_kind_of_spec(ask: Ask) -> None:
    for inner in (f"{{{CURSOR}}}", f'{{"name": "A", "type": "[]B", "fields": [{{{CURSOR}}}]}}'):
        of_message = ask(f'{HEAD}, "fields": [{inner}]}}')
        of_layout = ask(f'{LAYOUT}, "fields": [{inner}]}}')
        assert {*labels(of_message)} & OF_LAYOUTS == set() == {*labels(of_layout)} & OF_MESSAGES
        assert {*labels(of_message)} > OF_MESSAGES and {*labels(of_layout)} > OF_LAYOUTS
        assert all(one["about"] for answer in (of_message, of_layout) for one in answer["proposals"])


@pytest.mark.parametrize(
    ("kind", "own"),
    [("request", {"headerVersions", "listeners", "latestVersionUnstable"}), ("response", {"headerVersions"})]
    + [(kind, set()) for kind in ("data", "header", "layout")],
)
def test_properties_of_messages_are_those_of_their_kind(kind: str, own: set[str], ask: Ask) -> None:
    answer = ask(f'{{"type": "{kind}", {CURSOR}}}')
    assert {*labels(answer)} & {"headerVersions", "listeners", "latestVersionUnstable"} == own
    assert all(one["about"] for one in answer["proposals"])


def test_values_are_proposed(ask: Ask) -> None:
    assert labels(ask(f'{{"type": "{CURSOR}"}}'))[:3] == ['"request"', '"response"', '"header"']
    assert labels(ask(f'{HEAD}, "fields": [{{"nullableVersions": {CURSOR}}}]}}')) == ['"0+"', '"2+"']
    assert labels(ask(f'{HEAD}, "fields": [{{"ignorable": {CURSOR}}}]}}')) == ["true", "false"]


@pytest.mark.parametrize("head", [HEAD, LAYOUT], ids=["request", "layout"])
def test_hovers_have_the_text_of_the_property(head: str, ask: Ask) -> None:
    shown = ask(f'{head}, "fie{CURSOR}lds": []}}')["hover"]
    assert shown == "The fields, in the order in which they are written\\."
    assert ask(f'{head}, "fields": [{{"ma{CURSOR}pKey": true}}]}}')["hover"].startswith("Whether the field is")


WRONG = {
    '"type": "int"': "There is no such type. Write bool, int8, ",
    '"type": "string", "size": "int32"': "Only the fields of layouts have this property.",
    '"type": "string", "encoding": "packed32"': "Only an int16, int32 or int64 has an encoding",
    '"type": "int32", "encoding": "packed8"': "Write fixed, packed or upacked, then 16, 32 or 64, such as packed32.",
    '"type": "int32", "ignorable": "yes"': "Write true or false.",
    '"type": "int32", "ignorable": 1': "Write true or false.",
    '"type": "int32", "nullableVersions": "all"': "Write versions: one such as 3, ",
    '"type": "int32", "taged": 1': "Property taged is not allowed.",
}


@pytest.mark.parametrize("more", WRONG)
def test_errors_are_words(more: str, ask: Ask) -> None:
    (error,) = ask(f'{HEAD}, "fields": [{{"name": "Key", "versions": "0+", {more}}}]}}')["errors"]
    assert error.startswith(WRONG[more])


def test_what_only_messages_have_is_refused_in_layouts_in_words(ask: Ask) -> None:
    field = '{"name": "Key", "type": "string", "versions": "0+", "tag": 1}'
    assert ask(f'{LAYOUT}, "fields": [{field}]}}')["errors"] == ["The fields of layouts do not have this property."]


def test_the_name_of_a_field_that_is_none_is_refused_in_words(ask: Ask) -> None:
    (error,) = ask(f'{HEAD}, "fields": [{{"name": "a b", "type": "int8", "versions": "0+"}}]}}')["errors"]
    assert error == "Write a letter, then letters and digits, such as TopicName."

"""`kipgen resolve`: its document is valid, always the same, and says all that a reader of bytes has to know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import kafka_messages
import kafka_messages.enums
import kafka_records
from kipgen.data.document import document, resolve_folder, text_of
from kipgen.language.layout_properties import PROPERTIES
from kipgen.reading import check
from kipgen.reading.rules.examples import field_of, layout
from kipgen.resources import resolved_schema_path
from kipwire import DecodeError
from kipwire.drafts import proposals
from kipwire.testing.strategies import messages
from tests.support import command_line, golden_data
from tests.support.places import DATA, ROOT
from tests.support.resolved_reader import Reader, Wrong, forms_of
from tests.support.subjects.rule_checks import read_message

SCHEMA = json.loads(resolved_schema_path().read_text(encoding="utf-8"))
FOLDERS = {
    "kafka_messages": ROOT / "schemas/kafka_messages",
    "kafka_records": ROOT / "schemas/kafka_records",
    "kipwire.drafts.proposals": ROOT / "schemas/proposals",
    "forms": DATA / "forms",
    "layouts": DATA / "layouts",
}


@cache
def resolved(package: str) -> dict[str, Any]:
    found = resolve_folder(FOLDERS[package], package).document
    assert found is not None
    made: dict[str, Any] = json.loads(text_of(found))
    return made


def keys_of(value: object) -> Iterator[str]:
    """Yield the names of all properties, but not within a default, whose names are the message's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key != "default":
                yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def properties_of(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for inner in schema.values():
            yield from properties_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from properties_of(inner)


@pytest.mark.parametrize(
    "package",
    [pytest.param(one, marks=[pytest.mark.night] if one == "kafka_messages" else []) for one in FOLDERS],
)  # jsonschema takes seconds for its messages
def test_a_document_is_valid_and_has_no_property_that_the_schema_lacks(package: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(resolved(package))
    assert set(keys_of(resolved(package))) <= set(properties_of(SCHEMA))


def test_the_schema_refuses_what_is_incomplete() -> None:
    damaged = json.loads(json.dumps(resolved("kafka_records")))
    for item in damaged["messages"][0]["forms"][0]["structs"][0]["items"]:
        item.pop({"checksum": "algorithm", "constant": "constant", "bits": "zeroMask"}.get(item["role"], "value"))
    assert len([*Draft202012Validator(SCHEMA).iter_errors(damaged)]) == 7


BITS = ("IsSet", "HasIt", "HasRest")
FLAGS = field_of("int8", "Flags", bits=[{"name": name, "bits": str(number)} for number, name in enumerate(BITS)])
OTHERS = field_of("[]int32", "Others", count="int32")
REST = field_of("bytes", "Rest", size="rest", presentIf="HasRest")
KEY = field_of("int32", "Key", mapKey=True)
OF_LAYOUTS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "size": ("bytes", "varint", {}),
    "count": ("[]int32", "varint", {}),
    "sizeOf": ("int32", "rest", {}),
    "checksum": ("int32", {"algorithm": "crc32", "from": "Rest"}, {}),
    "constant": ("int8", 7, {}),
    "bits": ("int8", [{"name": "Kind", "bits": 1}], {}),
    "presentIf": ("string", "HasIt", {}),
    "absentIf": ("string", "HasIt", {}),
    "required": ("int32", True, {}),
    "requiredIf": ("string", "IsSet", {"nullableVersions": "0+"}),
    "sizeOnlyWith": ("string", "Rest", {"size": "int32"}),
    "sorted": ("[]Inner", True, {"fields": [KEY]}),
    "sameLengthAs": ("[]int32", "Others", {}),
}
"""The properties of record formats: a type that has it, a value, and what else the field needs."""


def test_a_document_has_every_property_of_record_formats(tmp_path: Path) -> None:
    def text(field: str) -> str:
        return text_of(document("probe", [read_message(tmp_path, layout(FLAGS, OTHERS, field, REST))], ()))

    assert OF_LAYOUTS.keys() == {one.name for one in PROPERTIES.values()}
    for name, (type_, value, more) in OF_LAYOUTS.items():
        without = text(field_of(type_, **more))
        with_it = text(field_of(type_, **(more | {name: value})))
        assert with_it != without, f"no document has {name}: kipgen/data/items.py describes items"


def test_a_checksum_has_no_sign_and_a_bit_takes_the_place_of_null(tmp_path: Path) -> None:
    crc = field_of("int32", "Crc", checksum={"algorithm": "crc32", "from": "Flags"})
    text = field_of("string", "Text", presentIf="HasIt", nullableVersions="0+")
    read = read_message(tmp_path, layout(crc, FLAGS, text, field_of("string", "Other", nullableVersions="0+")))
    found = json.loads(text_of(document("probe", [read], ())))["messages"][0]["forms"][0]["structs"][0]["items"]
    values = {item["name"]: item["value"] for item in found}
    assert (values["Crc"]["signed"], values["Flags"]["signed"]) == (False, False)
    assert ("null" in values["Text"]["prefix"], "null" in values["Other"]["prefix"]) == (False, True)


def test_equal_specs_give_the_same_bytes_in_any_order() -> None:
    folder = FOLDERS["kafka_records"]
    specs = [one.spec for one in check.read_folder(folder)[0] if one.spec is not None]
    enums = check.read_enums(FOLDERS["kafka_messages"])
    both = [text_of(document("p", order, names)) for order, names in ((specs, enums), (specs[::-1], enums[::-1]))]
    assert both[0] == both[1]
    assert text_of(document("p", specs, [])) != both[0]


# Completeness: a reader that has only the document reads the same values as kipwire and Java.


def test_all_golden_messages_are_read_from_the_document_alone() -> None:
    forms = forms_of(resolved("kafka_messages"))
    assert sorted(forms) == sorted(golden_data.every_message_and_version())
    assert forms.keys() == golden_data.messages().keys()
    for key, lines in golden_data.messages().items():
        for line in lines:
            reader = Reader(forms[key], bytes.fromhex(line["hex"]))
            assert reader.message() == line["json"], key
            assert in_order(reader.unknown) == in_order(line.get("unknown", [])), key


def test_damaged_bytes_are_refused_from_the_document_alone() -> None:
    forms = forms_of(resolved("kafka_messages"))
    seen: Counter[bool] = Counter()
    for line in golden_data.lines("negative"):
        key = line["message"], line["version"]
        if key not in forms:
            continue
        data = bytes.fromhex(line["hex"])
        found: dict[str, Any] | None
        try:
            due = kafka_messages.message(*key).decode(data).to_json()
        except DecodeError:
            due = None
        try:
            found = Reader(forms[key], data).message()
        except (Wrong, UnicodeDecodeError):
            found = None
        # A field that is spelt out although it is at its default is not in the JSON form.
        assert (found is None) == (due is None), line
        assert found is None or kafka_messages.message(*key).from_json(found).to_json() == due, line
        seen[due is None] += 1
    assert min(seen[True] - 2000, seen[False] - 500) > 0


@settings(max_examples=100)
@given(data=st.data())
@pytest.mark.parametrize("package", [kafka_records, proposals], ids=lambda package: package.__name__)
def test_messages_of_other_packages_are_read_from_the_document_alone(package: ModuleType, data: st.DataObject) -> None:
    reads_as_kipwire_does(package, resolved(package.__name__), data)


@settings(max_examples=150)
@given(data=st.data())
def test_every_form_is_read_from_the_document_alone(forms_package: ModuleType, data: st.DataObject) -> None:
    reads_as_kipwire_does(forms_package, resolved("forms"), data)


@settings(max_examples=150)
@given(data=st.data())
def test_every_layout_is_read_from_the_document_alone(layouts_package: ModuleType, data: st.DataObject) -> None:
    reads_as_kipwire_does(layouts_package, resolved("layouts"), data)


def reads_as_kipwire_does(package: ModuleType, found: dict[str, Any], data: st.DataObject) -> None:
    forms = forms_of(found)
    name, version = data.draw(st.sampled_from(sorted(forms)))
    message = data.draw(messages(package.REGISTRY.message(name, version), long=False))
    reader = Reader(forms[name, version], message.encode())
    assert reader.message() == message.to_json()
    assert in_order(reader.unknown) == in_order(golden_data.unknown_tagged_fields(message))


def in_order(unknown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(unknown, key=lambda one: (one["path"], one["tag"]))


# Headers and facts of messages.


def test_a_header_stands_before_each_request_and_response() -> None:
    found = resolved("kafka_messages")
    versions = {type_: set(header["versions"]) for type_, header in found["headers"].items()}
    for message in found["messages"]:
        for form in message["forms"]:
            assert ("headerVersion" in form) == (message["type"] in versions)
            if message["type"] in versions:
                assert form["headerVersion"] in versions[message["type"]]
                cls = kafka_messages.message(message["name"], form["versions"][0])
                assert form["headerVersion"] == cls.HEADER_VERSION
                assert message["apiKey"] == cls.API_KEY
        assert message["servedVersions"] == [*kafka_messages.served(message["name"])]


def test_only_the_answer_to_api_versions_may_be_of_another_version() -> None:
    found = resolved("kafka_messages")
    refusals = {one["name"]: one["refusal"] for one in found["messages"] if "refusal" in one}
    assert refusals == {"ApiVersionsResponse": {"version": 0, "errorCode": 35}}


def test_numbers_have_the_names_that_the_package_has() -> None:
    for enum in resolved("kafka_messages")["enums"]:
        members = getattr(kafka_messages.enums, enum["name"])
        assert {one["value"]: one["name"] for one in enum["values"]} == {int(one): one.name for one in members}


def test_a_package_without_headers_has_those_of_kafka(tmp_path: Path) -> None:
    (tmp_path / "Request.json").write_text(
        '{"type": "request", "apiKey": 1, "name": "HelloRequest", "validVersions": "0-1", "flexibleVersions": "1+"}'
    )
    (tmp_path / "Response.json").write_text(
        '{"type": "response", "apiKey": 1, "name": "HelloResponse", "validVersions": "0-1", "flexibleVersions": "1+"}'
    )
    found = resolve_folder(tmp_path, "hello").document
    assert found is not None
    kafka = {one["name"]: one for one in resolved("kafka_messages")["messages"]}
    for type_, name in (("request", "RequestHeader"), ("response", "ResponseHeader")):
        assert found["headers"][type_]["forms"][0]["structs"][-1]["name"] == name
        assert found["headers"][type_]["versions"] == kafka[name]["versions"]
    by_name = {one["name"]: [form["headerVersion"] for form in one["forms"]] for one in found["messages"]}
    assert by_name == {"HelloRequest": [1, 2], "HelloResponse": [0, 1]}


# The command.


@pytest.fixture
def kipgen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: object) -> command_line.Done:
        return command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return call


def test_the_command_writes_prints_and_compares_the_same(kipgen: Any, tmp_path: Path) -> None:
    specs = FOLDERS["kafka_records"]
    file = tmp_path / "new" / "records.json"
    assert kipgen("resolve", specs, "--out", file, "--check").returncode == 1
    done = kipgen("resolve", specs, "--out", file)
    assert (done.returncode, done.stdout) == (0, f"{file}: 3 messages, 4 versions\n")
    assert file.read_text() == kipgen("resolve", specs).stdout == text_of(resolved("kafka_records"))
    assert kipgen("resolve", specs, "--out", file, "--check").returncode == 0
    file.write_text(file.read_text().replace("crc32c", "crc32"))
    done = kipgen("resolve", specs, "--out", file, "--check")
    assert done.returncode == 1
    assert '-      "algorithm": "crc32",\n+      "algorithm": "crc32c",' in done.stdout.replace("         ", "      ")


def test_problems_are_those_of_check_and_nothing_is_written(kipgen: Any, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "Foo.json").write_text('{"name": "Foo", "type": "data", "validVersions": "0"}')
    done = kipgen("resolve", "specs", "--out", "out.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == kipgen("check", "specs").stdout
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "none is not a folder of specs"),
        (["specs/Foo.json"], "specs/Foo.json is not a folder of specs; give the folder that it is in"),
        (["specs", "--check"], "--check needs --out FILE, the file to compare with"),
        (["specs", "--package", "a-b"], "'a-b' is not a valid name"),
        (["specs", "--out", "specs"], "specs"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], said: str, kipgen: Any, tmp_path: Path) -> None:
    write = tmp_path / "specs" / "Foo.json"
    write.parent.mkdir()
    write.write_text('{"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "none"}')
    done = kipgen("resolve", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1

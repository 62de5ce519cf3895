"""Names for numbers: enums of a package are generated, found by its fields, and never in the way of a number."""

from __future__ import annotations

import importlib
import json
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import kafka_messages
from kafka_messages import enums
from kafka_messages.enums import AclOperation, ApiKey, ErrorCode
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kipgen.data.document import document
from kipgen.package.generate import PackageChanges, apply_changes, find_changes
from kipgen.package.manifest import ENUMS_FILE, FILE_NAME
from kipgen.reading import check
from kipgen.reading.enum_spec import is_enum_file
from kipgen.resources import enum_schema_path
from kipwire import Struct
from kipwire.model.enums import NamedNumber
from kipwire.model.types import TYPES
from tests.support.places import ROOT

NOT_ASKED_FOR = -(2**31)
SPECS = ROOT / "schemas" / "kafka_messages"
LIGHT = {
    "name": "Light",
    "about": "What a lamp shows.",
    "values": [
        {"value": -1, "name": "BROKEN", "about": 'It shows nothing; """ and \\ stay what they are.'},
        {"value": 3, "name": "RED", "about": "Stop.", "kip": 7},
    ],
}
LAMP = {
    "name": "LampRequest",
    "type": "request",
    "apiKey": 5,
    "validVersions": "0-2",
    "flexibleVersions": "2+",
    "fields": [
        {"name": "Now", "type": "int8", "versions": "0+", "enum": "Light"},
        {
            "name": "Plan",
            "type": "[]Step",
            "versions": "1+",
            "fields": [{"name": "Lights", "type": "[]int32", "versions": "1+", "enum": "Light"}],
        },
        {"name": "LastErrorCode", "type": "int16", "versions": "0+"},
        {"name": "Other", "type": "int16", "versions": "0+"},
        {"name": "Seen", "type": "int8", "versions": "0+", "enum": "Light", "enumBits": True, "default": "-128"},
    ],
}
ANSWER = {**LAMP, "name": "LampResponse", "type": "response", "fields": []}
ERROR = {
    "name": "ErrorCode",
    "about": "What went wrong.",
    "values": [
        {"value": 0, "name": "NONE", "about": "Nothing.", "retriable": False},
        {"value": 9, "name": "BUSY", "about": "Try again.", "retriable": True},
    ],
}
KEYS = {"name": "LampKey", "about": "The APIs.", "valuesFrom": {"type": "request"}}


def written(folder: Path, **files: Any) -> Path:
    """Return a folder with specs by the names of their files, in which `__` means a dot."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name.replace('__', '.')}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return written(tmp_path / "specs", LampRequest=LAMP, LampResponse=ANSWER, Light__enum=LIGHT)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return tmp_path / "lamps"


def generate(specs: Path, package: Path) -> PackageChanges:
    planned = find_changes(specs, package, package.name, lambda done, total: None)
    assert not planned.has_errors, planned.problems
    apply_changes(planned)
    return planned


@pytest.fixture
def lamps(specs: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package with a name of its own, so that no kept enums of another package are used."""
    written(specs, ErrorCode__enum=ERROR, LampKey__enum=KEYS)
    location = package.with_name(f"lamps_{re.sub('[^a-z0-9]', '_', str(package.parent.name).lower())}")
    generate(specs, location)
    monkeypatch.syspath_prepend(str(location.parent))
    importlib.invalidate_caches()
    return importlib.import_module(location.name)


# Generating


def test_an_enum_becomes_a_class_with_names_and_meanings(lamps: ModuleType) -> None:
    module: Any = importlib.import_module(f"{lamps.__name__}.enums")
    assert list(module.Light) == [-1, 3]
    assert module.Light.__doc__ == "What a lamp shows."
    assert module.Light.BROKEN.about == LIGHT["values"][0]["about"]  # type: ignore[index]
    assert (module.Light.BROKEN.kip, module.Light.RED.kip) == (None, 7)
    assert [(one.name, one.retriable) for one in module.ErrorCode] == [("NONE", False), ("BUSY", True)]
    assert [(one.name, one, one.message, one.versions) for one in module.LampKey] == [
        ("LAMP", 5, "LampRequest", range(3))
    ]


def test_fields_have_the_enums_that_their_specs_or_their_names_say(lamps: ModuleType) -> None:
    module: Any = importlib.import_module(f"{lamps.__name__}.enums")
    for version in lamps.versions("LampRequest"):
        cls = lamps.message("LampRequest", version)
        found = {field.name: field.enum for field in cls.FIELDS}
        plan_ = {"plan": None} if version else {}
        assert found == {"now": module.Light, **plan_, "last_error_code": module.ErrorCode, "other": None, "seen": None}
        steps = [field.struct for field in cls.FIELDS if field.name == "plan"]
        assert [[field.enum for field in step.FIELDS] for step in steps] == [[module.Light]] * bool(version)


def test_fields_have_their_enums_in_their_types(lamps: ModuleType) -> None:
    module: Any = importlib.import_module(f"{lamps.__name__}.enums")
    light: Any = module.Light | int
    cls: Any = lamps.message("LampRequest", 1)
    hints = typing.get_type_hints(cls)
    named = {"now": light, "last_error_code": module.ErrorCode | int}
    assert {name: hints[name] for name in hints if name != "plan"} == {**named, "other": int, "seen": int}
    (step,) = typing.get_args(hints["plan"])
    assert typing.get_type_hints(step) == {"lights": list[light]}
    assert typing.get_type_hints(cls.__init__) == {**hints, "return": type(None)}


def test_values_are_shown_by_their_names(lamps: ModuleType) -> None:
    module: Any = importlib.import_module(f"{lamps.__name__}.enums")
    cls: Any = lamps.message("LampRequest", 0)
    one = cls.decode(cls(now=3, last_error_code=module.ErrorCode.BUSY, other=3, seen=0b1000).encode())
    assert (type(one.now), type(one.last_error_code)) == (int, int)
    assert repr(one) == "LampRequest(now=Light.RED, last_error_code=ErrorCode.BUSY, other=3, seen=8)"
    assert repr(cls(now=4)) == "LampRequest(now=4, last_error_code=ErrorCode.NONE, other=0, seen=-128)"


def test_sets_of_bits_have_the_names_of_the_bits_that_are_set(lamps: ModuleType) -> None:
    module: Any = importlib.import_module(f"{lamps.__name__}.enums")
    cls: Any = lamps.message("LampRequest", 2)
    fields = {field.name: field for field in cls.FIELDS}
    seen = fields["seen"]
    assert (seen.enum, seen.enum_of_bits) == (None, module.Light)  # values are sets of bits, not numbers of the enum
    assert {name for name, field in fields.items() if field.enum_of_bits} == {"seen"}
    red, broken = module.Light.RED, module.Light.BROKEN
    for number, expected in ((0b1000, (red,)), (0b1111, (red,)), (3, ()), (0, ()), (-1, (red,)), (-128, ())):
        assert seen.named(number) == expected, number
    assert fields["now"].named(3) == (red,)
    assert fields["now"].named(-1) == (broken,)
    assert fields["now"].named(8) == fields["other"].named(3) == ()


def test_a_module_of_enums_without_bits_is_that_of_an_earlier_release(
    lamps: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"{lamps.__name__}.enums")
    monkeypatch.delattr(module, "BITS")
    cls: Any = lamps.message("LampRequest", 0)
    assert {field.enum_of_bits for field in cls.FIELDS} == {None}


def test_error_codes_have_no_enum_in_a_package_without_that_table(specs: Path, package: Path) -> None:
    generate(specs, package)
    assert "last_error_code" not in (package / ENUMS_FILE).read_text()
    assert "lamp_request.LampRequest.now" in (package / ENUMS_FILE).read_text()


def test_error_codes_have_their_type_as_soon_as_there_is_that_table(specs: Path, package: Path) -> None:
    generate(specs, package)
    first = package / "lamp_request" / "v0.py"
    without = first.read_text()
    assert "    last_error_code: int\n" in without
    written(specs, ErrorCode__enum=ERROR)
    changed = set(generate(specs, package).contents)
    assert changed == {"lamp_request/v0.py", "lamp_request/v1.py", "lamp_request/v2.py", ENUMS_FILE, FILE_NAME}
    assert "    last_error_code: _enums.ErrorCode | int\n" in first.read_text()
    (specs / "ErrorCode.enum.json").unlink()
    generate(specs, package)
    assert first.read_text() == without


def test_a_package_without_enums_has_no_module_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {**LAMP, "fields": [{"name": "LastErrorCode", "type": "int16", "versions": "0+"}]}
    specs = written(tmp_path / "specs", LampRequest=request, LampResponse=ANSWER)
    generate(specs, tmp_path / "lamps_without_names")
    assert not (tmp_path / "lamps_without_names" / ENUMS_FILE).exists()
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    cls = importlib.import_module("lamps_without_names").message("LampRequest", 0)
    assert {field.enum for field in cls.FIELDS} == {None}


def test_only_the_module_of_enums_is_mutable_for_an_enum(specs: Path, package: Path) -> None:
    generate(specs, package)
    assert find_changes(specs, package, package.name, lambda done, total: None).is_up_to_date
    file = specs / "Light.enum.json"
    file.write_text(file.read_text().replace("Stop.", "Wait."))
    assert set(generate(specs, package).contents) == {ENUMS_FILE, FILE_NAME}
    assert '"Wait."' in (package / ENUMS_FILE).read_text()
    assert find_changes(specs, package, package.name, lambda done, total: None).is_up_to_date


def test_another_enum_of_a_field_reaches_the_module_of_enums(specs: Path, package: Path) -> None:
    generate(specs, package)
    written(specs, Lamp__enum={**LIGHT, "name": "Lamp"})
    assert set(generate(specs, package).contents) == {ENUMS_FILE, FILE_NAME}
    spec = specs / "LampRequest.json"
    spec.write_text(spec.read_text().replace('"enum": "Light"', '"enum": "Lamp"', 1))
    generate(specs, package)
    assert '"lamp_request.LampRequest.now": Lamp,' in (package / ENUMS_FILE).read_text()


def test_the_module_goes_with_the_last_enum(specs: Path, package: Path) -> None:
    generate(specs, package)
    (specs / "Light.enum.json").unlink()
    spec = specs / "LampRequest.json"
    spec.write_text(spec.read_text().replace(', "enum": "Light"', "").replace(', "enumBits": true', ""))
    assert ENUMS_FILE in generate(specs, package).stale
    assert not (package / ENUMS_FILE).exists()


def test_a_damaged_module_of_enums_is_mutable(specs: Path, package: Path) -> None:
    generate(specs, package)
    text = (package / ENUMS_FILE).read_text()
    (package / ENUMS_FILE).write_text(text.replace("number(3,", "number(4,"))
    assert (package / ENUMS_FILE).read_text() != text
    generate(specs, package)
    assert (package / ENUMS_FILE).read_text() == text


def test_the_enum_of_a_field_must_be_there(specs: Path) -> None:
    (specs / "Light.enum.json").unlink()
    problems = check.read_folder(specs)[1]
    assert {(problem.rule, problem.path) for problem in problems} == {
        ("enum-unknown", "LampRequest.Now"),
        ("enum-unknown", "LampRequest.Plan.Lights"),
        ("enum-unknown", "LampRequest.Seen"),
    }


@pytest.mark.parametrize("value", ["1.0", "1e2", "true", '"1"', "[]"])
def test_a_number_that_is_not_whole_is_refused(specs: Path, value: str) -> None:
    file = specs / "Light.enum.json"
    file.write_text(file.read_text().replace('"value": 3', f'"value": {value}'))
    assert [problem.rule for problem in check.read_file(file).problems] == ["wrong-kind"]


def test_an_enum_is_judged_alone_with_places(specs: Path) -> None:
    file = specs / "Light.enum.json"
    file.write_text('{\n  "name": "light", "about": "Lamps.",\n  "values": [{ "value": "1", "name": "Red" }]\n}\n')
    found = [(problem.location.line, problem.rule) for problem in check.read_file(file).problems]
    assert sorted(found) == [(2, "name-form"), (3, "missing-property"), (3, "name-form"), (3, "wrong-kind")]


# Reserved numbers and names


def found(folder: Path, **changes: Any) -> list[tuple[int, str, str]]:
    """Return line, rule and text of each problem of an enum, whose properties have a line each from line 2 on."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in {**LIGHT, **changes}.items()]
    file = folder / "Light.enum.json"
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return [(one.location.line, one.rule, one.text) for one in check.read_file(file).problems]


def test_a_reserved_number_or_name_is_not_used_again(tmp_path: Path) -> None:
    assert found(tmp_path, reservedValues=[-7, 4], reservedNames=["DIM"]) == []
    used = "is reserved (line 5): an earlier value had it; choose another"
    assert found(tmp_path, reservedValues=[4, -1]) == [(4, "enum-reserved-used", f"-1 {used} number")]
    assert found(tmp_path, reservedNames=["RED"]) == [(4, "enum-reserved-used", f"RED {used} name")]
    twice = found(tmp_path, reservedNames=["DIM", "DIM"])
    assert twice == [(5, "enum-reserved-twice", "DIM is listed 2 times; list it once")]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"reservedValues": 4}, "wrong-kind"),
        ({"reservedValues": ["4"]}, "wrong-kind"),
        ({"reservedValues": [True]}, "wrong-kind"),
        ({"reservedNames": "DIM"}, "wrong-kind"),
        ({"reservedNames": [4]}, "wrong-kind"),
        ({"reservedNames": ["Dim"]}, "name-form"),
        ({"reservedNames": ["DIM", ""]}, "name-form"),
    ],
)
def test_what_cannot_be_reserved_is_refused_once(changes: dict[str, Any], rule: str, tmp_path: Path) -> None:
    assert [(line, one) for line, one, _ in found(tmp_path, **changes)] == [(5, rule)]
    editor = Draft202012Validator(json.loads(enum_schema_path().read_text()))
    assert not editor.is_valid({**LIGHT, **changes})
    assert editor.is_valid({**LIGHT, "reservedValues": [4], "reservedNames": ["DIM"]})


def test_a_register_reserves_names_of_headers(tmp_path: Path) -> None:
    row = {"value": 1114000, "name": "app.name", "about": "The application.", "by": "IG"}
    register = {"keyAreas": ["local use"], "values": [row]}
    assert found(tmp_path, **register, reservedNames=["app.id"]) == []
    # As the constants of both would be the same, so would they be in code.
    ((_, rule, text),) = found(tmp_path, **register, reservedNames=["app-name"])
    assert (rule, text.partition(" is ")[0]) == ("enum-reserved-used", "app.name")
    ((_, rule, _),) = found(tmp_path, **register, reservedNames=["app..id"])
    assert rule == "name-form"


def test_what_is_reserved_is_in_the_resolved_specs_and_not_in_the_code(specs: Path, package: Path) -> None:
    plain = generate(specs, package).contents[ENUMS_FILE]
    written(specs, Light__enum={**LIGHT, "reservedValues": [4, 2], "reservedNames": ["DIM"]})
    data: Any = document("lamps", [], check.read_enums(specs))["enums"]
    assert (data[0]["reservedValues"], data[0]["reservedNames"]) == ([4, 2], ["DIM"])
    assert generate(specs, package.with_name("again")).contents[ENUMS_FILE].replace("again", "lamps") == plain


# Looking up


def test_any_number_may_be_looked_up() -> None:
    assert ErrorCode.find(25) is ErrorCode.UNKNOWN_MEMBER_ID
    assert ErrorCode.text(25) == "25 UNKNOWN_MEMBER_ID"
    for number in (-2, 9999, -(2**15), 2**63):
        assert ErrorCode.find(number) is None
        assert ErrorCode.text(number) == str(number)


def test_names_stand_for_numbers_in_messages() -> None:
    message = HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert message.encode() == HeartbeatResponse(error_code=25).encode()
    assert message == HeartbeatResponse.decode(message.encode())
    assert type(HeartbeatResponse.decode(message.encode()).error_code) is int
    assert message.to_json() == HeartbeatResponse(error_code=25).to_json()
    assert json.dumps(message.to_json()) == json.dumps(HeartbeatResponse(error_code=25).to_json())
    assert pickle.loads(pickle.dumps(ErrorCode.NONE)) is ErrorCode.NONE


def test_messages_are_imported_without_the_enums() -> None:
    program = """if True:
        import sys
        from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
        HeartbeatResponse.decode(HeartbeatResponse(error_code=25).encode())
        assert not {"kafka_messages.enums", "kipwire.model.enums"} & set(sys.modules)
        assert HeartbeatResponse.FIELDS[1].enum.text(25) == "25 UNKNOWN_MEMBER_ID"
        assert {"kafka_messages.enums", "kipwire.model.enums"} <= set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", program], check=True)


# Kafka's tables


def structs(cls: type[Struct]) -> set[type[Struct]]:
    return {cls}.union(*(structs(field.struct) for field in cls.FIELDS if field.struct and field.struct is not cls))


@pytest.fixture(scope="module")
def kafka() -> set[type[Struct]]:
    """All structs; a fixture, as importing them takes a second and every worker process collects this module."""
    return set().union(
        *(
            structs(kafka_messages.message(name, version))
            for name in kafka_messages.names()
            for version in kafka_messages.versions(name)
        )
    )


def test_every_error_code_and_no_field_of_another_type_has_the_error_codes(kafka: set[type[Struct]]) -> None:
    fields = [field for cls in kafka for field in cls.ATTRIBUTES]
    for field in fields:
        is_code = field.element == "int16" and field.spec_name.endswith("ErrorCode")
        assert (field.enum is ErrorCode) == is_code, (field.owner, field)
    assert sum(field.enum is ErrorCode for field in fields) > 300


def test_every_entry_is_that_of_a_field_and_every_number_fits_it(kafka: set[type[Struct]]) -> None:
    seen = set()
    for cls in kafka:
        for field in cls.ATTRIBUTES:
            if field.enum is not None:
                seen.add(f"{cls.__module__.split('.')[1]}.{cls.__name__}.{field.name}")
                row = TYPES[field.element]
                lowest, highest = (-(1 << row.bits - 1), (1 << row.bits - 1) - 1) if row.signed else (0, 1 << row.bits)
                assert all(lowest <= number <= highest for number in field.enum), field
    assert seen == set(enums.FIELDS)


def test_api_keys_are_those_of_the_requests() -> None:
    expected = {
        (entry.api_key, entry.name, entry.versions)
        for entry in map(kafka_messages.REGISTRY.entry, kafka_messages.names())
        if entry.type == "request"
    }
    former = {(56, "AlterIsrRequest", range(1)), (74, "ListClientMetricsResourcesRequest", range(1))}
    assert former < expected
    assert {(int(key), key.message, key.versions) for key in ApiKey} == expected - former
    assert not {"ALTER_ISR", "LIST_CLIENT_METRICS_RESOURCES"} & set(ApiKey.__members__), "a number has one name"
    assert (ApiKey.API_VERSIONS, ApiKey.API_VERSIONS.message) == (18, "ApiVersionsRequest")


def test_numbers_that_a_text_explains_are_those_of_the_enum() -> None:
    """Up to the highest one that it has a name for: lists in texts do not end early."""
    explained = re.compile(r"(?:: |, |; |, and |\()(-?\d+) (?:is )?[a-zA-Z]")
    lists = 0
    for draft in (one.draft for one in check.read_folder(SPECS)[0]):
        assert draft is not None
        for field in draft.fields:
            enum = getattr(enums, field.spec.enum or "", None)
            numbers = {int(number) for number in explained.findall(field.spec.about.replace("; -1 if not set", ""))}
            if enum is None or len(numbers) < 2:
                continue
            lists += 1
            known = {int(one) for one in enum if one.name != "UNKNOWN" or one == 0}
            assert numbers - {-1} <= known, (field.part.names, numbers)
            if enum not in (
                enums.ConfigSource,
                enums.AclPatternType,
                enums.ShareDeliveryState,
            ):  # some do not occur there
                assert max(known) in numbers, (field.part.names, max(known))
    assert lists > 40


def test_every_table_of_kafka_is_documented() -> None:
    page = (SPECS.parent.parent / "docs" / "names.md").read_text()
    assert [name for name in enums.__all__ if f"`{name}`" not in page] == []


def test_no_text_of_a_table_is_given_twice_or_lacks_its_full_stop() -> None:
    for name in enums.__all__:
        enum: type[NamedNumber] = getattr(enums, name)
        abouts = [one.about for one in enum if one.about]
        assert len(set(abouts)) == len(abouts), name
        assert all(about.endswith(".") for about in abouts), name
        assert enum.__doc__ and enum.__doc__.strip().endswith(".")


def test_acl_operations_are_those_of_every_acl_message() -> None:
    named = {key.split(".")[0] for key, enum in enums.FIELDS.items() if enum is AclOperation}
    assert named == {
        "access_control_entry_record",
        "create_acls_request",
        "delete_acls_request",
        "delete_acls_response",
        "describe_acls_request",
        "describe_acls_response",
    }


def test_texts_of_acl_operations_list_all_of_them() -> None:
    words = [f"{one.value} {one.name.lower().replace('_', ' ')}" for one in AclOperation if one > AclOperation.ANY]
    assert words[-1] == "15 two phase commit"
    specs = [one.spec for one in check.read_files(SPECS)[0] if one.spec is not None]
    holders = [(spec.name, fields) for spec in specs for fields in spec.struct_fields.values()]
    asked = {
        (name, field.about.replace("-", " "))
        for name, fields in holders
        for field in fields
        if field.enum == "AclOperation" and not field.enum_bits
    }
    assert len({name for name, _ in asked}) == 6
    assert [(name, word) for name, about in asked for word in words if f" {word}" not in about] == []


def test_every_set_of_authorized_operations_has_the_names_of_acl_operations(kafka: set[type[Struct]]) -> None:
    asked = {field for cls in kafka for field in cls.ATTRIBUTES if field.spec_name.endswith("AuthorizedOperations")}
    sets = {field for field in asked if field.element == "int32"}
    assert all(field.enum_of_bits is AclOperation and field.enum is None for field in sets)
    assert not [field for field in asked - sets if field.enum_of_bits]
    assert {
        f"{cls.__module__.split('.')[1]}.{cls.__name__}.{one.name}"
        for cls in kafka
        for one in cls.ATTRIBUTES
        if one in sets
    } == set(enums.BITS)
    for field in sets:
        assert field.default == NOT_ASKED_FOR and field.named(NOT_ASKED_FOR) == ()
        everything = sum(1 << one for one in AclOperation)
        assert field.named(everything) == tuple(AclOperation)


def test_files_of_enums_are_not_taken_for_messages() -> None:
    checked, _ = check.read_folder(SPECS)
    assert not [one.file for one in checked if is_enum_file(one.file)]
    assert len(check.enum_files(SPECS)) == len(enums.__all__)

"""`kipwire.testing.check_package` passes right packages, and finds each kind of fault in a wrong one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import kafka_messages
import kafka_records
from kipwire import ConversionError, convert
from kipwire.testing import check_package, packages
from tests.support.spec_package import generated

PUT = {
    "type": "data",
    "name": "Put",
    "validVersions": "0-2",
    "flexibleVersions": "2+",
    "fields": [
        {"name": "Key", "type": "string", "versions": "0+"},
        {"name": "Ttl", "type": "int32", "versions": "1+", "default": "-1"},
        {"name": "Owner", "type": "string", "versions": "2+", "nullableVersions": "2+", "default": "null",
         "taggedVersions": "2+", "tag": 0},
    ],
}  # fmt: skip
GONE = {"type": "data", "name": "Gone", "validVersions": "none", "fields": []}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("put")
    (folder / "specs").mkdir()
    for spec in (PUT, GONE):
        (folder / "specs" / f"{spec['name']}.json").write_text(json.dumps(spec))
    with generated(folder / "specs", f"put_{uuid.uuid4().hex}", folder) as made:
        yield made


def failure(package: ModuleType) -> tuple[str, str]:
    """Return the text of the failure of a package, and the note on its place."""
    with pytest.raises(AssertionError) as caught:
        check_package(package, max_examples=20)
    return str(caught.value), caught.value.__notes__[-1]


def test_a_package_with_three_versions_and_a_retired_message_passes(package: ModuleType) -> None:
    check_package(package, max_examples=10)


def test_decoding_something_else_is_found(package: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = package.message("Put", 1)

    def decode(data: bytes) -> Any:
        message: Any = right(data)
        message.ttl &= 0x7FFF_FFFF  # as if the field were unsigned
        return message

    right = cls.decode
    monkeypatch.setattr(cls, "decode", decode)
    text, note = failure(package)
    assert "is decoded as Put(" in text
    assert note == f"{package.__name__}.put.v1.Put, version 1: round trip"


@pytest.mark.parametrize("wrong", ["short", "long"])
def test_taking_what_is_cut_short_or_too_long_is_found(
    wrong: str, package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = package.message("Put", 2)

    def decode(data: bytes) -> Any:
        if wrong == "short":
            return right(data) if data else cls()
        return read(data, 0)[0]

    right, read = cls.decode, cls.read
    monkeypatch.setattr(cls, "decode", decode)
    text, note = failure(package)
    assert "is accepted, as Put(" in text
    assert note == f"{package.__name__}.put.v2.Put, version 2: {'damage' if wrong == 'short' else 'round trip'}"


def test_losing_a_value_on_the_way_to_another_version_is_found(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(message: Any, version: Any, **more: Any) -> Any:
        result: Any = convert(message, version, **more)
        if version.VERSION == 0:
            result.key = ""
        return result

    monkeypatch.setattr(packages, "convert", forgetful)
    text, note = failure(package)
    assert text.startswith("comes back from version 2 as Put(")
    assert note == f"{package.__name__}.put.v0.Put, version 0: as version 2"


def test_what_cannot_be_converted_is_no_failure(package: ModuleType) -> None:
    with pytest.raises(ConversionError):
        convert(package.message("Put", 1)(ttl=5), 0)
    check_package(package, max_examples=40)


def test_what_is_no_generated_package_is_refused() -> None:
    with pytest.raises(TypeError, match=r"json.* is no generated package"):
        check_package(json)


@pytest.mark.night
@pytest.mark.parametrize("of", ["forms_package", "layouts_package"])
def test_packages_of_all_forms_and_layouts_pass(of: str, request: pytest.FixtureRequest) -> None:
    check_package(request.getfixturevalue(of), max_examples=10)


@pytest.mark.night
def test_the_packages_of_kafka_pass() -> None:
    for each in (kafka_records, kafka_messages):
        check_package(each, max_examples=5)

"""KIP-625, what it says of specs: which encodings are accepted, which are generation-time errors, what follows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from kipgen.package.generate import find_changes
from kipgen.reading.check import read_files, read_folder
from kipgen.reading.rules.examples import enum, field_of, spec
from kipwire.codec import wire
from kipwire.drafts import proposals
from kipwire.drafts.proposals.encoded_metadata import v9, v11
from kipwire.model.types import ENCODINGS
from tests.support.places import ROOT
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import compare_texts
from tests.support.subjects.rule_checks import check_text, read_field, rules_broken


def field(type_: str, encoding: object, versions: str = "0+") -> str:
    return spec(field_of(type_, versions=versions, encoding=encoding))


def is_generation_error(text: str, folder: Path) -> bool:
    """True if code generation refuses the spec and would write nothing."""
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs" / "Probe.json").write_text(text)
    changes = find_changes(folder / "specs", folder / "package", "package", lambda done, total: None)
    return changes.has_errors and not changes.contents


def test_one_encoding_or_one_for_each_range_of_versions(tmp_path: Path) -> None:
    one = classes_of(field("int32", "upacked32"), "kip_625_one", tmp_path)
    assert {cls(alpha=300).encode().hex() for version, cls in one.items() if version < 2} == {"ac02"}
    each = classes_of(field("int32", {"2+": "packed32", "0": "fixed32", "1": "upacked32"}), "kip_625_each", tmp_path)
    assert [each[version](alpha=300).encode().hex() for version in range(4)] == ["0000012c", "ac02", "d80400", "d80400"]


@pytest.mark.parametrize(
    "type_",
    ["bool", "int8", "uint16", "uint32", "float64", "string", "uuid", "bytes", "records", "[]int32", "[]string"],
)
def test_an_encoding_of_another_type_is_an_error(type_: str, tmp_path: Path) -> None:
    assert rules_broken(tmp_path, field(type_, "fixed32" if "32" in type_ else "fixed16")) == ["encoding-type"]
    assert is_generation_error(field(type_, "fixed16"), tmp_path)


@pytest.mark.parametrize(
    ("versions", "encoding"),
    [
        ("0+", {"0": "fixed32", "2+": "packed32"}),
        ("0+", {"0-1": "fixed32"}),
        ("0-2", {"0-1": "fixed32"}),
        ("1+", {"0+": "fixed32"}),
        ("0-2", {"0+": "fixed32"}),
        ("0+", {"1+": "fixed32"}),
        ("0+", {}),
    ],
)
def test_encodings_for_other_versions_than_the_fields_are_an_error(
    versions: str, encoding: dict[str, str], tmp_path: Path
) -> None:
    assert rules_broken(tmp_path, field("int32", encoding, versions)) == ["encoding-coverage"]
    assert is_generation_error(field("int32", encoding, versions), tmp_path)


def test_encodings_are_accepted_for_just_the_versions_of_the_field(tmp_path: Path) -> None:
    ranges = {"0": {0}, "1": {1}, "0-1": {0, 1}, "1-2": {1, 2}, "0-2": {0, 1, 2}, "1+": {1, 2, 3}, "2+": {2, 3}}
    parts = [*((one,) for one in ranges), *itertools.combinations(ranges, 2)]
    for versions, encoded in itertools.product(("0-2", "1+"), parts):
        found = rules_broken(tmp_path, field("int32", dict.fromkeys(encoded, "packed32"), versions))
        covered = set().union(*map(ranges.__getitem__, encoded))
        is_twice = sum(len(ranges[one]) for one in encoded) > len(covered)
        broken = {"encoding-overlap": is_twice, "encoding-coverage": covered != ranges[versions]}
        assert set(found) == {rule for rule, is_broken in broken.items() if is_broken}, (versions, encoded)


@pytest.mark.parametrize("encoding", [{"0-2": "fixed32", "2+": "packed32"}, {"0+": "fixed32", "1-2": "fixed32"}])
def test_ranges_with_a_version_in_common_are_an_error(encoding: dict[str, str], tmp_path: Path) -> None:
    assert rules_broken(tmp_path, field("int32", encoding)) == ["encoding-overlap"]
    assert is_generation_error(field("int32", encoding), tmp_path)


def test_the_names_are_nine_and_any_other_is_an_error(tmp_path: Path) -> None:
    names = {f"{form}{bits}" for form in ("fixed", "packed", "upacked") for bits in (16, 32, 64)}
    assert set(ENCODINGS) == names
    for name in names:
        assert rules_broken(tmp_path, field("int64", name)) == []
    for other in ("unsigned32", "Packed32", "packed8", "packed32 ", "packed", "32", "", "fixed128", "zigzag32"):
        assert rules_broken(tmp_path, field("int64", other)) == ["encoding-name"]
        assert is_generation_error(field("int64", other), tmp_path)
    assert rules_broken(tmp_path, field("int32", {"0-9": "fixed32", "10+": "unsigned32"})) == ["encoding-name"]


@pytest.mark.parametrize(
    ("bits", "number"),
    [(16, -1), (16, -(1 << 15)), (32, -64), (32, -65), (32, -(1 << 31)), (64, -1), (64, -8193), (64, -(1 << 63))],
)
def test_a_negative_number_as_an_unsigned_varint_is_a_warning_with_its_bytes(
    bits: int, number: int, tmp_path: Path
) -> None:
    text = spec(field_of(f"int{bits}", default=str(number), encoding=f"upacked{bits}"))
    (problem,) = check_text(tmp_path, text).problems
    sizes = {"packed": len(wire.write_packed(number, bits)), "fixed": bits // 8}
    best = min(sizes, key=sizes.__getitem__)
    most = len(wire.write_upacked(number, bits))
    assert f"upacked{bits} takes {most} bytes and {best}{bits} takes {sizes[best]};" in problem.text
    assert (problem.rule, problem.severity) == ("unsigned-default", "warning")


def test_the_warning_is_about_the_newest_version_and_negative_numbers(tmp_path: Path) -> None:
    for default, encoding, versions, found in (
        ("-1", "upacked32", "0+", ["unsigned-default"]),
        ("0", "upacked32", "0+", []),
        ("-1", "packed32", "0+", []),
        ("-1", {"0-2": "upacked32", "3+": "fixed32"}, "0+", []),
        ("-1", {"0-2": "fixed32", "3+": "upacked32"}, "0+", ["unsigned-default"]),
        ("-1", {"0-3": "fixed32", "4+": "upacked32"}, "0+", []),  # version 3 is the last
        ("-1", {"0": "fixed32", "1-2": "upacked32"}, "0-2", ["unsigned-default"]),
    ):
        text = spec(field_of("int32", versions=versions, default=default, encoding=encoding))
        assert rules_broken(tmp_path, text) == found, (default, encoding)


def test_the_warning_is_about_negative_numbers_of_enums_too(tmp_path: Path) -> None:
    row = '{"value": %d, "name": "A", "about": "An a."}'
    (tmp_path / "Minus.enum.json").write_text(enum(row % -1, name="Minus"))
    (tmp_path / "Plus.enum.json").write_text(enum(row % 0, name="Plus"))
    cases: list[tuple[str, str, dict[str, Any], list[str]]] = [
        ("int16", "Minus", {"encoding": "upacked16"}, ["unsigned-enum"]),
        ("[]int16", "Minus", {"elementEncoding": "upacked16"}, ["unsigned-enum"]),
        ("int16", "Minus", {"encoding": {"0-2": "upacked16", "3+": "packed16"}}, []),
        ("int16", "Minus", {}, []),
        ("int16", "Plus", {"encoding": "upacked16"}, []),
    ]
    for type_, name, encoding, found in cases:
        (tmp_path / "Probe.json").write_text(spec(field_of(type_, enum=name, **encoding)))
        assert [problem.rule for problem in read_folder(tmp_path)[1]] == found, (type_, name, encoding)


def test_fixed_of_the_types_own_width_is_the_default(tmp_path: Path) -> None:
    for type_, data in (("int16", "fffe"), ("int32", "fffffffe"), ("int64", "fffffffffffffffe")):
        assert read_field(tmp_path, f'"name": "Alpha", "type": "{type_}", "versions": "0+"').encodings == ()
        plain = classes_of(spec(field_of(type_)), f"kip_625_plain_{type_}", tmp_path)[0]
        assert plain(alpha=-2).encode().hex() == data
        explicit = field(type_, f"fixed{type_.removeprefix('int')}")
        assert compare_texts(tmp_path / type_, spec(field_of(type_)), explicit) == ()


def test_a_field_of_any_version_has_one_name_and_type_in_python() -> None:
    assert v9.EncodedMetadata.__annotations__["controller_id"] == v11.EncodedMetadata.__annotations__["controller_id"]
    assert v9.EncodedMetadata(controller_id=7).encode() != v11.EncodedMetadata(controller_id=7).encode()


def test_an_encoding_changes_with_a_new_version_and_not_in_a_released_one(tmp_path: Path) -> None:
    old = spec(field_of("int32"))
    later = spec(field_of("int32", encoding={"0-3": "fixed32", "4+": "packed32"}), valid="0-4")
    assert [one.rule.id for one in compare_texts(tmp_path / "new", old, later)] == ["version-not-negotiated"]
    found = compare_texts(tmp_path / "released", old, field("int32", "packed32"))
    assert [(one.rule.id, one.severity) for one in found] == [("encoding-changed", "wire")]


def test_widening_a_type_is_a_change_of_code_and_not_of_bytes(tmp_path: Path) -> None:
    wide = spec(field_of("int64", encoding={"0-3": "fixed32", "4+": "fixed64"}), valid="0-4")
    found = compare_texts(tmp_path, spec(field_of("int32")), wide)
    assert [(one.rule.id, one.severity) for one in found if one.severity != "notice"] == [("type-same-bytes", "source")]


def test_no_message_of_kafka_has_an_encoding() -> None:
    specs = [one.spec for one in read_files(ROOT / "schemas" / "kafka_messages")[0] if one.spec is not None]
    assert len(specs) > 280
    assert [one.name for one in specs for fields in one.struct_fields.values() for f in fields if f.encodings] == []


def metadata(version: int, replicas: int, isr: int, offline: int) -> int:
    """Return the bytes of a partition of small numbers, without its tag section."""
    cls: Any = proposals.message("EncodedMetadata", version)

    def size(*partitions: Any) -> int:
        return int(cls(topics=[topic(partitions=list(partitions))]).encoded_size())

    topic: Any = next(one.struct for one in cls.ATTRIBUTES if one.name == "topics")
    partition: Any = next(one.struct for one in topic.ATTRIBUTES if one.name == "partitions")
    full = partition(
        error_code=0, partition_index=1, leader_id=1, leader_epoch=1, replica_nodes=[1] * replicas, isr_nodes=[1] * isr,
        offline_replicas=[1] * offline,
    )  # fmt: skip
    return size(full) - size() - 1


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 2, 0), (3, 2, 1)])
def test_the_formulas_of_the_example_hold(counts: tuple[int, int, int]) -> None:
    assert metadata(9, *counts) == 17 + 4 * sum(counts)
    assert metadata(11, *counts) == 7 + sum(counts)


def test_there_is_no_type_for_varints(tmp_path: Path) -> None:
    for type_ in ("varint32", "uvarint", "varlong"):
        assert rules_broken(tmp_path, spec(field_of(type_))) == ["type-syntax"]

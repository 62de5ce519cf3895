"""`kipgen advise`: what it advises saves just what it says, leaves released versions alone, and drops no sample."""

from __future__ import annotations

from pathlib import Path
from shutil import copy
from typing import Any

import pytest

import kafka_messages
from kipgen.commands.advise.savings import Advice, AdviceError, FieldAdvice, advise
from kipgen.reading.check import read_file
from kipwire.drafts.kip_625 import Counts, IntegerCounts
from tests.support.spec_package import generated
from tests.support.subjects.advice import CAPTURE, METADATA, SPECS, as_json, captured, changed_spec, run

NEXT = 14


def metadata_responses() -> list[Any]:
    found = captured("MetadataResponse")
    return [kafka_messages.decode_response(frame, 3, entry["api_version"])[1] for entry, frame in found]


# Advice.


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "FetchRequest", "ProduceResponse"])
def test_pasted_texts_are_accepted_and_leave_released_versions_alone(name: str, tmp_path: Path) -> None:
    spec = SPECS / f"{name}.json"
    result = as_json(spec, "--samples", CAPTURE)
    assert any(field["text"] for field in result["fields"])
    file = tmp_path / f"{name}.json"
    file.write_text(changed_spec(spec, result["fields"], result["next_version"]))
    checked = read_file(file)
    assert [str(problem) for problem in checked.problems] == []
    for field in result["fields"]:
        if field["text"]:
            assert list(field["versions"].values())[-1] == field["best"]
            assert field["text"].startswith(f'"{field["property"]}": {{"')
            assert all(encoding.startswith("fixed") for encoding in list(field["versions"].values())[:-1])


def test_generated_code_saves_just_the_bytes_that_were_promised(tmp_path: Path) -> None:
    result = as_json(METADATA, "--samples", CAPTURE)
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "MetadataResponse.json").write_text(changed_spec(METADATA, result["fields"], NEXT))
    (folder / "MetadataRequest.json").write_text(changed_spec(SPECS / "MetadataRequest.json", [], NEXT))
    copy(SPECS.parent / "enums" / "AclOperation.enum.json", folder)  # it names the bits of two fields
    with generated(folder, "advised_metadata", tmp_path) as package:
        old_class, new_class = (package.message("MetadataResponse", version) for version in (13, NEXT))
    saved = 0
    for message in metadata_responses():
        old = old_class.from_json(message.to_json())
        new = new_class.from_json(message.to_json())
        assert old.encode() == message.encode()
        assert type(new).decode(new.encode()) == new
        saved += len(old.encode()) - len(new.encode())
    assert saved == result["saved_with_extension"] > result["saved"] > 0
    assert sum(field["saved"] for field in result["fields"]) == saved


SPEC = """{{"name": "Sample", "type": "data", "validVersions": "{valid}", "flexibleVersions": "2+",
 "commonStructs": [{{"name": "Shared", "versions": "0+", "fields": [
   {{"name": "Epoch", "type": "int32", "versions": "0+"}}]}}],
 "fields": [{{"name": "Alpha", {field}}},
   {{"name": "One", "type": "Shared", "versions": "0+"}}, {{"name": "Many", "type": "[]Shared", "versions": "0+"}}]}}"""


def advice_on(
    tmp_path: Path, field: str, values: list[int], type_: str = "int32", valid: str = "0-3", **others: list[int]
) -> Advice:
    """Advice for a spec with one field of interest, `Alpha`, and two places of a common struct."""
    file = tmp_path / "Sample.json"
    file.write_text(SPEC.format(valid=valid, field=f'"type": "{type_}", {field}'))
    checked = read_file(file)
    assert checked.spec is not None, checked.problems
    element = type_.removeprefix("[]")
    plain = Counts("Sample").to_plain()
    plain["versions"] = {"3": 1}
    named = {"Alpha": IntegerCounts.of(element, values, is_element=type_.startswith("[]"))}
    named |= {path.replace("_", "."): IntegerCounts.of("int32", numbers) for path, numbers in others.items()}
    counts = Counts.from_plain(plain)
    counts._settled |= {path: one for path, one in named.items() if one.count}
    return advise(checked.spec, counts)


def alpha(advice: Advice) -> FieldAdvice:
    return next(field for field in advice.fields if field.path == "Alpha")


@pytest.mark.parametrize(
    ("type_", "field", "expected"),
    [
        ("int32", '"versions": "0+"', '"encoding": {"0-3": "fixed32", "4+": "upacked32"}'),
        ("int32", '"versions": "2+"', '"encoding": {"2-3": "fixed32", "4+": "upacked32"}'),
        ("int32", '"versions": "3+"', '"encoding": {"3": "fixed32", "4+": "upacked32"}'),
        ("int32", '"versions": "4+"', '"encoding": {"4+": "upacked32"}'),
        ("int32", '"versions": "1-6"', '"encoding": {"1-3": "fixed32", "4-6": "upacked32"}'),
        ("int16", '"versions": "0+"', '"encoding": {"0-3": "fixed16", "4+": "upacked16"}'),
        ("int64", '"versions": "0+"', '"encoding": {"0-3": "fixed64", "4+": "upacked64"}'),
        ("[]int64", '"versions": "0+"', '"elementEncoding": {"0-3": "fixed64", "4+": "upacked64"}'),
        ("int32", '"versions": "0+", "encoding": "fixed32"', '"encoding": {"0-3": "fixed32", "4+": "upacked32"}'),
        (
            "int64",
            '"versions": "0+", "encoding": {"0-1": "fixed32", "2+": "fixed64"}',
            '"encoding": {"0-1": "fixed32", "2-3": "fixed64", "4+": "upacked64"}',
        ),
        (
            "int32",
            '"versions": "0+", "encoding": {"0-2": "packed32", "3-5": "fixed32", "6+": "fixed16"}',
            '"encoding": {"0-2": "packed32", "3": "fixed32", "4+": "upacked32"}',
        ),
        ("int32", '"versions": "0+", "encoding": {"0-1": "fixed32", "2+": "upacked32"}', ""),
        ("int32", '"versions": "0+", "encoding": {"0-3": "fixed32", "4+": "packed16"}', ""),
        ("int32", '"versions": "0-3"', ""),
        ("int32", '"versions": "1-2"', ""),
        ("int32", '"tag": 0, "versions": "2+"', ""),
        ("int32", '"tag": 0, "taggedVersions": "3+", "versions": "0+"', ""),
        ("[]int32", '"tag": 0, "versions": "2+"', ""),
        (
            "int32",
            '"tag": 0, "taggedVersions": "4+", "versions": "0+"',
            '"encoding": {"0-3": "fixed32", "4+": "upacked32"}',
        ),
    ],
)
def test_text_keeps_released_versions_and_covers_those_of_the_field(
    type_: str, field: str, expected: str, tmp_path: Path
) -> None:
    advice = alpha(advice_on(tmp_path, field, [1, 2, 60], type_))
    assert advice.text == expected
    if expected:
        rest = field if '"encoding"' not in field else field[: field.index(', "encoding"')]
        file = tmp_path / "Next.json"
        file.write_text(SPEC.format(valid="0-4", field=f'"type": "{type_}", {rest}, {advice.text}'))
        assert [str(problem) for problem in read_file(file).problems if problem.severity == "error"] == []


@pytest.mark.parametrize(
    ("values", "default", "best"),
    [
        ([1, 2, 100], 0, "upacked32"),
        ([-1, -2, 30], 0, "packed32"),
        ([-(2**30), 2**30], 0, "fixed32"),
        ([1, 2, 3], 0, "upacked32"),
        ([1, 2, 3], -1, "packed32"),
        ([2**21, 2**22], 0, "fixed32"),
        ([2**31 - 1, 0, 0], 0, "upacked32"),
    ],
    ids=["natural", "around 0", "long", "tie", "tie with a negative default", "tie with fixed", "mixed"],
)
def test_the_encoding_with_the_fewest_bytes_is_chosen_and_fixed_wins_ties(
    values: list[int], default: int, best: str, tmp_path: Path
) -> None:
    advice = alpha(advice_on(tmp_path, f'"versions": "0+", "default": "{default}"', values))
    assert str(advice.best) == best
    assert advice.sizes[best] == min(advice.sizes.values())
    assert advice.saved == advice.sizes["fixed32"] - advice.sizes[best]


def test_an_encoding_that_the_values_do_not_fit_is_replaced(tmp_path: Path) -> None:
    field = '"versions": "0+", "encoding": {"0-3": "fixed64", "4+": "packed16"}'
    advice = alpha(advice_on(tmp_path, field, [0, 2**20], "int64"))
    assert advice.text == '"encoding": {"0-3": "fixed64", "4+": "upacked64"}'
    assert "packed16, which version 4 has so far, does not fit all values" in advice.note


def test_a_field_of_a_common_struct_gets_one_advice_for_all_its_places(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, '"versions": "0+"', [1], One_Epoch=[1] * 10, Many_Epoch=[-1] * 9)
    epoch = next(field for field in advice.fields if "One.Epoch" in field.paths)
    assert epoch.paths == ("One.Epoch", "Many.Epoch")
    assert epoch.counts == IntegerCounts.of("int32", [1] * 10 + [-1] * 9)
    assert str(epoch.best) == "packed32"


def test_values_that_the_spec_has_no_field_for_are_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(AdviceError, match=r"values of Beta\.Gamma, but the spec has no such integer field"):
        advice_on(tmp_path, '"versions": "0+"', [1], Beta_Gamma=[1])
    with pytest.raises(AdviceError, match=r"Sample\.One\.Epoch is int32 in the spec: .* cannot be merged"):
        file = read_file(tmp_path / "Sample.json")
        assert file.spec is not None
        counts = Counts("Sample")
        counts._settled["One.Epoch"] = IntegerCounts.of("int64", [1])
        advise(file.spec, counts)


def test_the_text_to_paste_names_the_spec_as_it_was_given() -> None:
    by_name, by_path = (run(spec, "--samples", CAPTURE).output for spec in ("MetadataResponse", METADATA))
    assert "\nMetadataResponse.json:" in by_name and str(METADATA.parent) not in by_name
    assert f"\n{METADATA}:" in by_path

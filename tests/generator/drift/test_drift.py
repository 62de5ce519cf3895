"""`kipgen drift`: every fact that differs is reported with its location, and writing it changes nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kipgen.commands.drift.jars import read_release
from kipgen.commands.drift.write import update_text, write_missing
from kipgen.reading import check
from tests.support.places import DATA
from tests.support.subjects.drifting_specs import (
    DEPTH,
    KAFKA,
    NEW_FIELDS,
    OURS,
    as_data,
    differences,
    drafts,
    drifted,
    jar,
    kipgen,
    package,
)


def test_comments_abouts_and_defaults_spelt_out_are_not_drift(tmp_path: Path) -> None:
    spelt_out = KAFKA.replace(DEPTH, DEPTH + ', "ignorable": false, "default": "0x0", "nullableVersions": "none"')
    assert spelt_out != KAFKA
    assert differences(package(tmp_path, Colour=OURS), jar(tmp_path, spelt_out)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"0-1"', '"0-2"', ("", "validVersions", "0-1", "0-2")),
        ('"1+"', '"0+"', ("", "flexibleVersions", "1+", "0+")),
        ('"apiKey": 7', '"apiKey": 8', ("", "apiKey", 7, 8)),
        ('["broker"]', '["broker", "controller"]', ("", "listeners", ["broker"], ["broker", "controller"])),
        ('"1+",', '"1+", "latestVersionUnstable": true,', ("", "latestVersionUnstable", None, True)),
        ('"1+",', '"1+", "deprecatedVersions": "0",', ("", "deprecatedVersions", None, "0")),
        (DEPTH, DEPTH.replace("int32", "int64"), ("Shades.Depth", "type", "int32", "int64")),
        (DEPTH, DEPTH.replace("0+", "1+"), ("Shades.Depth", "versions", "0+", "1+")),
        (DEPTH, DEPTH + ', "default": "0x10"', ("Shades.Depth", "default", None, "16")),
        (DEPTH, DEPTH + ', "ignorable": true', ("Shades.Depth", "ignorable", None, True)),
        (DEPTH, DEPTH + ', "mapKey": true', ("Shades.Depth", "mapKey", None, True)),
        (DEPTH, DEPTH + ', "entityType": "brokerId"', ("Shades.Depth", "entityType", None, "brokerId")),
        (DEPTH, DEPTH + ', "encoding": "packed32"', ("Shades.Depth", "encoding", None, {"0+": "packed32"})),
        (', "default": "red"', "", ("Name", "default", "red", None)),
        ('"red"', '"red", "nullableVersions": "0+"', ("Name", "nullableVersions", None, "0+")),
        ('"red"', '"red", "flexibleVersions": "none"', ("Name", "flexibleVersions", None, "none")),
    ],
    ids=lambda value: str(value[1]) if isinstance(value, tuple) else None,
)
def test_every_kind_of_fact_is_compared_and_can_be_written(
    old: str, new: str, expected: tuple[str, str, object, object], tmp_path: Path
) -> None:
    theirs = KAFKA.replace(old, new)
    specs, release = package(tmp_path, Colour=OURS), jar(tmp_path, theirs)
    assert differences(specs, release) == [expected]
    draft = read_release([release]).messages["ColourRequest"].draft
    after = update_text(OURS, draft)
    (specs / "clients" / "Colour.json").write_text(after)
    assert differences(specs, release) == []
    there = OURS.splitlines()
    changed = [line for line in after.splitlines() if line not in there]
    assert len(changed) == 1, "the other lines stay as they are"
    assert after.count("//") == OURS.count("//")


OLD_FIELD = '{ "name": "Hue", "type": "int8", "versions": "0-1", "about": "Old." },\n    '


def served(text: str, valid: str, versions: str) -> str:
    return text.replace('"validVersions": "0-1"', f'"validVersions": "{valid}",\n  "servedVersions": "{versions}"')


def test_versions_that_the_release_no_longer_has_are_not_drift(tmp_path: Path) -> None:
    ours = served(OURS, "0-3", "2+").replace('{ "name": "Name"', OLD_FIELD + '{ "name": "Name"')
    ours = ours.replace('"red"', '"red", "nullableVersions": "0-1"').replace(
        '"1+",\n', '"1+", "deprecatedVersions": "0-1",\n'
    )
    theirs = KAFKA.replace('"0-1"', '"2-3"').replace(DEPTH, DEPTH.replace("0+", "2+")).replace('"1+"', '"0+"')
    assert differences(package(tmp_path, Colour=ours), jar(tmp_path, theirs)) == []


def test_what_only_old_versions_have_counts_where_the_release_has_them(tmp_path: Path) -> None:
    ours = served(OURS, "0-3", "2+").replace('{ "name": "Name"', OLD_FIELD + '{ "name": "Name"')
    found = differences(package(tmp_path, Colour=ours), jar(tmp_path, KAFKA.replace('"0-1"', '"1-3"')))
    assert found == [("", "validVersions", "2-3", "1-3"), ("Hue", "field", {"type": "int8", "versions": "0-1"}, None)]


def test_a_message_that_is_no_longer_served_is_expected_of_no_release(tmp_path: Path) -> None:
    dropped = served(OURS, "0-1", "none").replace("Colour", "Tint").replace('"apiKey": 7', '"apiKey": 9')
    retired = KAFKA.replace('"0-1"', '"none"').replace("Colour", "Tint").replace('"apiKey": 7', '"apiKey": 9')
    specs = package(tmp_path, Colour=OURS, Tint=dropped)
    assert differences(specs, jar(tmp_path, KAFKA)) == []
    assert differences(specs, jar(tmp_path, KAFKA, retired)) == []
    assert differences(specs, jar(tmp_path, KAFKA, retired.replace('"none"', '"0"')))[:1] == [
        ("", "validVersions", "none", "0")
    ]


@pytest.mark.parametrize(
    ("ours", "kafka", "valid", "expected"),
    [
        ("0-1", "0-2", "0-2", None),
        ("0-1", "1-2", "0-2", "1+"),
        ("0-1", "none", "0-1", "none"),
        ("none", "0-2", "0-2", None),
        ("2-4", "1-5", "1-5", None),
    ],
)
def test_versions_that_a_release_gives_up_stay_valid_when_it_is_written(
    ours: str, kafka: str, valid: str, expected: str | None, tmp_path: Path
) -> None:
    for number, text in enumerate((OURS, served(OURS, "0-1", "none"), served(OURS, "0-1", ours))):
        (folder := tmp_path / str(number)).mkdir()
        specs = package(folder, Colour=text.replace('"validVersions": "0-1"', f'"validVersions": "{ours}"'))
        release = jar(folder, KAFKA.replace('"0-1"', f'"{kafka}"'))
        assert [one.problems for one in write_missing(specs, drafts(specs), read_release([release]).messages)] in (
            [()],
            [],
        )
        after = (specs / "clients" / "Colour.json").read_text()
        assert differences(specs, release) == []
        assert f'"validVersions": "{valid}",\n  ' in after
        assert re.findall(r'"servedVersions": "(.*)",\n  "flex', after) == ([expected] if expected else [])


def test_ranges_keep_what_they_say_of_versions_that_a_release_lacks(tmp_path: Path) -> None:
    ours = served(OURS, "0-6", "4+").replace('"red"', '"red", "nullableVersions": "1-5"')
    ours = ours.replace(DEPTH, DEPTH.replace("0+", "1-5"))
    theirs = KAFKA.replace('"0-1"', '"4-6"').replace(DEPTH, DEPTH.replace("0+", "4+"))
    specs, release = package(tmp_path, Colour=ours), jar(tmp_path, theirs)
    assert [found[:2] for found in differences(specs, release)] == [
        ("Name", "nullableVersions"),
        ("Shades.Depth", "versions"),
    ]
    after = update_text(ours, read_release([release]).messages["ColourRequest"].draft)
    assert after == ours.replace('"1-5"', '"1-3"', 1).replace('"1-5"', '"1+"')


def test_tags_are_facts(tmp_path: Path) -> None:
    tagged = ', "tag": 0, "taggedVersions": "1+", "versions": "1+"'
    ours = OURS.replace(DEPTH, DEPTH.replace(', "versions": "0+"', tagged))
    theirs = KAFKA.replace(DEPTH, DEPTH.replace(', "versions": "0+"', tagged.replace("0,", "1,")))
    assert differences(package(tmp_path, Colour=ours), jar(tmp_path, theirs)) == [("Shades.Depth", "tag", 0, 1)]


def with_new_fields() -> str:
    before, after = NEW_FIELDS
    return KAFKA.replace(DEPTH, before + DEPTH).replace('another." }\n    ]}', f'another." }}\n    {after}]}}')


def test_a_field_that_the_specs_lack_is_reported_once_with_its_place_in_the_jar(tmp_path: Path) -> None:
    release = jar(tmp_path, with_new_fields())
    found = drifted(package(tmp_path, Colour=OURS), release)
    assert [(one.path, one.fact, one.ours) for one in found] == [
        ("Shades.Before", "field", None),
        ("Shades.After", "field", None),
    ]
    assert found[0].kafka == {"type": "int32", "versions": "0+"}
    assert str(found[0].location).startswith(f"{release}!common/message/0.json:7:")


def test_new_fields_are_written_in_their_place_and_in_our_layout(tmp_path: Path) -> None:
    draft = read_release([jar(tmp_path, with_new_fields())]).messages["ColourRequest"].draft
    assert update_text(OURS, draft).splitlines()[13:] == [
        '    { "name": "Shades", "type": "[]Shade", "versions": "0+",',
        '      "about": "Its shades.", "fields": [',
        '      { "name": "Before", "type": "int32", "versions": "0+" },',
        '      { "name": "Depth", "type": "int32", "versions": "0+",',
        '        "about": "How dark it is." },',
        '      { "name": "After", "type": "[]After", "versions": "1", "nullableVersions": "1", "default": "null",'
        ' "fields": [',
        '        { "name": "Inner", "type": "uuid", "versions": "1+", "ignorable": true }',
        "      ]}",
        "    ]}",
        "  ]",
        "}",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_is_written_keeps_line_ends_and_comments_where_they_are(line_end: str, tmp_path: Path) -> None:
    more = KAFKA.replace('"1+",\n', '"1+",\n"commonStructs": [{"name": "Hue", "versions": "0+", "fields": []}],\n')
    more = more.replace('"red",', '"red", "ignorable": true,')
    draft = read_release([jar(tmp_path, more)]).messages["ColourRequest"].draft
    after = update_text(OURS.replace("\n", line_end), draft)
    assert after.replace(line_end, "").count("\n") == 0
    assert '"default": "red", "ignorable": true, // not blue' in after
    assert '{ "name": "Hue", "versions": "0+", "fields": []}' in after


def test_other_order_and_what_only_ours_has_are_reported_and_stay(tmp_path: Path) -> None:
    colour = json.loads(KAFKA)
    colour["fields"].reverse()
    del colour["fields"][0]["fields"][0]
    specs = package(tmp_path, Colour=OURS, Extra=OURS.replace("ColourRequest", "ExtraRequest").replace("7", "8"))
    release = jar(tmp_path, json.dumps(colour))
    reported = [(one.message, one.path, one.fact) for one in drifted(specs, release)]
    assert reported == [
        ("ColourRequest", "", "order"),
        ("ColourRequest", "Shades.Depth", "field"),
        ("ExtraRequest", "", "message"),
    ]
    assert update_text(OURS, read_release([release]).messages["ColourRequest"].draft) == OURS


def test_only_folders_that_the_jars_cover_are_held_against_them(tmp_path: Path) -> None:
    specs = package(tmp_path, Colour=OURS)
    (specs / "raft").mkdir()
    (specs / "raft" / "Vote.json").write_text(OURS.replace("ColourRequest", "VoteRequest").replace("7", "8"))
    assert differences(specs, jar(tmp_path, KAFKA)) == []


def test_a_new_message_goes_into_the_folder_of_its_jar_without_anything_of_its_text(tmp_path: Path) -> None:
    specs = package(tmp_path, Colour=OURS)
    theirs = with_new_fields().replace("ColourRequest", "ToneRequest")
    other = theirs.replace("ToneRequest", "TuneRequest").replace(": 7", ": 9")
    jars = [
        jar(tmp_path, KAFKA, theirs.replace(": 7", ": 8")),
        jar(tmp_path, other, name="kafka-new-thing-4.4.0.jar", inside="message"),
    ]
    checked, _ = check.read_folder(specs)
    ours = {Path(one.file): one.draft for one in checked if one.draft is not None}
    outcomes = list(write_missing(specs, ours, read_release(jars).messages))
    files = [specs / "clients" / "ToneRequest.json", specs / "new-thing" / "TuneRequest.json"]
    assert [outcome.file for outcome in outcomes] == files
    assert [text.removeprefix(f"{files[0]}:") for text in outcomes[0].unexplained] == [
        "5:11: ToneRequest",
        "9:15: ToneRequest.Name",
        "10:15: ToneRequest.Shades",
        "11:17: ToneRequest.Shades.Before",
        "12:17: ToneRequest.Shades.Depth",
        "13:17: ToneRequest.Shades.After",
        "14:19: ToneRequest.Shades.After.Inner",
    ]
    assert all("Not ours" not in file.read_text() and "another" not in file.read_text() for file in files)
    assert differences(specs, *jars) == []


def test_a_spec_that_would_break_a_rule_is_left_as_it_is(tmp_path: Path) -> None:
    ours, theirs = as_data(OURS), as_data(KAFKA)
    specs = package(tmp_path, Colour=ours)
    done = kipgen(specs, jar(tmp_path, theirs.replace('"type": "[]Shade"', '"type": "int32"')), "--write")
    assert done.returncode == 1
    assert f"not written: {specs / 'clients' / 'Colour.json'}" in done.stderr
    assert "Shades.type: []Shade in the specs, int32 in Kafka" in done.stdout
    assert (specs / "clients" / "Colour.json").read_text() == ours
    assert [path.name for path in (specs / "clients").iterdir()] == ["Colour.json"]


HEADER = (DATA / "cases" / "headers-of-trunk" / "RequestHeader.json").read_text()
OLD_HEADER = re.sub(",\n.*ClientInstanceId.*", "", HEADER.replace('"0-3"', '"0-2"'))


def said(text: str, headers: str) -> str:
    return re.sub('"flexibleVersions": "1[+]",', f'\\g<0> "headerVersions": {headers},', text)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("", '{"0": "1", "1+": "2"}', None),
        ('{"0": 1, "1": "2"}', "", None),
        ("", '{"0": "1", "1+": "3"}', ({"0": "1", "1+": "2"}, {"0": "1", "1+": "3"})),
        ('{"0": "1", "1+": "3"}', "", ({"0": "1", "1+": "3"}, {"0": "1", "1+": "2"})),
    ],
)
def test_headers_that_kafka_spells_out_are_drift_where_they_are_others(
    ours: str, theirs: str, expected: tuple[dict[str, str], dict[str, str]] | None, tmp_path: Path
) -> None:
    texts = said(OURS, ours) if ours else OURS, said(KAFKA, theirs) if theirs else KAFKA
    headers = [HEADER if "3" in written else OLD_HEADER for written in (ours, theirs)]
    specs, release = package(tmp_path, Colour=texts[0], Header=headers[0]), jar(tmp_path, texts[1], headers[1])
    found = [one for one in drifted(specs, release) if one.message == "ColourRequest"]
    assert [(one.fact, one.ours, one.kafka) for one in found] == ([("headerVersions", *expected)] if expected else [])


@pytest.mark.parametrize("headers", ['{"1+": "2"}', '{"0": "1", "3+": "2"}', '{"0+": "2", "1+": "1"}', '{"9": "2"}'])
def test_headers_of_a_release_that_no_rule_accepts_are_read_all_the_same(headers: str, tmp_path: Path) -> None:
    found = drifted(package(tmp_path, Colour=OURS), jar(tmp_path, said(KAFKA, headers)))
    assert {one.fact for one in found} <= {"headerVersions"}


def test_a_new_header_of_a_release_is_written_with_the_messages_that_keep_theirs(tmp_path: Path) -> None:
    """A package derives its highest header, so messages that stay with an earlier one must say it from then on."""
    tint = (("Colour", "Tint"), ('"apiKey": 7', '"apiKey": 8'))
    ours, theirs = OURS, said(KAFKA, '{"0": "1", "1+": "2"}')
    others = [OURS, said(KAFKA, '{"0": "1", "1+": "3"}')]
    for old, new in tint:
        others = [text.replace(old, new) for text in others]
    specs = package(tmp_path, Colour=ours, Tint=others[0], Header=OLD_HEADER)
    release = jar(tmp_path, theirs, others[1], HEADER)
    assert {(one.message, one.fact) for one in drifted(specs, release)} == {
        ("RequestHeader", "validVersions"),
        ("RequestHeader", "field"),
        ("TintRequest", "headerVersions"),
    }
    assert {one.problems for one in write_missing(specs, drafts(specs), read_release([release]).messages)} == {()}
    assert differences(specs, release) == []
    assert '\n  "headerVersions": {"0": "1", "1+": "2"},\n' in (specs / "clients" / "Colour.json").read_text()
    assert "headerVersions" not in (specs / "clients" / "Tint.json").read_text()

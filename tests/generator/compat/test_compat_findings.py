"""`kipgen compat`: verdicts beside the bytes themselves, and what a finding says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kipgen.commands.compat.enum_rules import ENUM_RULES
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import ALL, Revisions
from kipgen.commands.compat.wire_items import wire_items
from kipgen.commands.new_command import new_specs
from kipgen.language.layout_properties import PROPERTIES
from kipgen.reading.check import read_folder
from kipgen.reading.rules.examples import ALPHA, spec
from kipgen.resolve.wire import resolve
from kipwire.model.errors import DecodeError
from kipwire.testing import messages
from tests.support.cases import some
from tests.support.places import LAYOUTS
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import (
    REFUSED,
    VERDICTS,
    compare_texts,
    plain_field,
    struct_field,
    write_revisions,
)

# Beside the bytes


# Enums change no byte; test_compat_enums.py has the proofs of their rules.
OF_BYTES = [rule for rule in ALL if rule not in ENUM_RULES]
_KEPT = {
    **{row: (old, new) for row, (verdict, old, new) in VERDICTS.items() if verdict != REFUSED},
    **{
        f"rule {rule.id}": (rule.bad.old[0], rule.bad.new[0])
        for rule in OF_BYTES
        if rule.severity != "wire" and '"none", "flexible' not in rule.bad.new[0]
    },
}


@pytest.mark.parametrize("row", some(list(_KEPT)))
def test_what_is_not_refused_keeps_the_bytes(row: str, tmp_path: Path) -> None:
    old, new = _KEPT[row]
    name = "".join(letter if letter.isalnum() else "_" for letter in row)
    before = classes_of(old, f"before_{name}", tmp_path)
    after = classes_of(new, f"after_{name}", tmp_path)
    for version in before.keys() & after.keys():
        for writer, reader in ((before[version], after[version]), (after[version], before[version])):
            _check_read_alike(writer, reader)


def _check_read_alike(writer: Any, reader: Any) -> None:
    @settings(max_examples=10, deadline=None, database=None)
    @given(messages(writer, long=False))
    def read_alike(message: Any) -> None:
        # JSON leaves unknown tags out, which may be known fields on one side.
        data = writer.from_json(message.to_json()).encode()
        assert reader.decode(data).encode() == data

    read_alike()


_BROKEN = {
    **{row: (old, new) for row, (verdict, old, new) in VERDICTS.items() if verdict == REFUSED},
    **{f"rule {rule.id}": (rule.bad.old[0], rule.bad.new[0]) for rule in OF_BYTES if rule.severity == "wire"},
}
_ABOUT_OTHER_THINGS = {
    "message-removed": "there is nothing to read it with",
    "message-type-changed": "the header before it is another",
    "api-key-changed": "the number is in the header",
    "header-changed": "the bytes before it are others, as test_compat_headers compares them",
    "highest-version-lowered": "there is nothing to read it with",
    "new-version-refused": "there is nothing to read it with on the old side",
    "lowest-version-lowered": "nothing shows what the version once was",
    "tagged-form-changed": "each released version keeps its bytes; a peer knows the tag from any of them",
    "tag-forgotten": "only what comes later breaks something",
}
"""The rules whose findings cannot be seen in the bytes of both revisions."""


@pytest.mark.parametrize("row", _BROKEN)
def test_what_is_refused_breaks_a_message_or_is_about_more_than_its_bytes(row: str, tmp_path: Path) -> None:
    old, new = _BROKEN[row]
    serious = [found for found in compare_texts(tmp_path / "specs", old, new) if found.severity == "wire"]
    if row == "reserved tag used again" or {found.rule.id for found in serious} <= _ABOUT_OTHER_THINGS.keys():
        return
    name = "".join(letter if letter.isalnum() else "_" for letter in row)
    before = classes_of(old, f"broken_before_{name}", tmp_path)
    after = classes_of(new, f"broken_after_{name}", tmp_path)
    version = max(serious[0].versions)
    broken = partial(_is_read_otherwise, before[version], after[version])
    either = st.one_of(messages(before[version], long=False), messages(after[version], long=False))
    find(either, broken, settings=settings(phases=(Phase.generate,), database=None))


def _is_read_otherwise(first: Any, second: Any, message: Any) -> bool:
    reader = second if isinstance(message, first) else first
    message = type(message).from_json(message.to_json())
    try:
        return repr(reader.decode(message.encode())) != repr(message)
    except DecodeError:
        return True


# Texts of findings


def test_change_of_many_versions_is_one_finding_with_its_versions_and_place(tmp_path: Path) -> None:
    (found,) = compare_texts(tmp_path, spec(), spec(plain_field("Alpha", "int64")))
    assert (found.path, found.text) == ("Probe.Alpha", "type int32 became int64 (versions 0-3)")
    assert (Path(found.location.file).name, found.location.line, found.location.column) == ("0.json", 5, 31)
    assert found.location.file.startswith(str(tmp_path / "new"))
    assert found.was.file.startswith(str(tmp_path / "old"))


def test_change_of_a_common_struct_is_one_finding_however_often_it_is_used(tmp_path: Path) -> None:
    fields = plain_field("Alpha", "Shared"), plain_field("Beta", "[]Shared")
    common = '{"name": "Shared", "versions": "0+", "fields": [{"name": "Leaf", "type": "%s", "versions": "0+"}]}'
    (found,) = compare_texts(
        tmp_path, spec(*fields, common=(common % "int8",)), spec(*fields, common=(common % "int16",))
    )
    assert (found.rule.id, found.path) == ("type-changed", "Probe.Shared.Leaf")


def test_reorder_names_the_field_that_moved_and_its_neighbours(tmp_path: Path) -> None:
    names = ("Alpha", "Beta", "Gamma", "Delta")
    old = spec(*(plain_field(name, "int32") for name in names))
    new = spec(*(plain_field(name, "int32") for name in ("Delta", "Alpha", "Beta", "Gamma")))
    (found,) = compare_texts(tmp_path, old, new)
    assert (found.rule.id, found.path, found.change) == (
        "field-moved",
        "Probe.Delta",
        "was after Gamma, is now first",
    )


def test_rename_beside_a_removed_field_is_distinguished_by_the_forms(tmp_path: Path) -> None:
    old = spec(plain_field("Alpha", "int32"), plain_field("Beta", "string"), plain_field("Gamma", "int8"))
    new = spec(plain_field("Alpha", "int32"), plain_field("Delta", "int8"))
    found = {(one.rule.id, one.path) for one in compare_texts(tmp_path, old, new)}
    assert found == {("field-removed", "Probe.Beta"), ("field-renamed", "Probe.Delta")}


HEADER = ("Partition", "int32", "0+"), ("ErrorCode", "int16", "0+"), ("StableOffset", "int64", "1+")
LATER = ("StartOffset", "int64", "2+"), ("Leader", "int32", "3+")


def test_fields_put_into_a_struct_and_a_renamed_one_are_a_finding_each_in_all_versions(tmp_path: Path) -> None:
    parts = [plain_field(*one) for one in (*HEADER, *LATER)]
    old = spec(*parts, plain_field("Records", "bytes"), flexible="none")
    new = spec(struct_field("Head", "Head", *parts), plain_field("RecordSet", "bytes"), flexible="none")
    found = {(one.rule.id, one.path, one.text) for one in compare_texts(tmp_path / "into", old, new)}
    names = "Partition, ErrorCode, StableOffset, StartOffset, Leader"
    assert found == {
        ("type-same-bytes", "Probe.Head", f"{names} became Head, with the same bytes (versions 0-3)"),
        ("field-renamed", "Probe.RecordSet", "was Records; the bytes are the same (versions 0-3)"),
    }
    found = {(one.rule.id, one.path, one.text) for one in compare_texts(tmp_path / "out", new, old)}
    assert found == {
        ("type-same-bytes", "Probe.Partition", f"Head became {names}, with the same bytes (versions 0-3)"),
        ("field-renamed", "Probe.Records", "was RecordSet; the bytes are the same (versions 0-3)"),
    }


def test_structs_are_found_among_fields_of_one_type_with_just_what_they_hold(tmp_path: Path) -> None:
    numbers = [plain_field(name, "int32") for name in ("Alpha", "Beta", "Gamma", "Delta")]
    last = plain_field("Omega", "int32", "2+")
    new = spec(
        struct_field("One", "OneHead", numbers[0]),
        plain_field("Second", "int32"),
        struct_field("Two", "TwoHead", *numbers[2:], last),
        flexible="none",
    )
    found = compare_texts(tmp_path, spec(*numbers, last, flexible="none"), new)
    assert [(one.rule.id, one.path, one.text) for one in found] == [
        ("type-same-bytes", "Probe.One", "Alpha became One, with the same bytes (versions 0-3)"),
        ("field-renamed", "Probe.Second", "was Beta; the bytes are the same (versions 0-3)"),
        ("type-same-bytes", "Probe.Two", "Gamma, Delta, Omega became Two, with the same bytes (versions 0-3)"),
    ]


def test_what_is_beside_a_struct_with_the_same_bytes_is_still_found(tmp_path: Path) -> None:
    fields = plain_field("Alpha", "int32"), plain_field("Beta", "int32")
    old = spec(*fields, plain_field("Mark", "string"), plain_field("Last", "int8"), flexible="none")
    new = spec(struct_field("Head", "Head", *fields), plain_field("Sign", "string"), flexible="none")
    found = {(one.rule.id, one.path) for one in compare_texts(tmp_path, old, new)}
    assert found == {
        ("type-same-bytes", "Probe.Head"),
        ("field-renamed", "Probe.Sign"),
        ("field-removed", "Probe.Last"),
    }


def test_flexible_versions_are_one_finding_and_hide_no_other(tmp_path: Path) -> None:
    old = spec(plain_field("Alpha", "string"), plain_field("Beta", "string"), flexible="none")
    new = spec(plain_field("Alpha", "string"), plain_field("Beta", "bytes"), flexible="2+")
    found = [(one.rule.id, one.path, sorted(one.versions)) for one in compare_texts(tmp_path, old, new)]
    assert found == [("flexible-versions-changed", "Probe", [2, 3]), ("type-changed", "Probe.Beta", [0, 1, 2, 3])]


def test_unstable_version_may_change_in_request_and_response(tmp_path: Path) -> None:
    def pair(beta: str, unstable: bool = True) -> tuple[str, ...]:
        more = '"apiKey": 900' + (', "latestVersionUnstable": true' if unstable else "")
        fields = ALPHA, plain_field("Beta", "int32", beta, ', "ignorable": true')
        request = spec(*fields, name="ProbeRequest", type_="request", more=more)
        response = spec(*fields, name="ProbeResponse", type_="response", more='"apiKey": 900')
        return request, response

    found = compare_paths(*write_revisions(tmp_path / "a", Revisions(pair("4+"), pair("3+")))).findings
    assert [(one.rule.id, one.severity) for one in found] == [("field-added", "notice")] * 2
    found = compare_paths(*write_revisions(tmp_path / "b", Revisions(pair("4+"), pair("2+")))).findings
    assert [(one.rule.id, one.severity) for one in found] == [("field-added", "wire")] * 2
    found = compare_paths(*write_revisions(tmp_path / "c", Revisions(pair("4+", unstable=False), pair("3+")))).findings
    assert ("field-added", "wire") in {(one.rule.id, one.severity) for one in found}


def test_message_that_is_new_is_fine_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    revisions = Revisions((spec(), spec(name="Other")), (spec(), spec(name="Another")))
    (found,) = compare_paths(*write_revisions(tmp_path, revisions)).findings
    assert (found.rule.id, found.path, found.location.line) == ("message-removed", "Other", 1)
    assert found.location.file == str(tmp_path / "new" / "1.json")


def test_renamed_request_is_known_by_its_api_key(tmp_path: Path) -> None:
    other = spec(name="OtherRequest", type_="request", more='"apiKey": 901')
    old = spec(name="ProbeRequest", type_="request", more='"apiKey": 900')
    new = spec(plain_field("Alpha", "int8"), name="TrialRequest", type_="request", more='"apiKey": 900')
    found = compare_paths(*write_revisions(tmp_path, Revisions((old, other), (new, other)))).findings
    assert [one.rule.id for one in found] == ["message-renamed", "type-changed"]


def test_layouts_are_compared_part_by_part(tmp_path: Path) -> None:
    def layout(*fields: str) -> str:
        return spec(*fields, type_="layout", flexible="none", valid="2")

    bits = ', "bits": [{"name": "Kind", "bits": "%s"}, {"name": "IsLast", "bits": "4"}]'
    parts = (
        plain_field("Length", "int32", more=', "sizeOf": "rest"'),
        plain_field("Magic", "int8", more=', "constant": "version"'),
        plain_field("Crc", "uint32", more=', "checksum": {"algorithm": "crc32", "from": "Attributes"}'),
        plain_field("Attributes", "int8", more=bits % "0-2"),
        plain_field("Key", "bytes", more=', "size": "varint"'),
        plain_field("Value", "bytes", more=', "nullableVersions": "2", "requiredIf": "IsLast"'),
    )
    changed = (
        plain_field("Length", "int32", more=', "sizeOf": "rest", "encoding": "packed32"'),
        plain_field("Magic", "int8", more=', "constant": "7"'),
        plain_field("Crc", "uint32", more=', "checksum": {"algorithm": "crc32c", "from": "Attributes"}'),
        plain_field("Attributes", "int8", more=bits % "0-3"),
        plain_field("Key", "bytes", more=', "size": "int32"'),
        plain_field("Value", "bytes", more=', "nullableVersions": "2"'),
    )
    assert compare_texts(tmp_path / "same", layout(*parts), layout(*parts)) == ()
    findings = compare_texts(tmp_path / "changed", layout(*parts), layout(*changed))
    found = {(one.rule.id, one.path) for one in findings}
    texts = {one.path: one.change for one in findings}
    assert texts["Probe.Attributes.Kind"] == "bits 0-2 became bits 0-3"
    assert texts["Probe.Crc"] == "checksum crc32 from item 4 became crc32c from item 4"
    assert texts["Probe.Value"] == "requiredIf bit 4 of item 4 became none"
    assert found == {
        ("encoding-changed", "Probe.Length"),
        ("part-changed", "Probe.Magic"),
        ("part-changed", "Probe.Crc"),
        ("part-changed", "Probe.Attributes.Kind"),
        ("part-changed", "Probe.Key"),
        ("part-changed", "Probe.Value"),
    }
    renamed = tuple(part.replace("IsLast", "IsFinal").replace("Attributes", "Flags") for part in parts)
    found = {(one.rule.id, one.path) for one in compare_texts(tmp_path / "renamed", layout(*parts), layout(*renamed))}
    assert found == {("field-renamed", "Probe.Flags"), ("field-renamed", "Probe.Flags.IsFinal")}


def test_forms_of_arrays_in_layouts_are_told_apart(tmp_path: Path) -> None:
    def array(more: str, key: str = "Low") -> str:
        inner = ("Low", "High")
        fields = [plain_field(one, "int8", more=', "mapKey": true' if one == key else "") for one in inner]
        field = plain_field("Pairs", "[]Pair", more=f', {more}, "fields": [{", ".join(fields)}]')
        return spec(field, type_="layout", flexible="none", valid="0")

    def changes(folder: str, old: str, new: str) -> list[tuple[str, str]]:
        return [(one.rule.id, one.change) for one in compare_texts(tmp_path / folder, old, new)]

    assert changes("count", array('"size": "int32"'), array('"count": "int32"')) == [
        ("part-changed", "size int32 became none"),
        ("part-changed", "count none became int32"),
    ]
    in_order = '"count": "int32", "sorted": true'
    keys = changes("key", array(in_order), array(in_order, "High"))
    assert ("part-changed", "sorted item 1 became item 2") in keys


def test_a_size_that_no_longer_depends_on_the_next_field_changes_bytes(tmp_path: Path) -> None:
    def text(more: str) -> str:
        flags = plain_field("Flags", "int8", more=', "bits": [{"name": "HasRest", "bits": "0"}]')
        key = plain_field("Key", "bytes", more=f', "size": "int32"{more}')
        rest = plain_field("Rest", "bytes", more=', "size": "rest", "presentIf": "HasRest"')
        return spec(flags, key, rest, type_="layout", flexible="none", valid="0")

    (finding,) = compare_texts(tmp_path, text(', "sizeOnlyWith": "Rest"'), text(""))
    assert (finding.rule.id, finding.change) == ("part-changed", "sizeOnlyWith item 3 became none")


def test_moved_bits_are_named_by_their_numbers(tmp_path: Path) -> None:
    started = new_specs("Probe", "layout", 0)["Probe.json"]
    found = compare_texts(tmp_path, started, started.replace('"bits": "3"', '"bits": "4"'))
    assert [(one.path, one.change) for one in found] == [
        ("Probe.Attributes.HasHeaders", "bit 3 became bit 4"),
        ("Probe.Headers", "presence if bit 3 of item 4 is 1 became if bit 4 of item 4 is 1"),
    ]


def test_a_field_that_becomes_required_changes_its_default_and_no_byte(tmp_path: Path) -> None:
    def layout(more: str = "") -> str:
        return spec(plain_field("Kind", "int16", more=more), type_="layout", flexible="none")

    required = layout(', "required": true')
    (finding,) = compare_texts(tmp_path / "required", layout(), required)
    assert (finding.rule.id, finding.path) == ("default-changed", "Probe.Kind")
    assert finding.text == "default 0 became none (versions 0-3)"
    (finding,) = compare_texts(tmp_path / "free", required, layout(', "default": "7"'))
    assert (finding.rule.id, finding.path) == ("default-changed", "Probe.Kind")
    assert finding.text == "default none became 7 (versions 0-3)"


def test_a_property_of_record_formats_that_nothing_is_known_of_is_compared_as_it_is_written(monkeypatch: Any) -> None:
    checked, _ = read_folder(LAYOUTS)
    sets = next(one.spec for one in checked if one.spec is not None and one.spec.name == "Sets")
    known = PROPERTIES["same_length_as"]
    monkeypatch.setitem(PROPERTIES, "same_length_as", known._replace(name="asManyAs"))
    found = {slot.name: dict(slot.rest).get("asManyAs") for slot in wire_items(resolve(sets, 0)).plain}
    assert {name: value for name, value in found.items() if value} == {
        "Offsets": "Errors",
        "Counts": "Offsets",
        "More": "Errors",
    }

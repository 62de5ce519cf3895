"""What `kipgen compat` says of a change: rule by rule, by the table of verdicts, and beside the bytes themselves."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from kipgen import check
from kipgen.check import read_folder
from kipgen.compat.form import body_of
from kipgen.compat.rule import Revisions
from kipgen.compat.rules import ALL
from kipgen.compat.sides import compare_paths
from kipgen.layout import lay_out
from kipgen.render import HeaderVersions, render_message
from kipgen.rules import ALL as LANGUAGE
from kipgen.rules.examples import ALPHA, spec
from kipgen.wire_form import PROPERTIES
from kipwire.errors import DecodeError
from kipwire.testing import messages

if TYPE_CHECKING:
    from kipgen.compat.finding import Finding
    from kipgen.compat.rule import CompatRule


def _write(folder: Path, revisions: Revisions) -> tuple[Path, Path]:
    sides = folder / "old", folder / "new"
    for side, texts in zip(sides, (revisions.old, revisions.new), strict=True):
        side.mkdir(parents=True)
        for number, text in enumerate(texts):
            (side / f"{number}.json").write_text(text, encoding="utf-8")
    return sides


def _compare(folder: Path, old: str, new: str) -> tuple[Finding, ...]:
    return compare_paths(*_write(folder, Revisions((old,), (new,)))).findings


def _field(name: str, type_: str, versions: str = "0+", more: str = "") -> str:
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}}}'


def _tagged(name: str, tag: int, type_: str = "int32", more: str = "") -> str:
    return _field(name, type_, "2+", f', "taggedVersions": "2+", "tag": {tag}{more}')


def _struct(name: str, type_: str, *fields: str, versions: str = "0+", more: str = "") -> str:
    inner = ", ".join(fields)
    return f'{{"name": "{name}", "type": "{type_}", "versions": "{versions}"{more}, "fields": [{inner}]}}'


# Every rule by itself


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_bad_example_is_found_by_just_that_rule_and_good_one_breaks_nothing(rule: CompatRule, tmp_path: Path) -> None:
    found = compare_paths(*_write(tmp_path / "bad", rule.bad)).findings
    serious = {finding.rule.id for finding in found if finding.severity != "notice"}
    assert rule.id in {finding.rule.id for finding in found}
    assert serious <= {rule.id}
    assert all(finding.severity == rule.severity for finding in found if finding.rule is rule)
    good = compare_paths(*_write(tmp_path / "good", rule.good)).findings
    assert rule.id not in {finding.rule.id for finding in good}
    assert {finding.severity for finding in good} <= {"notice"}


def test_rules_have_ids_of_their_own_and_say_what_breaks_and_what_to_do() -> None:
    ids = [rule.id for rule in ALL] + [rule.id for rule in LANGUAGE]
    assert len(set(ids)) == len(ids)
    for rule in ALL:
        assert rule.summary.endswith((".", ")."))
        assert rule.breaks
        assert rule.instead
        assert not rule.breaks.endswith(".")


# The table of verdicts: what Kafka's own checker does not look at, or gets wrong, is among it

_BETA, _INNER = _field("Beta", "int32"), _struct("Alpha", "[]Inner", _field("Leaf", "int32"))
_REFUSED, _CODE, _WARNED, _FINE = "wire", "source", "notice", None
_VERDICTS: dict[str, tuple[str | None, str, str]] = {
    "identical, with an inline struct": (_FINE, spec(_INNER), spec(_INNER)),
    "nullability dropped in released versions": (
        _REFUSED,
        spec(_field("Alpha", "string", more=', "nullableVersions": "0+"')),
        spec(_field("Alpha", "string", more=', "nullableVersions": "0-2"')),
    ),
    "nullability added in a new version": (
        _WARNED,
        spec(_field("Alpha", "string")),
        spec(_field("Alpha", "string", more=', "nullableVersions": "4+"'), valid="0-4"),
    ),
    "tagged field added to released flexible versions": (_FINE, spec(), spec(ALPHA, _tagged("Beta", 0))),
    "tagged field removed, tag reserved": (
        _WARNED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(more='"reservedTags": [0]'),
    ),
    "tagged field removed, tag not reserved": (_REFUSED, spec(ALPHA, _tagged("Beta", 0)), spec()),
    "tag reused by a rename of the same type": (_REFUSED, spec(_tagged("Alpha", 0)), spec(_tagged("Beta", 0))),
    "two tags swapped": (
        _REFUSED,
        spec(_tagged("Alpha", 0), _tagged("Beta", 1)),
        spec(_tagged("Alpha", 1), _tagged("Beta", 0)),
    ),
    "tagged to positional in the same versions": (
        _REFUSED,
        spec(_tagged("Alpha", 0)),
        spec(_field("Alpha", "int32", "2+"), more='"reservedTags": [0]'),
    ),
    "positional to tagged in the same versions": (
        _REFUSED,
        spec(_field("Alpha", "int32", "2+")),
        spec(_tagged("Alpha", 0)),
    ),
    "tagged field's type change": (_REFUSED, spec(_tagged("Alpha", 0)), spec(_tagged("Alpha", 0, "int64"))),
    "tagged field's nullability change": (
        _REFUSED,
        spec(_tagged("Alpha", 0, "string")),
        spec(_tagged("Alpha", 0, "string", ', "nullableVersions": "2+"')),
    ),
    "released inflexible version made flexible": (_REFUSED, spec(flexible="3+"), spec(flexible="2+")),
    "flexible made inflexible": (_REFUSED, spec(flexible="2+"), spec(flexible="3+")),
    "plain field put into a released version": (_REFUSED, spec(), spec(ALPHA, _BETA)),
    "plain field taken out of a released version": (_REFUSED, spec(ALPHA, _BETA), spec()),
    "plain field taken out of some released versions": (
        _REFUSED,
        spec(ALPHA, _BETA),
        spec(ALPHA, _field("Beta", "int32", "0-2")),
    ),
    "default of a plain field changed": (_CODE, spec(), spec(_field("Alpha", "int32", more=', "default": "1"'))),
    "default of a tagged field changed": (
        _REFUSED,
        spec(_tagged("Alpha", 0)),
        spec(_tagged("Alpha", 0, more=', "default": "1"')),
    ),
    "default written in another way": (_FINE, spec(), spec(_field("Alpha", "int32", more=', "default": "0"'))),
    "type change": (_REFUSED, spec(), spec(_field("Alpha", "uint32"))),
    "highest version lowered": (_REFUSED, spec(), spec(valid="0-2")),
    "lowest version lowered": (_REFUSED, spec(valid="1-3"), spec(valid="0-3")),
    "field ends after the old highest version": (
        _WARNED,
        spec(ALPHA, _BETA),
        spec(ALPHA, _field("Beta", "int32", "0-3"), valid="0-4"),
    ),
    "new plain field in a new version": (_WARNED, spec(), spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4")),
    "lowest version raised": (_WARNED, spec(), spec(valid="1-3")),
    "rename": (_WARNED, spec(), spec(_BETA)),
    "same-type reorder": (_REFUSED, spec(ALPHA, _BETA), spec(_BETA, ALPHA)),
    "struct renamed in inflexible versions": (
        _CODE,
        spec(_INNER, flexible="none"),
        spec(_INNER.replace("Inner", "Other"), flexible="none"),
    ),
    "struct renamed in flexible versions": (_CODE, spec(_INNER), spec(_INNER.replace("Inner", "Other"))),
    "array of int32 to array of structs with one, inflexible": (
        _CODE,
        spec(_field("Alpha", "[]int32"), flexible="none"),
        spec(_INNER, flexible="none"),
    ),
    "array of int32 to array of structs with one, flexible": (_REFUSED, spec(_field("Alpha", "[]int32")), spec(_INNER)),
    "ignorable": (
        _WARNED,
        spec(_field("Alpha", "int32", "1+")),
        spec(_field("Alpha", "int32", "1+", ', "ignorable": true')),
    ),
    "mapKey": (
        _WARNED,
        spec(_INNER),
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32", more=', "mapKey": true'))),
    ),
    "entityType": (
        _WARNED,
        spec(_field("Alpha", "string")),
        spec(_field("Alpha", "string", more=', "entityType": "topicName"')),
    ),
    "about": (_FINE, spec(), spec(_field("Alpha", "int32", more=', "about": "A letter."'))),
    # Where names, places and forms could be mixed up
    "array of structs spread out, inflexible": (
        _CODE,
        spec(_struct("Alpha", "Inner", _field("Leaf", "int32"), _field("Twig", "int8")), flexible="none"),
        spec(_field("Leaf", "int32"), _field("Twig", "int8"), flexible="none"),
    ),
    "integer widened with its old encoding": (
        _CODE,
        spec(valid="0-1"),
        spec(
            _field("Alpha", "int64", more=', "encoding": {"0-1": "fixed32", "2+": "fixed64"}'),
            valid="0-2",
        ),
    ),
    "encoding changed in a released version": (
        _REFUSED,
        spec(_field("Alpha", "int32", more=', "encoding": "packed32"')),
        spec(_field("Alpha", "int32", more=', "encoding": "upacked32"')),
    ),
    "element encoding added": (
        _REFUSED,
        spec(_field("Alpha", "[]int32")),
        spec(_field("Alpha", "[]int32", more=', "elementEncoding": "packed32"')),
    ),
    "records to bytes": (_CODE, spec(_field("Alpha", "records")), spec(_field("Alpha", "bytes"))),
    "string to bytes": (_REFUSED, spec(_field("Alpha", "string")), spec(_field("Alpha", "bytes"))),
    "tag valid in more released versions": (
        _REFUSED,
        spec(_field("Alpha", "int32", "3+", ', "taggedVersions": "3+", "tag": 0')),
        spec(_tagged("Alpha", 0)),
    ),
    "tag of a version that was never released": (
        _FINE,
        spec(ALPHA, _field("Beta", "int32", "9+", ', "taggedVersions": "9+", "tag": 0')),
        spec(),
    ),
    "tagged field made plain in a new version, tag not reserved": (
        _REFUSED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4"),
    ),
    "tagged field made plain in a new version, tag reserved": (
        _WARNED,
        spec(ALPHA, _tagged("Beta", 0)),
        spec(ALPHA, _field("Beta", "int32", "4+"), valid="0-4", more='"reservedTags": [0]'),
    ),
    "reserved tag used again": (
        _REFUSED,
        spec(ALPHA, more='"reservedTags": [0]'),
        spec(ALPHA, _tagged("Beta", 0)),
    ),
    "reserved tag no longer reserved": (_REFUSED, spec(more='"reservedTags": [0]'), spec()),
    "tag in a struct forgotten": (
        _REFUSED,
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), _tagged("Twig", 0))),
        spec(_INNER),
    ),
    "tag in a struct reserved": (
        _WARNED,
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), _tagged("Twig", 0))),
        spec(_struct("Alpha", "[]Inner", _field("Leaf", "int32"), more=', "reservedTags": [0]')),
    ),
    "old versions described, not served": (
        _WARNED,
        spec(ALPHA, valid="2-3"),
        spec(ALPHA, _field("Beta", "int32", "0-1"), valid="0-3", more='"servedVersions": "2+"'),
    ),
    "old versions served again": (_REFUSED, spec(valid="2-3"), spec(valid="0-3", more='"servedVersions": "1+"')),
    "versions no longer served": (_WARNED, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "none"')),
    "all versions served in other words": (_FINE, spec(valid="0-3"), spec(valid="0-3", more='"servedVersions": "0-3"')),
    "tag of another type than the plain field before": (_FINE, spec(ALPHA), spec(ALPHA, _tagged("Beta", 0, "string"))),
}


@pytest.mark.parametrize("row", _VERDICTS)
def test_verdict(row: str, tmp_path: Path) -> None:
    expected, old, new = _VERDICTS[row]
    found = _compare(tmp_path, old, new)
    severities = [severity for severity in ("wire", "source", "notice") if severity in {one.severity for one in found}]
    assert (severities[0] if severities else None) == expected, [str(one.text) for one in found]


# Beside the bytes


def _classes(folder: Path, text: str, package: str, monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    file = folder / f"{package}.json"
    file.write_text(text, encoding="utf-8")
    message = check.read_file(file).spec
    assert message is not None
    module = ""
    for path, pieces in render_message(message, HeaderVersions(), file.name).items():
        target = folder / package / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(pieces))
        module = f"{package}.{target.parent.name}"
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    versions = {}
    for version in message.valid_versions.each():
        loaded = importlib.import_module(f"{module}.v{version}")
        versions[version] = getattr(loaded, loaded.__all__[-1])
    return versions


_KEPT = {
    **{row: (old, new) for row, (verdict, old, new) in _VERDICTS.items() if verdict != _REFUSED},
    **{
        f"rule {rule.id}": (rule.bad.old[0], rule.bad.new[0])
        for rule in ALL
        if rule.severity != "wire" and '"none", "flexible' not in rule.bad.new[0]
    },
}


@pytest.mark.parametrize("row", _KEPT)
def test_what_is_not_refused_keeps_the_bytes(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = _KEPT[row]
    name = "".join(letter if letter.isalnum() else "_" for letter in row)
    before = _classes(tmp_path, old, f"before_{name}", monkeypatch)
    after = _classes(tmp_path, new, f"after_{name}", monkeypatch)
    for version in before.keys() & after.keys():
        for writer, reader in ((before[version], after[version]), (after[version], before[version])):
            _check_read_alike(writer, reader)


def _check_read_alike(writer: Any, reader: Any) -> None:
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(messages(writer, long=False))
    def read_alike(message: Any) -> None:
        # JSON leaves unknown tags out, which one side may know.
        data = writer.from_json(message.to_json()).encode()
        assert reader.decode(data).encode() == data

    read_alike()


_BROKEN = {
    **{row: (old, new) for row, (verdict, old, new) in _VERDICTS.items() if verdict == _REFUSED},
    **{f"rule {rule.id}": (rule.bad.old[0], rule.bad.new[0]) for rule in ALL if rule.severity == "wire"},
}
_ABOUT_OTHER_THINGS = {
    "message-removed": "there is nothing to read it with",
    "message-type-changed": "the header before it is another",
    "api-key-changed": "the number stands in the header",
    "highest-version-lowered": "there is nothing to read it with",
    "lowest-version-lowered": "nothing shows what the version once was",
    "tag-forgotten": "only what comes later breaks something",
}
"""The rules whose findings cannot be seen in the bytes of both revisions."""


@pytest.mark.parametrize("row", _BROKEN)
def test_what_is_refused_breaks_a_message_or_is_about_more_than_its_bytes(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = _BROKEN[row]
    serious = [found for found in _compare(tmp_path / "specs", old, new) if found.severity == "wire"]
    if row == "reserved tag used again" or {found.rule.id for found in serious} <= _ABOUT_OTHER_THINGS.keys():
        return
    name = "".join(letter if letter.isalnum() else "_" for letter in row)
    before = _classes(tmp_path, old, f"broken_before_{name}", monkeypatch)
    after = _classes(tmp_path, new, f"broken_after_{name}", monkeypatch)
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


# What a finding says


def test_change_of_many_versions_is_one_finding_with_its_versions_and_place(tmp_path: Path) -> None:
    (found,) = _compare(tmp_path, spec(), spec(_field("Alpha", "int64")))
    assert (found.path, found.text) == ("Probe.Alpha", "type int32 became int64 (versions 0-3)")
    assert (Path(found.place.file).name, found.place.line, found.place.column) == ("0.json", 5, 31)
    assert found.place.file.startswith(str(tmp_path / "new"))
    assert found.was.file.startswith(str(tmp_path / "old"))


def test_change_of_a_common_struct_is_one_finding_however_often_it_is_used(tmp_path: Path) -> None:
    fields = _field("Alpha", "Shared"), _field("Beta", "[]Shared")
    common = '{"name": "Shared", "versions": "0+", "fields": [{"name": "Leaf", "type": "%s", "versions": "0+"}]}'
    (found,) = _compare(tmp_path, spec(*fields, common=(common % "int8",)), spec(*fields, common=(common % "int16",)))
    assert (found.rule.id, found.path) == ("type-changed", "Probe.Shared.Leaf")


def test_reorder_names_the_field_that_moved_and_its_neighbours(tmp_path: Path) -> None:
    names = ("Alpha", "Beta", "Gamma", "Delta")
    old = spec(*(_field(name, "int32") for name in names))
    new = spec(*(_field(name, "int32") for name in ("Delta", "Alpha", "Beta", "Gamma")))
    (found,) = _compare(tmp_path, old, new)
    assert (found.rule.id, found.path, found.change) == (
        "field-moved",
        "Probe.Delta",
        "stood behind Gamma, now stands first",
    )


def test_rename_beside_a_removed_field_is_told_apart_by_the_forms(tmp_path: Path) -> None:
    old = spec(_field("Alpha", "int32"), _field("Beta", "string"), _field("Gamma", "int8"))
    new = spec(_field("Alpha", "int32"), _field("Delta", "int8"))
    found = {(one.rule.id, one.path) for one in _compare(tmp_path, old, new)}
    assert found == {("field-removed", "Probe.Beta"), ("field-renamed", "Probe.Delta")}


def test_flexible_versions_are_one_finding_and_hide_no_other(tmp_path: Path) -> None:
    old = spec(_field("Alpha", "string"), _field("Beta", "string"), flexible="none")
    new = spec(_field("Alpha", "string"), _field("Beta", "bytes"), flexible="2+")
    found = [(one.rule.id, one.path, sorted(one.versions)) for one in _compare(tmp_path, old, new)]
    assert found == [("flexible-versions-changed", "Probe", [2, 3]), ("type-changed", "Probe.Beta", [0, 1, 2, 3])]


def test_unstable_version_may_change_in_request_and_response(tmp_path: Path) -> None:
    def pair(beta: str, unstable: bool = True) -> tuple[str, ...]:
        more = '"apiKey": 900' + (', "latestVersionUnstable": true' if unstable else "")
        request = spec(ALPHA, _field("Beta", "int32", beta), name="ProbeRequest", type_="request", more=more)
        response = spec(
            ALPHA, _field("Beta", "int32", beta), name="ProbeResponse", type_="response", more='"apiKey": 900'
        )
        return request, response

    found = compare_paths(*_write(tmp_path / "a", Revisions(pair("4+"), pair("3+")))).findings
    assert [(one.rule.id, one.severity) for one in found] == [("field-added", "notice")] * 2
    found = compare_paths(*_write(tmp_path / "b", Revisions(pair("4+"), pair("2+")))).findings
    assert [(one.rule.id, one.severity) for one in found] == [("field-added", "wire")] * 2
    found = compare_paths(*_write(tmp_path / "c", Revisions(pair("4+", unstable=False), pair("3+")))).findings
    assert ("field-added", "wire") in {(one.rule.id, one.severity) for one in found}


def test_message_that_is_new_is_fine_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    revisions = Revisions((spec(), spec(name="Other")), (spec(), spec(name="Another")))
    (found,) = compare_paths(*_write(tmp_path, revisions)).findings
    assert (found.rule.id, found.path, found.place.line) == ("message-removed", "Other", 1)
    assert found.place.file == str(tmp_path / "new" / "1.json")


def test_renamed_request_is_known_by_its_api_key(tmp_path: Path) -> None:
    other = spec(name="OtherRequest", type_="request", more='"apiKey": 901')
    old = spec(name="ProbeRequest", type_="request", more='"apiKey": 900')
    new = spec(_field("Alpha", "int8"), name="TrialRequest", type_="request", more='"apiKey": 900')
    found = compare_paths(*_write(tmp_path, Revisions((old, other), (new, other)))).findings
    assert [one.rule.id for one in found] == ["message-renamed", "type-changed"]


def test_layouts_are_compared_part_by_part(tmp_path: Path) -> None:
    def layout(*fields: str) -> str:
        return spec(*fields, type_="layout", flexible="none", valid="2")

    bits = ', "bits": [{"name": "Kind", "bits": "%s"}, {"name": "IsLast", "bits": "4"}]'
    parts = (
        _field("Length", "int32", more=', "sizeOf": "rest"'),
        _field("Magic", "int8", more=', "constant": "version"'),
        _field("Crc", "uint32", more=', "checksum": {"algorithm": "crc32", "from": "Attributes"}'),
        _field("Attributes", "int8", more=bits % "0-2"),
        _field("Key", "bytes", more=', "size": "varint"'),
    )
    changed = (
        _field("Length", "int32", more=', "sizeOf": "rest", "encoding": "packed32"'),
        _field("Magic", "int8", more=', "constant": "7"'),
        _field("Crc", "uint32", more=', "checksum": {"algorithm": "crc32c", "from": "Attributes"}'),
        _field("Attributes", "int8", more=bits % "0-3"),
        _field("Key", "bytes", more=', "size": "int32"'),
    )
    assert _compare(tmp_path / "same", layout(*parts), layout(*parts)) == ()
    found = {(one.rule.id, one.path) for one in _compare(tmp_path / "changed", layout(*parts), layout(*changed))}
    assert found == {
        ("encoding-changed", "Probe.Length"),
        ("part-changed", "Probe.Magic"),
        ("part-changed", "Probe.Crc"),
        ("part-changed", "Probe.Attributes.Kind"),
        ("part-changed", "Probe.Key"),
    }
    renamed = tuple(part.replace("IsLast", "IsFinal").replace("Attributes", "Flags") for part in parts)
    found = {(one.rule.id, one.path) for one in _compare(tmp_path / "renamed", layout(*parts), layout(*renamed))}
    assert found == {("field-renamed", "Probe.Flags"), ("field-renamed", "Probe.Flags.IsFinal")}


def test_a_property_of_record_formats_that_nothing_is_known_of_is_compared_as_it_is_written(monkeypatch: Any) -> None:
    checked, _ = read_folder(Path(__file__).parent / "data" / "layouts")
    sets = next(one.spec for one in checked if one.spec is not None and one.spec.name == "Sets")
    known = PROPERTIES["same_length_as"]
    monkeypatch.setitem(PROPERTIES, "same_length_as", known._replace(name="asManyAs"))
    found = {slot.name: dict(slot.rest).get("asManyAs") for slot in body_of(lay_out(sets, 0)).plain}
    assert {name: value for name, value in found.items() if value} == {
        "Offsets": "Errors",
        "Counts": "Offsets",
        "More": "Errors",
    }

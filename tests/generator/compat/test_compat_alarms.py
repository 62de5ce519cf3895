"""`kipgen compat` on changes that it once passed over, or once refused although no byte changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kipwire
from kipgen.commands.app import app
from kipgen.commands.compat.model import Finding
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import ALPHA, field_of, spec, struct_named, tagged_field
from kipwire import ConversionError
from tests.support.cases import of_each
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import VERSIONS, commit_all, compare_texts, write_revisions

CANNOT_READ = "readers without the version cannot read what is written in it, also after a downgrade"
REQUEST: dict[str, Any] = {"type_": "request", "name": "TradeRequest"}
RESPONSE: dict[str, Any] = {"type_": "response", "name": "TradeResponse"}


def _verdicts(found: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return [(one.rule.id, one.severity, one.path) for one in found]


# Fields that cannot be dropped


def _grown(*fields: str, type_: str = "request", **more: Any) -> tuple[str, str]:
    """Write a message with versions 0 and 1, and with fields that mostly come with version 2."""
    old = spec(ALPHA, name="AskRequest", type_=type_, valid="0-1", flexible="0+", more='"apiKey": 900')
    return old, spec(ALPHA, *fields, name="AskRequest", type_=type_, valid="0-2", flexible="0+", more='"apiKey": 900')


def test_new_field_that_is_not_ignorable_is_told_with_the_versions_that_lack_it(tmp_path: Path) -> None:
    old, new = _grown(field_of("int32", "Patience", versions="2+"))
    coming, found = compare_texts(tmp_path, old, new, VERSIONS)
    assert (coming.rule.id, coming.text) == (
        "versions-added",
        "validVersions 0-1 became 0-2; new: Patience in version 2",
    )
    assert _verdicts((found,)) == [("new-field-not-ignorable", "notice", "AskRequest.Patience")]
    assert found.text == "a new field that is not ignorable, and that other versions lack (versions 0-1)"
    assert (Path(found.location.file).name, found.location.line, found.was.line) == ("0.json", 7, 3)
    versions = classes_of(new, "alarms_not_ignorable", tmp_path)
    with pytest.raises(ConversionError, match="not ignorable"):
        kipwire.convert(versions[2](patience=30_000), 1)
    assert kipwire.convert(versions[2](alpha=7), 1) == versions[1](alpha=7)


_NEW = {
    "ignorable": (field_of("int32", "Beta", versions="2+", ignorable=True), []),
    "in all versions, by its tag": (tagged_field("Beta", versions="0+"), []),
    "by a tag that version 0 lacks": (tagged_field("Beta", versions="1+"), [("AskRequest.Beta", {0})]),
    "of a struct that is new": (
        field_of("Inner", "Beta", versions="2+", ignorable=True, fields=[field_of("int32", "Leaf", versions="2+")]),
        [],
    ),
    "struct that is new, with its fields": (
        field_of("Inner", "Beta", versions="2+", fields=[field_of("int32", "Leaf", versions="2+")]),
        [("AskRequest.Beta", {0, 1})],
    ),
    "in no version yet": (field_of("int32", "Beta", versions="3+"), []),
}


@of_each("case", _NEW, together=lambda _: "new field")
def test_a_new_field_is_told_only_if_a_version_lacks_it_and_it_cannot_be_dropped(case: str, tmp_path: Path) -> None:
    field, expected = _NEW[case]
    found = compare_texts(tmp_path / case, *_grown(field))
    lacking = [(one.path, set(one.versions)) for one in found if one.rule.id == "new-field-not-ignorable"]
    assert lacking == expected


def test_new_field_of_a_struct_is_measured_by_the_versions_that_have_the_struct(tmp_path: Path) -> None:
    def text(valid: str, *more: str) -> str:
        use = field_of("Shared", "Use", versions="1+"), field_of("[]Shared", "Uses", versions="2+")
        leaf = field_of("int32", "Leaf")
        common = struct_named("Shared", leaf, *more)
        return spec(ALPHA, *use, valid=valid, flexible="none", common=(common,))

    twig = field_of("int32", "Twig", versions="3+")
    found = compare_texts(tmp_path, text("0-2"), text("0-3", twig))
    assert [(one.rule.id, one.path, one.text) for one in found] == [
        ("version-not-negotiated", "Probe", "validVersions 0-2 became 0-3; new: Shared.Twig in version 3"),
        (
            "new-field-not-ignorable",
            "Probe.Shared.Twig",
            "a new field that is not ignorable, and that other versions lack (versions 1-2)",
        ),
    ]


def test_field_that_is_only_renamed_is_not_new(tmp_path: Path) -> None:
    found = compare_texts(tmp_path, spec(field_of("int32", versions="1+")), spec(field_of("int32", "Beta", "1+")))
    assert [one.rule.id for one in found] == ["field-renamed"]


def test_new_field_that_may_be_null_is_told_if_its_absence_reads_as_a_value(tmp_path: Path) -> None:
    def field(**more: Any) -> str:
        return field_of("string", "Place", versions="2+", nullableVersions="2+", ignorable=True, **more)

    old, new = _grown(field())
    _, found = compare_texts(tmp_path / "empty", old, new)
    assert _verdicts((found,)) == [("new-field-reads-empty", "notice", "AskRequest.Place")]
    assert found.text == "a new field that may be null, but reads as empty where it is absent"
    versions = classes_of(new, "alarms_reads_empty", tmp_path)
    assert kipwire.convert(versions[1](), 2) == versions[2](place="")
    for number, more in enumerate(({"default": "null"}, {"default": "nowhere"})):
        right = compare_texts(tmp_path / str(number), old, _grown(field(**more))[1], VERSIONS)
        assert [one.rule.id for one in right] == ["versions-added"]


def test_fields_that_come_with_versions_are_listed_by_version_and_not_without_end(tmp_path: Path) -> None:
    def coming(*fields: str, valid: str) -> str:
        old = spec(ALPHA, valid="0-1", flexible="none")
        (found,) = [
            one
            for one in compare_texts(
                tmp_path / str(len(fields)), old, spec(ALPHA, *fields, valid=valid, flexible="none")
            )
            if one.rule.id == "version-not-negotiated"
        ]
        return found.change

    def fields(*names: str, versions: str) -> list[str]:
        return [field_of("int8", name, versions=versions, ignorable=True) for name in names]

    some = [*fields("Gamma", "Beta", versions="2+"), *fields("Delta", versions="3")]
    assert coming(valid="0-2") == "validVersions 0-1 became 0-2; no new field"
    assert (
        coming(*some, valid="0-3") == "validVersions 0-1 became 0-3; new: Beta, Gamma in version 2; Delta in version 3"
    )
    many = [*some, *fields(*(f"Field{number}" for number in range(20)), versions="3+")]
    assert coming(*many, valid="0-3").endswith("Field15, Field16 in version 3; 11 more")


# Versions that are not negotiated


@of_each("type_", ["data", "metadata", "header", "coordinator-value"], together=lambda _: "record")
def test_version_of_what_nobody_negotiates_says_who_cannot_read_it(type_: str, tmp_path: Path) -> None:
    def text(valid: str, *fields: str) -> str:
        key = '"apiKey": 3' if type_ in ("metadata", "coordinator-value") else '"about": "A thing."'
        return spec(ALPHA, *fields, name="ThingValue", type_=type_, valid=valid, flexible="0+", more=key)

    epoch = field_of("int64", "Epoch", versions="1+", default="-1", ignorable=True)
    (found,) = compare_texts(tmp_path / type_, text("0"), text("0-1", epoch))
    assert _verdicts((found,)) == [("version-not-negotiated", "notice", "ThingValue")]
    assert found.rule.breaks == CANNOT_READ
    assert "a tagged field" in found.rule.instead
    assert found.text == "validVersions 0 became 0-1; new: Epoch in version 1"


MARK = '"noNewVersions": true'


def test_message_that_may_get_only_tagged_fields_gets_no_version(tmp_path: Path) -> None:
    def verdicts(old: str, new: str) -> list[tuple[str, str]]:
        (tmp_path / "old.json").write_text(old)
        (tmp_path / "new.json").write_text(new)
        done = CliRunner().invoke(app, ["compat", f"{tmp_path}/old.json", f"{tmp_path}/new.json", "--wire-only"])
        found = compare_paths(tmp_path / "old.json", tmp_path / "new.json").findings
        assert done.exit_code == int(any(one.severity == "wire" for one in found))
        return [(one.rule.id, one.severity) for one in found]

    marked, tag = spec(more=MARK), tagged_field("Beta", versions="3+", ignorable=True)
    assert verdicts(marked, spec(ALPHA, tag, more=MARK)) == []
    assert verdicts(spec(), marked) == []
    assert verdicts(marked, spec(valid="0-4", more=MARK)) == [("new-version-refused", "wire")]
    assert verdicts(marked, spec()) == [("new-versions-allowed", "notice")]
    assert verdicts(marked, spec(valid="none")) == [("message-retired", "notice")]
    # Whoever takes the mark away and adds the version at once breaks the promise, too.
    both = [("new-version-refused", "wire"), ("new-versions-allowed", "notice")]
    assert sorted(verdicts(marked, spec(valid="0-4"))) == both


# False alarms


_RECORD_TYPES = ("data", "metadata", "coordinator-value")


@pytest.mark.parametrize("before", _RECORD_TYPES)
def test_records_without_headers_may_become_each_other(before: str, tmp_path: Path) -> None:
    def text(type_: str) -> str:
        return spec(name="ThingValue", type_=type_, valid="0-1", flexible="0+", more='"apiKey": 3' * (type_ != "data"))

    old = classes_of(text(before), f"alarms_of_{before.replace('-', '_')}", tmp_path)
    for after in _RECORD_TYPES:
        rule = "data-type-given" if before == "data" else "record-type-changed"
        severity = "notice" if before == "data" else "source"
        found = _verdicts(compare_texts(tmp_path / f"to_{after}", text(before), text(after)))
        assert found == ([(rule, severity, "ThingValue")] if before != after else [])
        new = classes_of(text(after), f"alarms_from_{before}_to_{after}".replace("-", "_"), tmp_path)
        assert old[1](alpha=7).encode() == new[1](alpha=7).encode()
    for other, name in (("request", "ThingRequest"), ("response", "ThingResponse"), ("header", "ThingHeader")):
        headed = text(other).replace("ThingValue", name)
        found = _verdicts(compare_texts(tmp_path / f"to_{other}", text(before), headed))
        assert ("message-type-changed", "wire", name) in found


def test_key_whose_version_becomes_its_api_key_is_the_same_bytes(tmp_path: Path) -> None:
    def data(type_: str = "string", valid: str = "3") -> str:
        return spec(field_of(type_, versions=valid), name="ThingKey", valid=valid, flexible="none")

    def key(type_: str = "string", api_key: int = 3) -> str:
        more = f'"apiKey": {api_key}'
        field = field_of(type_)
        return spec(field, name="ThingKey", type_="coordinator-key", valid="0", flexible="none", more=more)

    def verdicts(old: str, new: str, name: str) -> list[tuple[str, str]]:
        return [(one.rule.id, one.severity) for one in compare_texts(tmp_path / name, old, new)]

    assert verdicts(data(), key(), "given") == [("data-type-given", "notice")]
    assert verdicts(key(), data(), "taken back") == [("record-type-changed", "source")]
    old, new = classes_of(data(), "alarms_key_before", tmp_path), classes_of(key(), "alarms_key_after", tmp_path)
    assert (3, old[3](alpha="x").encode()) == (new[0].API_KEY, new[0](alpha="x").encode())
    # The number before it is another one, or its bytes.
    assert ("highest-version-lowered", "wire") in verdicts(data(), key(api_key=4), "another number")
    found = compare_texts(tmp_path / "other bytes", data(), key("int32"))
    assert [(one.rule.id, sorted(one.versions)) for one in found if one.severity == "wire"] == [("type-changed", [3])]
    # Of two versions, one becomes the key, and the other is dropped.
    newer = verdicts(data(valid="2-3"), key(), "the newer of two")
    assert sorted(newer) == [("data-type-given", "notice"), ("lowest-version-raised", "notice")]
    assert ("highest-version-lowered", "wire") in verdicts(data(valid="3-4"), key(), "the older of two")


def _news(*fields: str, valid: str = "0-8") -> str:
    flexible = "none" if valid == "none" else "0+"
    text = spec(*fields, name="NewsRequest", type_="request", valid=valid, flexible=flexible, more='"apiKey": 6')
    return text if fields else text.replace(ALPHA, "")


def test_message_that_is_retired_with_its_fields_is_one_finding(tmp_path: Path) -> None:
    kind = tagged_field("Kind", versions="0+")
    found = compare_texts(tmp_path, _news(ALPHA, kind), _news(valid="none"))
    assert _verdicts(found) == [("message-retired", "notice", "NewsRequest")]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is a repository, and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def _write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def _against_head(*paths: str) -> list[str]:
    """Compare with HEAD, and return the headlines."""
    done = CliRunner().invoke(app, ["compat", "--against", "HEAD", *paths, "--format", "text"])
    lines = [line for line in done.stdout.splitlines() if line and line[0] not in " WSNA0123456789"]
    assert done.exit_code == int("WIRE" in done.stdout or "SOURCE" in done.stdout), done.output
    return lines


def test_tags_of_a_retired_message_are_remembered_until_it_comes_back(repository: Path) -> None:
    file = "schemas/news/NewsRequest.json"
    _write(file, _news(ALPHA, tagged_field("Kind", versions="0+")))
    commit_all(repository)
    _write(file, _news(valid="none"))
    commit_all(repository)
    _write("schemas/news/Other.json", spec(name="Other"))
    assert _against_head() == []
    _write(file, _news(ALPHA, tagged_field("Sort", versions="0+")))
    line, *_ = _against_head()
    assert "NewsRequest.Sort: tag-reused: tag 0 belonged to Kind up to commit" in line


@of_each("tagged", [True, False], together=lambda _: "respelled")
def test_letter_case_that_changes_no_attribute_is_a_notice(tagged: bool, tmp_path: Path) -> None:
    def text(name: str, type_: str = "[]int32", around: str = "Around") -> str:
        tag: dict[str, Any] = {"tag": 0, "taggedVersions": "0+"} if tagged else {}
        leaf = field_of(type_, name, nullableVersions="0+", default="null", **tag)
        return spec(field_of("[]Inner", around, fields=[leaf]), valid="0-1", flexible="0+")

    folder = tmp_path / str(tagged)
    (found,) = compare_texts(folder / "one", text("LastABC"), text("LastAbc"))
    assert _verdicts((found,)) == [("field-respelled", "notice", "Probe.Around.LastAbc")]
    assert found.text == "was LastABC; attribute and bytes are the same (versions 0-1)"
    outer = compare_texts(folder / "two", text("LastABC", around="AROUND"), text("LastAbc", around="Around"))
    assert [(one.rule.id, one.severity) for one in outer] == [("field-respelled", "notice")] * 2
    other = compare_texts(folder / "three", text("LastABC"), text("LastAbc", "[]int64"))
    assert {(one.rule.id, one.severity) for one in other} == {("field-respelled", "notice"), ("type-changed", "wire")}
    renamed = compare_texts(folder / "four", text("LastABC"), text("LastAbcs"))
    assert [one.rule.id for one in renamed] == ["tag-reused" if tagged else "field-renamed"]


def test_letter_case_is_no_other_field_in_the_history_either(repository: Path) -> None:
    def text(around: str, leaf: str) -> str:
        return spec(field_of("[]Inner", around, fields=[tagged_field(leaf)]), flexible="0+")

    file = "schemas/core/Probe.json"
    _write(file, text("AROUND", "LastABC"))
    commit_all(repository)
    _write(file, text("Around", "LastAbc"))
    commit_all(repository)
    assert _against_head() == []
    _write(file, text("Around", "Other"))
    assert ["tag-reused" in line for line in _against_head()] == [True]


def _trade(api_key: int = 900, name: str = "Trade", valid: str = "0", unstable: bool = True) -> tuple[str, str]:
    key = f'"apiKey": {api_key}'
    mark = ', "latestVersionUnstable": true' if unstable else ""
    request = spec(name=f"{name}Request", type_="request", valid=valid, flexible="0+", more=key + mark)
    return request, spec(name=f"{name}Response", type_="response", valid=valid, flexible="0+", more=key)


_KEEP = _trade(901, "Keep", unstable=False)
_FORGOTTEN = {
    "dropped": ((), {"message-removed"}),
    "renumbered": (_trade(905), {"api-key-changed"}),
    "renamed": (_trade(name="Deal"), {"message-renamed"}),
}


@pytest.mark.parametrize("change", _FORGOTTEN)
def test_message_that_has_only_an_unstable_version_may_change_in_all(change: str, tmp_path: Path) -> None:
    after, rules = _FORGOTTEN[change]

    def found(folder: str, before: tuple[str, str]) -> list[tuple[str, str]]:
        both = Revisions((*_KEEP, *before), (*_KEEP, *after))
        return [
            (one.rule.id, one.severity) for one in compare_paths(*write_revisions(tmp_path / folder, both)).findings
        ]

    assert found("unstable", _trade()) == [(rule, "notice") for rule in rules] * 2
    # One released version below is enough.
    assert {severity for rule, severity in found("released", _trade(valid="0-1")) if rule in rules} <= {
        "wire",
        "source",
    }
    assert {severity for rule, severity in found("stable", _trade(unstable=False)) if rule in rules} <= {
        "wire",
        "source",
    }


_PROBE = spec(valid="0-1", flexible="0+")


@pytest.mark.parametrize("paths", [(), ("schemas",), ("schemas/core",), ("schemas/core", "schemas/group")], ids=str)
def test_file_that_moves_to_another_package_is_told_with_where_it_went(
    paths: tuple[str, ...], repository: Path
) -> None:
    _write("schemas/core/Probe.json", _PROBE)
    _write("schemas/core/Other.json", spec(name="Other"))
    _write("schemas/group/Third.json", spec(name="Third"))
    commit_all(repository)
    Path("schemas/core/Probe.json").unlink()
    _write("schemas/group/Probe.json", _PROBE)
    (line,) = _against_head(*paths)
    assert line.endswith("Probe: message-moved: moved from schemas/core to schemas/group")
    assert line.startswith("schemas/group/Probe.json:2:")
    # What changes on the way is found, and a message of the same name that was there is another one.
    _write("schemas/group/Probe.json", _PROBE.replace("int32", "int64"))
    assert len(_against_head(*paths)) == 2
    _write("schemas/core/Probe.json", _PROBE)
    commit_all(repository)
    Path("schemas/core/Probe.json").unlink()
    (line,) = _against_head(*paths)
    assert "Probe: message-removed" in line


def test_packages_of_settings_are_known_and_sub_folders_are_no_packages(repository: Path) -> None:
    _write("kipgen.toml", 'specs = ["specs/core", "specs/group"]\n')
    _write("specs/core/one/Probe.json", _PROBE)
    _write("specs/group/Third.json", spec(name="Third"))
    commit_all(repository)
    Path("specs/core/one/Probe.json").unlink()
    _write("specs/core/two/Probe.json", _PROBE)
    assert _against_head() == []
    Path("specs/core/two/Probe.json").unlink()
    _write("specs/group/two/Probe.json", _PROBE)
    _write("specs/core/Other.json", spec(name="Other"))
    (line,) = _against_head()
    assert line.endswith("moved from specs/core to specs/group")


@of_each("versions", ["0+", "0-2", "1+"], together=lambda _: "ignorable")
def test_ignorable_is_told_only_if_a_version_lacks_the_field(versions: str, tmp_path: Path) -> None:
    def text(**more: Any) -> str:
        return spec(field_of("int32", versions=versions, **more), valid="0-2")

    found = compare_texts(tmp_path / versions, text(ignorable=True), text())
    assert [one.rule.id for one in found] == ["ignorable-changed"] * (versions == "1+")


def test_ignorable_in_a_struct_is_measured_by_the_versions_that_have_the_struct(tmp_path: Path) -> None:
    def text(inner: str, **more: Any) -> str:
        leaf = field_of("int32", "Leaf", versions=inner, **more)
        return spec(ALPHA, field_of("Inner", "Beta", versions="1+", fields=[leaf]))

    found = compare_texts(tmp_path / "all", text("1+", ignorable=True), text("1+"))
    assert found == ()
    found = compare_texts(tmp_path / "some", text("2+", ignorable=True), text("2+"))
    assert [(one.rule.id, one.path) for one in found] == [("ignorable-changed", "Probe.Beta.Leaf")]

"""`kipgen compat --against`: a revision in git is the old side, and its history bears witness of tags and enums."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kipgen.commands.app import app
from kipgen.commands.compat.git import GitError
from kipgen.commands.compat.revisions import SpecErrors, compare_with_commit
from kipgen.reading.rules.examples import ALPHA, spec


def _git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Probe", "-c", "user.email=probe@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """An empty folder of specs in a repository."""
    folder = tmp_path / "schemas" / "probe"
    folder.mkdir(parents=True)
    _git(tmp_path, "init", "--quiet", "--initial-branch=main")
    return folder


def _commit(folder: Path, text: str, name: str = "Probe.json") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message=Change")
    return _git(folder, "rev-parse", "HEAD")


def _tagged(name: str, tag: int) -> str:
    tagged = f'"taggedVersions": "2+", "tag": {tag}, "ignorable": true'
    return f'{{"name": "{name}", "type": "int32", "versions": "2+", {tagged}}}'


def _found(path: Path, revision: str = "HEAD") -> list[tuple[str, str]]:
    return [(one.rule.id, one.path) for one in compare_with_commit(path, revision).findings]


def test_working_tree_is_compared_with_the_revision(specs: Path) -> None:
    _commit(specs, spec())
    _commit(specs, spec(ALPHA.replace("int32", "int8")))
    assert _found(specs) == []
    assert _found(specs, "HEAD~1") == [("type-changed", "Probe.Alpha")]
    (specs / "Probe.json").write_text(spec(ALPHA.replace("int32", "int16")))
    (found,) = compare_with_commit(specs, "HEAD").findings
    assert (found.change, found.was.file) == ("type int8 became int16", "HEAD:schemas/probe/Probe.json")
    assert found.location.file == str(specs / "Probe.json")
    (same,) = compare_with_commit(specs / "Probe.json", "HEAD").findings
    assert (same.change, same.location) == (found.change, found.location)


def test_file_that_is_gone_is_found_where_it_was(specs: Path) -> None:
    (specs / "deep").mkdir()
    _commit(specs, spec(name="Other"), "deep/Other.json")
    _commit(specs, spec())
    (specs / "deep" / "Other.json").unlink()
    (found,) = compare_with_commit(specs, "HEAD").findings
    assert (found.rule.id, found.location.file) == ("message-removed", str(specs / "deep" / "Other.json"))


def test_tag_that_was_forgotten_long_ago_is_found_with_the_commit_that_had_it(specs: Path) -> None:
    last = _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    _commit(specs, spec())
    _commit(specs, spec(ALPHA, _tagged("Gamma", 1)))
    (found,) = compare_with_commit(specs, "HEAD").findings
    assert (found.rule.id, found.severity, found.path) == ("tag-forgotten", "wire", "Probe.Beta")
    assert found.change == f"tag 0 belonged to Beta up to commit {last[:10]}"
    (specs / "Probe.json").write_text(spec(ALPHA, _tagged("Gamma", 1), more='"reservedTags": [0]'))
    assert _found(specs) == []


def test_tag_of_long_ago_that_is_used_again_is_found_at_its_new_field(specs: Path) -> None:
    _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    _commit(specs, spec())
    (specs / "Probe.json").write_text(spec(ALPHA, _tagged("Gamma", 0)))
    (found,) = compare_with_commit(specs, "HEAD").findings
    assert (found.rule.id, found.path, found.location.line) == ("tag-reused", "Probe.Gamma", 6)


def test_tag_that_vanishes_now_is_found_once(specs: Path) -> None:
    _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    (specs / "Probe.json").write_text(spec())
    assert _found(specs) == [("tag-forgotten", "Probe.Beta")]


def test_history_is_followed_through_renames_of_the_file(specs: Path) -> None:
    _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    _git(specs, "mv", "Probe.json", "Renamed.json")
    _git(specs, "commit", "--quiet", "--message=Rename")
    _commit(specs, spec(), "Renamed.json")
    assert _found(specs) == [("tag-forgotten", "Probe.Beta")]


def test_tags_of_structs_are_remembered_by_the_way_to_them(specs: Path) -> None:
    inner = '{"name": "Alpha", "type": "%s", "versions": "2+", "fields": [%s]}'
    _commit(specs, spec(inner % ("Inner", _tagged("Beta", 0))))
    _commit(specs, spec(inner % ("Renamed", "")))
    assert _found(specs) == [("tag-forgotten", "Probe.Alpha.Beta")]


def test_tag_that_came_and_went_since_the_revision_was_never_released(specs: Path) -> None:
    released = _commit(specs, spec())
    _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    (specs / "Probe.json").write_text(spec())
    assert _found(specs, released) == []


def test_tag_of_an_unstable_version_was_never_released(specs: Path) -> None:
    def request(*fields: str) -> str:
        more = '"apiKey": 900, "latestVersionUnstable": true'
        return spec(*fields, name="ProbeRequest", type_="request", flexible="3+", more=more)

    _commit(specs, request(ALPHA, _tagged("Beta", 0).replace("2+", "3+")))
    _commit(specs, request())
    assert _found(specs) == []


def test_revision_that_was_broken_does_not_matter(specs: Path) -> None:
    _commit(specs, '{"name": "Probe", "tag": ')
    _commit(specs, spec())
    assert _found(specs) == []


def test_old_specs_with_errors_are_named_with_their_revision_and_the_rest_is_compared(specs: Path) -> None:
    (specs / "Other.json").write_text(spec(name="Other"))
    _commit(specs, spec().replace("int32", "int31"))
    (specs / "Probe.json").write_text(spec())
    (specs / "Other.json").write_text(spec(ALPHA.replace("int32", "int16"), name="Other"))
    compared = compare_with_commit(specs, "HEAD")
    (broken,) = compared.not_compared
    assert (broken.path, broken.location.file) == ("Probe", str(specs / "Probe.json"))
    (problem,) = broken.errors
    assert str(problem).startswith("HEAD:schemas/probe/Probe.json:5:31: Probe.Alpha: type-syntax: ")
    assert [(one.rule.id, one.path) for one in compared.findings] == [("type-changed", "Other.Alpha")]


def test_commit_that_corrects_the_only_spec_passes_and_one_that_breaks_it_does_not(specs: Path) -> None:
    _commit(specs, spec().replace("int32", "int31"))
    (specs / "Probe.json").write_text(spec())
    compared = compare_with_commit(specs, "HEAD")
    assert (compared.findings, [one.path for one in compared.not_compared]) == ((), ["Probe"])
    _commit(specs, spec())
    (specs / "Probe.json").write_text(spec().replace("int32", "int31"))
    with pytest.raises(SpecErrors):
        compare_with_commit(specs, "HEAD")


def test_package_that_the_revision_does_not_have_is_all_new(specs: Path) -> None:
    _commit(specs, spec())
    other = specs.parent / "other"
    other.mkdir()
    (other / "Probe.json").write_text(spec(valid="0-1"))
    assert _found(other) == []


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "HEAD~9", ""])
def test_unknown_revision_is_named(revision: str, specs: Path) -> None:
    _commit(specs, spec())
    with pytest.raises(GitError, match="has no revision"):
        compare_with_commit(specs, revision)


def test_variables_of_a_git_hook_do_not_lead_astray(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(specs, spec())
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert _found(specs) == []


def test_before_the_first_commit_nothing_is_broken(specs: Path) -> None:
    (specs / "Probe.json").write_text(spec(ALPHA))
    compared = compare_with_commit(specs, "HEAD")
    assert (compared.findings, compared.messages, compared.is_first_commit) == ((), 0, True)
    with pytest.raises(GitError, match="has no revision 'main'"):
        compare_with_commit(specs, "main")
    _commit(specs, spec(ALPHA))
    assert not compare_with_commit(specs, "HEAD").is_first_commit


def test_folder_outside_any_repository_is_reported(tmp_path: Path) -> None:
    (tmp_path / "Probe.json").write_text(spec())
    with pytest.raises(GitError, match="not a git repository"):
        compare_with_commit(tmp_path, "HEAD")


def test_shallow_clone_is_reported(specs: Path, tmp_path: Path) -> None:
    _commit(specs, spec(ALPHA, _tagged("Beta", 0)))
    _commit(specs, spec())
    _git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{tmp_path}", str(tmp_path / "clone"))
    compared = compare_with_commit(tmp_path / "clone" / "schemas" / "probe", "HEAD")
    assert compared.is_history_cut
    assert compared.findings == ()
    with pytest.raises(GitError, match="the clone is shallow"):
        compare_with_commit(tmp_path / "clone" / "schemas" / "probe", "HEAD~1")


# Numbers of enums


def _enum(numbers: dict[str, int], **reserved: list[object]) -> str:
    rows = [{"value": number, "name": name, "about": "A colour."} for name, number in numbers.items()]
    return json.dumps({"name": "Colour", "about": "A light.", "values": rows, **reserved}, indent=1)


@pytest.fixture
def colours(specs: Path) -> Path:
    """The file of an enum in a folder of specs with a message, not committed yet."""
    _commit(specs, spec())
    return specs / "Colour.enum.json"


def _commit_enum(file: Path, numbers: dict[str, int], **reserved: list[object]) -> str:
    return _commit(file.parent, _enum(numbers, **reserved), file.name)


RED, BOTH = {"RED": 0}, {"RED": 0, "BLUE": 1}


def test_enum_is_compared_with_the_revision(colours: Path) -> None:
    _commit_enum(colours, BOTH)
    colours.write_text(_enum({"RED": 0, "GREEN": 1, "BLUE": 2}))
    for path in (colours.parent, colours):
        (found,) = compare_with_commit(path, "HEAD").findings
        assert (found.rule.id, found.path) == ("enum-value-changed", "Colour.BLUE")
        assert found.was.file == "HEAD:schemas/probe/Colour.enum.json"
    assert compare_with_commit(colours.parent, "HEAD").enums == 1


def test_number_that_was_forgotten_long_ago_is_found_until_it_is_reserved(colours: Path) -> None:
    last = _commit_enum(colours, BOTH)
    _commit_enum(colours, RED)
    (found,) = compare_with_commit(colours.parent, "HEAD").findings
    assert (found.rule.id, found.severity, found.path) == ("enum-value-forgotten", "source", "Colour.BLUE")
    neither = "neither its number nor its name is reserved"
    assert found.change == f"1 was BLUE up to commit {last[:10]}, and {neither}"
    colours.write_text(_enum(RED, reservedValues=[1], reservedNames=["BLUE"]))
    assert _found(colours.parent) == []


def test_number_of_long_ago_that_is_used_again_is_found_at_its_new_name(colours: Path) -> None:
    last = _commit_enum(colours, BOTH)
    _commit_enum(colours, RED)
    colours.write_text(_enum({"RED": 0, "GREEN": 1}))
    (found,) = compare_with_commit(colours.parent, "HEAD").findings
    assert (found.rule.id, found.severity, found.path) == ("enum-value-reused", "wire", "Colour.GREEN")
    assert found.change == f"1 was BLUE up to commit {last[:10]}"
    # The same value may come back.
    colours.write_text(_enum(BOTH))
    assert _found(colours.parent) == []


def test_name_of_long_ago_with_another_number_is_found_also_where_the_old_one_is_reserved(colours: Path) -> None:
    last = _commit_enum(colours, BOTH)
    _commit_enum(colours, RED, reservedValues=[1])
    colours.write_text(_enum({"RED": 0, "BLUE": 2}, reservedValues=[1]))
    (found,) = compare_with_commit(colours.parent, "HEAD").findings
    assert (found.rule.id, found.path) == ("enum-value-changed", "Colour.BLUE")
    assert found.change == f"was 1 up to commit {last[:10]}, is now 2"


def test_value_that_was_only_renamed_in_a_commit_is_no_finding_in_later_ones(colours: Path) -> None:
    _commit_enum(colours, BOTH)
    _commit_enum(colours, {"RED": 0, "NAVY": 1})
    _commit_enum(colours, {"RED": 0, "INDIGO": 1})
    assert _found(colours.parent) == []
    assert _found(colours.parent, "HEAD~2") == [("enum-value-renamed", "Colour.INDIGO")]
    colours.write_text(_enum(RED, reservedValues=[1], reservedNames=["INDIGO"]))
    assert _found(colours.parent) == [("enum-value-removed", "Colour.INDIGO")]


def test_numbers_that_were_exchanged_stay_a_finding(colours: Path) -> None:
    _commit_enum(colours, BOTH)
    _commit_enum(colours, {"BLUE": 0, "RED": 1})
    assert _found(colours.parent) == [("enum-value-changed", "Colour.BLUE"), ("enum-value-changed", "Colour.RED")]


def test_number_that_vanishes_now_is_found_once(colours: Path) -> None:
    _commit_enum(colours, BOTH)
    colours.write_text(_enum(RED))
    assert _found(colours.parent) == [("enum-value-forgotten", "Colour.BLUE")]


def test_history_of_an_enum_is_followed_through_renames_and_past_errors(colours: Path) -> None:
    _commit_enum(colours, BOTH)
    _git(colours.parent, "mv", colours.name, "Hue.enum.json")
    _git(colours.parent, "commit", "--quiet", "--message=Rename")
    _commit(colours.parent, _enum({"RED": 0, "blue": 7}), "Hue.enum.json")
    _commit(colours.parent, _enum(RED), "Hue.enum.json")
    assert _found(colours.parent) == [("enum-value-forgotten", "Colour.BLUE")]


def test_number_that_came_and_went_since_the_revision_was_never_released(colours: Path) -> None:
    released = _commit_enum(colours, RED)
    _commit_enum(colours, BOTH)
    colours.write_text(_enum({"RED": 0, "GREEN": 1}))
    assert _found(colours.parent, released) == []


def test_field_with_another_enum_is_compared_with_the_revision(colours: Path) -> None:
    field = '{"name": "Alpha", "type": "int8", "versions": "0+", "enum": "%s"}'
    _commit_enum(colours, BOTH)
    _commit(colours.parent, _enum({"FLAT": 0}).replace("Colour", "Shape"), "Shape.enum.json")
    _commit(colours.parent, spec(field % "Colour"))
    (colours.parent / "Probe.json").write_text(spec(field % "Shape"))
    assert _found(colours.parent) == [("enum-changed", "Probe.Alpha")]


def test_several_packages_read_the_history_once(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit_enum(specs / "Colour.enum.json", BOTH)
    other = specs.parent / "other"
    other.mkdir()
    _commit(specs, spec())
    _commit(other, spec())
    commands: list[list[str]] = []
    run = subprocess.run

    def recorded(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", recorded)
    assert [_found(specs), _found(other)] == [[], []]
    assert len([command for command in commands if "log" in command]) == 1


# Several revisions


def test_what_is_found_against_several_revisions_is_told_once_with_their_list(
    specs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tag, text in (("v1", spec()), ("v2", spec(ALPHA, _tagged("Beta", 0)))):
        _commit(specs, text)
        _git(specs, "tag", tag)
    (specs / "Probe.json").write_text(spec(ALPHA.replace("int32", "int16")))
    monkeypatch.chdir(specs.parent.parent)
    arguments = ["compat", "--against", "v1", "--against", "v2", "-a", "v1", "--json"]
    report = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert [(one["rule"], one["against"]) for one in report["findings"]] == [
        ("tag-forgotten", ["v2"]),
        ("type-changed", ["v1", "v2"]),
    ]
    assert (report["messages"], report["counts"]["wire"]) == (1, 2)
    lines = CliRunner().invoke(app, arguments[:-1]).stdout.splitlines()
    assert [line.strip() for line in lines if "against:" in line] == ["against: v2", "against: v1, v2"]
    alone = CliRunner().invoke(app, ["compat", "--against", "v1"]).stdout
    assert "type-changed" in alone
    assert "against:" not in alone


def test_each_step_may_fit_and_the_whole_not(specs: Path) -> None:
    plain = spec(ALPHA, valid="0")
    first = _commit(specs, plain)
    _commit(specs, plain.replace("int32", "int16").replace('"0"', '"1"'))
    (specs / "Probe.json").write_text(spec(ALPHA, valid="0-2").replace("int32", "int16"))
    assert ("type-changed", "Probe.Alpha") not in _found(specs)
    assert ("type-changed", "Probe.Alpha") in _found(specs, first)

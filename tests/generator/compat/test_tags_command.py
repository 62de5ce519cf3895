"""`kipgen tags`: the tags of a message now and before, and the lowest one that no field ever had."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kipgen.commands.app import app
from kipgen.commands.compat.revisions import compare_with_commit
from kipgen.reading.check import read_bytes
from kipgen.reading.rules.examples import ALPHA, spec


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Probe", "-c", "user.email=probe@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a spec in an empty repository, which is the current folder."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schemas" / "probe").mkdir(parents=True)
    return tmp_path / "schemas" / "probe" / "Probe.json"


def commit(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    git(file.parent, "add", ".")
    git(file.parent, "commit", "--quiet", "--message=Change")
    return git(file.parent, "rev-parse", "HEAD")


def tagged(name: str, tag: int, type_: str = "int32", more: str = "") -> str:
    return f'{{"name": "{name}", "type": "{type_}", "versions": "2+", "taggedVersions": "2+", "tag": {tag}{more}}}'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["tags", *map(str, arguments)])


def as_json(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


INNER = ', "fields": [%s]'


def test_tags_of_now_and_of_the_history_are_listed_with_the_lowest_free_one(file: Path) -> None:
    inner = tagged("Inner", 1, "Inner", INNER % tagged("Deep", 0))
    old = commit(file, spec(ALPHA, tagged("Beta", 0), inner, tagged("Gone", 2)))
    head = commit(file, spec(ALPHA, tagged("Delta", 4), more='"reservedTags": [0]'))
    file.write_text(spec(ALPHA, tagged("Renamed", 4), more='"reservedTags": [0]'))
    assert run("Probe").stdout.splitlines() == [
        "Probe: lowest free tag 3",
        f"    0  Beta     reserved; was Beta up to commit {old[:10]}",
        f"    1  Inner    removed, and not reserved; was Inner up to commit {old[:10]}",
        f"    2  Gone     removed, and not reserved; was Gone up to commit {old[:10]}",
        f"    4  Renamed  int32, versions 2+; was Delta up to commit {head[:10]}",
        "Probe.Inner (no longer there): lowest free tag 1",
        f"    0  Deep  removed, and not reserved; was Deep up to commit {old[:10]}",
        f"History: up to commit {head[:10]}",
    ]
    result = as_json(file)
    assert (result["history"], result["history_lacks"]) == (head, "")
    assert [(one["path"], one["gone"], one["lowest_free"]) for one in result["structs"]] == [
        ("Probe", False, 3),
        ("Probe.Inner", True, 1),
    ]
    assert result["structs"][0]["tags"][-1] == {
        "tag": 4,
        "field": "Renamed",
        "type": "int32",
        "versions": "2+",
        "line": 7,
        "reserved": False,
        "before": [{"field": "Delta", "commit": head[:10]}],
    }


def test_without_git_there_is_no_history_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(spec(ALPHA, tagged("Beta", 1)))
    *lines, last = run(file).stdout.splitlines()
    assert lines == ["Probe: lowest free tag 0", "    1  Beta  int32, versions 2+"]
    assert last.startswith("Without history: ") and "not a git repository" in last
    result = as_json(file)
    assert result["history"] is None and "not a git repository" in result["history_lacks"]


def test_a_new_file_and_a_new_repository_have_no_history(file: Path) -> None:
    file.write_text(spec())
    assert run(file).stdout.splitlines()[-1] == "Without history: the repository has no commit yet"
    commit(file.with_name("Other.json"), spec(name="Other"))
    git(file.parent, "rm", "--cached", "--quiet", "Probe.json")
    git(file.parent, "commit", "--quiet", "--message=Remove", "--amend")
    assert run(file).stdout.splitlines()[-1] == "Without history: the file is not in a commit yet"


def test_a_shallow_clone_is_named(file: Path, tmp_path: Path) -> None:
    commit(file, spec(ALPHA, tagged("Beta", 0)))
    commit(file, spec())
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{tmp_path}", "shallow")
    last = run(tmp_path / "shallow" / "schemas" / "probe" / "Probe.json").stdout.splitlines()[-1]
    assert last.endswith(", but the clone is shallow; fetch the whole history")


def test_a_message_without_flexible_versions_has_no_tags(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(spec(flexible="none"))
    last = run(file).stdout.splitlines()[-1]
    assert last == "Probe has no flexible versions, so no field of it can have a tag (KIP-482)"


def test_a_link_out_of_the_repository_is_followed(file: Path, tmp_path: Path) -> None:
    commit(file, spec(ALPHA, tagged("Beta", 0)))
    commit(file, spec())
    outside = tmp_path.parent / f"{tmp_path.name}-link.json"
    outside.symlink_to(file)
    assert run(outside).stdout.splitlines()[0] == "Probe: lowest free tag 1"


def test_specs_that_cannot_be_read_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "Probe.json").write_text(spec().replace("int32", "int31"))
    done = run(tmp_path / "Probe.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith("Probe.json has errors; correct them first")
    assert "cannot be read" in run("NoSuchMessage").stderr


def test_errors_about_tags_name_the_lowest_free_one(file: Path) -> None:
    commit(file, spec(ALPHA, tagged("Beta", 0), tagged("Gone", 1)))
    commit(file, spec(ALPHA, tagged("Beta", 0), tagged("Gamma", 2)))
    # Not 1, which the history has, and not 2, which the revision has.
    file.write_text(spec(ALPHA, tagged("Other", 0), tagged("Again", 1)))
    found = {one.path: one.change for one in compare_with_commit(file, "HEAD").findings if one.rule.id == "tag-reused"}
    assert found["Probe.Other"] == "tag 0 belonged to Beta; the lowest free tag is 3"
    assert found["Probe.Again"].endswith("; the lowest free tag is 3")
    file.write_text(spec(ALPHA, tagged("Beta", 0), more='"reservedTags": [1, 3]'))
    git(file.parent, "commit", "--quiet", "--all", "--message=Reserve")
    file.write_text(spec(ALPHA, tagged("Beta", 0), tagged("Other", 3)))
    found = {one.path: one.change for one in compare_with_commit(file, "HEAD").findings if one.rule.id == "tag-reused"}
    assert found["Probe.Other"].endswith("; the lowest free tag is 4")


def test_rules_about_tags_name_the_lowest_free_one() -> None:
    def texts(*fields: str, more: str) -> dict[str, str]:
        problems = read_bytes(spec(ALPHA, *fields, more=more).encode(), "Probe.json").problems
        return {one.rule: one.text for one in problems}

    twice = texts(tagged("Beta", 0), tagged("Gamma", 0), more='"reservedTags": [1]')
    assert twice["duplicate-tag"].endswith("already used by Beta (line 7); the lowest free tag is 2")
    reserved = texts(tagged("Beta", 1), more='"reservedTags": [1]')
    assert reserved["reserved-tag-used"].endswith("another field once had it; the lowest free tag is 0")

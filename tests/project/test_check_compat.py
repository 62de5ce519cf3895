"""`make check-compat` compares the specs with what peers may have, and says with what."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT

Checked = tuple[int, str]


def spec(*fields: dict[str, Any]) -> str:
    head = {"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
    return json.dumps({**head, "fields": fields})


def tagged(name: str, tag: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", "versions": "0+", "taggedVersions": "0+", "tag": tag, **more}


PLAIN = {"name": "Id", "type": "int32", "versions": "0+"}
FIRST = spec(PLAIN, tagged("A", 0))
SECOND = spec(PLAIN, tagged("A", 0), tagged("B", 1))
BREAKS = {
    "a tag of another field": spec(PLAIN, tagged("Other", 0, about="used again")),
    "the nullability of a tagged field": spec(PLAIN, tagged("A", 0, nullableVersions="0+")),
    "the bytes of a released version": spec({**PLAIN, "type": "int64"}, tagged("A", 0)),
}


class Repository:
    """A repository with one spec, and the script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/compat.sh", folder / "scripts")
        (folder / "schemas").mkdir()
        (folder / "pyproject.toml").write_text('[tool.kipgen]\nspecs = { foo = "schemas" }\n')
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, text: str) -> None:
        (self.folder / "schemas/Foo.json").write_text(text)

    def commit(self, text: str) -> None:
        self.write(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "change")

    def check(self, folder: Path | None = None, **variables: str) -> Checked:
        kipgen = str(Path(sys.executable).parent / "kipgen")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "COMPAT_"))}
        done = subprocess.run(
            ["bash", "scripts/compat.sh"],
            cwd=folder or self.folder,
            env={**kept, "KIPGEN": kipgen, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "repository").mkdir()
    return Repository(tmp_path / "repository")


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_peers_of_the_commit_before_fails(name: str, repository: Repository) -> None:
    repository.commit(FIRST)
    repository.commit(BREAKS[name])
    status, said = repository.check()
    assert status == 1
    assert "Compared with HEAD^: the commit before." in said
    assert "1 wire" in said


def test_a_new_tag_and_a_new_name_pass(repository: Repository) -> None:
    repository.commit(FIRST)
    repository.commit(spec({**PLAIN, "name": "Number"}, tagged("A", 0), tagged("B", 1)))
    assert repository.check()[0] == 0


def test_a_branch_is_compared_with_where_it_starts(repository: Repository) -> None:
    repository.commit(FIRST)
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit(SECOND)
    repository.commit(FIRST)  # B was only there within the branch
    repository.commit(spec(PLAIN, tagged("A", 0), tagged("C", 2)))
    status, said = repository.check()
    assert (status, "where this branch leaves main" in said) == (0, True), said
    repository.commit(BREAKS["the bytes of a released version"])
    repository.commit(BREAKS["the bytes of a released version"] + "\n")
    assert repository.check()[0] == 1


def test_the_latest_release_is_what_peers_have(repository: Repository) -> None:
    repository.commit(FIRST)
    repository.git("tag", "v1.0.0")
    repository.commit(SECOND)
    repository.commit(FIRST + "\n")  # takes the tag away again, which was never released
    status, said = repository.check()
    assert (status, "Compared with v1.0.0: the latest release." in said) == (0, True), said
    repository.git("tag", "v1.1.0")  # a release is not compared with its own tag
    assert "Compared with v1.0.0" in repository.check()[1]
    repository.commit(BREAKS["the nullability of a tagged field"])
    assert repository.check()[0] == 1


def test_a_push_of_several_commits_is_compared_with_what_was_there_before_it(repository: Repository) -> None:
    repository.commit(FIRST)
    before = repository.git("rev-parse", "HEAD")
    repository.commit(BREAKS["the bytes of a released version"])
    repository.commit(BREAKS["the bytes of a released version"] + "\n")
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    status, said = repository.check(COMPAT_BEFORE=before)
    assert (status, f"Compared with {before}: as it was before the push." in said) == (1, True), said
    repository.git("tag", "v1.0.0", before)
    assert "Compared with v1.0.0: the latest release." in repository.check(KIPGEN="echo", COMPAT_BEFORE="HEAD^")[1]


def test_a_push_that_leaves_nothing_before_it_is_compared_with_the_commit_before(repository: Repository) -> None:
    repository.commit(FIRST)
    repository.git("checkout", "--quiet", "-b", "sideways")
    repository.commit(SECOND)
    repository.git("checkout", "--quiet", "main")
    repository.commit(BREAKS["the bytes of a released version"])
    new_branch, rewritten, nothing_pushed = "0" * 40, "sideways", "HEAD"
    for before in (new_branch, rewritten, "1" * 40, nothing_pushed):
        assert repository.check(KIPGEN="echo", COMPAT_BEFORE=before) == (
            0,
            f"Compared with HEAD^: the commit before, since {before} is no commit before this one.\n"
            "compat --against HEAD^ --wire-only\n",
        )


def test_another_revision_can_be_named(repository: Repository) -> None:
    repository.commit(FIRST)
    repository.commit(BREAKS["the bytes of a released version"])
    repository.commit(BREAKS["the bytes of a released version"] + "\n")
    assert repository.check()[0] == 0
    status, said = repository.check(COMPAT_BASE="HEAD~2")
    assert (status, "as COMPAT_BASE says" in said) == (1, True)


def test_one_commit_is_compared_with_what_is_not_committed(repository: Repository, tmp_path: Path) -> None:
    repository.commit(FIRST)
    repository.commit(SECOND)
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.folder}", str(clone))
    status, said = repository.check(clone)
    assert (status, "this clone has no commit before it" in said) == (0, True), said
    (clone / "schemas/Foo.json").write_text(BREAKS["a tag of another field"])
    assert repository.check(clone)[0] == 1


def no_commit(repository: Repository) -> None:
    repository.write(FIRST)


def no_repository(repository: Repository) -> None:
    repository.write(FIRST)
    shutil.rmtree(repository.folder / ".git")


@pytest.mark.parametrize("prepare", [no_commit, no_repository])
def test_without_a_commit_it_says_so_and_passes(prepare: Callable[[Repository], None], repository: Repository) -> None:
    prepare(repository)
    assert repository.check(GIT_CEILING_DIRECTORIES=str(repository.folder.parent)) == (
        0,
        "No commit of git here, so the specs are compared with nothing.\n",
    )

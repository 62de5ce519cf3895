"""A package is never written among specs, and what kipgen writes is never read as a spec."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs
from kipgen.reading.check import MANIFEST, is_spec_file, spec_files
from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import ROOT
from tests.support.subjects.package_runs import content

Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: object, folder: Path = tmp_path) -> Done:
        return command_line.call(*arguments, folder=folder, monkeypatch=monkeypatch, capsys=capsys)

    return run


def write_specs(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in new_specs("Pong", "request", 1000).items():
        (folder / name).write_text(text)


# In a project with specs in s/ and in other/deep/, where link is s/ and here/s is the project's own s/.
AMONG_SPECS = [
    ["s", "--out", "."],
    ["./s/", "--out", "x/.."],
    ["s", "--out", ".", "--check"],
    ["s", "--out", ".", "--watch"],
    ["s", "--out", "here"],
    ["s", "--out", ".", "--package", "link"],
    ["link", "--out", ".", "--package", "s"],
    ["other", "--out", "."],
    ["other", "--out", ".", "--package", "other.deep"],
    ["other", "--out", ".", "--package", "s"],
    ["other", "s", "--out", "."],
]
ELSEWHERE = [
    ["s"],
    ["s", "--out", "s"],
    ["s", "--out", ".", "--package", "s.generated"],
    ["s", "--out", "s", "--package", "wire"],
    ["other/deep", "--out", ".", "--package", "other"],
    ["other", "--out", "other"],
    ["other", "s", "--out", "other"],
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_specs(tmp_path / "s")
    write_specs(tmp_path / "other/deep")
    (tmp_path / "link").symlink_to("s")
    (tmp_path / "here").symlink_to(".")
    (tmp_path / "x").mkdir()
    return tmp_path


@pytest.mark.parametrize("arguments", AMONG_SPECS, ids=" ".join)
def test_a_package_is_not_written_among_specs(arguments: list[str], project: Path, call: Call) -> None:
    before = content(project)
    done = call("generate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "would be written into " in done.stderr
    assert done.stderr.endswith("; give another folder for generated packages, as in --out generated\n")
    assert len(done.stderr.splitlines()) == 1
    assert content(project) == before
    words = [word for word in arguments if word not in ("--check", "--watch")]
    words[words.index("--out") + 1] = "generated"
    assert call("generate", *words).returncode == 0, "the advice is right"
    assert call("generate", *words, "--check").returncode == 0


@pytest.mark.parametrize("arguments", ELSEWHERE, ids=" ".join)
def test_a_package_beside_or_below_specs_stays_apart_from_them(arguments: list[str], project: Path, call: Call) -> None:
    assert call("generate", *arguments).returncode == 0
    assert list(project.rglob(MANIFEST))
    again = call("generate", *arguments)
    assert again.returncode == 0
    assert all(line.endswith(": up to date") for line in again.stdout.splitlines())
    assert call("generate", *arguments, "--check").returncode == 0
    for folder in ("s", "other", "."):
        done = call("check", folder)
        assert "manifest" not in done.stdout + done.stderr
    assert call("check", "s").stdout == "2 specs: no problems found.\n"


def test_settings_cannot_send_a_package_among_specs_either(project: Path, call: Call) -> None:
    (project / "kipgen.toml").write_text('specs = ["s"]\nout = "."\n')
    assert "the package s would be written into " in call("generate").stderr
    assert "which is a folder of specs" in call("generate", folder=project / "x").stderr
    (project / "kipgen.toml").write_text('specs = ["s", "other"]\nout = "."\n')
    assert call("generate", "s", "--package", "other").returncode == 2, "other packages have specs, too"


def test_a_manifest_is_never_read_as_a_spec(project: Path, call: Call) -> None:
    assert call("generate", "s").returncode == 0
    (project / "s" / MANIFEST).write_text((project / "generated/s" / MANIFEST).read_text())
    for command in (["check", "s"], ["generate", "s"], ["generate", "s", "--check"], ["compat", "s", "s"]):
        assert call(*command).returncode == 0, command
    for git in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "a"]):
        subprocess.run(["git", *git], cwd=project, check=True)
    done = call("compat", "s", "--against", "HEAD")
    assert (done.returncode, done.stderr) == (0, "")
    named = call("check", f"s/{MANIFEST}")
    assert named.returncode == 1
    assert "unreadable: is the manifest of a generated package, not a spec" in named.stdout


def test_which_files_are_specs_is_said_in_one_place() -> None:
    everything = sorted((ROOT / "schemas/kafka_messages").rglob("*.json"))
    assert spec_files(ROOT / "schemas/kafka_messages") == everything
    owners = {ROOT / "generator/kipgen/reading/check.py"}
    listing = [file for file in (ROOT / "generator/kipgen").rglob("*.py") if '("*.json")' in file.read_text()]
    assert set(listing) == owners
    assert not is_spec_file(MANIFEST)

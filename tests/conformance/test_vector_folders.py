"""`kipgen vectors` replaces its own files and no others, and leaves a folder that it takes again wherever it ends."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kipgen.commands.app import app
from kipwire.conformance.vectors import INDEX, VectorError, read_index, read_vectors


def write_specs(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name in names:
        field = {"name": "Alpha", "type": "int8", "versions": "0+", "about": "A number."}
        spec = {"name": name, "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
        (folder / f"{name}.json").write_text(json.dumps(spec))
    return folder


def run(specs: Path, out: Path) -> Result:
    return CliRunner().invoke(app, ["vectors", str(specs), "--out", str(out)])


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class Limit:
    """Ends a method of `Path` at one of its calls, as a full disk or an interrupt does."""

    def __init__(self, patch: pytest.MonkeyPatch, method: str, error: BaseException, calls: int) -> None:
        plain = getattr(Path, method)
        self.calls = calls

        def limited(path: Path, *arguments: Any, **more: Any) -> Any:
            self.calls -= 1
            if self.calls < 0:
                raise error
            return plain(path, *arguments, **more)

        patch.setattr(Path, method, limited)


def test_files_of_users_stay_and_those_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    specs, out = write_specs(tmp_path / "specs", "Alpha", "Beta"), tmp_path / "made" / "here"
    assert run(specs, out).exit_code == 0
    assert {"Alpha.jsonl", "Beta.jsonl", INDEX} <= content(out).keys()
    (out / "mine.jsonl").write_text("not a vector\n")
    assert run(write_specs(specs, "Alpha"), out).exit_code == 0
    assert (out / "mine.jsonl").read_text() == "not a vector\n"
    (out / "mine.jsonl").unlink()
    fresh = tmp_path / "fresh"
    assert run(specs, fresh).exit_code == 0
    assert content(out) == content(fresh)


def test_a_folder_that_is_not_of_vectors_is_refused_and_keeps_its_files(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs", "Alpha")
    for index in ("<html>", "[]", '{"format": 1}', '{"format": "unfinished"}'):
        out = tmp_path / "site"
        out.mkdir(exist_ok=True)
        (out / INDEX).write_text(index)
        (out / "users.jsonl").write_text("{}\n")
        before = content(out)
        done = run(specs, out)
        assert (done.exit_code, content(out)) == (2, before), index
        assert "give another folder" in done.output


@pytest.mark.parametrize("is_there", [False, True])
def test_a_disk_without_space_leaves_what_was_there(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, out = write_specs(tmp_path / "specs", "Alpha", "Beta"), tmp_path / "out"
    if is_there:
        assert run(specs, out).exit_code == 0
    before = content(out) if is_there else None
    for calls in range(4):
        with monkeypatch.context() as patch:
            Limit(patch, "write_text", OSError(errno.ENOSPC, "No space left on device"), calls)
            done = run(specs, out)
        assert done.exit_code == 2
        assert done.output.startswith(f"kipgen: {out}/"), done.output
        assert (content(out) if out.exists() else None) == before
        assert sorted(one.name for one in tmp_path.iterdir()) == ["out", "specs"][not is_there :]
    assert run(specs, out).exit_code == 0


def test_a_run_ended_at_any_moment_of_replacing_is_told_and_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, out, fresh = tmp_path / "specs", tmp_path / "out", tmp_path / "fresh"
    assert run(write_specs(specs, "Beta", "Gamma"), fresh).exit_code == 0
    assert run(write_specs(specs, "Alpha", "Beta"), out).exit_code == 0
    (out / "mine.txt").write_text("mine")
    write_specs(specs, "Beta", "Gamma")
    told = 0
    for method in ("replace", "unlink"):
        for calls in range(6):
            with monkeypatch.context() as patch:
                Limit(patch, method, KeyboardInterrupt(), calls)
                done = run(specs, out)
            if done.exit_code == 0:
                break
            assert done.exit_code == 130
            try:
                read_index(out)
                assert len(list(read_vectors(out))) > 0
            except VectorError as error:
                told += 1
                assert "kipgen vectors was interrupted while it replaced these files; run it again" in str(error)
    assert told > 2
    assert run(specs, out).exit_code == 0
    assert content(out) == content(fresh) | {"mine.txt": b"mine"}


def test_what_a_killed_run_leaves_is_no_file_of_users(tmp_path: Path) -> None:
    specs, out = write_specs(tmp_path / "specs", "Alpha"), tmp_path / "out"
    (out / ".kipwire-1234").mkdir(parents=True)
    assert run(specs, out).exit_code == 0

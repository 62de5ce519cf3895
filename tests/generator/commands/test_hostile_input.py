"""The generator's command line with input that means ill: it ends, stays small, and shows data as data."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kipgen.commands.advise import samples as advise_samples
from kipgen.commands.app import app as generator
from kipgen.commands.compat import allow, git
from kipgen.commands.compat.git import GitError, contents, find_commit, spec_blobs
from kipgen.commands.new_command import new_specs
from kipgen.commands.terminal import DataConsole
from kipwire import JsonError
from kipwire.cli.command_line import CommandLine
from kipwire.console.app import app as console
from kipwire.console.inspect import input as inspect_input
from kipwire.tools.text import printable_line, printable_text
from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import ROOT

Call = Callable[..., Done]

ESCAPES = "\x1b]0;PWNED\x07\x1b[2J\x9b31m\u202e"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: object) -> Done:
        return command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "my_protocol"
    folder.mkdir()
    for name, text in new_specs("Foo", "request", 1000).items():
        (folder / name).write_text(text)
    return folder


def is_harmless(text: str) -> bool:
    return printable_text(text) == text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_in_a_folder_of_specs_are_not_waited_for(specs: Path, tmp_path: Path) -> None:
    os.mkfifo(specs / "Pipe.json")
    (specs / "Zero.json").symlink_to("/dev/zero")
    for command in (["check"], ["generate", "--check"], ["generate"], ["compat", str(specs)]):
        done = subprocess.run(
            [sys.executable, "-m", "kipgen", *command, str(specs)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (1, 2)
        report = done.stderr if command[0] == "compat" else done.stdout
        assert "Pipe.json:1:1: unreadable: is a pipe or a device" in report
        assert "Zero.json:1:1: unreadable: is a pipe or a device" in report


@pytest.mark.parametrize("name", ["[", "[red]", "[/red]", "[link=http://x]y[/link]", ":smile:", "a\nb: error", ESCAPES])
def test_names_of_folders_are_shown_as_they_are(name: str, specs: Path, tmp_path: Path, call: Call) -> None:
    folder = tmp_path / name.replace("/", "_")
    out = tmp_path / "out" / name
    shown = printable_line(str(folder.name))
    specs.rename(folder)
    done = call("generate", folder, "--package", "mine", "--out", out)
    assert done.returncode == 0
    for command in (
        ["generate", folder / "missing"],
        ["new", "Ping", "--api-key", "1001", "--out", folder],
        ["advise", folder / "None.json", "--samples", folder],
        ["compat", folder, folder / "missing"],
        ["drift", folder, folder / "None.jar"],
    ):
        done = call(*command)
        assert shown in done.stdout + done.stderr
        assert is_harmless(done.stdout + done.stderr)
    (out / "mine/foo_request/v0.py").write_text("mine = 1\n")
    done = call("generate", folder, "--package", "mine", "--out", out)
    assert (done.returncode, "is in the way" in done.stdout) == (1, True), done.stdout
    assert is_harmless(done.stdout)


def test_control_characters_of_specs_do_not_reach_the_terminal(specs: Path, tmp_path: Path, call: Call) -> None:
    spec = {
        "type": "data",
        "name": f"Evil{ESCAPES}",
        f"key{ESCAPES}": 1,
        "about": ESCAPES,
        "validVersions": ESCAPES,
        "fields": [{"name": f"F{ESCAPES}", "type": f"T{ESCAPES}", "versions": "0+", "default": ESCAPES}],
    }
    (specs / f"Bad{ESCAPES}.json").write_text(json.dumps(spec))
    (specs / "Raw.json").write_text(f'{{"a{ESCAPES}": }}')
    (tmp_path / "compat-allow.toml").write_text(
        f'[[allow]]\nrule = "field-renamed"\npath = {json.dumps("x" + ESCAPES)}\nreason = {json.dumps(ESCAPES)}\n'
    )
    commands = (
        ["check", specs],
        ["generate", specs],
        ["drift", specs, "x.jar"],
        ["compat", specs, specs],
        ["compat", "--allow", f"rule{ESCAPES}:p=r", specs, specs],
        ["advise", specs / "Raw.json", "--samples", specs],
        ["rules", ESCAPES],
        ["new", ESCAPES],
        ["inspect", ESCAPES, "0", "00"],
        ["inspect", "--package", ESCAPES, "X", "0", "00"],
    )
    for command in commands:
        done = call(*command)
        assert done.returncode in (1, 2), command
        assert done.stdout + done.stderr
        assert is_harmless(done.stdout), command
        assert is_harmless(done.stderr), command


@pytest.mark.parametrize("program", [generator, console], ids=["kipgen", "kipwire"])
def test_control_characters_of_arguments_do_not_reach_the_terminal(program: CommandLine) -> None:
    for words in ([ESCAPES], [f"--{ESCAPES}"], ["--show-completion", ESCAPES]):
        check_refused(program, words)
    for command in program.commands:
        for words in ([command, f"--{ESCAPES}"], [command, "--format", ESCAPES], [command, "x", "x", "x", ESCAPES]):
            check_refused(program, words)


def check_refused(program: CommandLine, words: list[str]) -> None:
    done = CliRunner().invoke(program, words, color=True)  # without colour click itself leaves some of them out
    assert done.exit_code in (1, 2), words
    assert is_harmless(done.output), words


def test_allowed_paths_and_reasons_are_data(specs: Path, tmp_path: Path, call: Call) -> None:
    text = f"field-renamed:[/red]{ESCAPES}=reason"
    done = call("compat", "--allow", text, specs, specs)
    assert done.returncode == 0
    assert "[/red]\\x1b]0;PWNED" in done.stderr
    assert is_harmless(done.stderr)


def test_a_json_key_is_a_step_of_a_path_on_one_line() -> None:
    from kafka_messages.metadata_request.v0 import MetadataRequest

    for key in (ESCAPES, "a\nb", "x" * 10_000_000):
        with pytest.raises(JsonError) as raised:
            MetadataRequest.from_json({"topics": [], key: 1})
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 1000


def test_a_console_takes_markup_and_escapes_for_text(capsys: pytest.CaptureFixture[str]) -> None:
    DataConsole().print("[bold]\x1b[2J\x9b31m\u202e\udc80[/nothing] :smile:\ny")
    shown = capsys.readouterr().out
    assert shown == "[bold]\\x1b[2J\\x9b31m\\u202e\\udc80[/nothing] :smile:\ny\n"


# Sizes


def need_bound(path: Path, said: str, *arguments: object) -> None:
    """Run a command with little memory: what it says must be about the bound, not about memory."""
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "from kipgen.cli import main; sys.argv[0] = 'kipgen'; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert said in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory")
@pytest.mark.parametrize("kind", ["frame", "line"])
def test_samples_that_unpack_to_gigabytes_are_refused(kind: str, tmp_path: Path) -> None:
    packed = tmp_path / "samples.gz"
    head, unit = ((2**31 - 1).to_bytes(4, "big"), b"\0") if kind == "frame" else (b'{"a": "', b"x")
    # Members of a gzip file unpack to one after the other: 32 times 64 MiB that are compressed once.
    packed.write_bytes(gzip.compress(head) + gzip.compress(unit * 2**26, compresslevel=1) * 32)
    spec = ROOT / "schemas/kafka_messages/clients/FetchRequest.json"
    said = "the limit is 104857600" if kind == "frame" else "the line is longer than 16777216 bytes"
    need_bound(ROOT / "generated", said, "advise", spec, "--samples", packed)


def test_the_longest_line_and_frame_are_read_and_one_byte_more_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    import kafka_messages

    request = kafka_messages.message("FetchRequest", 12)()
    frame = kafka_messages.encode_request(request, correlation_id=1, client_id="c")
    line = json.dumps({"version": 12, "message": request.to_json()})
    (tmp_path / "frames.bin").write_bytes(len(frame).to_bytes(4, "big") + frame)
    (tmp_path / "lines.jsonl").write_text(f"{line}\n")
    spec = ROOT / "schemas/kafka_messages/clients/FetchRequest.json"
    for spare, status in ((0, 0), (-1, 2)):
        monkeypatch.setattr(advise_samples, "LARGEST_FRAME", len(frame) + spare)
        monkeypatch.setattr(advise_samples, "LONGEST_JSON_LINE", len(line) + 1 + spare)
        for name in ("frames.bin", "lines.jsonl"):
            assert call("advise", spec, "--samples", tmp_path / name).returncode == status, name


def test_every_reader_of_files_has_a_bound(
    specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(allow, "MAX_BYTES", 20)
    monkeypatch.setattr(inspect_input, "MAX_BYTES", 20)
    (tmp_path / "allow.toml").write_text("#" * 21)
    done = call("compat", "--allow-file", tmp_path / "allow.toml", specs, specs)
    assert (done.returncode, "more than 20 bytes" in done.stderr) == (2, True)
    (tmp_path / "message.bin").write_bytes(bytes(21))
    done = call("inspect", "MetadataRequest", 0, tmp_path / "message.bin")
    assert (done.returncode, "longer than 20 bytes" in done.stderr) == (2, True)


def test_revisions_with_files_that_are_not_specs_are_bounded(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "specs"],
    )
    for command in commands:
        subprocess.run(["git", *command], cwd=specs, check=True)
    commit = find_commit(specs, "HEAD")
    blobs = spec_blobs(commit, specs)
    assert all(contents(commit, blobs.values()).values())
    sizes = sorted(file.stat().st_size for file in specs.glob("*.json"))
    monkeypatch.setattr(git, "MAX_BYTES", sizes[0])
    assert sorted(map(len, contents(commit, blobs.values()).values())) == [0, sizes[0]]
    with pytest.raises(GitError, match=r"Foo\w+.json has more than"):
        spec_blobs(commit, specs)
    monkeypatch.setattr(git, "MOST_BYTES", sizes[0] - 1)
    with pytest.raises(GitError, match="compare two folders"):
        contents(commit, blobs.values())


# Names from outside


@pytest.mark.parametrize("name", ["kafka-..-4.4.0.jar", "kafka-.-4.4.0.jar", "...jar", "kafka-.hidden-1.0.jar"])
def test_a_jar_cannot_name_a_path(name: str, tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "specs/mine"
    folder.mkdir(parents=True)
    for file, text in new_specs("Foo", "request", 1000).items():
        (folder / file).write_text(text)
    for file, text in new_specs("Bar", "data", 0).items():
        with zipfile.ZipFile(tmp_path / name, "w") as jar:
            jar.writestr(f"common/message/{file}", text)
    before = sorted(tmp_path.rglob("*"))
    done = call("drift", folder, tmp_path / name, "--write")
    assert (done.returncode, "is not a plain name" in done.stderr) == (2, True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_new_spec_is_not_written_through_a_link(tmp_path: Path, call: Call) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/PingRequest.json").symlink_to(tmp_path / "elsewhere.json")
    assert call("new", "Ping", "--out", tmp_path / "specs").returncode == 2
    assert not (tmp_path / "elsewhere.json").exists()

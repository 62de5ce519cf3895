"""The command line: what it says, its exit status, and that bad input never ends in a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from kipgen.commands.app import app as generator
from kipgen.commands.compat.rules import ALL as COMPAT
from kipgen.commands.new_command import new_specs
from kipgen.reading.check import read_file
from kipgen.reading.rules import ALL
from kipwire.cli.command_line import CommandLine, Later
from kipwire.console.app import app as console
from tests.support import command_line


def kipgen(*arguments: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **variables}
    return subprocess.run(
        [sys.executable, "-m", "kipgen", *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


Call = Callable[..., command_line.Done]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call a command within this process, in the folder of the test."""
    return partial(command_line.call, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "my_protocol"
    folder.mkdir()
    for name, text in new_specs("Foo", "request", 1000).items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("command", ["", *generator.commands, *console.commands])
def test_every_command_has_help(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (*filter(None, [command]), "--help")
    done = command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_generate_then_check_then_edit(specs: Path, tmp_path: Path, called: Call) -> None:
    assert kipgen("generate", specs, folder=tmp_path).returncode == 0
    done = called("generate", specs, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "my_protocol: up to date\n", "")
    file = specs / "FooRequest.json"
    file.write_text(file.read_text().replace('"Key"', '"TeamId"'))
    done = called("generate", specs, "--check", "--diff")
    assert done.returncode == 1
    assert "+        self.team_id = team_id" in done.stdout
    assert "-        self.key = key" in done.stdout
    assert "my_protocol: not up to date: run kipgen generate" in done.stdout
    assert "self.key = key" in (tmp_path / "generated/my_protocol/foo_request/v0.py").read_text()


def test_without_arguments_the_packages_in_schemas_are_meant(specs: Path, tmp_path: Path, called: Call) -> None:
    (tmp_path / "schemas").mkdir()
    specs.rename(tmp_path / "schemas" / specs.name)
    assert called("check").stdout == "2 specs: no problems found.\n"
    assert called("generate").stdout.startswith("my_protocol: ")
    assert called("generate", "--check").returncode == 0


def test_generate_refuses_specs_with_errors_and_writes_nothing(specs: Path, tmp_path: Path, called: Call) -> None:
    file = specs / "FooRequest.json"
    file.write_text(file.read_text().replace('"[]Item"', '"[][]Item"'))
    done = called("generate", specs)
    assert done.returncode == 1
    assert "FooRequest.json:" in done.stdout
    assert "FooRequest.Items: type-syntax: " in done.stdout
    assert done.stdout.endswith("Found 1 problem in 1 file.\n")
    assert done.stderr == ""
    assert not (tmp_path / "generated").exists()


def test_check_judges_a_file_alone_and_a_folder_as_a_package(specs: Path, called: Call) -> None:
    (specs / "FooResponse.json").unlink()
    assert called("check", specs / "FooRequest.json").returncode == 0
    done = called("check", specs)
    assert done.returncode == 1
    assert "pair-missing" in done.stdout
    assert done.stdout.endswith("Found 1 problem in 1 file.\n")


def test_check_kafka_adds_the_rules_of_kafkas_generator(specs: Path, called: Call) -> None:
    assert called("check", specs).returncode == 0
    done = called("check", specs, "--kafka")
    assert done.returncode == 1
    assert "kafka-about" in done.stdout


def test_rules_shows_each_rule_with_its_examples(tmp_path: Path, called: Call) -> None:
    brief = kipgen("rules", "--brief", folder=tmp_path)
    assert brief.returncode == 0
    assert len(brief.stdout.splitlines()) == len(ALL) + len(COMPAT)
    one = called("rules", "duplicate-tag").stdout
    assert one.startswith("duplicate-tag (error): ")
    assert "  good\n" in one
    assert "  bad\n" in one
    change = called("rules", "field-moved").stdout
    assert change.startswith("field-moved (compat, wire): ")
    assert all(f"  {title}\n" in change for title in ("good: before", "good: after", "bad: before", "bad: after"))
    assert len(called("rules").stdout) > len(ALL) * 100


def test_new_starts_a_message_and_never_replaces_one(tmp_path: Path, called: Call) -> None:
    assert kipgen("new", "Ping", "--api-key", 77, "--out", "specs", folder=tmp_path).returncode == 0
    assert sorted(file.name for file in (tmp_path / "specs").iterdir()) == ["PingRequest.json", "PingResponse.json"]
    assert called("check", "specs").returncode == 0
    assert called("new", "Ping", "--out", "specs").returncode == 2


@pytest.mark.parametrize(
    ("folder", "option"),
    [
        ("specs/my_protocol", ""),
        ("specs/my-protocol", " --package my_protocol"),
        ("json", " --package json_protocol"),
        ("2", " --package my_protocol"),
    ],
)
def test_the_next_command_that_new_prints_works(
    folder: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> str:
        done = command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = call("new", "Ping", "--type", "data", "--out", folder)
    generate = f"generate {folder}{option}"
    assert said.endswith(f"next: edit, then kipgen check {folder} and kipgen {generate}\n")
    assert ": 5 files written, 0 removed" in call(*generate.split())


def test_new_takes_the_first_free_api_key_of_messages_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def new(*arguments: str) -> None:
        done = command_line.call(
            "new", *arguments, "--out", "specs", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys
        )
        assert done.returncode == 0, done.stderr

    def api_key(file: str) -> int:
        found = read_file(tmp_path / "specs" / file).spec
        assert found is not None and found.api_key is not None
        return found.api_key

    new("Ping", "--api-key", "1001")
    for name in ("FooRequest", "BarResponse"):  # both endings are known, and the pair is made
        new(name)
    assert [api_key(f"{name}Request.json") for name in ("Ping", "Foo", "Bar")] == [1001, 1000, 1002]
    assert [api_key(f"{name}Response.json") for name in ("Ping", "Foo", "Bar")] == [1001, 1000, 1002]
    new("Baz", "--type", "metadata")
    assert api_key("Baz.json") == 1000
    new("QuxKey", "--type", "coordinator-value")
    assert api_key("QuxValue.json") == 1000
    done = command_line.call("check", "specs", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout) == (0, "9 specs: no problems found.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "missing"], "missing is not a folder of specs"),
        (
            ["generate", "my_protocol", "--package", "not-a-name"],
            "'not-a-name' is not a valid name for a Python package",
        ),
        (["generate", "my_protocol", "my_protocol", "--package", "a"], "--package needs exactly one folder of specs"),
        (["generate", "my_protocol/FooRequest.json"], "is not a folder of specs; give the folder that it is in"),
        (
            ["generate", "my_protocol", "--out", "my_protocol/FooRequest.json"],
            "my_protocol/FooRequest.json: is a file, not a folder",
        ),
        (["check"], "there are no specs in schemas/; give a folder of specs"),
        (["generate"], "there are no specs in schemas/; give a folder of specs"),
        (["rules", "no-such-rule"], "unknown rule no-such-rule; see kipgen rules --brief"),
        (["rules", "duplicate-tga"], "unknown rule duplicate-tga; did you mean duplicate-tag?"),
        (["rules", "field-remved"], "unknown rule field-remved; did you mean field-removed?"),
        (["new", "lower"], "'lower' is not a valid message name"),
        (["new", "Foo", "--type", "message"], "'message' is not a message type"),
        (["new", "Request"], "Request is only the ending of a name; write one such as FooRequest"),
        (["new", "Key", "--type", "coordinator-value"], "Key is only the ending of a name; write one such as FooKey"),
        (["new", "FooRequest", "--out", "my_protocol"], "my_protocol/FooRequest.json already exists"),
        (
            ["new", "Bar", "--out", "my_protocol", "--api-key", "1000"],
            "--api-key 1000 belongs to FooRequest; 1001 is free",
        ),
        (["new", "Foo", "--out", "my_protocol/FooRequest.json"], "FooRequest.json: is a file, not a folder"),
        (["explode"], "No such command"),
        (["chekc"], "No such command 'chekc'. Did you mean 'check'?"),
        (["check", "--wacht"], "No such option '--wacht'. Did you mean '--watch'?"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why(
    arguments: list[str],
    said: str,
    specs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


def test_two_folders_never_become_one_package(
    specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(specs, tmp_path / "other" / specs.name)
    arguments = ("generate", specs.name, f"other/{specs.name}")
    done = command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2
    expected = (
        "my_protocol and other/my_protocol would both become the package my_protocol; generate one with --package"
    )
    assert done.stderr == f"kipgen: {expected}\n"
    assert not (tmp_path / "generated").exists()


def test_the_way_to_a_file_that_cannot_be_written_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("inspect", "ApiVersionsRequest", "3", "02610262 00", "--html", "pages/today.html")
    done = command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stderr) == (2, "kipwire: pages/today.html: the folder pages does not exist\n")


def test_a_refusal_of_the_real_command_is_not_a_traceback(tmp_path: Path) -> None:
    done = kipgen("generate", "missing", folder=tmp_path)
    assert done.returncode == 2
    assert "missing is not a folder of specs" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"[" * 100_000, b"null", b'{"name": 1e999}'])
def test_bad_spec_files_give_problems_with_a_place(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Bad.json").write_bytes(content)
    for command in (["check", "Bad.json"], ["check", "."], ["generate", ".", "--package", "bad"]):
        done = command_line.call(*command, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 1
        assert "Bad.json:1:" in done.stdout


@pytest.mark.parametrize("program", [generator, console], ids=["kipgen", "kipwire"])
def test_the_list_of_commands_says_what_each_command_says_of_itself(program: CommandLine) -> None:
    for name, later in program.commands.items():
        assert isinstance(later, Later)
        assert later.loaded.name == name
        assert (later.loaded.help or "").split("\n\n")[0] == later.short_help, name


@pytest.mark.parametrize("program", [generator, console], ids=["kipgen", "kipwire"])
def test_a_program_without_arguments_shows_its_help_and_its_commands(program: CommandLine) -> None:
    done = CliRunner().invoke(program, [])
    assert done.exit_code == 2
    assert done.output.startswith(f"Usage: {program.name} [OPTIONS] COMMAND [ARGS]...\n")
    assert all(f"\n  {name} " in done.output for name in program.commands)


@pytest.mark.parametrize("command", ["dump", "inspect"])
def test_a_command_of_kipwire_is_unknown_to_kipgen(command: str, tmp_path: Path) -> None:
    done = kipgen(command, "--help", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"Error: No such command '{command}'. Did you mean 'kipwire {command}'?\n")


@pytest.mark.parametrize(("shell", "start"), [("bash", "_kipgen_completion()"), ("zsh", "#compdef kipgen")])
def test_completion_is_printed_for_a_shell(shell: str, start: str, tmp_path: Path) -> None:
    done = kipgen("--show-completion", shell, folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.lstrip().startswith(start)


@pytest.mark.parametrize(
    ("words", "offered"),
    [("kipgen ch", ["check"]), ("kipgen compat --wi", ["--wire-only"]), ("kipgen check --format s", ["sarif"])],
)
def test_commands_options_and_values_are_completed(words: str, offered: list[str], tmp_path: Path) -> None:
    variables = {"_KIPGEN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = kipgen(folder=tmp_path, **variables)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == offered


def test_ctrl_c_is_one_line_and_an_exit_status_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kipgen.reading.check.read_file", interrupted)
    done = command_line.call("check", "x.json", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kipgen: interrupted\n")


def test_a_reader_that_has_seen_enough_ends_a_command_without_a_word(tmp_path: Path) -> None:
    shell = f"{sys.executable} -m kipgen rules | head -n 1 >&2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr

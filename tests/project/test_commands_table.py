"""docs/commands.md has the exit statuses and formats of all commands."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kipgen.commands.app import app as kipgen
from kipjobs.commands import offsets, transactions
from kipspark.commands import app as kipspark
from kipwire.cli.command_line import CommandLine, Later
from kipwire.cli.jobs import JOBS
from kipwire.console.app import app as kipwire
from kipwire.testing import FakeBroker
from tests.support.docs_samples import samples
from tests.support.places import DATA, ROOT

OURS = ("kipgen", "kipwire", "kipjobs", "kipspark", "kafka_messages", "kafka_records")
PROGRAMS = {"kipgen": kipgen, "kipwire": kipwire, "kipspark": kipspark}
_ROW = re.compile(
    r"^\| \[(?P<names>[^\]]*)\]\((?P<page>[^)]*)\) \| (?P<found>[^|]*) \| (?P<formats>[^|]*) \|$", re.MULTILINE
)


def rows() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Return the page's column of exit status 1, and the formats, of each command by program and name."""
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    formats: list[str] = []
    for row in _ROW.finditer((ROOT / "docs/commands.md").read_text(encoding="utf-8")):
        formats = formats if row["formats"] == "the same" else re.findall(r"`(\w+)`", row["formats"])
        names = re.findall(r"`([^`]*)`", row["names"])
        program = names[0].split()[0]
        listed = [name.removeprefix(f"{program} ") for name in names]
        if listed[0] == program:
            listed = list(JOBS)
        found |= {(program, name): (row["found"], formats) for name in listed}
    return found


TABLE = rows()


def commands() -> Iterator[tuple[str, str, click.Command]]:
    for program, app in PROGRAMS.items():
        context = click.Context(app)
        for name in app.list_commands(context):
            command = app.get_command(context, name)
            assert command is not None
            yield program, name, command.loaded if isinstance(command, Later) else command


COMMANDS = list(commands())


def test_every_command_has_a_row() -> None:
    assert sorted(TABLE) == sorted((program, name) for program, name, _ in COMMANDS)


@pytest.mark.parametrize(("program", "name", "command"), COMMANDS)
def test_formats_are_those_of_the_option(program: str, name: str, command: click.Command) -> None:
    choices = [
        [str(choice) for choice in option.type.choices]
        for option in command.params
        if "--format" in option.opts and isinstance(option.type, click.Choice)
    ]
    assert TABLE[program, name][1] == (choices[0] if choices else [])


@pytest.mark.parametrize(("program", "name"), [(program, name) for program, name, _ in COMMANDS])
def test_what_cannot_run_has_exit_status_2_and_help_0(program: str, name: str) -> None:
    for argument, status in (("--help", 0), ("--no-such-option", 2)):
        done = CliRunner().invoke(PROGRAMS[program], [name, argument], prog_name=program)
        assert done.exit_code == status
        assert (done.stdout == "") == bool(status)


def run(program: str, *arguments: str | Path) -> int:
    app: CommandLine | click.Group = PROGRAMS[program]
    return CliRunner().invoke(app, [str(one) for one in arguments], prog_name=program).exit_code


def test_what_is_found_has_exit_status_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good, bad, changed = (tmp_path / name for name in ("good", "bad", "changed"))
    assert run("kipgen", "new", "Ping", "--api-key", "1000", "--out", good) == 0
    for folder, old, new in ((bad, '"int16"', '"int17"'), (changed, '"int16"', '"int64"')):
        shutil.copytree(good, folder)
        for spec in folder.glob("*.json"):
            spec.write_text(spec.read_text().replace(old, new))
    data = bytearray(next((DATA / "segments").rglob("*.log")).read_bytes())
    data[-1] ^= 1
    damaged = tmp_path / "damaged.log"
    damaged.write_bytes(data)
    vendor = ("vendor", "Ping", "--specs", good, "--out", tmp_path / "ping")
    assert run("kipgen", *vendor) == 0
    (tmp_path / "ping/ping_request/v0.py").unlink()
    statuses = {
        ("kipgen", "vendor"): run("kipgen", *vendor, "--check"),
        ("kipgen", "generate"): run("kipgen", "generate", good, "--out", tmp_path / "src", "--check"),
        ("kipgen", "check"): run("kipgen", "check", bad),
        ("kipgen", "resolve"): run("kipgen", "resolve", bad),
        ("kipgen", "compat"): run("kipgen", "compat", good, changed),
        ("kipwire", "dump"): run("kipwire", "dump", damaged),
        ("kipwire", "inspect"): run("kipwire", "inspect", "HeartbeatResponse", "4", "00"),
    }
    with FakeBroker() as broker:
        found = run("kipwire", "call", broker.bootstrap_servers, "DeleteTopics", '{"topics": [{"name": "none"}]}')
        statuses["kipwire", "call"] = found
    assert statuses == dict.fromkeys(statuses, 1)
    # Their own tests show these, with jars, captures, programs, damaged logs and Spark.
    elsewhere = {
        *(("kipwire", name) for name in ("transactions", "metadata", "compaction", "share", "tiered")),
        *(("kipspark", name) for name in JOBS),
        *(("kipwire", name) for name in ("pack", "produce", "tap", "offsets", "conform")),
        ("kipgen", "drift"),
    }
    assert set(statuses) | elsewhere == {command for command, (found, _) in TABLE.items() if found != "never"}


def options(command: click.Command) -> set[str]:
    return {text for option in command.params for text in (*option.opts, *option.secondary_opts)}


OPTIONS = {(program, name): options(command) for program, name, command in COMMANDS}
OPTIONS["kipwire", "offsets"] |= options(offsets)  # which a PATH calls
OPTIONS["kipwire", "transactions"] |= options(transactions)


def wrong_words(code: str) -> Iterator[str]:
    """Yield the commands and options in a sample of a shell that our programs do not have."""
    for line in code.replace("\\\n", " ").splitlines():
        for part in re.split(r"[|;]|&&|\$\(", re.sub(r"(^|\s)#.*", "", line.removeprefix("$ "))):
            words = part.split()
            if len(words) < 2 or words[0] not in PROGRAMS or words[1].startswith("-"):
                continue
            known = OPTIONS.get((words[0], words[1]))
            if known is None:
                yield f"{words[0]} {words[1]}"
                continue
            ours = words[: words.index("--")] if "--" in words else words  # the rest is for another program
            yield from (word for word in ours if re.match("--[a-z]", word) and word.partition("=")[0] not in known)


def missing_names(code: str) -> Iterator[str]:
    """Yield the names that a sample in Python imports from us, and that are not there."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in OURS:
            module = import_module(node.module)
            yield from (f"{node.module}.{one.name}" for one in node.names if not hasattr(module, one.name))


def test_samples_that_are_not_run_name_what_is_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    skipped = [one for page in pages for one in samples(page.name, page.read_text(encoding="utf-8")) if one.reason]
    assert len(skipped) > 30
    for one in skipped:
        found = missing_names(one.code) if one.language == "python" else wrong_words(one.code)
        assert [*found] == [], f"{one.page}, line {one.line}"


def test_a_command_an_option_and_a_name_that_are_not_there_are_noticed() -> None:
    shell = "$ kipwire dump --folow x | grep a  # --any\nkipgen chek --strict && kipwire tap \\\n  --error -- y --z\n"
    assert [*wrong_words(shell)] == ["--folow", "kipgen chek", "--error"]
    assert [*missing_names("from kipwire.records import read_batches, read_batch\nfrom os import x")] == [
        "kipwire.records.read_batch"
    ]

"""A pipe, a socket or a device given as a file is refused in one line, and never waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kipgen.commands.app import app
from kipgen.commands.new_command import new_specs
from kipwire.cli.jobs import JOBS
from kipwire.console.app import app as console
from kipwire.tools.files import need_file, need_input, read_regular
from tests.support.cases import some
from tests.support.command_line import program_of
from tests.support.places import DATA, ROOT

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names"),
]

SECONDS = 60
"""Seconds after which a command counts as hanging; it takes less than one."""

SPEC = str(ROOT / "schemas/kafka_messages/clients/MetadataRequest.json")

COMMANDS = {
    "check": ["check", "Pipe.json"],
    "check --watch": ["check", "--watch", "Pipe.json"],
    "check a folder": ["check", "with_pipe"],
    "generate": ["generate", "with_pipe"],
    "generate a file": ["generate", "Pipe.json"],
    "generate into": ["generate", "specs", "--out", "Pipe.json"],
    "generate over": ["generate", "specs", "--out", "taken"],
    "generate --check over": ["generate", "specs", "--out", "taken", "--check"],
    "resolve": ["resolve", "with_pipe"],
    "resolve a file": ["resolve", "Pipe.json"],
    "resolve into": ["resolve", "specs", "--out", "Pipe.json"],
    "resolve --check": ["resolve", "specs", "--out", "Pipe.json", "--check"],
    "new": ["new", "Bar", "--out", "Pipe.json"],
    "inspect": ["inspect", "MetadataRequest", "0", "Pipe.bin"],
    "inspect a frame": ["inspect", "x.pcap", "--frame", "0"],
    "inspect a frame of a capture": ["inspect", "capture", "--frame", "0"],
    "tap": ["tap", "x.pcap"],
    "tap --summary": ["tap", "--summary", "x.pcap"],
    "tap a capture": ["tap", "capture"],
    "tap an index of frames": ["tap", "capture/frames.jsonl"],
    "tap frames": ["tap", "capture_of_pipes"],
    "dump a segment": ["dump", "00000000000000000000.log"],
    "dump --follow": ["dump", "--follow", "00000000000000000000.log"],
    "dump a snapshot": ["dump", "x.checkpoint"],
    "dump an index": ["dump", "00000000000000000000.index"],
    "dump producers": ["dump", "00000000000000000000.snapshot"],
    "dump epochs": ["dump", "leader-epoch-checkpoint"],
    "dump packets": ["dump", "x.pcap"],
    "dump a capture": ["dump", "capture"],
    "dump an index of frames": ["dump", "capture/frames.jsonl"],
    "dump frames": ["dump", "capture_of_pipes"],
    "dump --config": ["dump", "--brokers", "localhost:9", "orders", "--config", "Pipe.bin"],
    "offsets --config": ["offsets", "--brokers", "localhost:9", "--config", "Pipe.bin"],
    "offsets --serve": ["offsets", "--brokers", "localhost:9", "--serve", ":0", "--ca", "Pipe.bin"],
    "pack": ["pack", "Pipe.bin", "--out", "new"],
    "pack into": ["pack", "specs/FooRequest.json", "--out", "Pipe.bin"],
    "produce": ["produce", "--brokers", "localhost:9", "orders", "Pipe.bin"],
    "broker --listen-cert": ["broker", "--listen-cert", "Pipe.bin"],
    "broker --listen-key": ["broker", "--listen-cert", "specs/FooRequest.json", "--listen-key", "Pipe.bin"],
    "broker --password-file": ["broker", "--user", "me", "--password-file", "Pipe.bin"],
    "proxy --filter": ["proxy", "--to", "localhost:9", "--filter", "Pipe.bin"],
    "proxy --listen-cert": ["proxy", "--to", "localhost:9", "--listen-cert", "Pipe.bin"],
    "call": ["call", "localhost:9", "Metadata", "@Pipe.bin", "--dry-run"],
    "call --config": ["call", "localhost:9", "Metadata", "--config", "Pipe.bin"],
    "call --ca": ["call", "localhost:9", "Metadata", "--ca", "Pipe.bin"],
    "call --cert": ["call", "localhost:9", "Metadata", "--cert", "Pipe.bin"],
    "call --password-file": "call localhost:9 Metadata --sasl PLAIN --user me --password-file Pipe.bin".split(),
    "advise a spec": ["advise", "Pipe.json", "--samples", "specs"],
    "advise samples": ["advise", SPEC, "--samples", "Pipe.bin"],
    "advise a capture": ["advise", SPEC, "--samples", "capture"],
    "advise a segment": ["advise", SPEC, "--samples", "00000000000000000000.log"],
    "tags": ["tags", "Pipe.json"],
    "compat old": ["compat", "Pipe.json", "specs"],
    "compat new": ["compat", "specs", "Pipe.json"],
    "compat folders": ["compat", "with_pipe", "specs"],
    "compat --allow-file": ["compat", "--allow-file", "allow.toml", "specs", "specs"],
    "drift a jar": ["drift", "specs", "x.jar"],
    "drift specs": ["drift", "with_pipe", "good.jar"],
    **{f"{job} of logs or captures": [job, "Pipe.bin"] for job in JOBS},
    "vectors of a folder": ["vectors", "with_pipe", "--out", "new"],
    "vectors into": ["vectors", "specs", "--out", "Pipe.bin"],
    "conform --vectors": ["conform", "--vectors", "vectors", "--", "true"],
    "conform --expect": ["conform", "--expect", "Pipe.bin", "--", "true"],
    "docs": ["docs", "with_pipe", "--out", "site"],
    "vendor": ["vendor", "Foo", "--specs", "with_pipe", "--out", "mine"],
    "settings": ["check", "specs", "in settings"],
    "settings of a project": ["check", "specs", "in project"],
}
"""Commands that read a pipe in place of a file, given on the command line or named in another file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a pipe under each of these names."""
    for name in ("specs", "with_pipe"):
        (tmp_path / name).mkdir()
        for file, text in new_specs("Foo", "request", 1000).items():
            (tmp_path / name / file).write_text(text)
    with zipfile.ZipFile(tmp_path / "good.jar", "w") as jar:
        for file, text in new_specs("Foo", "request", 1000).items():
            jar.writestr(f"common/message/{file}", text)
    for name in ("capture", "capture_of_pipes", "taken/specs", "settings", "project", "vectors"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "capture_of_pipes/frames.jsonl").write_text("{}\n")
    pipes = (
        *("Pipe.json", "Pipe.bin", "x.checkpoint", "x.pcap", "x.jar", "allow.toml", "with_pipe/Pipe.json"),
        *(f"00000000000000000000{end}" for end in (".log", ".index", ".snapshot")),
        *("leader-epoch-checkpoint", "capture/frames.jsonl", "capture/frames.bin", "capture_of_pipes/frames.bin"),
        "vectors/index.json",
        *("taken/specs/__init__.py", "settings/kipgen.toml", "project/pyproject.toml"),
    )
    for name in pipes:
        os.mkfifo(tmp_path / name)
    return tmp_path


def run(arguments: list[str], folder: Path, text: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", program_of(arguments[0]), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=SECONDS, input=text
    )


@pytest.mark.parametrize("name", some([*COMMANDS]))
def test_a_pipe_is_refused_in_one_line_wherever_a_file_is_read(name: str, folder: Path) -> None:
    arguments = COMMANDS[name]
    if arguments[-1].startswith("in "):
        folder, arguments = folder / name.split()[-1], ["check", "../specs"]
    done = run(arguments, folder)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode in (1, 2), said
    assert "Traceback" not in said
    expected = (
        "pipe",
        "is not a file",
        "not a regular file",
        "is not a folder",
        "is a file",
        "is neither a file nor a folder",
    )
    assert any(words in said for words in expected)


def test_every_command_is_here() -> None:
    commands = {*app.commands, *console.commands}
    assert {arguments[0] for arguments in COMMANDS.values()} == commands - {"rules", "schema"}


def test_what_takes_standard_input_says_so(folder: Path) -> None:
    for arguments in (
        ["check", "Pipe.json"],
        ["inspect", "MetadataRequest", "0", "Pipe.bin"],
        ["dump", "x.pcap"],
    ):
        text = "is a pipe, a socket or a device, not a file; give a file, or - for standard input"
        assert run(arguments, folder).stderr.decode() == f"{program_of(arguments[0])}: {arguments[-1]} {text}\n"


def test_a_pipe_of_the_shell_is_read(folder: Path) -> None:
    spec = (folder / "specs/FooRequest.json").read_bytes()
    assert run(["check", "/dev/stdin"], folder, spec).stdout == b"1 spec: no problems found.\n"
    assert run(["check", "-"], folder, spec).returncode == 0
    assert run(["inspect", "MetadataRequest", "0", "/dev/stdin"], folder, b"00000000").returncode == 0
    script = f"{sys.executable} -m kipgen compat <(cat specs/FooRequest.json) <(cat specs/FooRequest.json)"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, b""), done


def test_packets_come_through_pipes_of_the_shell(folder: Path) -> None:
    packets = (DATA / "clients" / "sarama-1.46.0.pcap.gz").read_bytes()
    for name in ("-", "/dev/stdin"):
        done = run(["tap", name], folder, packets)
        assert (done.returncode, done.stdout.count(b" request=")) == (0, 15), done
    (folder / "packets").write_bytes(packets)
    script = f"{sys.executable} -m kipwire tap <(cat packets)"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stdout.count(b" request=")) == (0, 15), done


def test_one_owner_knows_what_is_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("socket")
    with listener:
        for name in ("Pipe.bin", "socket", "/dev/null", "/dev/zero"):
            for need in (need_file, need_input):
                with pytest.raises(OSError, match="is a pipe, a socket or a device, not a file"):
                    need(Path(name))
            with pytest.raises(OSError):
                read_regular(Path(name), 10)
    for name in ("specs", "specs/FooRequest.json", "missing", "/dev/fd/987654", "\0"):
        need_file(Path(name))
        need_input(Path(name))

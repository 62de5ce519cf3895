"""`kipwire broker` serves clients, has faults, and ends at Ctrl-C as other commands do."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest

from tests.support.command_line import call
from tests.support.places import ROOT
from tests.support.subjects.fake_broker_clients import CLIENTS
from tests.support.subjects.peers import TLS
from tests.testing.test_fake_broker_listeners import PASSWORD, USER, of_confluent

PROGRAM = [str(Path(sys.executable).parent / "kipwire"), "broker"]
DOCKERFILE = ROOT / "examples" / "fake_broker.Dockerfile"

Start = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command, and gives it with the addresses that it prints."""
    running = []

    def run(*arguments: str, command: list[str] = PROGRAM) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append((process, end := Timer(60, process.kill)))
        end.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.endswith("; press Ctrl-C to stop\n"), line
        return process, line.removeprefix("listening at ").partition(";")[0]

    yield run
    for process, end in running:
        end.cancel()
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status and outputs after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_it_serves_a_client_and_prints_its_requests(start: Start) -> None:
    faults = ["--fail", "PRODUCE:NOT_LEADER_OR_FOLLOWER:1", "--delay", "PRODUCE:0.01"]
    process, address = start("--port", "0", "--nodes", "2", "--topic", "orders:2", *faults, "--verbose")
    assert len(address.split(",")) == 2
    CLIENTS["aiokafka"].send(address, "orders", [b"a", b"b"])
    assert CLIENTS["aiokafka"].read(address, "orders", 2, "g") == [b"a", b"b"]
    status, out, err = ended(process)
    assert (status, err) == (130, "kipwire: interrupted\n")
    assert re.match(r"node [12]: 18 API_VERSIONS v0, \d+ bytes\n", out)
    assert out.count("0 PRODUCE v") >= 2  # once more after the error


def test_without_the_extra_for_codecs_it_serves_what_is_not_compressed(start: Start) -> None:
    """Its first line on standard error says what installs them."""
    block = "import sys; sys.modules |= dict.fromkeys(('cramjam', 'google_crc32c', 're2', 'hypothesis'))"
    code = f"{block}\nfrom kipwire.console.cli import main; main()"
    process, address = start("--port", "0", command=[sys.executable, "-c", code, "broker"])
    CLIENTS["aiokafka"].send(address, "orders", [b"a", b"b"])
    assert CLIENTS["aiokafka"].read(address, "orders", 2, "g") == [b"a", b"b"]
    status, _, err = ended(process)
    install = 'cramjam, which is not installed: pip install "kipwire[records]"'
    said = f"kipwire: snappy, lz4 and zstd need {install}; other batches are taken"
    assert (status, err.splitlines()) == (130, [said, "kipwire: interrupted"])


def test_it_listens_with_tls_and_sasl(start: Start, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    security = ["--listen-cert", str(TLS / "broker.pem"), "--user", USER, "--password-file", str(password)]
    process, address = start("--port", "0", *security)
    of_confluent(address, "SCRAM-SHA-256", str(TLS / "ca.pem"), b"v")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while client.recv(1024):
            pass
    status, out, err = ended(process)
    assert (status, out) == (130, "")
    first, last = err.splitlines()
    assert (
        first.startswith("kipwire: A connection is closed: TLS handshake with the client failed")
        and last == "kipwire: interrupted"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--fail", "PRODUC:NONE"], "ApiKey has no PRODUC; did you mean PRODUCE?"),
        (["--fail", "FETCH"], "'FETCH' is not of the form API:ERROR[:TIMES]"),
        (["--delay", "FETCH:soon"], "'FETCH:soon': 'soon' is not a number"),
        (["--fail", "VOTE:NONE"], "the fake broker does not serve 52 VOTE"),
        (["--topic", "a/b"], "'a/b' is not a valid name of a topic"),
        (["--topic", "a:x"], "'a:x': 'x' is not a number"),
        (["--topic", "a:0"], "a topic needs at least one partition"),
        (["--listen-key", "x"], "--listen-key and --listen-ca need --listen-cert"),
        (["--listen-cert", __file__], "cannot be used for TLS"),
        (["--listen-cert", "/nowhere"], "/nowhere"),
        (["--user", "a"], "--user and --password-file must be used together"),
        (["--user", "a", "--password-file", "/dev/null"], "/dev/null: is a pipe, a socket or a device, not a file"),
        (["--port", "65535", "--nodes", "2"], "2 nodes from port 65535 on need ports above 65535"),
        (["--host", "192.0.2.1"], "cannot listen at 192.0.2.1:9092: "),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = call("broker", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.returncode, reason in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([*PROGRAM, "--port", str(port)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kipwire: cannot listen at 127.0.0.1:{port}: Address already in use\n"


def steps() -> dict[str, str]:
    """Return the steps of the Dockerfile, by their first words."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    return {first: rest for first, _, rest in (line.partition(" ") for line in lines)}


def test_the_entry_point_of_the_dockerfile_serves_clients_of_the_host(start: Start) -> None:
    command = json.loads(steps()["ENTRYPOINT"])
    assert command[0] == "kipwire" and steps()["STOPSIGNAL"] == "SIGINT"
    process, address = start("--port", "0", command=[PROGRAM[0], *command[1:]])
    assert address.startswith("localhost:")
    CLIENTS["confluent-kafka"].send(address, "orders", [b"v"])
    assert ended(process)[0] == 130


@pytest.mark.night
def test_the_pip_line_of_the_dockerfile_installs_all_that_it_needs(tmp_path: Path, start: Start) -> None:
    """The steps put the wheel into /tmp, here into another folder, and pip installs it into an empty Python."""
    wheels, copied = tmp_path / "dist", tmp_path / "tmp"
    copied.mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)], check=True, timeout=300)
    source, target = steps()["COPY"].split()
    assert target == "/tmp/"
    (wheel,) = tmp_path.glob(source)
    wheel.rename(copied / wheel.name)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    line = steps()["RUN"].replace("/tmp/", f"{copied}/")
    path = f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin"
    subprocess.run(["bash", "-c", line], env={"PATH": path}, check=True, timeout=300, cwd=tmp_path)
    process, address = start("--port", "0", command=[str(tmp_path / "venv" / "bin" / "kipwire"), "broker"])
    CLIENTS["confluent-kafka"].send(address, "orders", [b"v"], codec="zstd")
    assert ended(process)[0] == 130

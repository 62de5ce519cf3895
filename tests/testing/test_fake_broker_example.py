"""The example program serves clients, has faults, and says at Ctrl-C what it has."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from threading import Timer

import pytest

from tests.support.places import ROOT
from tests.support.subjects.fake_broker_clients import CLIENTS

EXAMPLE = ROOT / "examples" / "fake_broker.py"


@pytest.fixture
def example() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", str(EXAMPLE), "--port", "0", "--topic", "orders:2", "--topic", "empty"]
    command += ["--fail", "PRODUCE:NOT_LEADER_OR_FOLLOWER:1", "--delay", "PRODUCE:0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        end = Timer(60, process.kill)
        end.start()
        yield process
        end.cancel()
        process.kill()


def test_the_example_serves_a_client(example: subprocess.Popen[str]) -> None:
    assert example.stdout is not None
    address = example.stdout.readline().removeprefix("listening at ").partition(";")[0]
    CLIENTS["aiokafka"].send(address, "orders", [b"a", b"b"])
    first = example.stdout.readline()
    assert first.startswith("18 API_VERSIONS v0 #")
    example.send_signal(signal.SIGINT)
    rest = example.stdout.read()
    assert example.wait(60) == 0
    assert rest.count("0 PRODUCE v") >= 2  # once more after the error
    assert rest.splitlines()[-2:] == ["orders: 2 records, by partition [2, 0]", "empty: 0 records, by partition [0]"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--fail", "PRODUC:NONE"], "'PRODUC' is not a name of ApiKey"),
        (["--fail", "FETCH:NO_ERROR"], "'NO_ERROR' is not a name of ErrorCode"),
        (["--delay", "FETCH"], "invalid delay value: 'FETCH'"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], reason: str) -> None:
    command = [sys.executable, str(EXAMPLE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, str(EXAMPLE), "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"fake_broker: cannot listen at 127.0.0.1:{port}: ")
    assert ended.stderr.count("\n") == 1

"""`kipwire proxy` prints what passes, and ends in one line where it cannot run."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.delete_topics_request.v6 import DeleteTopicsRequest, DeleteTopicState
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.aio import connect
from kipwire.console.brokers.filters import filters_of
from kipwire.console.proxy import running as running_proxy
from kipwire.proxy import Proxy
from kipwire.testing import FakeBroker
from tests.support.command_line import Done, call
from tests.support.places import DATA, ROOT

FILTERS = ROOT / "examples" / "filters"
TLS = DATA / "tls"
SECONDS = 60


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the program; yield it and its port, once it listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "kipwire", "proxy", "--listen", f"127.0.0.1:{port}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith(f"kipwire: listening at 127.0.0.1:{port} for "), line + process.stderr.read()
            yield process, port
        finally:
            process.kill()


async def ask(port: int, *requests: Any) -> list[Any]:
    async with connect(("127.0.0.1", port), client_id="me", timeout=SECONDS) as client:
        return [await client.request(request) for request in requests]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_prints_each_exchange_and_at_its_end_what_has_passed(sent: signal.Signals, status: int) -> None:
    deny = str(FILTERS / "deny_delete.py")
    topics = [DeleteTopicState(name="orders")]
    with FakeBroker(topics={"orders": 1}) as broker:
        with running("--to", broker.bootstrap_servers, "--filter", deny, "--verbose") as (process, port):
            metadata, deleted = asyncio.run(ask(port, MetadataRequest(topics=None), DeleteTopicsRequest(topics=topics)))
            assert metadata.brokers[0].port not in (port, broker.port)
            assert [one.error_code for one in deleted.responses] == [29]
            process.send_signal(sent)
            out, err = process.communicate(timeout=SECONDS)
        assert "orders" in broker.topics()
    assert process.returncode == status, err
    lines = out.splitlines()
    assert [line.split(": ")[1].split(" #")[0] for line in lines[1:]] == ["Metadata v13", "DeleteTopics v6"]
    assert all(line.startswith("127.0.0.1:") and " B after " in line for line in lines)
    assert err.splitlines()[0].startswith("kipwire: 3 requests with ")
    assert len(err.splitlines()) == 1 + (sent == signal.SIGINT)


def run(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Done:
    return call("proxy", "--to", "localhost:1", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def f(:", "wrong.py: cannot be imported: SyntaxError: "),
        ("import nothing_at_all", "ModuleNotFoundError: No module named 'nothing_at_all'"),
        ("raise SystemExit(5)", "SystemExit: 5"),
        ("open('absent.txt')", "FileNotFoundError: "),
        ("from kipwire.proxy import on\n@on(5)\ndef f(a, b): ...", "a filter needs a request class, a response class"),
        ("x = 5", "wrong.py: has no filters; define functions with @on(...) of kipwire.proxy"),
        (None, "wrong.py: No such file or directory"),
        (b"\xff\xfe", "wrong.py: cannot be imported: "),
    ],
)
def test_a_file_of_filters_that_cannot_be_used_is_one_line(
    content: str | bytes | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        (tmp_path / "wrong.py").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(["--filter", "wrong.py"], tmp_path, monkeypatch, capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--listen", "local host"], "--listen: 'local host' is not a valid address"),
        (["--listen-key", "a.pem"], "--listen-key and --listen-ca need --listen-cert"),
        (["--listen-cert", "absent.pem"], "absent.pem: No such file or directory"),
        (["--listen-cert", str(TLS / "ca.pem")], "cannot be used for TLS"),
        (["--listen-cert", str(TLS / "broker.pem"), "--listen-ca", "absent.pem"], "absent.pem: No such file"),
        (["--sasl", "PLAIN"], "needs a user"),
    ],
)
def test_options_that_cannot_be_used_are_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = run(arguments, tmp_path, monkeypatch, capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run(["--listen", at], tmp_path, monkeypatch, capsys)
    assert done.returncode == 2
    assert done.stderr.startswith(f"kipwire: cannot listen at {at}: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("advertised", ["a b", "http://x", "x:0", "x:65536", "[::1]:x"])
@pytest.mark.parametrize("command", [["proxy", "--to", "localhost:1"], ["broker"]])
def test_an_advertised_address_that_is_none_is_refused(
    command: list[str],
    advertised: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    how: dict[str, Any] = {"folder": tmp_path, "monkeypatch": monkeypatch, "capsys": capsys}
    done = call(*command, "--advertise", advertised, **how)
    said = f"{advertised!r} is not a valid address; use HOST or HOST:PORT, such as localhost:9092 or [::1]:9092"
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith(f"'--advertise': {said}")


def test_without_listen_it_is_reached_from_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have credentials, with which it lets all clients in."""
    listening: list[Any] = []

    def end(work: Any, at: str) -> None:
        work.close()
        listening.append(at)

    monkeypatch.setattr("kipwire.console.proxy.running.serve", end)
    run([], tmp_path, monkeypatch, capsys)
    assert listening == ["127.0.0.1:9093"]


ANSWERS = """
from kafka_messages.delete_topics_request.v6 import DeleteTopicsRequest
from kipwire.proxy import on

@on(DeleteTopicsRequest)
def deny(request, exchange):
    return ErrorCode(%d)
"""
IMPORTED = "from kafka_messages.enums import ErrorCode"


async def denied(port: int) -> int:
    """Ask to delete a topic by a new connection; return the error code."""
    (response,) = await ask(port, DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")]))
    return int(response.responses[0].error_code)


def test_filters_are_loaded_again_when_their_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "deny.py"
    file.write_text(IMPORTED + ANSWERS % 29)
    with FakeBroker(topics={"orders": 1}) as broker:
        with running("--to", broker.bootstrap_servers, "--filter", str(file)) as (process, port):
            assert process.stderr is not None and asyncio.run(denied(port)) == 29
            file.write_text(IMPORTED + ANSWERS % 41)
            line = "kipwire: filters are loaded again, for clients that connect from now on\n"
            assert process.stderr.readline() == line
            assert asyncio.run(denied(port)) == 41
        assert "orders" in broker.topics()


def test_a_changed_file_that_cannot_be_used_is_one_line_and_the_filters_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one of the same length and time as before, which bytecode is not told apart by, and one that is gone."""
    monkeypatch.setattr(running_proxy, "SECONDS_TO_LOOK", 0.001)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file, other = tmp_path / "deny.py", tmp_path / "other.py"
    other.write_text(IMPORTED + ANSWERS % 1)

    async def change(text: str | None) -> str:
        """Give the file another content, or remove it; return the line that is printed."""
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
            os.utime(file, (5, 5))
        async with asyncio.timeout(SECONDS):
            while not (said := capsys.readouterr().err):
                await asyncio.sleep(0.001)
        return str(said)

    async def work() -> None:
        file.write_text(IMPORTED + ANSWERS % 29)
        os.utime(file, (5, 5))
        files = [file, other]
        used = running_proxy.marks_of(files)
        with FakeBroker(topics={"orders": 1}) as broker:
            async with Proxy(broker.bootstrap_servers, filters_of(files)) as proxy:
                watching = asyncio.create_task(running_proxy.use_changes(proxy, files, used))
                assert await denied(proxy.address[1]) == 29
                for text, said in (
                    ("def f(:", f"{file}: cannot be imported: SyntaxError: "),
                    ("raise SystemExit(0)", f"{file}: cannot be imported: SystemExit: 0"),
                    (ANSWERS % 41 + "deny(1, 2)", f"{file}: cannot be imported: NameError: "),
                    ("", f"{file}: has no filters; "),
                    (None, f"{file}: No such file or directory"),
                ):
                    line = await change(text)
                    assert line.startswith(f"kipwire: {said}") and line.count("\n") == 1
                    assert line.endswith("; the filters stay as they were\n")
                    assert await denied(proxy.address[1]) == 29
                for code in (41, 87, 29):
                    assert "loaded again" in await change(IMPORTED + ANSWERS % code)
                    assert await denied(proxy.address[1]) == code
                assert sys.path.count(str(tmp_path)) == 1
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(work())

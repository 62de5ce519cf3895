"""kipwire tap - shows each exchange as soon as its last byte is there, and ends as people expect."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from tests.console.tap.conftest import Tap
from tests.console.tap.test_tap import exchanged
from tests.support import packet_dumps as made

SEGMENTS = exchanged(*range(1, 40)).segments


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    command = [sys.executable, "-m", "kipwire", "tap", "-", *arguments]
    pipe = subprocess.PIPE
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            yield process, process.stdin, process.stdout
        finally:
            if process.poll() is None:
                process.kill()


def test_an_exchange_is_shown_while_the_capture_goes_on() -> None:
    data = made.dump(SEGMENTS)
    cut = len(made.dump(SEGMENTS[:4]))
    with started() as (process, stdin, stdout):
        stdin.write(data[:2])  # even the first bytes may come in pieces
        stdin.flush()
        stdin.write(data[2:cut])
        stdin.flush()
        assert b" frames=0,1" in stdout.readline()
        stdin.write(data[cut : len(made.dump(SEGMENTS[:6]))])
        stdin.flush()
        assert b" frames=2,3" in stdout.readline()
        stdin.write(data[len(made.dump(SEGMENTS[:6])) :])
        stdin.close()
        assert len(stdout.read().splitlines()) == 37
        assert process.wait() == 0


def test_ctrl_c_ends_it_as_it_ends_dump() -> None:
    with started() as (process, stdin, stdout):
        stdin.write(made.dump(SEGMENTS))
        stdin.flush()
        for _ in range(39):
            assert stdout.readline()
        process.send_signal(signal.SIGINT)
        assert stdout.read() == b""
        assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"kipwire: interrupted\n"


class _Interrupted:
    """Standard input with some data, and then Ctrl-C."""

    def __init__(self, data: bytes) -> None:
        self.buffer = self
        self._data = [data]

    def read1(self, most: int) -> bytes:
        if not self._data:
            raise KeyboardInterrupt
        return self._data.pop()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--summary",), "39 requests and 39 responses from 1970"),
        (("--summary", "-f", "json"), '{"type":"summary"'),
        (("--upgrade-to", "4.0"), "Kafka 4.0 serves all 39 requests that were read, of 1 client\n"),
    ],
)
def test_ctrl_c_shows_what_was_counted(
    tap: Tap, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", _Interrupted(made.dump(SEGMENTS)))
    done = tap("-", *options)
    assert (done.returncode, done.stderr) == (130, "kipwire: interrupted\n")
    assert done.stdout.startswith(said)


def test_packed_packets_and_pcapng_come_through_a_pipe_too() -> None:
    for data in (gzip.compress(made.dump(SEGMENTS)), made.dump_ng(SEGMENTS)):
        with started() as (process, stdin, stdout):
            stdin.write(data)
            stdin.close()
            assert len(stdout.read().splitlines()) == 39
            assert process.wait() == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", b"error: standard input: is empty; give a file that tcpdump wrote\n"),
        (b"hello", b"error: standard input: is neither pcap nor pcapng (it starts with 68 65 6c 6c); give a file that "
         b"tcpdump wrote\n"),
    ],
)  # fmt: skip
def test_what_is_no_capture_is_one_line(data: bytes, said: bytes) -> None:
    with started() as (process, stdin, stdout):
        stdin.write(data)
        stdin.close()
        assert stdout.read() == b""
        assert process.wait() == 1
        assert process.stderr is not None
        assert process.stderr.read() == said


def test_a_stream_that_is_cut_within_a_packet_says_so() -> None:
    with started() as (process, stdin, stdout):
        stdin.write(made.dump(SEGMENTS)[:-3])
        stdin.close()
        assert b"standard input: the file ends within the packet" in stdout.read()
        assert process.wait() == 1


def test_a_reader_that_has_seen_enough_ends_it_quietly() -> None:
    with started() as (process, stdin, stdout):
        data = made.dump(SEGMENTS)
        stdin.write(data[: len(made.dump(SEGMENTS[:4]))])
        stdin.flush()
        stdout.readline()
        stdout.close()
        stdin.write(data[len(made.dump(SEGMENTS[:4])) :])
        stdin.flush()
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""

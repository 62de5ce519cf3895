"""A program that answers JSON lines on standard output to JSON lines on standard input, and may do anything else.

Questions are sent ahead of answers, so that the program never waits. When it dies, prints nonsense or is late, the
questions without answers are asked again one by one, to find the one that causes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from kipwire.tools.text import cut, printable_line

PROTOCOL = 1
"""The version of the lines that are exchanged; docs/conform.md describes it."""
LONGEST_LINE = 32 * 2**20
"""Bytes of an answer at most."""
_SHORT_LINE, _TIMES_LONGER = 2**16, 20
"""Bytes that any answer may have, and how often more than the right one: reading JSON takes 40 times its memory."""
_LONGEST_HELLO = 2**20
"""Bytes of an answer to hello, with the versions of some thousand messages."""
_AHEAD, _BYTES_AHEAD = 256, 2**20
"""Questions, and their bytes, that go ahead of answers."""
_CHUNKS = 64
"""Pieces of output that are kept until they are looked at."""
_CHUNK = 2**16
_LAST_WORDS = 2000
"""Bytes of standard error that are kept."""
_SHOWN = 120
"""Characters of its output in a reason."""
_UTF8_BYTES = 4
"""Bytes of a character at most."""
_PATIENCE = 0.5
"""Seconds that a process has to end by itself."""
MOST_DEATHS = 100
"""After so many deaths no more is asked, and after a tenth of them no more about one message."""


class ProgramError(Exception):
    """A program that cannot be asked at all; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a program."""

    topic: str
    """The message that it is about: after some deaths no more is asked about it."""
    body: Mapping[str, Any]
    """The line without its id."""
    subject: Any = None
    """Data for the verdict on the answer."""
    message: tuple[Any, int] = (None, 0)
    """The message in its JSON form, and the number of its bytes."""

    @property
    def longest_answer(self) -> int:
        """Bytes of an answer at most: generous, and in proportion to the message."""
        plain, size = self.message
        right = len(json.dumps(plain)) + 2 * size  # bytes are in hex
        return min(_SHORT_LINE + _TIMES_LONGER * right, LONGEST_LINE)


@dataclass(frozen=True, slots=True)
class Death:
    """The program gave no answer that means anything."""

    reason: str
    is_tried: bool = True
    """True if the question was asked; false if the program had died too often before."""


Answer = Mapping[str, Any] | Death


class Program:
    """A program that is asked questions, in as many processes as it takes."""

    def __init__(
        self, command: Sequence[str], *, limit: float, start_limit: float = 60.0, most_deaths: int = MOST_DEATHS
    ) -> None:
        """Make one, without starting it.

        Args:
            command: the command line.
            limit: seconds that an answer may take.
            start_limit: seconds that a process may take to say hello.
            most_deaths: after how many deaths no more is asked.
        """
        self.start_limit = start_limit
        self.most_deaths = most_deaths
        self.command = command
        self.limit = limit
        self.deaths = 0
        self._process: _Process | None = None
        self._said_of_itself: Mapping[str, Any] = {}
        self._last_id = 0
        self._deaths_of: dict[str, int] = {}

    def hello(self) -> Mapping[str, Any]:
        """Ask the program for its description.

        Raises:
            ProgramError: the program cannot be started, or does not answer.
        """
        self._start()
        return self._said_of_itself

    def ask(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Answer]]:
        """Yield the questions with their answers, nearly in the order of the questions.

        Raises:
            ProgramError: it cannot be started again.
        """
        coming = iter(questions)
        again: deque[Question] = deque()
        waiting: deque[_Asked] = deque()
        while True:
            process = self._start()
            lines: list[bytes] = []
            most = 1 if again else _AHEAD
            while len(waiting) < most and sum(one.size for one in waiting) < _BYTES_AHEAD:
                question = again.popleft() if again else next(coming, None)
                if question is None:
                    break
                if (given_up := self._why_given_up(question)) is not None:
                    yield question, given_up
                    continue
                lines.append(self._line(question.body))
                waiting.append(_Asked(self._last_id, len(lines[-1]), question))
            if not waiting:
                return
            process.send(lines)
            answer = process.answer(waiting[0].id, self.limit, waiting[0].question)
            if not isinstance(answer, Death):
                yield waiting.popleft().question, answer
                continue
            last_words = process.last_words()
            self.close()
            if len(waiting) > 1:
                again.extendleft(one.question for one in reversed(waiting))
            else:
                question = waiting[0].question
                self.deaths += 1
                self._deaths_of[question.topic] = self._deaths_of.get(question.topic, 0) + 1
                yield question, Death(f"{answer.reason}{last_words}")
            waiting.clear()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _why_given_up(self, question: Question) -> Death | None:
        """Explain why a question is not asked any more; None if it is."""
        if self.deaths >= self.most_deaths:
            return Death(f"not asked: the program failed to answer {self.deaths} times", is_tried=False)
        deaths = self._deaths_of.get(question.topic, 0)
        if deaths >= max(1, self.most_deaths // 10):
            return Death(f"not asked: the program failed to answer {deaths} times on {question.topic}", is_tried=False)
        return None

    def _line(self, body: Mapping[str, Any]) -> bytes:
        self._last_id += 1
        return json.dumps({"id": self._last_id, **body}, separators=(",", ":")).encode() + b"\n"

    def _start(self) -> _Process:
        """Return the process, or start one that answers hello first, so that no answer includes its start."""
        if self._process is None:
            try:
                self._process = _Process(self.command)
            except OSError as error:
                raise ProgramError(f"cannot be started: {error.strerror or error}") from None
            self._process.send([self._line({"op": "hello", "protocol": PROTOCOL})])
            answer = self._process.answer(self._last_id, self.start_limit)
            if isinstance(answer, Death):
                raise ProgramError(f"no valid answer to hello: {answer.reason}{self._process.last_words()}")
            self._said_of_itself = answer
        return self._process


class _Asked(NamedTuple):
    """A question that waits for its answer."""

    id: int
    size: int
    """Bytes of its line."""
    question: Question


class _Output(NamedTuple):
    """Something that a process has said, or that it has ended."""

    lines: Sequence[bytes]
    end: str = ""
    """Reason why there will be no more; "" if there may be."""


class _Process:
    """One process of the program. Threads read and write its pipes, since no pipe may block the caller."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        self._to_send: SimpleQueue[bytes | None] = SimpleQueue()
        self._said: Queue[_Output] = Queue(_CHUNKS)
        self._lines: deque[bytes] = deque()
        self._complaints = b""
        self._is_closed = False
        self._threads = [Thread(target=one, daemon=True) for one in (self._write, self._read, self._listen)]
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:  # such as Ctrl-C, before others know this process
            self._kill()
            raise

    def send(self, lines: Sequence[bytes]) -> None:
        """Send lines, as soon as the process takes them."""
        if lines:
            self._to_send.put(b"".join(lines))

    def answer(self, id_: int, limit: float, question: Question | None = None) -> Answer:
        """Read the answer to the question of that id, or to hello, which must be the next line."""
        end = time.monotonic() + limit
        while not self._lines:
            try:
                said = self._said.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                return Death(f"no answer within {limit:g} s")
            self._lines.extend(said.lines)
            if said.end and not self._lines:
                return Death(said.end)
            if said.end:
                self._said.put(_Output((), said.end))
        line = self._lines.popleft()
        if len(line) > _SHORT_LINE:
            most = _LONGEST_HELLO if question is None else question.longest_answer
            if len(line) > most:
                return Death(f"printed an answer of {len(line)} bytes, where {most} are more than enough")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return Death(f"printed a line that is not JSON: {_start_of(line)}")
        if not isinstance(value, dict) or value.get("id") != id_ or isinstance(value.get("id"), bool):
            return Death(f"printed a line that is not the answer to question {id_}: {_start_of(line)}")
        return value

    def last_words(self) -> str:
        """Return the last line of its standard error, as the reason of a failure; "" if there is none."""
        self._threads[-1].join(timeout=0.2)
        words = self._complaints.decode(errors="replace").strip().splitlines()
        return f"; its last line on standard error: {cut(printable_line(words[-1]), _SHOWN)}" if words else ""

    def close(self) -> None:
        """End it: by the end of its input, and if that does not help, by force."""
        self._is_closed = True
        self._to_send.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_PATIENCE)
        self._kill()
        self._process.wait()
        end = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(timeout=max(0.0, end - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            return  # something that it has started holds its pipes; the threads end with this program
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _kill(self) -> None:
        """End it, and what it has started."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError):  # it has closed its input; what follows from that is seen in its output
            while (data := self._to_send.get()) is not None:
                pipe.write(data)
                pipe.flush()
        with suppress(OSError):
            pipe.close()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        rest = bytearray()
        while chunk := os.read(pipe.fileno(), _CHUNK):
            rest += chunk
            if b"\n" in chunk:
                *lines, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                self._put(_Output(lines))
            if len(rest) > LONGEST_LINE:
                self._put(_Output((), f"printed a line of more than {LONGEST_LINE} bytes"))
                return
        if rest:
            self._put(_Output([bytes(rest)]))
        try:
            self._put(_Output((), _end(self._process.wait(timeout=_PATIENCE))))
        except subprocess.TimeoutExpired:
            self._put(_Output((), "closed its output"))

    def _put(self, output: _Output) -> None:
        """Hand over output; while the caller does not want it, the process has to wait."""
        while not self._is_closed:
            with suppress(Full):
                self._said.put(output, timeout=0.05)
                return

    def _listen(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        while chunk := os.read(pipe.fileno(), _CHUNK):
            self._complaints = (self._complaints + chunk)[-_LAST_WORDS:]


def _end(status: int) -> str:
    if status >= 0:
        return f"ended with status {status} instead of an answer"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _start_of(line: bytes) -> str:
    return cut(printable_line(line[: _UTF8_BYTES * (_SHOWN + 1)].decode(errors="replace")), _SHOWN)

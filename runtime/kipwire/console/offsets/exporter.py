"""An exporter for Prometheus: rounds one after the other, and a server that answers scrapes from the last one.

While no broker answers, scrapes say so (`kipwire_offsets_up 0`) and have no lag, since an old one would look like news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from kipwire.cluster.lag import Stands, find_stalled, rows_of, stands_of
from kipwire.cluster.metrics import health, metrics_of
from kipwire.cluster.model import Look
from kipwire.model.errors import KipwireError
from kipwire.tools.exposition import CONTENT_TYPE
from kipwire.tools.text import error_line

HEAD_BYTES = 16_384
"""Highest number of bytes of the head of a request."""
SECONDS_FOR_HEAD = 10.0
MOST_CONNECTIONS = 64
SECONDS_FOR_FIRST_ROUND = 8.0
"""Limit of a scrape that waits for the first round: less than Prometheus waits."""
_PART = 1 << 16
"""Bytes that are written before the client must read."""
_TEXT = "text/plain; charset=utf-8"
_PAGE = b'<!doctype html>\n<title>kipwire offsets</title>\n<p><a href="/metrics">Metrics</a></p>\n'

Round = Callable[[], Awaitable[Look]]


class Exporter:
    """The state of an exporter: the text for scrapes, and the results of earlier rounds that the next one needs."""

    def __init__(self, stalled_after: float, oldest: float, say: Callable[[str], None]) -> None:
        """Begin without a round.

        Args:
            stalled_after: seconds that an offset stands still to be listed.
            oldest: seconds after which a round is too old to be shown, as when a broker does not answer for long.
            say: called with a line when the cluster cannot be reached any more, and when it can be again.
        """
        self._stalled_after, self._oldest, self._say = stalled_after, oldest, say
        self._has_look = False
        self._stands: Stands | None = None
        self._metrics = b""
        self._seconds: float | None = None
        self._done_at = 0.0
        self._failure: str | None = None
        self._problems: tuple[str, ...] = ()
        self._has_tried = asyncio.Event()

    async def run(self, look: Round, every: float) -> None:
        """Make rounds without end, one at a time.

        Args:
            look: looks at the cluster.
            every: seconds from the start of one to the start of the next, if it takes no longer.
        """
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            try:
                self._succeed(await look())
            except (KipwireError, OSError) as error:
                self._fail(" ".join(str(error).split()))
            except Exception as error:  # whatever it is, the next round may succeed
                self._fail(f"a round failed: {error_line(error)}")
            self._seconds, self._done_at = clock() - started, clock()
            self._has_tried.set()
            await asyncio.sleep(max(0.0, every - self._seconds))

    def _succeed(self, look: Look) -> None:
        rows = rows_of(look)
        self._stands = stands_of(look, rows, self._stands)
        text = metrics_of(look, rows, find_stalled(rows, self._stands, look.time, self._stalled_after))
        self._metrics = text.encode("utf-8", "replace")
        self._has_look = True
        if self._failure is not None:
            self._say("the cluster is reachable again")
        self._failure = None
        problems = tuple(map(str, look.problems))
        for problem in problems[:10]:
            if problem not in self._problems:
                self._say(problem)
        self._problems = problems

    def _fail(self, reason: str) -> None:
        if self._failure != reason:
            self._say(reason)
        self._failure = reason

    @property
    def failure(self) -> str | None:
        """Why there is nothing to show; None if there is."""
        if self._failure is not None:
            return self._failure
        if not self._has_look:
            return "no round has ended yet"
        age = asyncio.get_running_loop().time() - self._done_at
        return f"the last round ended {age:.0f} s ago" if age > self._oldest else None

    def metrics(self) -> tuple[bytes, ...]:
        """Format the text for a scrape, in parts: all scrapes share the first, of the round."""
        is_up = self.failure is None
        return self._metrics if is_up else b"", health(is_up=is_up, seconds=self._seconds).encode()

    async def first_round(self) -> None:
        """Wait until there was a round, but not for long."""
        try:
            async with asyncio.timeout(SECONDS_FOR_FIRST_ROUND):
                await self._has_tried.wait()
        except TimeoutError:
            pass


class Answer(NamedTuple):
    """A response of HTTP."""

    status: HTTPStatus
    body: tuple[bytes, ...]
    content_type: str = _TEXT

    def parts(self, *, with_body: bool) -> Iterator[bytes | memoryview]:
        """Yield the bytes of the response, in parts that are small enough to wait for the client after each."""
        yield (
            f"HTTP/1.1 {self.status} {self.status.phrase}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {sum(map(len, self.body))}\r\n"
            + ("Allow: GET, HEAD\r\n" if self.status == HTTPStatus.METHOD_NOT_ALLOWED else "")
            + "Connection: close\r\n\r\n"
        ).encode("ascii")
        for text in self.body if with_body else ():
            view = memoryview(text)
            yield from (view[at : at + _PART] for at in range(0, len(view), _PART))


class Server:
    """Answers requests of HTTP/1.1, one for each connection.

    No client can keep what others need: one that is slow is cut off, and a new one takes the place of the one that has
    said nothing for longest. Closing a transport waits for its client to read, so each ends by aborting it.
    """

    def __init__(self, exporter: Exporter) -> None:
        """Show what an exporter has."""
        self._exporter = exporter
        self._clients: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], None] = {}
        """Those whose requests are not whole, the oldest first."""
        self._is_closed = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection in a task of its own; whatever comes, only that connection ends."""
        if self._is_closed:
            writer.transport.abort()
            return
        is_full = len(self._clients) >= MOST_CONNECTIONS
        if is_full and self._silent:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.cancel()
            is_full = False
        task = asyncio.get_running_loop().create_task(self._handle(reader, writer, is_full))
        self._clients.add(task)
        self._silent[task] = None
        task.add_done_callback(partial(self._end, writer.transport))

    async def close(self) -> None:
        """Close all connections at once."""
        self._is_closed = True
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _end(self, transport: asyncio.WriteTransport, task: asyncio.Task[None]) -> None:
        """Close the socket of a connection, also if its task was cancelled before it began."""
        transport.abort()
        self._clients.discard(task)
        self._silent.pop(task, None)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_full: bool) -> None:
        try:
            async with asyncio.timeout(SECONDS_FOR_HEAD + SECONDS_FOR_FIRST_ROUND):
                for part in await self._answer(reader, is_full):
                    writer.write(part)
                    await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass

    async def _answer(self, reader: asyncio.StreamReader, is_full: bool) -> Iterator[bytes | memoryview]:
        task = asyncio.current_task()
        assert task is not None
        try:
            async with asyncio.timeout(SECONDS_FOR_HEAD):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            answer = _said(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too long")
            return answer.parts(with_body=True)
        self._silent.pop(task, None)
        method, target = request_line(head)
        if is_full:
            answer = _said(HTTPStatus.SERVICE_UNAVAILABLE, f"all {MOST_CONNECTIONS} connections are in use")
        else:
            answer = await self.answer(method, target)
        return answer.parts(with_body=method != "HEAD")

    async def answer(self, method: str, target: str) -> Answer:
        """Answer a request.

        Args:
            method: empty for what is no request.
            target: a path, perhaps with a query.
        """
        if not method:
            return _said(HTTPStatus.BAD_REQUEST, "this is no request of HTTP")
        if method not in ("GET", "HEAD"):
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD")
        match target.partition("?")[0]:
            case "/metrics":
                await self._exporter.first_round()
                return Answer(HTTPStatus.OK, self._exporter.metrics(), CONTENT_TYPE)
            case "/health":
                await self._exporter.first_round()
                failure = self._exporter.failure
                if failure is None:
                    return _said(HTTPStatus.OK, "ok")
                return _said(HTTPStatus.SERVICE_UNAVAILABLE, failure)
            case "/":
                return Answer(HTTPStatus.OK, (_PAGE,), "text/html; charset=utf-8")
        return _said(HTTPStatus.NOT_FOUND, "/metrics has metrics, /health says whether they are known")


def _said(status: HTTPStatus, line: str) -> Answer:
    """Make an answer of one line."""
    return Answer(status, (f"{line}\n".encode("utf-8", "replace"),))


def request_line(head: bytes) -> tuple[str, str]:
    """Parse the method and target of a request; empty for what is none."""
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not words[0].isalpha():
        return "", ""
    method, target = (word.decode("latin-1") for word in words[:2])
    return method, target

"""An exporter for Prometheus: rounds one after the other, and a server that answers scrapes from the last one.

While no broker answers, scrapes say so (`kipwire_offsets_up 0`) and have no lag, since an old one would look like news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple

from kipwire.console.offsets.lag import Stands, find_stalled, rows_of, stands_of
from kipwire.console.offsets.metrics import health, metrics_of
from kipwire.console.offsets.model import Look
from kipwire.model.errors import KipwireError
from kipwire.tools.exposition import CONTENT_TYPE

HEAD_BYTES = 16_384
"""Highest number of bytes of the head of a request."""
SECONDS_FOR_HEAD = 10.0
MOST_CONNECTIONS = 64
SECONDS_FOR_FIRST_ROUND = 8.0
"""Limit of a scrape that waits for the first round: less than Prometheus waits."""
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
        self._metrics = ""
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
                found = await look()
            except (KipwireError, OSError) as error:
                self._fail(" ".join(str(error).split()))
            else:
                self._succeed(found)
            self._seconds, self._done_at = clock() - started, clock()
            self._has_tried.set()
            await asyncio.sleep(max(0.0, every - self._seconds))

    def _succeed(self, look: Look) -> None:
        rows = rows_of(look)
        self._stands = stands_of(look, rows, self._stands)
        self._metrics = metrics_of(look, rows, find_stalled(rows, self._stands, look.time, self._stalled_after))
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

    def metrics(self) -> str:
        """Format the text for a scrape."""
        is_up = self.failure is None
        return (self._metrics if is_up else "") + health(is_up=is_up, seconds=self._seconds)

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
    body: bytes
    content_type: str = _TEXT

    def encode(self, *, with_body: bool) -> bytes:
        """Return the bytes of the response."""
        head = (
            f"HTTP/1.1 {self.status} {self.status.phrase}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
            + ("Allow: GET, HEAD\r\n" if self.status == HTTPStatus.METHOD_NOT_ALLOWED else "")
            + "Connection: close\r\n\r\n"
        )
        return head.encode("ascii") + (self.body if with_body else b"")


class Server:
    """Answers requests of HTTP/1.1, one for each connection."""

    def __init__(self, exporter: Exporter) -> None:
        """Show what an exporter has."""
        self._exporter = exporter
        self._open = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection; whatever comes, only that connection ends."""
        self._open += 1
        try:
            if self._open <= MOST_CONNECTIONS:
                async with asyncio.timeout(SECONDS_FOR_HEAD + SECONDS_FOR_FIRST_ROUND):
                    await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS_FOR_HEAD):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            text = b"the head of the request is too long\n"
            writer.write(Answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text).encode(with_body=True))
        else:
            method, target = request_line(head)
            answer = await self.answer(method, target)
            writer.write(answer.encode(with_body=method != "HEAD"))
        await writer.drain()

    async def answer(self, method: str, target: str) -> Answer:
        """Answer a request.

        Args:
            method: empty for what is no request.
            target: a path, perhaps with a query.
        """
        if not method:
            return Answer(HTTPStatus.BAD_REQUEST, b"this is no request of HTTP\n")
        if method not in ("GET", "HEAD"):
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n")
        match target.partition("?")[0]:
            case "/metrics":
                await self._exporter.first_round()
                return Answer(HTTPStatus.OK, self._exporter.metrics().encode("utf-8", "replace"), CONTENT_TYPE)
            case "/health":
                await self._exporter.first_round()
                failure = self._exporter.failure
                if failure is None:
                    return Answer(HTTPStatus.OK, b"ok\n")
                return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{failure}\n".encode("utf-8", "replace"))
            case "/":
                return Answer(HTTPStatus.OK, _PAGE, "text/html; charset=utf-8")
        return Answer(HTTPStatus.NOT_FOUND, b"/metrics has metrics, /health says whether they are known\n")


def request_line(head: bytes) -> tuple[str, str]:
    """Parse the method and target of a request; empty for what is none."""
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not words[0].isalpha():
        return "", ""
    method, target = (word.decode("latin-1") for word in words[:2])
    return method, target

"""A connection to a broker, as programs use it: any request, and its response.

A `Connection` adds to a `Link` what a program should not think about: a version for each request, a correlation id, a
deadline. A request awaits only its turn; from then on it is encoded and submitted in one step, so that ids and the
queue of the link have the same order. Nothing is retried. The head of `kipwire.aio` has the theory.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any, TypeVar

from kipwire.aio.failures import Address, Closed, Failure, TimedOut, shown_address
from kipwire.aio.link import Link
from kipwire.connection import LocalProtocolError, Response, best_version
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.connection.framing import is_answered
from kipwire.message.frame_errors import size_first
from kipwire.message.messages import Message, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy
    from kipwire.message.registry import Registry

M = TypeVar("M", bound=Message)

SECONDS_TO_CLOSE = 1.0
"""Time for the broker to read the last bytes, and for TLS to close its session."""
_ID_AT = HEAD.size - CORRELATION_ID.size
"""Position of the correlation id in a request frame."""


class Connection:
    """One connection to one broker. Any number of tasks of its event loop may use it at the same time."""

    def __init__(self, link: Link, address: Address, registry: Registry, client_id: str | None, timeout: float) -> None:
        """Use an open link; `connect` makes connections.

        Args:
            link: to the broker.
            address: of the broker.
            registry: the registry of the package of messages.
            client_id: the client's name for itself.
            timeout: seconds for each request.
        """
        self._link = link
        self._registry = registry
        self._client_id = client_id
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._versions: Mapping[int, range] = {}
        self._best: dict[type, int] = {}
        """The version in which each class of requests is sent."""

    @property
    def address(self) -> Address:
        """Host and port of the broker, as `connect` was given them."""
        return self._address

    @property
    def versions(self) -> Mapping[int, range]:
        """The versions of each API that the broker serves, by API key."""
        return self._versions

    @property
    def failure(self) -> Failure | None:
        """The first failure, or `Closed` after `close`: no more requests can be sent.

        None while the connection is open.
        """
        return self._link.failure

    def when_closed(self, action: Callable[[], None]) -> None:
        """Call something when the connection fails or is closed, in the event loop.

        Args:
            action: called once; at once if the connection has ended already.
        """
        self._link.when_closed(action)

    def __repr__(self) -> str:
        return f"<Connection to {shown_address(self._address)}, {'open' if self.failure is None else 'closed'}>"

    async def request(
        self,
        request: AnsweredBy[M],
        version: int | None = None,
        timeout: float | None = None,
        lost: list[Loss] | None = None,
    ) -> M:
        """Send a request and return its response, in the version of the request's class, whatever the broker has.

        A task that is cancelled while it waits, or whose time is over, leaves the connection as it is: the response is
        dropped when it comes.

        Args:
            request: in the version that the program is written for.
            version: the version in which to send it; by default the highest that both sides have.
            timeout: seconds from now; by default the connection's.
            lost: see `kipwire.convert`: a list for what the versions of request and response cannot carry.

        Raises:
            Failure: there is no response; the class says why.
            UnsupportedVersionError: the broker and the program have no version in common.
            ConversionError: the version sent cannot carry the request, or the request's version cannot carry the
                response.
            EncodeError: a value does not fit its field.
            DecodeError: the response is broken; the connection can be used further.
            LocalProtocolError: the request is Produce with `acks` of 0, which has no response. Use `send`.
        """
        deadline = await self._turn(timeout)
        frame = self._encode(request, version, lost)
        if not self._is_answered(frame):
            raise LocalProtocolError(f"{described(request)} with acks of 0 has no response; use send")
        sent = self._link.submit(frame, deadline)
        assert sent is not None
        try:
            response = await sent
        except TimeoutError:
            raise self._timed_out(frame, type(request)) from None
        return response.body_as(type(request), lost=lost)

    async def send(
        self,
        request: Message | AnsweredBy[Any],
        version: int | None = None,
        timeout: float | None = None,
        lost: list[Loss] | None = None,
    ) -> None:
        """Send a request that has no response, which is Produce with `acks` of 0.

        When this returns, the request is sent as far as the program is concerned; `close` waits a while for its bytes.

        Args:
            request: in the version that the program is written for.
            version: see `request`.
            timeout: seconds that the request may wait until it can be sent; by default the connection's.
            lost: see `kipwire.convert`.

        Raises:
            Failure: the connection has failed, or was too full to send the request in time.
            LocalProtocolError: the request has a response. Use `request`.
            UnsupportedVersionError: the broker and the program have no version in common.
            ConversionError: the version cannot carry the request.
            EncodeError: a value does not fit its field.
        """
        deadline = await self._turn(timeout)
        frame = self._encode(request, version, lost)
        if self._is_answered(frame):
            raise LocalProtocolError(f"{described(request)} has a response; use request")
        self._link.submit(frame, deadline)

    async def exchange(self, frame: bytes, timeout: float | None = None) -> bytes | None:
        """Send a request frame and return the response frame; None if no response is due. Any API and version will do.

        Args:
            frame: header and body, without a size. The correlation id can be anything: if a request in flight has the
                same, another id is sent, and the response gets the original id again.
            timeout: see `request`.

        Raises:
            Failure: there is no response; the class says why.
            LocalProtocolError: the frame is too short for a request.
        """
        return await (await self.begin(frame, timeout))

    async def begin(self, frame: bytes, timeout: float | None = None) -> Coroutine[Any, Any, bytes | None]:
        """Send a request frame, and return what is awaited for its response; otherwise as `exchange`.

        So a program can send several frames in an order of its own before it waits. Each result has to be awaited.
        """
        if len(frame) < HEAD.size:
            raise LocalProtocolError(f"a request has at least {HEAD.size} bytes, not {len(frame)}")
        deadline = await self._turn(timeout)
        (number,) = CORRELATION_ID.unpack_from(frame, _ID_AT)
        sent = frame
        if self._link.is_taken(number):
            own_id = CORRELATION_ID.pack(self._link.next_id())
            sent = b"".join((frame[:_ID_AT], own_id, frame[HEAD.size :]))
        return self._exchanged(frame, sent is frame, self._link.submit(sent, deadline))

    async def _exchanged(
        self, frame: bytes, has_own_id: bool, response: asyncio.Future[Response] | None
    ) -> bytes | None:
        """Await the response to a frame; it gets the id of the frame again if another id was sent."""
        try:
            answer = None if response is None else await response
        except TimeoutError:
            raise self._timed_out(frame, None) from None
        except Closed as failure:
            if hint := size_first(frame):  # only now, since a frame of Fetch may begin so by chance
                raise Closed(self._address, f"{failure.reason}; {hint}") from failure
            raise
        if answer is None or has_own_id:
            return None if answer is None else answer.raw
        return frame[_ID_AT : HEAD.size] + answer.raw[CORRELATION_ID.size :]

    def pause_reading(self) -> None:
        """Read no more responses, until `resume_reading`: the broker then waits, as for any client that does not read.

        A program that passes responses on calls this while they cannot go out. The timeouts of requests go on.
        """
        self._link.want(is_on=False)

    def resume_reading(self) -> None:
        """Read responses again."""
        self._link.want(is_on=True)

    async def close(self) -> None:
        """Close the connection; requests that wait for their responses fail with `Closed`."""
        await self._link.close(Closed(self._address, "this program has closed the connection"), SECONDS_TO_CLOSE)

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # The way of a request.

    def agree(self, versions: Mapping[int, range]) -> None:
        """Take the versions of the broker, as `connect` finds them out."""
        self._versions = versions
        self._best.clear()

    def _best_version(self, request: Message | AnsweredBy[Any]) -> int:
        cls = type(request)
        version = self._best.get(cls)
        if version is None:
            self._best[cls] = version = best_version(request, self._versions)
        return version

    async def _turn(self, timeout: float | None) -> float:
        """Wait until a request can be sent, and give its deadline in the time of the event loop.

        Raises:
            Failure: the request cannot be sent, or not in time.
        """
        if self._link.failure is not None:
            raise self._link.reason()
        deadline = self._loop.time() + (self._timeout if timeout is None else timeout)
        if not self._link.is_full:
            return deadline
        try:
            async with asyncio.timeout_at(None if deadline == inf else deadline):
                await self._link.turn()
        except TimeoutError:
            why = f"the {self._link.peer} reads too slowly, or too many requests are waiting for responses"
            raise TimedOut(self._address, f"the request could not be sent in time: {why}") from None
        return deadline

    def _encode(self, request: Message | AnsweredBy[Any], version: int | None, lost: list[Loss] | None) -> bytes:
        if version is None:
            version = self._best_version(request)
        number = self._link.next_id()
        return self._registry.encode_request(request, number, self._client_id, version=version, lost=lost)

    def _is_answered(self, frame: bytes) -> bool:
        api_key, version, _ = HEAD.unpack_from(frame)
        return is_answered(self._registry, frame, api_key, version)

    def _timed_out(self, frame: bytes, cls: Any) -> TimedOut:
        """Make the failure of a request that was answered too late; without a class the API key names it."""
        api_key, version, _ = HEAD.unpack_from(frame)
        what = f"the request with API key {api_key}" if cls is None else cls.NAME
        return TimedOut(self._address, f"timed out waiting for the response to {what} v{version}")

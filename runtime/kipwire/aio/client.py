"""A connection to a broker: opened, asked, closed."""

from __future__ import annotations

import asyncio
import ssl as tls
from math import inf
from typing import Any, TypeVar

import kafka_messages
import kipwire
from kipwire.aio.failures import Address, Closed, ProtocolFailure, Refused, TimedOut, TlsFailure, parse_address
from kipwire.aio.link import Link
from kipwire.connection import (
    LARGEST_FRAME,
    LocalProtocolError,
    Response,
    best_version,
    served_versions,
    version_to_retry,
)
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.connection.framing import is_answered
from kipwire.message.conversion import build
from kipwire.message.messages import Message
from kipwire.model.api_keys import API_VERSIONS_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from types import TracebackType

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy
    from kipwire.message.registry import Registry

M = TypeVar("M", bound=Message)

TIMEOUT = 30.0
"""Seconds, for opening a connection and for each request."""
IN_FLIGHT = 1000
"""Requests."""
_SECONDS_TO_CLOSE = 1.0
"""For what has not been written yet, and for TLS to say goodbye."""
_NAME = "kipwire"
"""How ApiVersions calls this software."""


class Connection:
    """One connection to one broker. Any number of tasks of one event loop may use it at the same time."""

    def __init__(self, link: Link, address: Address, registry: Registry, client_id: str | None, timeout: float) -> None:
        """Use an open link; `connect` makes connections."""
        self._link = link
        self._registry = registry
        self._client_id = client_id
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self.address = address
        """Host and port."""
        self.versions: Mapping[int, range] = {}
        """The versions of each API that the broker serves, by API key."""

    def __repr__(self) -> str:
        state = "open" if self._link.failure is None else "closed"
        return f"<Connection to {self.address[0]}:{self.address[1]}, {state}>"

    async def request(
        self,
        request: AnsweredBy[M],
        version: int | None = None,
        timeout: float | None = None,
        lost: list[Loss] | None = None,
    ) -> M:
        """The response to a request, in the version of the request's class, whatever the broker has.

        Args:
            request: in the version that the program is written for.
            version: the version in which to send it; by default the highest that both sides have.
            timeout: seconds from now; by default that of the connection.
            lost: as of `kipwire.convert`: a list that gets what the two conversions could not carry.

        Raises:
            Failure: there is no response; the class says why.
            UnsupportedVersionError: the broker and the program have no version in common.
            ConversionError: the version cannot carry what the request has, or the request's what came.
            EncodeError: a value does not fit its field.
            DecodeError: the response is broken; the connection can be used further.
            LocalProtocolError: no response comes to it: it is Produce with `acks` of 0. `send` sends it.
        """
        deadline = self._deadline(timeout)
        if version is None:
            version = best_version(request, self.versions)
        await self._ready(deadline)
        frame = self._encoded(request, version, lost)
        if not self._is_answered(frame):
            raise LocalProtocolError(f"no response comes to {_named(request)} with acks of 0; use send")
        return (await self._answer(frame, deadline, request)).body_as(type(request), lost=lost)

    async def send(
        self, request: Message | AnsweredBy[Any], version: int | None = None, lost: list[Loss] | None = None
    ) -> None:
        """Send a request that has no response, which is Produce with `acks` of 0.

        Args:
            request: in the version that the program is written for.
            version: as in `request`.
            lost: as in `request`.

        Raises:
            Failure: the connection is closed, or too full for the time of its timeout.
            LocalProtocolError: a response comes to it; `request` waits for that.
            UnsupportedVersionError: as in `request`.
            ConversionError: as in `request`.
            EncodeError: as in `request`.
        """
        if version is None:
            version = best_version(request, self.versions)
        await self._ready(self._deadline(None))
        frame = self._encoded(request, version, lost)
        if self._is_answered(frame):
            raise LocalProtocolError(f"a response comes to {_named(request)}; use request")
        self._link.write(frame)

    async def exchange(self, frame: bytes, timeout: float | None = None) -> bytes | None:
        """The response frame to a request frame; None if no response is due. Any API and version will do.

        Args:
            frame: header and body, without a size. Its correlation id can be anything: another one is sent, and the
                response has that of the frame again.
            timeout: as in `request`.

        Raises:
            Failure: as in `request`.
            LocalProtocolError: it is too short for a request.
        """
        if len(frame) < HEAD.size:
            raise LocalProtocolError(f"{len(frame)} bytes cannot be a request, whose header has at least {HEAD.size}")
        deadline = self._deadline(timeout)
        await self._ready(deadline)
        at = HEAD.size - CORRELATION_ID.size
        given, own = frame[at : HEAD.size], CORRELATION_ID.pack(self._link.next_id())
        numbered = b"".join((frame[:at], own, frame[HEAD.size :]))
        if not self._is_answered(numbered):
            self._link.write(numbered)
            return None
        answer = (await self._answer(numbered, deadline, None)).raw
        return given + answer[CORRELATION_ID.size :]

    async def close(self) -> None:
        """Close the connection; requests that wait for their responses fail with `Closed`."""
        self._link.fail(Closed(self.address, "this program has closed the connection"))
        try:
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await asyncio.shield(self._link.lost)
        except TimeoutError:
            pass
        finally:
            self._link.abort()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # The way of a request.

    def _deadline(self, timeout: float | None) -> float:
        return self._loop.time() + (self._timeout if timeout is None else timeout)

    async def _ready(self, deadline: float) -> None:
        """Wait until a request can be sent.

        Raises:
            Failure: it cannot, or not in time.
        """
        if self._link.failure is not None:
            raise self._link.reason()
        if self._link.is_full:
            try:
                async with asyncio.timeout_at(None if deadline == inf else deadline):
                    await self._link.turn()
            except TimeoutError:
                reason = "too many requests wait for their responses, or the broker reads too slowly"
                raise TimedOut(self.address, f"the request could not be sent in time: {reason}") from None

    def _encoded(self, request: Message | AnsweredBy[Any], version: int, lost: list[Loss] | None) -> bytes:
        return self._registry.encode_request(request, self._link.next_id(), self._client_id, version=version, lost=lost)

    def _is_answered(self, frame: bytes) -> bool:
        api_key, version, _ = HEAD.unpack_from(frame)
        return is_answered(self._registry, frame, api_key, version)

    async def _answer(self, frame: bytes, deadline: float, request: Any) -> Response:
        """The response to a frame that is sent now.

        Raises:
            Failure: there is none.
        """
        began = self._loop.time()
        try:
            return await self._link.submit(frame, deadline)
        except TimeoutError:
            api_key, version, _ = HEAD.unpack_from(frame)
            what = f"API key {api_key}" if request is None else type(request).NAME
            seconds = deadline - began
            raise TimedOut(self.address, f"no response to {what} v{version} came in {seconds:.3g} s") from None


def _named(request: Any) -> str:
    return f"{type(request).NAME} v{type(request).VERSION}"


class Connecting:
    """A connection that `await` or `async with` opens; `async with` closes it at the end."""

    def __init__(
        self,
        address: Address,
        *,
        client_id: str | None,
        ssl: bool | tls.SSLContext | None,
        timeout: float,
        registry: Registry,
        versions: Mapping[int, range] | None,
        in_flight: int,
        largest_frame: int,
    ) -> None:
        """Keep what `connect` was given."""
        self._address, self._client_id, self._timeout = address, client_id, timeout
        self._context = tls.create_default_context() if ssl is True else ssl or None
        self._registry, self._versions = registry, versions
        self._in_flight, self._largest_frame = in_flight, largest_frame
        self._open: Connection | None = None

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._opened().__await__()

    async def __aenter__(self) -> Connection:
        self._open = await self._opened()
        return self._open

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._open is not None
        await self._open.close()

    async def _opened(self) -> Connection:
        try:
            async with asyncio.timeout(None if self._timeout == inf else self._timeout):
                link = await self._linked()
                try:
                    connection = Connection(link, self._address, self._registry, self._client_id, self._timeout)
                    await self._agree(connection)
                    return connection
                except BaseException:
                    link.fail(Closed(self._address, "the connection was not opened"))
                    link.abort()
                    raise
        except TimeoutError:
            raise TimedOut(self._address, f"no connection was opened in {self._timeout:.3g} s") from None

    async def _linked(self) -> Link:
        """A link whose transport is open.

        Raises:
            Failure: the address cannot be reached, or not with TLS.
        """
        host, port = self._address
        link = Link(self._registry, self._address, self._largest_frame, self._in_flight)
        extra: dict[str, Any] = {} if self._context is None else {"ssl_shutdown_timeout": _SECONDS_TO_CLOSE}
        try:
            await asyncio.get_running_loop().create_connection(lambda: link, host, port, ssl=self._context, **extra)
        except tls.SSLError as error:
            raise TlsFailure(self._address, f"TLS failed: {error}") from None
        except ConnectionRefusedError:
            raise Refused(self._address, "nothing listens there; is the broker running, at this port?") from None
        except TimeoutError:
            raise
        except OSError as error:
            if self._context is not None and isinstance(error, ConnectionError):
                reason = "the broker broke off the handshake of TLS; is it a listener without TLS?"
                raise TlsFailure(self._address, reason) from None
            raise Refused(self._address, f"cannot be reached: {error.strerror or error}") from None
        return link

    async def _agree(self, connection: Connection) -> None:
        """Ask which versions the broker has; in an older one, if it does not know the newest (KIP-511)."""
        if self._versions is not None:
            connection.versions = self._versions
            return
        own = self._registry.api_versions()
        newest = own.get(API_VERSIONS_KEY, range(0))
        if not newest or self._registry.request(API_VERSIONS_KEY, newest[-1]).NAME != "ApiVersionsRequest":
            connection.versions = own  # another protocol, in which nobody asks
            return
        connection.versions = {API_VERSIONS_KEY: newest}
        answer = await self._hello(connection, newest[-1])
        if (version := version_to_retry(self._registry, answer)) is not None:
            answer = await self._hello(connection, version)
        code = getattr(answer, "error_code", 0)
        if code:
            raise ProtocolFailure(self._address, f"the broker does not say its versions: error code {code}")
        connection.versions = served_versions(answer)

    async def _hello(self, connection: Connection, version: int) -> Message:
        software = {"client_software_name": _NAME, "client_software_version": kipwire.__version__}
        request: Any = build(self._registry.request(API_VERSIONS_KEY, version), software)
        answer: Message = await connection.request(request, version=version)
        return answer


def connect(
    address: str | Address,
    *,
    client_id: str | None = None,
    ssl: bool | tls.SSLContext | None = None,
    timeout: float = TIMEOUT,
    registry: Registry = kafka_messages.REGISTRY,
    versions: Mapping[int, range] | None = None,
    in_flight: int = IN_FLIGHT,
    largest_frame: int = LARGEST_FRAME,
) -> Connecting:
    """A connection to a broker, which `await` opens, or `async with`, which closes it at its end.

    Args:
        address: `host:9092`, `[::1]:9092`, or `host`, which stands for port 9092; or host and port.
        client_id: the client's name for itself.
        ssl: True for TLS as the standard library has it by default; or a context, which may have a certificate of the
            client. None for a connection without TLS.
        timeout: seconds in which the connection is open and the versions are agreed on, and in which each request is
            answered; `math.inf` for none.
        registry: that of the package of messages.
        versions: the versions of each API that the broker serves, if that is known; by default it is asked.
        in_flight: how many requests may wait for their responses; another one waits until it can be sent.
        largest_frame: bytes of a response at most.

    Raises:
        ValueError: the address is none.
    """
    where = parse_address(address) if isinstance(address, str) else address
    return Connecting(
        where,
        client_id=client_id,
        ssl=ssl,
        timeout=timeout,
        registry=registry,
        versions=versions,
        in_flight=in_flight,
        largest_frame=largest_frame,
    )

"""Opening of a connection: the transport, TLS, and the versions that both sides have.

The order is fixed: transport and TLS, then ApiVersions, then SASL, as Kafka's clients have it. One timeout is around
all steps, and whatever goes wrong closes the link. A broker that refuses a client mostly just closes the socket: before
a step that is often refused the link is given a suspicion, which becomes the hint of the failure if no response comes.
Versions are not asked for in a protocol without ApiVersions, or if the caller gives them.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from math import inf
from typing import Any

import kafka_messages
import kipwire
from kipwire.aio.authentication import Session
from kipwire.aio.client import SECONDS_TO_CLOSE, Connection
from kipwire.aio.failures import (
    Address,
    Closed,
    Failure,
    ProtocolFailure,
    Refused,
    TimedOut,
    TlsFailure,
    address_fault,
    expect_some,
    parse_address,
    shown_address,
    tls_reason,
)
from kipwire.aio.link import Link, log
from kipwire.connection import LARGEST_FRAME, served_versions, version_to_retry
from kipwire.connection.negotiation import table_fault, versions_key
from kipwire.message.conversion import build
from kipwire.model.enums import enum_of
from kipwire.model.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from types import TracebackType

    from kipwire.connection import Mechanism
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry

TIMEOUT = 30.0
"""Seconds, for opening a connection and for each request."""
IN_FLIGHT = 1000
"""Requests."""
_SOFTWARE = {"client_software_name": "kipwire", "client_software_version": kipwire.__version__}
"""Fields of ApiVersions that describe the client."""
_NO_TLS = "is it a TLS listener?"
_TLS = "does it require a client certificate?"
_NO_SASL = "a SASL listener closes the connection of a client that does not authenticate"


class Connecting:
    """A connection that `await` opens, or `async with`, which closes it at its end."""

    def __init__(
        self,
        address: Address,
        *,
        client_id: str | None,
        ssl: bool | tls.SSLContext | None,
        sasl: Mechanism | None,
        timeout: float,
        registry: Registry,
        versions: Mapping[int, range] | None,
        in_flight: int,
        largest_frame: int,
    ) -> None:
        """Keep what `connect` was given."""
        self._address, self._client_id, self._timeout = address, client_id, timeout
        self._context = tls.create_default_context() if ssl is True else ssl or None
        self._sasl, self._registry, self._versions = sasl, registry, versions
        self._in_flight, self._largest_frame = in_flight, largest_frame
        self._open: Connection | None = None

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._connect().__await__()

    async def __aenter__(self) -> Connection:
        self._open = await self._connect()
        return self._open

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._open is not None
        await self._open.close()

    async def _connect(self) -> Connection:
        shown = shown_address(self._address)
        log.debug("%s: connecting", shown)
        try:
            return await self._connect_in_time()
        except Failure as failure:
            log.debug("%s: not connected: %s", shown, failure.reason)
            raise

    async def _connect_in_time(self) -> Connection:
        try:
            async with asyncio.timeout(None if self._timeout == inf else self._timeout):
                link = await self._open_link()
                try:
                    connection = Connection(link, self._address, self._registry, self._client_id, self._timeout)
                    await self._agree(connection, link)
                    await self._authenticate(connection, link)
                    return connection
                except BaseException:
                    link.fail(Closed(self._address, "the connection was not opened"))
                    raise
        except TimeoutError:
            raise TimedOut(self._address, f"timed out opening a connection after {self._timeout:.3g} s") from None

    async def _open_link(self) -> Link:
        """Make a link and open its transport.

        Raises:
            Failure: the address cannot be reached, or not with TLS.
        """
        host, port = self._address
        if (fault := address_fault(self._address)) is not None:
            raise Refused(self._address, fault)
        link = Link(self._registry, self._address, self._largest_frame, self._in_flight)
        extra: dict[str, Any] = {} if self._context is None else {"ssl_shutdown_timeout": SECONDS_TO_CLOSE}
        try:
            await asyncio.get_running_loop().create_connection(lambda: link, host, port, ssl=self._context, **extra)
        except tls.SSLError as error:
            raise TlsFailure(self._address, tls_reason(error)) from None
        except ConnectionRefusedError:
            why = f"connection refused; is the {link.peer} running on this port?"
            raise Refused(self._address, why) from None
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:
                raise  # raised by `_connect`
            if self._context is not None and isinstance(error, ConnectionError):
                why = f"the {link.peer} closed the connection during the TLS handshake; is it a listener without TLS?"
                raise TlsFailure(self._address, why) from None
            raise Refused(self._address, f"cannot connect: {error.strerror or error}") from None
        except (OverflowError, ValueError):  # from the encoding of a name, or from what systems check besides
            raise Refused(self._address, "invalid host name") from None
        return link

    async def _agree(self, connection: Connection, link: Link) -> None:
        """Ask for the broker's versions; again in an older one if it does not support the newest (KIP-511)."""
        if self._versions is not None:
            return connection.agree(self._versions)
        key, own = versions_key(self._registry), self._registry.api_versions()
        if key is None or key not in own:
            package = self._registry.package
            link.doubt = f"it may lack that version: {package} has no ApiVersions"
            return connection.agree(own)  # another protocol, in which versions are not asked for
        link.suspicion = _NO_TLS if self._context is None else _TLS
        try:
            answer = await self._hello(connection, key, own[key][-1])
            if (version := version_to_retry(self._registry, answer)) is not None:
                answer = await self._hello(connection, key, version)
        except DecodeError as error:
            raise ProtocolFailure(self._address, f"the ApiVersions response cannot be decoded: {error}") from None
        if code := getattr(answer, "error_code", 0):
            enum = enum_of(type(answer), "error_code")
            said = f"error {code}" if enum is None else enum.text(code)
            raise ProtocolFailure(self._address, f"the {link.peer} rejected ApiVersions: {said}")
        if fault := table_fault(self._registry, answer):
            raise ProtocolFailure(self._address, f"the ApiVersions response makes no sense: {fault}")
        connection.agree(served_versions(answer))

    async def _authenticate(self, connection: Connection, link: Link) -> None:
        if self._sasl is None:
            if "SaslHandshakeRequest" in self._registry.names():
                link.suspicion = _NO_SASL
            return
        where = (link, self._address, self._registry, self._client_id)
        await Session(*where, self._sasl, connection.versions, self._timeout).begin()

    async def _hello(self, connection: Connection, key: int, version: int) -> Message:
        cls = self._registry.request(key, version)
        known = {field.name for field in cls.ATTRIBUTES}
        request: Any = build(cls, {name: text for name, text in _SOFTWARE.items() if name in known})
        answer: Message = await connection.request(request, version=version, timeout=inf)  # which `_connect` has
        return answer


def connect(
    address: str | Address,
    *,
    client_id: str | None = None,
    ssl: bool | tls.SSLContext | None = None,
    sasl: Mechanism | None = None,
    timeout: float = TIMEOUT,
    registry: Registry = kafka_messages.REGISTRY,
    versions: Mapping[int, range] | None = None,
    in_flight: int = IN_FLIGHT,
    largest_frame: int = LARGEST_FRAME,
) -> Connecting:
    """Prepare a connection to a broker, which `await` opens, or `async with`, which closes it at its end.

    Args:
        address: `host:9092`, `[::1]:9092`, or `host`, which stands for port 9092; or host and port.
        client_id: the client's name for itself.
        ssl: True for TLS as the standard library has it by default; or a context, which may have a certificate of the
            client. None for a connection without TLS.
        sasl: the client's identity: `Plain`, `Scram` or `OAuthBearer` of `kipwire.connection`. It is proved again
            before the broker ends the session (KIP-368). A callback for tokens is called in a thread of its own.
        timeout: seconds in which the connection is open and the versions are agreed on, and in which each request is
            answered; `math.inf` for any time.
        registry: the registry of the package of messages.
        versions: the versions of each API that the broker serves, if they are known; by default the broker is asked.
        in_flight: how many requests may wait for their responses; a further request waits until it can be sent.
        largest_frame: bytes of a response at most.

    Raises:
        ValueError: the address is not valid, or `in_flight` is below 1. Opening the connection raises a `Failure` where
            it fails.
        TypeError: the address is neither a text nor host and port.
    """
    expect_some(in_flight)
    if not isinstance(address, (str, tuple)):
        raise TypeError(f"an address is a text such as 'localhost:9092', or host and port, not {address!r}")
    where = parse_address(address) if isinstance(address, str) else address
    return Connecting(
        where,
        client_id=client_id,
        ssl=ssl,
        sasl=sasl,
        timeout=timeout,
        registry=registry,
        versions=versions,
        in_flight=in_flight,
        largest_frame=largest_frame,
    )

"""Authentication of a connection, now and again before its time is over (KIP-368)."""

from __future__ import annotations

import asyncio
from math import inf
from random import uniform

from kipwire.aio.failures import Address, AuthenticationFailure, Failure, TimedOut, shown_address
from kipwire.aio.link import Link, log
from kipwire.connection import AuthenticationError, authenticate, best_version
from kipwire.model.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from kipwire.connection import Mechanism
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry

_AGAIN_AFTER = (0.85, 0.95)
"""Range for the part of a session's lifetime after which the client authenticates again: random, as in Java, so that
many clients do not come at once.
"""
_SUSPICION = "some brokers close the connection if they reject the credentials"


class Session:
    """The authentication of a connection, and its renewal."""

    def __init__(
        self,
        link: Link,
        address: Address,
        registry: Registry,
        client_id: str | None,
        mechanism: Mechanism,
        versions: Mapping[int, range],
        timeout: float,
    ) -> None:
        """Wait for `begin`.

        Args:
            link: an open one.
            address: of the broker, for errors.
            registry: the registry of the package of messages.
            client_id: the client's name for itself.
            mechanism: the client's identity, and the way to prove it.
            versions: the versions that the broker serves.
            timeout: seconds for each response, when the client authenticates again.
        """
        self._link = link
        self._address = address
        self._registry = registry
        self._client_id = client_id
        self._mechanism = mechanism
        self._versions = versions
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Authenticate, and keep the session from ending while the link is open.

        Raises:
            Failure: the broker does not accept the client, or the connection fails.
        """
        self._link.suspicion = _SUSPICION
        self._link.when_closed(self._end)
        self._plan(await self._authenticate(inf))  # whoever opens the connection has a timeout of its own

    def _plan(self, lifetime_ms: int) -> None:
        if lifetime_ms and self._link.failure is None:
            self._timer = self._loop.call_later(lifetime_ms / 1000 * uniform(*_AGAIN_AFTER), self._renew)

    def _renew(self) -> None:
        self._renewing = self._loop.create_task(self._authenticate_again())

    async def _authenticate_again(self) -> None:
        """Authenticate again. Requests in flight are answered before; new requests wait until it is done."""
        try:
            self._plan(await self._authenticate(self._timeout))
        except Failure as failure:
            self._link.fail(failure)
        except Exception as error:  # of the callback for a token; the error's text may have a secret
            why = f"no token to authenticate again: the callback failed with {type(error).__name__}"
            self._link.fail(AuthenticationFailure(self._address, why))

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._renewing is not None:
            self._renewing.cancel()

    async def _authenticate(self, timeout: float) -> int:
        """Authenticate; return how many ms the session lasts, 0 for any time. A response may take `timeout` seconds."""
        steps = authenticate(self._mechanism, self._versions)
        try:
            request = await asyncio.to_thread(_step, steps, None)  # before others wait: the step may call for a token
            with self._link.hold_turns():  # since nothing else may be sent between the steps
                await self._link.idle()
                while isinstance(request, _Request):
                    answer = await self._response(request.body, timeout)
                    request = await asyncio.to_thread(_step, steps, answer)
        except AuthenticationError as error:
            raise AuthenticationFailure(self._address, str(error)) from None
        except DecodeError as error:
            raise AuthenticationFailure(self._address, f"the broker's response cannot be decoded: {error}") from None
        lasts = f" for {request / 1000:,.0f} s" if request else ""
        log.debug("%s: authenticated by %s%s", shown_address(self._address), self._mechanism.name, lasts)
        return request

    async def _response(self, request: Message, timeout: float) -> Message:
        version = best_version(request, self._versions)
        frame = self._registry.encode_request(request, self._link.next_id(), self._client_id, version=version)
        answer = self._link.submit(frame, self._loop.time() + timeout)
        assert answer is not None
        try:
            response = await answer
        except TimeoutError:
            raise TimedOut(self._address, f"timed out waiting for the response to {request.NAME} v{version}") from None
        return response.body


class _Request:
    """A request that is to be sent next."""

    def __init__(self, body: Message) -> None:
        self.body = body


def _step(steps: Generator[Message, Message, int], answer: Message | None) -> _Request | int:
    """Make the next request, or return what the steps return.

    The step runs in a thread, since it may call for a token, or hash a password thousands of times; a `StopIteration`
    could not leave the thread.
    """
    try:
        return _Request(next(steps) if answer is None else steps.send(answer))
    except StopIteration as end:
        lifetime_ms: int = end.value
        return lifetime_ms

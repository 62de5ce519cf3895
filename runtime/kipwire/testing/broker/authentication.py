"""SASL as a broker has it, for one connection: which requests are answered before its client has proved who it is."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.aio import ClosedByHandler
from kipwire.connection import Request
from kipwire.connection.scram import HASHES, Refused, ServerExchange, server_exchange


def _plain(users: Mapping[str, str]) -> ServerExchange:
    identity, username, password = ((yield b"").decode("utf-8", "replace").split("\0") + [""] * 2)[:3]
    is_right = hmac.compare_digest(users.get(username, "").encode(), password.encode())
    if username not in users or not is_right or identity not in ("", username):
        raise Refused("Authentication failed: Invalid username or password")
    return b""


MECHANISMS: dict[str, Callable[[Mapping[str, str]], ServerExchange]] = {
    "PLAIN": _plain,
    **{name: partial(server_exchange, hash_name=hash_name) for name, hash_name in HASHES.items()},
}
"""Each mechanism of the fake broker, by name; given the passwords of its users."""


class Authentication:
    """The state of SASL on one connection."""

    def __init__(self, users: Mapping[str, str]) -> None:
        """Expect a client; passwords are by user."""
        self._users = users
        self._exchange: ServerExchange | None = None
        self._is_failed = self._is_done = False

    def answer(self, request: Request) -> Message | None:
        """Answer a request that comes before the client has authenticated; return None to leave it to others.

        Raises:
            ClosedByHandler: the request must not come now, or the client has failed before.
        """
        if self._is_failed:
            raise ClosedByHandler
        if self._is_done or (request.api_key == ApiKey.API_VERSIONS and self._exchange is None):
            return None
        expected = ApiKey.SASL_HANDSHAKE if self._exchange is None else ApiKey.SASL_AUTHENTICATE
        if request.api_key != expected or not request.is_known:
            asked = f"{ApiKey.text(request.api_key)} in version {request.api_version}"
            raise ClosedByHandler(f"the client sent {asked} before {expected.name} (ILLEGAL_SASL_STATE)")
        body: Any = request.body
        return self._handshake(body.mechanism) if self._exchange is None else self._authenticate(body.auth_bytes)

    def _handshake(self, mechanism: str) -> Message:
        offered = list(MECHANISMS)
        if mechanism not in MECHANISMS:
            self._is_failed = True
            return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
        self._exchange = MECHANISMS[mechanism](self._users)
        next(self._exchange)
        return SaslHandshakeResponse(mechanisms=offered)

    def _authenticate(self, token: bytes) -> Message:
        assert self._exchange is not None
        try:
            return SaslAuthenticateResponse(auth_bytes=self._exchange.send(bytes(token)))
        except StopIteration as end:
            self._is_done = True
            return SaslAuthenticateResponse(auth_bytes=end.value)
        except Refused as error:
            self._is_failed = True
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message=error.reason)

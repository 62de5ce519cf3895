"""SASL without I/O: the client's identity, and the requests that prove it to a broker (KIP-152, KIP-368).

    steps = authenticate(Scram("me", password, "SCRAM-SHA-512"), versions)
    request = next(steps)
    while True:
        try:
            request = steps.send(response_to(request))
        except StopIteration as end:
            session_lifetime_ms = end.value
            break

An error never has a secret in it, nor has a `repr`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Literal

from kafka_messages.enums import ErrorCode
from kafka_messages.sasl_authenticate_request.v2 import SaslAuthenticateRequest
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_request.v1 import SaslHandshakeRequest
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire.connection import scram
from kipwire.connection.scram import Exchange, Refused
from kipwire.message.conversion import convert
from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError, abbreviate, shorten
from kipwire.tools.text import printable_line

_NAME = re.compile(r"[A-Z0-9_-]{1,20}")
"""A mechanism (RFC 4422)."""
_MOST_OFFERED = 20
_TOKEN = re.compile(r"[!-~]+")
_EXTENSION = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\t\n\r -~]+")


class AuthenticationError(KipwireError):
    """The broker refuses the client, or has not proved what it must prove. The text has no secret."""

    def __init__(self, mechanism: str, reason: str, error_code: int = 0, offered: tuple[str, ...] = ()) -> None:
        super().__init__(mechanism, reason, error_code, offered)
        self.mechanism = mechanism
        """Name of the mechanism, such as PLAIN."""
        self.reason = reason
        self.error_code = error_code
        """The error code of the broker; 0 if it has given none."""
        self.offered = offered
        """The mechanisms of the broker, if it does not have the one that the client asked for."""

    def __str__(self) -> str:
        return f"cannot authenticate with {self.mechanism}: {self.reason}"


@dataclass(frozen=True)
class Plain:
    """A user whose password goes to the broker as it is, so that it belongs into TLS (RFC 4616)."""

    username: str
    password: str = field(repr=False)
    name: ClassVar[str] = "PLAIN"

    def __post_init__(self) -> None:
        """Refuse what the message of PLAIN cannot carry."""
        _check_text("the user name", self.username, without="\0")
        _check_text("the password", self.password, without="\0")


@dataclass(frozen=True)
class Scram:
    """A user whose password stays here: both sides prove that they have it (RFC 5802)."""

    username: str
    password: str = field(repr=False)
    mechanism: Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
    is_delegation_token: bool = False
    """True if the user is the id of a delegation token (KIP-48), and the password its HMAC in Base64."""

    def __post_init__(self) -> None:
        """Refuse what the messages of SCRAM cannot carry."""
        _check_text("the user name", self.username, without="\0")
        _check_text("the password", self.password)
        if self.mechanism not in scram.HASHES:
            raise ValueError(f"{abbreviate(self.mechanism)} is not a SCRAM mechanism; use {' or '.join(scram.HASHES)}")

    @property
    def name(self) -> str:
        """Name of the mechanism in a handshake."""
        return self.mechanism


@dataclass(frozen=True)
class OAuthBearer:
    """The identity in a token (RFC 7628). The token is sent as it is, so use TLS."""

    token: Callable[[], str] = field(repr=False)
    """Called for each authentication, returns a token that is valid at that time; its exceptions are not caught."""
    extensions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Extensions for the broker, by names of letters (KIP-342)."""
    name: ClassVar[str] = "OAUTHBEARER"

    def __post_init__(self) -> None:
        """Refuse extensions that the message cannot carry."""
        for key, value in self.extensions.items():
            if not _EXTENSION.fullmatch(key) or key == "auth":
                raise ValueError(f"{abbreviate(key)} is not a valid extension name; use letters only, and not 'auth'")
            if not _EXTENSION_VALUE.fullmatch(value):
                raise ValueError(f"the value of the extension {key} must not be empty, and must be ASCII")


Mechanism = Plain | Scram | OAuthBearer


def authenticate(mechanism: Mechanism, versions: Mapping[int, range]) -> Generator[Message, Message, int]:
    """Yield the requests that authenticate a connection, in turn; `send` the response to each.

    Send each in `best_version`, and nothing else until the end; the response may be of any version. Authentication
    can run again on the same connection, with the same user, before the returned time is over (KIP-368).

    Args:
        mechanism: the client's identity, and the way to prove it.
        versions: the versions that the broker serves, from `served_versions`.

    Returns:
        The milliseconds after which the broker wants this again, or closes the connection; 0 if it never does.

    Raises:
        AuthenticationError: the broker does not have the mechanism, refuses the client, answers something that is not
            of the mechanism, or has not proved what it must.
    """
    secrets: list[str] = []
    try:
        _check_versions(versions)
        return (yield from _steps(mechanism, _exchange(mechanism, secrets)))
    except Refused as one:
        refused = one
    # Outside of `except`, so that no other error with what the broker said is in the context of this one.
    said = printable_line(shorten(refused.said))
    if any(secret in refused.said or secret in said for secret in secrets):
        said = "(message omitted: it contains a secret)"
    reason = f"{refused.reason}: {said}" if said else refused.reason
    offered = tuple(name for name in refused.offered if name not in secrets)
    raise AuthenticationError(mechanism.name, reason, refused.error_code, offered)


def _check_versions(versions: Mapping[int, range]) -> None:
    """Refuse a broker without SASL, or without SaslAuthenticate."""
    handshakes = versions.get(SaslHandshakeRequest.API_KEY)
    if not handshakes:
        raise Refused("the broker does not support SASL: it has no SaslHandshake")
    if SaslHandshakeRequest.VERSION not in handshakes or not versions.get(SaslAuthenticateRequest.API_KEY):
        raise Refused(
            "the broker is older than Kafka 1.0: it supports only SaslHandshake v0, with tokens without headers"
        )


def _exchange(mechanism: Mechanism, secrets: list[str]) -> Exchange:
    """Make the exchange of a mechanism, not yet begun; add what must not be in an error to `secrets`."""
    if not isinstance(mechanism, Mechanism):  # its value is not shown: it may have a password
        raise TypeError(f"give Plain, Scram or OAuthBearer of kipwire.connection, not a {type(mechanism).__name__}")
    if isinstance(mechanism, OAuthBearer):
        token = mechanism.token()
        if not isinstance(token, str):
            raise Refused(f"the token callback must return str, not {type(token).__name__}")
        secrets += [one for one in (token, *mechanism.extensions.values()) if one]
        return _bearer(token, mechanism.extensions)
    if mechanism.password:
        secrets.append(mechanism.password)
    if isinstance(mechanism, Plain):
        return _plain(mechanism)
    extensions = ",tokenauth=true" if mechanism.is_delegation_token else ""
    hash_name = scram.HASHES[mechanism.mechanism]
    return scram.exchange(mechanism.username, mechanism.password, hash_name, scram.new_nonce(), extensions)


def _steps(mechanism: Mechanism, exchange: Exchange) -> Generator[Message, Message, int]:
    """Yield the requests of an authentication, as `authenticate` does, but with `Refused` for what goes wrong."""
    token = next(exchange)
    answer = yield SaslHandshakeRequest(mechanism=mechanism.name)
    _check_handshake(convert(answer, SaslHandshakeResponse))
    while True:
        answer = yield SaslAuthenticateRequest(auth_bytes=token)
        response = convert(answer, SaslAuthenticateResponse)
        try:
            if response.error_code:
                exchange.throw(_make_refusal(response.error_code, response.error_message))
            token = exchange.send(response.auth_bytes)
        except StopIteration:
            break
    if response.session_lifetime_ms < 0:
        raise Refused(
            f"the session lifetime from the broker is {response.session_lifetime_ms:,} ms; it must not be negative"
        )
    return response.session_lifetime_ms


def _check_handshake(response: SaslHandshakeResponse) -> None:
    """Refuse what goes wrong before the first token."""
    code = response.error_code
    if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = tuple(name for name in response.mechanisms[:_MOST_OFFERED] if _NAME.fullmatch(name))
        raise Refused(
            "the broker does not support this mechanism; it supports", ", ".join(offered) or "none", code, offered
        )
    if code == ErrorCode.ILLEGAL_SASL_STATE:
        reason = "this listener does not use SASL, or does not allow authenticating again (ILLEGAL_SASL_STATE)"
        raise Refused(reason, error_code=code)
    if code:
        raise _make_refusal(code)


def _make_refusal(error_code: int, message: str | None = None) -> Refused:
    """Make a refusal of an error of the broker."""
    try:
        name = ErrorCode(error_code).name
    except ValueError:
        name = f"error {error_code}"
    return Refused(f"the broker returned {name}", message or "", error_code)


def _plain(mechanism: Plain) -> Exchange:
    """Yield the only message of PLAIN. A broker has nothing to answer; clients ignore other content of its answer."""
    yield f"\0{mechanism.username}\0{mechanism.password}".encode()


def _bearer(token: str, extensions: Mapping[str, str]) -> Exchange:
    """Yield the message with the token, and after the reason of a refusal the message that asks for its error."""
    if not _TOKEN.fullmatch(token):
        raise Refused("the token is empty, or contains an invalid character, such as a line break")
    pairs = [f"auth=Bearer {token}", *(f"{key}={value}" for key, value in extensions.items())]
    answer = yield "\x01".join(["n,,", *pairs, "\x01"]).encode()
    if answer:
        refused = Refused("the broker rejected the token", _status(answer))
        try:
            yield b"\x01"
        except Refused as end:
            refused.error_code = end.error_code
        raise refused


def _status(answer: bytes) -> str:
    """Read the reason in JSON of RFC 7628: a status such as invalid_token, and what the token should be good for."""
    text = answer.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    values = found if isinstance(found, dict) else {}
    shown_ones = [(key, values[key]) for key in ("status", "scope", "openid-configuration") if key in values]
    return ", ".join(f"{key} {value}" for key, value in shown_ones if isinstance(value, str)) or text


def _check_text(what: str, text: str, without: str = "") -> None:
    """Refuse a text that cannot be sent; an error of `encode` would show all of it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be str, not {type(text).__name__}")
    if any("\ud800" <= one <= "\udfff" for one in text):
        raise ValueError(f"{what} contains a lone surrogate, which cannot be encoded as UTF-8")
    if without and without in text:
        raise ValueError(f"{what} contains a NUL character, which the mechanism does not allow")

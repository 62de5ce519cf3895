"""A broker's side of SASL without I/O, written from the RFCs and not from the client's code."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Generator, Mapping
from functools import cache
from typing import Any

import pytest

import kafka_messages
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.connection import AuthenticationError, OAuthBearer, Plain, Scram, authenticate
from kipwire.connection.sasl import Mechanism

VERSIONS = {17: range(2), 18: range(6), 36: range(3)}
"""A broker of today, as far as SASL goes."""
HASHES: dict[str, Any] = {
    "SCRAM-SHA-1": hashlib.sha1,
    "SCRAM-SHA-256": hashlib.sha256,
    "SCRAM-SHA-512": hashlib.sha512,
}

Server = Generator[bytes, bytes, None]
"""A server of one mechanism: it is sent the client's messages, and gives its own."""
Damage = Callable[[bytes], bytes]


class Refusal(Exception):
    """Refusal that the server answers with error code 58."""


def scram(mechanism: str, passwords: Mapping[str, str], nonce: str = "server", salt: bytes = b"salt") -> Server:
    """Act as a server of SCRAM."""
    new, iterations = HASHES[mechanism], 4096
    first = (yield b"").decode()
    assert first.startswith("n,,")
    parts = dict(part.split("=", 1) for part in first.removeprefix("n,,").split(","))
    name = parts["n"].replace("=2C", ",").replace("=3D", "=")
    server_first = f"r={parts['r']}{nonce},s={base64.b64encode(salt).decode()},i={iterations}"
    final = (yield server_first.encode()).decode()
    without_proof, _, proof = final.rpartition(",p=")
    if without_proof != f"c=biws,r={parts['r']}{nonce}":
        raise Refusal("wrong nonce")
    if name not in passwords:
        raise Refusal("unknown user")
    salted = _hi(new, passwords[name].encode(), salt, iterations)
    client_key = _hmac(new, salted, b"Client Key")
    signed = ",".join((first.removeprefix("n,,"), server_first, without_proof)).encode()
    signature = _hmac(new, new(client_key).digest(), signed)
    if base64.b64decode(proof) != _xor(client_key, signature):
        raise Refusal("wrong password")
    yield b"v=" + base64.b64encode(_hmac(new, _hmac(new, salted, b"Server Key"), signed))


def plain(passwords: Mapping[str, str]) -> Server:
    """Act as a server of PLAIN."""
    _, name, password = (yield b"").decode().split("\0")
    if passwords.get(name) != password:
        raise Refusal("Invalid username or password")
    yield b""


def bearer(tokens: Mapping[str, Mapping[str, str]]) -> Server:
    """Act as a server of OAUTHBEARER, whose tokens must each come with these extensions."""
    head, *pairs, end, last = (yield b"").decode().split("\1")
    assert (head, end, last) == ("n,,", "", "")
    (_, given), *extensions = (pair.split("=", 1) for pair in pairs)
    token = given.removeprefix("Bearer ")
    if tokens.get(token) != dict(extensions):
        status = json.dumps({"status": "invalid_token", "scope": "brokers"})
        assert (yield status.encode()) == b"\1"
        raise Refusal(status)
    yield b""


@cache
def _hi(new: Any, password: bytes, salt: bytes, iterations: int) -> bytes:
    """`Hi` of RFC 5802, which is as slow as it reads."""
    last = total = _hmac(new, password, salt + b"\0\0\0\1")
    for _ in range(iterations - 1):
        last = _hmac(new, password, last)
        total = _xor(total, last)
    return total


def decoded(text: bytes) -> bytes:
    """Return the bytes of Base64, as lenient readers take it."""
    return base64.b64decode(text)


def _hmac(new: Any, key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, new).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))


def run(
    mechanism: Mechanism,
    server: Server,
    *,
    offered: tuple[str, ...] = (),
    lifetime: int = 0,
    version: int = 2,
    versions: Mapping[int, range] = VERSIONS,
    damage: Damage = lambda message: message,
) -> int:
    """Authenticate by a server of one mechanism, whose messages may be damaged; return the result of `authenticate`."""
    offered = offered or (mechanism.name,)
    steps = authenticate(mechanism, versions)
    next(server)
    request: Any = next(steps)
    answer: Message
    while True:
        if request.NAME == "SaslHandshakeRequest":
            code = 0 if request.mechanism in offered else 33
            answer = SaslHandshakeResponse(error_code=code, mechanisms=list(offered))
        else:
            answer = _authenticated(server, request.auth_bytes, lifetime, version, damage)
        try:
            request = steps.send(answer)
        except StopIteration as end:
            value: int = end.value
            return value


def _authenticated(server: Server, token: bytes, lifetime: int, version: int, damage: Damage) -> Message:
    cls: Any = kafka_messages.message("SaslAuthenticateResponse", version)
    try:
        answer = cls(auth_bytes=damage(server.send(token)), error_message=None)
    except Refusal as refusal:
        return cls(error_code=58, error_message=str(refusal))  # type: ignore[no-any-return]
    except StopIteration:  # the server has sent its last message
        return cls(error_code=34, error_message=None)  # type: ignore[no-any-return]
    if version:
        answer.session_lifetime_ms = lifetime
    return answer  # type: ignore[no-any-return]


ME = Scram("me", "pencil", "SCRAM-SHA-256")


def server_of(mechanism: Mechanism) -> Server:
    """Return a server to which the mechanism's user is known."""
    if isinstance(mechanism, OAuthBearer):
        return bearer({mechanism.token(): mechanism.extensions})
    if isinstance(mechanism, Plain):
        return plain({mechanism.username: mechanism.password})
    return scram(mechanism.name, {mechanism.username: mechanism.password})


MECHANISMS: dict[str, Mechanism] = {
    "PLAIN": Plain("me", "pencil"),
    "SCRAM-SHA-256": ME,
    "SCRAM-SHA-512": Scram("me", "pencil", "SCRAM-SHA-512"),
    "OAUTHBEARER": OAuthBearer(lambda: "a.b-c"),
    "OAUTHBEARER with extensions": OAuthBearer(lambda: "a.b-c", {"tenant": "a b", "pool": "7"}),
}


def answered(mechanism: Mechanism, *answers: Any) -> list[Any]:
    """Return the requests to a broker with these answers, and the request after the last answer."""
    steps = authenticate(mechanism, VERSIONS)
    return [next(steps), *(steps.send(answer) for answer in answers)]


def refusal(mechanism: Mechanism, *answers: Any) -> AuthenticationError:
    """Return the error of answers that do not authenticate."""
    with pytest.raises(AuthenticationError) as caught:
        answered(mechanism, *answers)
    return caught.value

"""Authentication without I/O, against a server of the tests' own."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.sasl_authenticate_request.v2 import SaslAuthenticateRequest
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_request.v1 import SaslHandshakeRequest
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import KipwireError, UnsupportedVersionError
from kipwire.connection import AuthenticationError, OAuthBearer, Plain, Scram, authenticate
from kipwire.connection.sasl import Mechanism
from tests.support.subjects import sasl_server
from tests.support.subjects.sasl_server import ME, MECHANISMS, VERSIONS, Server, answered, refusal, run, server_of

# Messages, and users that are let in.


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_known_user_is_let_in_by_every_mechanism_and_version(name: str, version: int) -> None:
    mechanism = MECHANISMS[name]
    versions = {**VERSIONS, 36: range(version + 1)}
    lifetime = run(mechanism, server_of(mechanism), lifetime=900_000, version=version, versions=versions)
    assert lifetime == (900_000 if version else 0)
    assert run(mechanism, server_of(mechanism)) == 0  # again: a mechanism keeps nothing


def test_each_mechanism_says_what_its_rfc_says() -> None:
    def first(mechanism: Mechanism) -> bytes:
        handshake, request = answered(mechanism, SaslHandshakeResponse())
        assert handshake == SaslHandshakeRequest(mechanism=mechanism.name)
        assert type(request) is SaslAuthenticateRequest
        return request.auth_bytes

    assert first(Plain("tim", "tanstaaftanstaaf")) == b"\0tim\0tanstaaftanstaaf"  # RFC 4616
    assert first(MECHANISMS["OAUTHBEARER"]) == b"n,,\1auth=Bearer a.b-c\1\1"  # RFC 7628
    with_extensions = b"n,,\1auth=Bearer a.b-c\1tenant=a b\1pool=7\1\1"  # KIP-342
    assert first(MECHANISMS["OAUTHBEARER with extensions"]) == with_extensions
    assert first(Scram("a=b,c", "", "SCRAM-SHA-256")).startswith(b"n,,n=a=3Db=2Cc,r=")  # RFC 5802
    token = Scram("id", "hmac", "SCRAM-SHA-512", is_delegation_token=True)
    assert first(token).endswith(b",tokenauth=true")  # KIP-48


def test_a_token_is_asked_for_each_time() -> None:
    tokens = iter(["first", "second"])
    mechanism = OAuthBearer(lambda: next(tokens))
    for token in ("first", "second"):
        assert run(mechanism, sasl_server.bearer({token: {}})) == 0


def test_errors_of_a_callback_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        answered(OAuthBearer(lambda: str(1 // 0)))


# Users that are not let in.


WRONG: dict[str, tuple[Mechanism, Server, str]] = {
    "PLAIN": (
        Plain("me", "pen"),
        sasl_server.plain({"me": "pencil"}),
        "PLAIN: the broker returned SASL_AUTHENTICATION_FAILED: Invalid username or password",
    ),
    "SCRAM": (
        Scram("me", "pen", "SCRAM-SHA-512"),
        sasl_server.scram("SCRAM-SHA-512", {"me": "pencil"}),
        "SCRAM-SHA-512: the broker returned SASL_AUTHENTICATION_FAILED: wrong password",
    ),
    "OAUTHBEARER": (
        OAuthBearer(lambda: "x"),
        sasl_server.bearer({"y": {}}),
        "OAUTHBEARER: the broker rejected the token: status invalid_token, scope brokers",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_passwords_and_tokens_are_one_line_with_the_reason(name: str) -> None:
    mechanism, server, said = WRONG[name]
    with pytest.raises(AuthenticationError) as caught:
        run(mechanism, server)
    assert str(caught.value) == f"cannot authenticate with {said}"
    assert (caught.value.mechanism, caught.value.error_code) == (mechanism.name, 58)
    assert isinstance(caught.value, KipwireError)


def test_a_mechanism_that_the_broker_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(AuthenticationError) as caught:
        run(ME, server_of(ME), offered=("PLAIN", "GSSAPI"))
    assert str(caught.value).endswith(
        "SCRAM-SHA-256: the broker does not support this mechanism; it supports: PLAIN, GSSAPI"
    )
    assert (caught.value.offered, caught.value.error_code) == (("PLAIN", "GSSAPI"), 33)
    none = refusal(ME, SaslHandshakeResponse(error_code=33, mechanisms=["", "a b", "X" * 21]))
    assert str(none).endswith("it supports: none")


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        ({}, "the broker does not support SASL: it has no SaslHandshake"),
        ({17: range(0), 36: range(3)}, "the broker does not support SASL: it has no SaslHandshake"),
        ({17: range(1), 18: range(1)}, "the broker is older than Kafka 1.0: it supports only SaslHandshake v0"),
        ({17: range(1), 36: range(3)}, "the broker is older than Kafka 1.0"),
        ({17: range(2), 36: range(0)}, "the broker is older than Kafka 1.0"),
    ],
)
def test_brokers_without_sasl_or_with_that_before_kip_152_alone_are_refused(
    versions: dict[int, range], why: str
) -> None:
    called: list[str] = []
    mechanism = OAuthBearer(lambda: called.append("") or "token")  # type: ignore[func-returns-value]
    with pytest.raises(AuthenticationError, match=why):
        next(authenticate(mechanism, versions))
    assert not called


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            SaslHandshakeResponse(error_code=34),
            "this listener does not use SASL, or does not allow authenticating again",
        ),
        (SaslHandshakeResponse(error_code=-1), "the broker returned UNKNOWN_SERVER_ERROR"),
        (SaslHandshakeResponse(error_code=999), "the broker returned error 999"),
    ],
)
def test_other_errors_of_a_handshake_have_their_names(answer: SaslHandshakeResponse, why: str) -> None:
    error = refusal(ME, answer)
    assert error.error_code == answer.error_code
    assert why in str(error)


def test_a_session_cannot_last_less_than_no_time() -> None:
    error = refusal(Plain("me", ""), SaslHandshakeResponse(), SaslAuthenticateResponse(session_lifetime_ms=-1))
    assert error.reason == "the session lifetime from the broker is -1 ms; it must not be negative"


@pytest.mark.parametrize(
    "status",
    [b"{}", b"[" * 100_000, b"\xff", b"9" * 100_000, b'{"status": 1}', b'{"status": "\\ud800\\n"}', b"null"],
)
def test_a_token_is_refused_whatever_the_status_is(status: bytes) -> None:
    answers = SaslHandshakeResponse(), SaslAuthenticateResponse(auth_bytes=status), SaslAuthenticateResponse()
    assert answered(MECHANISMS["OAUTHBEARER"], *answers[:2])[-1] == SaslAuthenticateRequest(auth_bytes=b"\1")
    line = str(refusal(MECHANISMS["OAUTHBEARER"], *answers))
    assert "the broker rejected the token: " in line
    assert line.isprintable() and len(line) < 2200


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ('{"status": "invalid_token", "scope": "a b", "x": "y"}', "status invalid_token, scope a b"),
        ('{"openid-configuration": "https://id"}', "openid-configuration https://id"),
        ('{"status": 1}', '{"status": 1}'),
        ('["status"]', '["status"]'),
        ("no JSON", "no JSON"),
    ],
)
def test_a_status_is_shown_without_its_json(status: str, shown: str) -> None:
    answers = SaslAuthenticateResponse(auth_bytes=status.encode()), SaslAuthenticateResponse(error_code=58)
    error = refusal(MECHANISMS["OAUTHBEARER"], SaslHandshakeResponse(), *answers)
    assert error.reason == f"the broker rejected the token: {shown}"


def test_what_a_broker_says_is_shown_on_one_line_of_a_bounded_length() -> None:
    said = SaslAuthenticateResponse(error_code=58, error_message="\x1b[2J\r\n" + "x" * 100_000)
    line = str(refusal(Plain("me", ""), SaslHandshakeResponse(), said))
    assert line.isprintable() and "\\x1b[2J\\x0d\\x0a" in line and len(line) < 2200


def test_the_answers_of_another_request_are_errors_of_the_program() -> None:
    for wrong in (HeartbeatResponse(), SaslAuthenticateResponse()):
        with pytest.raises(UnsupportedVersionError, match="cannot become SaslHandshakeResponse"):
            answered(ME, wrong)


def test_errors_can_be_copied_and_sent_to_other_processes() -> None:
    error = refusal(ME, SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN"]))
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(other), other.offered, other.error_code) == (str(error), ("PLAIN",), 33)


# Values that cannot be sent are refused at once.


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Plain("me", "a\0secret"), "the password contains a NUL character"),
        (lambda: Plain("a\0", "secret"), "the user name contains a NUL character"),
        (lambda: Plain("me", "secret\ud800"), "the password contains a lone surrogate"),
        (lambda: Scram("me", "secret\udfff", "SCRAM-SHA-256"), "the password contains a lone surrogate"),
        (lambda: Scram("me\0", "secret", "SCRAM-SHA-256"), "the user name contains a NUL character"),
        (lambda: Scram("me", "secret", "SCRAM-SHA-1"), "'SCRAM-SHA-1' is not a SCRAM mechanism; use"),  # type: ignore[arg-type]
        (lambda: OAuthBearer(str, {"auth": "secret"}), "use letters only, and not 'auth'"),
        (lambda: OAuthBearer(str, {"a1": "secret"}), "'a1' is not a valid extension name; use letters only"),
        (
            lambda: OAuthBearer(str, {"a": "secret\1"}),
            "the value of the extension a must not be empty, and must be ASCII",
        ),
        (lambda: OAuthBearer(str, {"a": ""}), "the value of the extension a must not be empty, and must be ASCII"),
    ],
)
def test_what_a_mechanism_cannot_carry_is_refused_at_once(make: Callable[[], Mechanism], why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        make()
    assert "secret" not in "".join(traceback.format_exception_only(caught.value))


def test_something_else_than_text_is_refused() -> None:
    secret: Any = b"secret"
    with pytest.raises(TypeError, match="the password must be str, not bytes"):
        Plain("me", secret)


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "the token is empty, or contains"),
        ("secret\n", "the token is empty, or contains an invalid character"),
        ("secrét", "the token is empty, or contains an invalid character"),
        (b"secret", "the token callback must return str, not bytes"),
        (None, "the token callback must return str, not NoneType"),
    ],
)
def test_what_is_no_token_is_not_sent(token: Any, why: str) -> None:
    error = refusal(OAuthBearer(lambda: token))
    assert why in str(error) and "secret" not in repr(error)


# Callers.


def test_a_task_that_is_cancelled_meanwhile_leaves_nothing_behind() -> None:
    async def waiting() -> None:
        steps = authenticate(ME, VERSIONS)
        next(steps)
        await asyncio.sleep(3600)

    async def cancelled() -> None:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    steps = authenticate(ME, VERSIONS)
    next(steps)
    with pytest.raises(TimeoutError):
        steps.throw(TimeoutError())
    steps.close()


def test_a_connection_without_sasl_does_not_import_it() -> None:
    program = """
import sys, kipwire.connection as c
print(sorted({"hashlib", "json", "kipwire.connection.sasl"} & {*sys.modules}), "Plain" in dir(c), c.Plain("a", "b"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True Plain(username='a')\n"

"""No broker gets a secret shown, makes a client fail otherwise than by an AuthenticationError, or keeps it for ever."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire.connection import AuthenticationError, OAuthBearer, Plain, Scram, authenticate
from kipwire.connection.sasl import Mechanism
from tests.support.subjects.sasl_server import (
    ME,
    MECHANISMS,
    VERSIONS,
    answered,
    decoded,
    refusal,
    run,
    server_of,
)

# Secrets.


SECRETS = st.integers(0, 2**64 - 1).map(lambda number: f"~{number:016x}~")


def mechanisms_with(secret: str) -> list[tuple[Mechanism, Sequence[str]]]:
    """Return each mechanism, with its secrets."""
    return [
        (Plain("me", secret), [secret]),
        (Scram("me", secret, "SCRAM-SHA-256"), [secret]),
        (Scram("me", secret, "SCRAM-SHA-512", is_delegation_token=True), [secret]),
        (OAuthBearer(partial(str, secret), {"key": "~extension~"}), [secret, "~extension~"]),
    ]


def texts_about(error: BaseException) -> str:
    """Return all text that a program could print about an error and the errors in its context."""
    return "".join([*traceback.format_exception(error), repr(error), str(error), repr(vars(error)), repr(error.args)])


@given(SECRETS, st.text(max_size=10), st.integers(-2, 60), st.integers(0, 3), st.booleans())
def test_no_secret_is_in_any_error_whatever_the_broker_says(
    secret: str, around: str, code: int, which: int, says_it_in_json: bool
) -> None:
    mechanism, secrets = mechanisms_with(secret)[which]
    assert not any(one in repr(mechanism) or one in str(mechanism) for one in secrets)
    for leaked in secrets:
        text = around + leaked + around
        said = json.dumps({"status": text}) if says_it_in_json else text
        steps = authenticate(mechanism, VERSIONS)
        with pytest.raises((AuthenticationError, StopIteration)) as caught:
            next(steps)
            steps.send(SaslHandshakeResponse(error_code=code, mechanisms=[leaked, text]))
            steps.send(SaslAuthenticateResponse(auth_bytes=said.encode("utf-8", "replace")))
            steps.send(SaslAuthenticateResponse(error_code=58, error_message=text))
        assert not any(one in texts_about(caught.value) for one in secrets)
        assert caught.value.__context__ is None
        with pytest.raises(AuthenticationError) as caught_later:
            answered(mechanism, SaslHandshakeResponse(), SaslAuthenticateResponse(error_code=58, error_message=text))
        assert not any(one in texts_about(caught_later.value) for one in secrets)
        assert "SASL_AUTHENTICATION_FAILED: (message omitted: it contains a secret" in str(caught_later.value)


@pytest.mark.parametrize(
    ("secret", "said"),
    [("~0123456789~", "x" * 994 + "~0123456789~" + "x" * 5000), ("~0123\n456789~", "~0123\n456789~")],
    ids=["cut", "escaped"],
)
def test_no_part_of_a_secret_is_shown_either(secret: str, said: str) -> None:
    answer = SaslAuthenticateResponse(error_code=58, error_message=said)
    assert "~0123" not in texts_about(refusal(Plain("me", secret), SaslHandshakeResponse(), answer))


def test_no_secret_is_among_the_mechanisms_of_a_broker() -> None:
    error = refusal(
        Plain("me", "TOP-SECRET"), SaslHandshakeResponse(error_code=33, mechanisms=["TOP-SECRET", "GSSAPI"])
    )
    assert error.offered == ("GSSAPI",)
    assert "TOP-SECRET" not in repr(error)


def test_no_secret_is_in_the_error_that_scram_ends_with() -> None:
    endings = iter([None, b"e=pencil"])
    with pytest.raises(
        AuthenticationError, match=r"rejected the proof: \(message omitted: it contains a secret"
    ) as caught:
        run(ME, server_of(ME), damage=lambda message: next(endings) or message)
    assert "pencil" not in str(caught.value) + repr(caught.value)


# Servers that are wrong.


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Ways to change a message: to something else, or by a byte or a few."""
    kind = draw(st.sampled_from(["other", "cut", "insert", "replace", "swap"]))
    at, new = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=8) | st.sampled_from(list(b"rsi=,v:em\0")))
    new = bytes([new]) if isinstance(new, int) else new

    def damage(message: bytes) -> bytes:
        place = int(at * len(message))
        if kind == "other":
            return new
        if kind == "cut":
            return message[:place]
        if kind == "swap":
            return message[place:] + message[:place]
        return message[:place] + new + message[place + (len(new) if kind == "replace" else 0) :]

    return damage


@given(st.sampled_from([*MECHANISMS]), damages(), st.integers(0, 2))
def test_damaged_messages_of_a_server_are_authentication_errors(
    name: str, damage: Callable[[bytes], bytes], number: int
) -> None:
    mechanism = MECHANISMS[name]
    came: list[tuple[bytes, bytes]] = []

    def damaged(message: bytes) -> bytes:
        came.append((message, damage(message) if len(came) == number else message))
        return came[-1][1]

    try:
        run(mechanism, server_of(mechanism), damage=damaged)
    except AuthenticationError:
        return
    for true, changed in came:
        # Extensions may follow a signature, and a client ignores PLAIN's answer.
        assert changed == true or name == "PLAIN" or changed.startswith(true + b",") or _same_signature(true, changed)


def _same_signature(true: bytes, changed: bytes) -> bool:
    """True if the Base64 of two messages differs only in bits that belong to no byte."""
    return changed[:2] == b"v=" and decoded(changed[2:].split(b",")[0]) == decoded(true[2:])


messages = st.binary(max_size=40) | st.builds(
    lambda start, salt, count, end: f"r=NONCE{start},s={salt},i={count}{end}".encode(),
    st.text("ab,=", max_size=3),
    st.sampled_from(["", "c2FsdA==", "c2FsdA=", "!", "c2Fs"]),
    st.integers(4000, 5000) | st.integers() | st.just("9" * 5000),
    st.sampled_from(["", ",", ",x=y", ",i=1", "\n"]),
)
authenticated = st.builds(
    SaslAuthenticateResponse,
    error_code=st.just(0) | st.integers(-(2**15), 2**15 - 1),
    error_message=st.none() | st.text(max_size=20),
    auth_bytes=messages | st.sampled_from([b"v=", b"e=", b"v=c2FsdA==", b"e=other-error"]),
    session_lifetime_ms=st.integers(-(2**63), 2**63 - 1),
)


@given(st.sampled_from([*MECHANISMS]), st.lists(authenticated, min_size=4, max_size=4))
def test_no_server_makes_a_client_fail_otherwise_or_go_on_for_ever(
    name: str, answers: list[SaslAuthenticateResponse]
) -> None:
    steps = authenticate(MECHANISMS[name], VERSIONS)
    next(steps)
    request: Any = steps.send(SaslHandshakeResponse())
    with pytest.raises((AuthenticationError, StopIteration)) as caught:
        for answer in answers:
            nonce = request.auth_bytes.rpartition(b",r=")[2]
            answer.auth_bytes = answer.auth_bytes.replace(b"NONCE", nonce)
            request = steps.send(answer)
    if isinstance(caught.value, StopIteration):
        assert caught.value.value >= 0
        assert not name.startswith("SCRAM")  # there is no proof in these answers

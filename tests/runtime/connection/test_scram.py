"""SCRAM beside the examples of its RFCs, and beside a server of the tests' own."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire.connection import AuthenticationError, Scram, saslprep, scram
from tests.support.subjects import sasl_server
from tests.support.subjects.sasl_server import run

EXAMPLES = {
    "RFC 5802": (
        "sha1",
        "fyko+d2lbbFgONRv9qkxdawL",
        (
            "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
            "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
            "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
            "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
        ),
    ),
    "RFC 7677": (
        "sha256",
        "rOprNGfwEbeRWgbNEkqO",
        (
            "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ),
    ),
}
_, NONCE, MESSAGES = EXAMPLES["RFC 7677"]


def said(hash_name: str, nonce: str, *answers: str) -> Iterator[str]:
    """Yield the client's messages to a server that answers so."""
    exchange = scram.exchange("user", "pencil", hash_name, nonce)
    yield next(exchange).decode()
    for answer in answers:
        try:
            yield exchange.send(answer.encode()).decode()
        except StopIteration:
            return


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_client_says_what_the_examples_of_the_rfcs_say(example: str) -> None:
    hash_name, nonce, (first, server_first, final, server_final) = EXAMPLES[example]
    assert list(said(hash_name, nonce, server_first, server_final)) == [first, final]


@pytest.mark.parametrize(
    ("server_first", "why"),
    [
        ("", "must be a nonce, a salt and an iteration count"),
        ("m=x," + MESSAGES[1], "requires a SCRAM extension, and none is supported"),
        (MESSAGES[1].replace("rOpr", "rOpR"), "nonce must begin with the client's nonce"),
        (f"r={NONCE},s=W22Z,i=4096", "nonce must begin with the client's nonce and be longer"),
        (f"r={NONCE}x,s=W22Z,i=4095", "the broker's iteration count is 4,095; it must be 4,096 to 1,000,000"),
        (f"r={NONCE}x,s=W22Z,i=1000001", "iteration count is 1,000,001; it must be"),
        (f"r={NONCE}x,s=W22Z,i={'9' * 5000}", "must be a nonce, a salt and an iteration count"),
        (f"r={NONCE}x,s=W22Z,i=04096", "must be a nonce, a salt and an iteration count"),
        (f"r={NONCE}x,s=W22Z,i=-4096", "must be a nonce, a salt and an iteration count"),
        (f"r={NONCE}x,s=W22,i=4096", "must be a nonce, a salt and an iteration count"),
        (f"r={NONCE}x,s=,i=4096", "must be a nonce, a salt and an iteration count"),
        (f"r={NONCE} x,s=W22Z,i=4096", "must be a nonce, a salt and an iteration count"),
    ],
)
def test_a_first_message_that_is_wrong_is_refused(server_first: str, why: str) -> None:
    with pytest.raises(scram.Refused, match=why):
        list(said("sha256", NONCE, server_first))


@pytest.mark.parametrize(
    ("server_final", "why"),
    [
        ("e=invalid-proof", "the broker rejected the proof"),
        (MESSAGES[3].replace("6", "7"), "signature is wrong"),
        ("v=" + MESSAGES[3][6:], "signature is wrong"),
        ("v=!" + MESSAGES[3][2:], "must be a signature or an error"),
        ("v=====", "must be a signature or an error"),
        ("v=", "must be a signature or an error"),
        ("", "must be a signature or an error"),
        ("w" + MESSAGES[3], "must be a signature or an error"),
    ],
)
def test_a_broker_that_does_not_prove_that_it_has_the_password_is_refused(server_final: str, why: str) -> None:
    with pytest.raises(scram.Refused, match=why):
        list(said("sha256", NONCE, MESSAGES[1], server_final))


def test_extensions_after_what_a_message_must_have_are_no_errors() -> None:
    messages = list(said("sha256", NONCE, MESSAGES[1] + ",x=1,y=2"))
    assert messages[1].rpartition(",p=")[0] == MESSAGES[2].rpartition(",p=")[0]
    assert messages[1] != MESSAGES[2]  # the proof is of the whole message
    assert len(list(said("sha256", NONCE, MESSAGES[1], MESSAGES[3] + ",x=1"))) == 2


def test_no_nonce_is_used_twice() -> None:
    nonces = {scram.new_nonce() for _ in range(100)}
    assert len(nonces) == 100
    assert all(len(base64.b64decode(nonce)) == 24 and "," not in nonce for nonce in nonces)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(max_examples=30)  # each is a few thousand hashes
@given(
    username=texts, password=texts, salt=st.binary(min_size=1, max_size=40), mechanism=st.sampled_from([*scram.HASHES])
)
def test_any_user_with_any_password_is_let_in(username: str, password: str, salt: bytes, mechanism: str) -> None:
    user = Scram(username, password, mechanism)  # type: ignore[arg-type]
    assert run(user, sasl_server.scram(mechanism, {username: password}, salt=salt), lifetime=7) == 7


@settings(max_examples=30)  # likewise
@given(password=texts, other=texts)
def test_no_other_password_is(password: str, other: str) -> None:
    server = sasl_server.scram("SCRAM-SHA-512", {"me": password})
    if password != other:
        with pytest.raises(AuthenticationError, match="SASL_AUTHENTICATION_FAILED"):
            run(Scram("me", other, "SCRAM-SHA-512"), server)


# SASLprep (RFC 4013).


@pytest.mark.parametrize(
    ("text", "prepared"),
    [("I\u00adX", "IX"), ("user", "user"), ("USER", "USER"), ("\u00aa", "a"), ("\u2168", "IX"), ("a\u00a0b", "a b")],
)
def test_texts_are_prepared_as_the_rfc_says(text: str, prepared: str) -> None:
    assert saslprep(text) == prepared


@pytest.mark.parametrize("text", ["\u0007", "\u06271", "\u0627a\u0628", "\ue000", "\ud800", "\u200e"])
def test_texts_that_the_rfc_prohibits_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r"the text (contains a character that RFC 4013|must begin and end)") as caught:
        saslprep("pass" + text)
    assert "pass" not in str(caught.value).replace("password", "")


def test_right_to_left_texts_are_prepared() -> None:
    assert saslprep("\u0627\u0031\u0628") == "\u0627\u0031\u0628"

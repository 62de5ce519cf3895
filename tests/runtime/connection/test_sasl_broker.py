"""Authentication by a real broker: every mechanism, what it refuses, and again before a session ends."""

from __future__ import annotations

import base64
import time
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from kafka_messages.create_delegation_token_request.v3 import CreateDelegationTokenRequest
from kafka_messages.enums import ErrorCode
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.connection import AuthenticationError, OAuthBearer, Plain, Scram, authenticate, saslprep
from kipwire.connection.sasl import Mechanism
from tests.support.live.kafka_tools import tool
from tests.support.live.listeners import (
    CLEAR,
    MECHANISMS,
    PASSWORD,
    RENEWED,
    SASL,
    SASL_TLS,
    SESSION_MS,
    USERNAME,
    WAYS,
    token,
)
from tests.support.live.plain_driver import Driver, connected

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]


def is_let_in(driver: Driver) -> bool:
    """True if the broker answers an authenticated client."""
    return [broker.node_id for broker in driver.ask(MetadataRequest(topics=[])).brokers] == [1]


def refused(mechanism: Mechanism) -> AuthenticationError:
    with pytest.raises(AuthenticationError) as caught, connected(SASL, mechanism):
        pass
    assert PASSWORD not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("way", WAYS)
def test_every_way_lets_in(way: str) -> None:
    with connected(*WAYS[way]) as driver:
        assert is_let_in(driver)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_version_of_sasl_authenticate_does(name: str, version: int) -> None:
    with connected(RENEWED) as driver:
        driver.versions[36] = range(version + 1)
        lifetime = driver.authenticate(MECHANISMS[name])
        assert is_let_in(driver)
        assert 0 < lifetime <= SESSION_MS if version else lifetime == 0


REFUSED: dict[str, tuple[Mechanism, str]] = {
    "PLAIN": (
        Plain(USERNAME, "wrong"),
        "PLAIN: the broker returned SASL_AUTHENTICATION_FAILED: Authentication failed: Invalid username or password",
    ),
    "PLAIN, unknown user": (
        Plain("mallory", PASSWORD),
        "PLAIN: the broker returned SASL_AUTHENTICATION_FAILED: Authentication failed: Invalid username or password",
    ),
    **{
        f"{name}, {why}": (
            Scram(user, password, name),
            f"{name}: the broker returned SASL_AUTHENTICATION_FAILED: Authentication failed during authentication due "
            f"to invalid credentials with SASL mechanism {name}",
        )
        for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for why, user, password in (("wrong password", USERNAME, "wrong"), ("unknown user", "mallory", PASSWORD))
    },
    "OAUTHBEARER, expired": (
        OAuthBearer(lambda: token(seconds=-60)),
        "OAUTHBEARER: the broker rejected the token: status invalid_token",
    ),
    "OAUTHBEARER, garbage": (
        OAuthBearer(lambda: "garbage"),
        "OAUTHBEARER: the broker rejected the token: status invalid_token",
    ),
    "OAUTHBEARER, what is no token": (
        OAuthBearer(lambda: "$@!"),
        "OAUTHBEARER: the broker returned SASL_AUTHENTICATION_FAILED: Authentication failed during authentication due "
        "to invalid credentials with SASL mechanism OAUTHBEARER",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_broker_refuses_is_one_line_with_its_reason(name: str) -> None:
    mechanism, said = REFUSED[name]
    error = refused(mechanism)
    assert str(error) == f"cannot authenticate with {said}"
    assert error.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


class Kerberos(Plain):
    """A mechanism that the broker does not have."""

    name = "GSSAPI"


def test_a_mechanism_that_the_broker_does_not_have_is_refused_with_those_that_it_has() -> None:
    error = refused(Kerberos(USERNAME, PASSWORD))
    assert sorted(error.offered) == sorted(MECHANISMS)
    assert error.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_a_listener_without_sasl_is_named_as_such() -> None:
    with (
        pytest.raises(AuthenticationError, match="this listener does not use SASL"),
        connected(CLEAR) as driver,
    ):
        driver.authenticate(MECHANISMS["PLAIN"])


def test_extensions_reach_the_broker() -> None:
    with connected(SASL, OAuthBearer(token, {"tenant": "7", "pool": "a, b"})) as driver:
        assert is_let_in(driver)


def is_let_in_soon(mechanism: Mechanism) -> bool:
    """True if the broker lets in a new user soon: it learns of users from its controller."""
    for _ in range(100):
        try:
            with connected(SASL, mechanism) as driver:
                return is_let_in(driver)
        except AuthenticationError:
            time.sleep(0.1)
    return False


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_delegation_token_lets_in(name: Any) -> None:
    with connected(SASL_TLS, MECHANISMS["PLAIN"]) as driver:
        made = driver.ask(CreateDelegationTokenRequest(max_lifetime_ms=60_000))
        assert made.error_code == 0
    assert is_let_in_soon(Scram(made.token_id, base64.b64encode(made.hmac).decode(), name, is_delegation_token=True))


def test_users_and_passwords_are_those_of_kafkas_tools_whatever_their_characters_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kafka's tools do not prepare texts (RFC 4013): U+FB01 would be `fi`, and U+00AD nothing.

    In SCRAM its brokers take user names in ASCII only.
    """
    monkeypatch.setenv("LC_ALL", "C.UTF-8")  # Java decodes its arguments accordingly
    username, password = f"a=b,=2C {uuid4()}", "p\ufb01\u00ad½,=ß"
    entity = ("--entity-type", "users", "--entity-name", username)
    change = ("--alter", *entity, "--add-config", f"SCRAM-SHA-512=[iterations=16384,password={password}]")
    tool("org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", CLEAR.address, *change)
    assert is_let_in_soon(Scram(username, password, "SCRAM-SHA-512"))
    refused(Scram(username, saslprep(password), "SCRAM-SHA-512"))


# Again, on the same connection (KIP-368).

_LEAST_SECONDS_BETWEEN = 1.1
"""Seconds between repeated authentications: a broker refuses the second one of a connection within a second."""


def test_clients_that_authenticate_again_in_time_stay() -> None:
    began = time.monotonic()
    with ExitStack() as opened:
        drivers = [(opened.enter_context(connected(RENEWED, one)), one) for one in MECHANISMS.values()]
        while time.monotonic() < began + 1.5 * SESSION_MS / 1000:
            for driver, mechanism in drivers:
                assert 0 < driver.authenticate(mechanism) <= SESSION_MS
                assert is_let_in(driver)
            time.sleep(_LEAST_SECONDS_BETWEEN)
        assert all(is_let_in(driver) for driver, _ in drivers)


def test_a_client_that_does_not_is_cut_off() -> None:
    with connected(RENEWED, MECHANISMS["PLAIN"]) as driver:
        time.sleep(SESSION_MS / 1000 + 0.2)
        with pytest.raises(ConnectionError):
            driver.ask(MetadataRequest(topics=[]))


def test_a_session_lasts_no_longer_than_its_token() -> None:
    with connected(SASL) as driver:
        assert 50_000 < driver.authenticate(OAuthBearer(lambda: token(seconds=60))) <= 60_000


def test_another_user_does_not_take_a_connection_over() -> None:
    with connected(RENEWED, OAuthBearer(token)) as driver:
        with pytest.raises(AuthenticationError, match="Cannot change principals during re-authentication"):
            driver.authenticate(OAuthBearer(lambda: token("mallory")))
        with pytest.raises(ConnectionError):
            is_let_in(driver)


def test_another_mechanism_is_refused_by_the_end_of_the_connection() -> None:
    with connected(RENEWED, MECHANISMS["PLAIN"]) as driver, pytest.raises(ConnectionError):
        driver.authenticate(MECHANISMS["SCRAM-SHA-256"])


def test_a_wrong_password_is_refused_again() -> None:
    wrong = pytest.raises(AuthenticationError, match="Invalid username or password")
    with connected(RENEWED, MECHANISMS["PLAIN"]) as driver, wrong:
        driver.authenticate(Plain(USERNAME, "wrong"))


def test_coming_again_twice_within_a_second_is_refused_without_harm() -> None:
    with connected(RENEWED, MECHANISMS["PLAIN"]) as driver:
        assert driver.authenticate(MECHANISMS["PLAIN"]) > 0
        with pytest.raises(AuthenticationError, match="does not allow authenticating again"):
            driver.authenticate(MECHANISMS["PLAIN"])
        assert is_let_in(driver)


def test_another_request_meanwhile_ends_the_connection() -> None:
    with connected(RENEWED, MECHANISMS["PLAIN"]) as driver:
        handshake: Any = next(authenticate(MECHANISMS["PLAIN"], driver.versions))
        assert driver.ask(handshake).error_code == 0
        assert not is_let_in(driver)
        with pytest.raises(ConnectionError):
            is_let_in(driver)


def test_sessions_without_an_end_need_no_second_authentication() -> None:
    with connected(SASL) as driver:
        assert driver.authenticate(MECHANISMS["PLAIN"]) == 0
        with pytest.raises(AuthenticationError, match="or does not allow authenticating again"):
            driver.authenticate(MECHANISMS["PLAIN"])
        assert is_let_in(driver)

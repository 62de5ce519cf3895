"""kipwire call and a real broker: the recipes, every API, and each way to get in. For `make test-broker`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kipwire.connection import OAuthBearer
from tests.support.command_line import Done
from tests.support.live.called_templates import call_templates
from tests.support.live.listeners import (
    CA,
    CLEAR,
    CLIENT,
    MUTUAL_TLS,
    OTHER_CA,
    OTHER_CLIENT,
    PASSWORD,
    SASL,
    SASL_TLS,
    TLS,
    USERNAME,
    WAYS,
    Listener,
    client_properties,
    token,
)
from tests.support.live.real_broker import ADDRESS
from tests.support.recipes import recipes
from tests.support.subjects.recipe_checks import Things, check, transaction

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

Call = Callable[..., Done]
ALL = '{"topics": null}'


def given(listener: Listener, *, certificate: Path = CLIENT, ca: Path = CA) -> list[object]:
    """Return the options of TLS that a listener needs."""
    options: list[object] = ["--ca", ca] if listener.has_tls else []
    return [*options, "--cert", certificate] if listener.wants_certificate else options


def metadata(done: Done) -> Any:
    assert (done.returncode, done.stderr) == (0, "")
    (broker,) = json.loads(done.stdout)["brokers"]
    return broker


# The recipes.


def settled(call: Call, *arguments: object) -> Any:
    """Return a coordinator's response; repeat the call until the broker has one, some time after the first call."""
    for seconds in (*[0.1] * 100, None):
        done = call(*arguments)
        if done.returncode == 0 or seconds is None:
            return json.loads(done.stdout)
        assert "COORDINATOR" in done.stderr, done.stderr
        time.sleep(seconds)
    raise AssertionError


def test_the_recipes_do_what_they_say(call: Call, answer: Callable[..., Any]) -> None:
    topic, group = f"orders-{uuid4()}", f"billing-{uuid4()}"
    to_group = (ADDRESS, "--to", f"group:{group}")
    done, member = set(), None
    for recipe in recipes(ADDRESS, topic, group):
        if recipe.title.startswith("Groups"):
            join = {
                "groupId": group,
                "sessionTimeoutMs": 30_000,
                "rebalanceTimeoutMs": 30_000,
                "protocolType": "consumer",
            }
            join["protocols"] = [{"name": "range", "metadata": ""}]
            member = settled(call, *to_group, "JoinGroup", json.dumps(join), "--version", "3")["memberId"]
        elif recipe.title.startswith("Reset"):
            left = json.dumps({"groupId": group, "memberId": member})
            answer(*to_group, "LeaveGroup", left, "--version", "2")
        things = Things(topic, group, members=1)
        if recipe.title == "Transactions":
            with transaction(ADDRESS, topic):
                check(recipe, [answer(*command[1:]) for command in recipe.commands], things)
        else:
            check(recipe, [answer(*command[1:]) for command in recipe.commands], things)
        done.add(recipe.title)
    assert len(done) >= 10


# Every API.


def test_every_api_that_only_reads_answers_its_template(capsys: pytest.CaptureFixture[str]) -> None:
    found = asyncio.run(call_templates(ADDRESS))
    decoded = [one for one in found if one.is_decoded]
    with capsys.disabled():
        print(f"\n{len(decoded)} of {len(found)} APIs answered their template with a response that was decoded")
    assert len(found) >= 27
    assert [one for one in found if not one.is_decoded] == []


# Each way to get in.


@pytest.mark.parametrize("way", WAYS)
def test_options_let_in(way: str, call: Call, tmp_path: Path) -> None:
    listener, mechanism = WAYS[way]
    options = given(listener)
    if mechanism is not None:
        options += ["--sasl", mechanism.name]
        secret = tmp_path / "secret"
        secret.write_text(token() if isinstance(mechanism, OAuthBearer) else PASSWORD)
        kind = "--token-file" if isinstance(mechanism, OAuthBearer) else "--password-file"
        options += [kind, secret] if kind == "--token-file" else ["--user", USERNAME, kind, secret]
    broker = metadata(call(listener.address, "Metadata", ALL, *options))
    assert f"{broker['host']}:{broker['port']}" == listener.address


@pytest.mark.parametrize("way", WAYS)
def test_properties_files_of_kafkas_tools_let_in(way: str, call: Call, tmp_path: Path) -> None:
    listener, mechanism = WAYS[way]
    file = tmp_path / "client.properties"
    lines = (f"{key}={value}\n" for key, value in client_properties(listener, mechanism).items())
    file.write_text("".join(lines), encoding="latin-1")
    broker = metadata(call(listener.address, "Metadata", ALL, "--config", file))
    assert f"{broker['host']}:{broker['port']}" == listener.address
    # The way to the right broker goes through the same door.
    assert json.loads(call(listener.address, "--to", "node:1", "ListGroups", "--config", file).stdout)["errorCode"] == 0


def test_the_environment_lets_in(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SASL": "SCRAM-SHA-512", "USER": USERNAME, "PASSWORD": PASSWORD, "CA": str(CA)}.items():
        monkeypatch.setenv(f"KIPWIRE_{name}", value)
    assert metadata(call(SASL_TLS.address, "Metadata", ALL))["nodeId"] == 1


def test_a_command_gives_the_token(call: Call) -> None:
    options = ("--sasl", "OAUTHBEARER", "--token-command", f"echo {token()}")
    assert metadata(call(SASL.address, "Metadata", ALL, *options))["nodeId"] == 1


REFUSED: dict[str, tuple[Listener, list[object], str]] = {
    "wrong password, PLAIN": (SASL, ["--sasl", "PLAIN", "--user", USERNAME], "cannot authenticate with PLAIN: "),
    "wrong password, SCRAM": (
        SASL,
        ["--sasl", "SCRAM-SHA-512", "--user", USERNAME],
        "cannot authenticate with SCRAM-SHA-512",
    ),
    "wrong password over TLS": (
        SASL_TLS,
        [*given(SASL_TLS), "--sasl", "SCRAM-SHA-256", "--user", USERNAME],
        "cannot authenticate with SCRAM-SHA-256",
    ),
    "expired token": (
        SASL,
        ["--sasl", "OAUTHBEARER", "--token-command", f"echo {token(seconds=-30)}"],
        "cannot authenticate with OAUTHBEARER: ",
    ),
    "wrong CA": (TLS, given(TLS, ca=OTHER_CA), "certificate"),
    "no CA": (TLS, ["--tls"], "certificate"),
    "no certificate": (MUTUAL_TLS, ["--ca", CA], "certificate"),
    "wrong certificate": (MUTUAL_TLS, given(MUTUAL_TLS, certificate=OTHER_CLIENT), "certificate"),
    "no TLS for TLS": (TLS, [], ""),
    "TLS for none": (CLEAR, ["--tls"], "TLS"),
    "no SASL for SASL": (SASL, [], "closed"),
    "SASL for none": (CLEAR, ["--sasl", "PLAIN", "--user", USERNAME], "SASL"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_is_not_let_in_is_told_so_in_one_line(name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    listener, options, reason = REFUSED[name]
    monkeypatch.setenv("KIPWIRE_PASSWORD", "hunter2")
    done = call(listener.address, "Metadata", ALL, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kipwire: {listener.address}: ") and len(done.stderr.splitlines()) == 1
    assert reason in done.stderr
    assert "hunter2" not in done.stderr and token(seconds=-30).split(".")[0] not in done.stderr


def test_a_request_that_the_broker_closes_on_is_one_line(call: Call) -> None:
    done = call(ADDRESS, "CreateAcls", "--version", "3", '{"creations": [{"resourceType": 0}]}')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kipwire: {ADDRESS}: the broker closed the connection")

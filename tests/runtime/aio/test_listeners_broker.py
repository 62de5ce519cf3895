"""Other clients get in by each listener of the broker, so that what kipwire meets there is what they meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider

from kipwire.connection import OAuthBearer
from tests.support.live.kafka_tools import tool
from tests.support.live.listeners import CA, CLIENT, PASSWORD, RENEWED, USERNAME, WAYS, client_properties, token

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]


class _Tokens(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """Source of kafka-python's tokens."""

    def token(self) -> Any:
        return token()


@pytest.mark.parametrize("way", WAYS)
def test_kafka_python_gets_in(way: str) -> None:
    listener, mechanism = WAYS[way]
    settings: dict[str, Any] = {"security_protocol": listener.protocol, "bootstrap_servers": listener.address}
    if listener.has_tls:
        settings["ssl_cafile"] = str(CA)
    if listener.wants_certificate:
        settings |= {"ssl_certfile": str(CLIENT), "ssl_keyfile": str(CLIENT)}
    if isinstance(mechanism, OAuthBearer):
        settings |= {"sasl_mechanism": mechanism.name, "sasl_oauth_token_provider": _Tokens()}
    elif mechanism is not None:
        user = {"sasl_plain_username": USERNAME, "sasl_plain_password": PASSWORD}
        settings |= {"sasl_mechanism": mechanism.name, **user}
    client = KafkaAdminClient(**settings)
    try:
        (broker,) = client.describe_cluster()["brokers"]
        assert f"{broker['host']}:{broker['port']}" == listener.address
    finally:
        client.close()


def test_kafkas_own_tools_get_in_with_a_properties_file(tmp_path: Path) -> None:
    ways = {name: way for name, way in WAYS.items() if name in ("mutual TLS", "SASL over TLS SCRAM-SHA-512")}
    ways["renewed"] = RENEWED, WAYS["SASL PLAIN"][1]
    for number, (listener, mechanism) in enumerate(ways.values()):
        file = tmp_path / f"{number}.properties"
        lines = (f"{key}={value}\n" for key, value in client_properties(listener, mechanism).items())
        file.write_text("".join(lines), encoding="utf-8")
        name = "org.apache.kafka.tools.BrokerApiVersionsCommand"
        said = tool(name, "--bootstrap-server", listener.address, "--command-config", str(file))
        assert said.startswith(f"{listener.address} (id: 1 ")

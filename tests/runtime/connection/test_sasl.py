"""Authentication without I/O, against a server of the tests' own, and against servers that are wrong."""

from __future__ import annotations

import pytest

from kipwire.connection import OAuthBearer, Plain, Scram
from kipwire.connection.sasl import Mechanism
from tests.support.subjects import sasl_server
from tests.support.subjects.sasl_server import VERSIONS, Server, run

ME = Scram("me", "pencil", "SCRAM-SHA-256")


def server_of(mechanism: Mechanism) -> Server:
    """A server to which the mechanism's user is known."""
    if isinstance(mechanism, OAuthBearer):
        return sasl_server.bearer({mechanism.token(): mechanism.extensions})
    if isinstance(mechanism, Plain):
        return sasl_server.plain({mechanism.username: mechanism.password})
    return sasl_server.scram(mechanism.name, {mechanism.username: mechanism.password})


MECHANISMS: list[Mechanism] = [
    Plain("me", "pencil"),
    ME,
    Scram("me", "pencil", "SCRAM-SHA-512"),
    OAuthBearer(lambda: "a.b-c"),
    OAuthBearer(lambda: "a.b-c", {"tenant": "a b", "pool": "7"}),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_known_user_is_let_in_by_every_mechanism_and_version(mechanism: Mechanism, version: int) -> None:
    versions = {**VERSIONS, 36: range(version + 1)}
    lifetime = run(mechanism, server_of(mechanism), lifetime=900_000, version=version, versions=versions)
    assert lifetime == (900_000 if version else 0)
    assert run(mechanism, server_of(mechanism)) == 0  # again: a mechanism keeps nothing

"""`kipwire.testing` imports only the requested modules, and its fixture works in the tests of other projects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kipwire.testing
from tests.support.places import ROOT

HEAVY = ("hypothesis", "kafka_messages", "asyncio", "kipwire.records", "kipwire.connection", "kipwire.testing.broker")


def imported(code: str) -> set[str]:
    """Return the heavy modules that some code imports in a new process."""
    shown = f"import json, sys\n{code}\nprint(json.dumps([one for one in {HEAVY} if one in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=60, cwd=ROOT
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import kipwire.testing", set(HEAVY)),
        ("import pytest, kipwire.testing.pytest_plugin", {"hypothesis", "kafka_messages", "kipwire.testing.broker"}),
        ("from kipwire.testing import messages", {"kafka_messages", "kipwire.connection", "kipwire.testing.broker"}),
        ("from kipwire.testing import check_package", {"kafka_messages", "kipwire.testing.broker"}),
        ("from kipwire.testing import FakeBroker", {"hypothesis"}),
    ],
)
def test_an_import_brings_what_is_asked_for_alone(code: str, absent: set[str]) -> None:
    assert not imported(code) & absent


def test_all_names_are_there_and_others_are_not() -> None:
    for name in kipwire.testing.__all__:
        assert getattr(kipwire.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'FakeBrokers'"):
        _ = kipwire.testing.FakeBrokers  # pyright: ignore[reportAttributeAccessIssue]


def test_the_fixture_gives_each_test_a_broker_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kipwire.testing.pytest_plugin"]\n')
    (tmp_path / "test_theirs.py").write_text("""
import socket

def test_one(fake_broker):
    fake_broker.append("orders", b"v")
    socket.create_connection((fake_broker.host, fake_broker.port), timeout=20).close()
    assert fake_broker.bootstrap_servers == f"127.0.0.1:{fake_broker.port}"

def test_two(fake_broker):
    assert fake_broker.topics() == {}

def test_three(fake_cluster):
    one, other = fake_cluster(["orders"]), fake_cluster(nodes=2)
    assert (one.node_ids, one.topics(), other.node_ids) == ((1, 2, 3), {"orders": 1}, (1, 2))
    socket.create_connection((other.host, other.port), timeout=20).close()
""")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr

"""Java's new consumer (KIP-848) does the same steps with the fake broker and with Kafka. For `make test-broker`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from uuid import uuid4

import pytest

from kipwire.testing import FakeBroker
from tests.support.live.kafka_tools import tool
from tests.support.live.real_broker import ADDRESS
from tests.support.places import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
STEPS = """\
one member reads [0 0, 0 1, 0 2, 1 0, 1 1, 1 2, 2 0, 2 1, 2 2, 3 0, 3 1, 3 2]
two members have 2 and 2, read 0
the other reads 4, committed 16
a regular expression reads 16
a static member is back with what it had: true, without a rebalance: true
both protocols have 2 and 2
the classic member has 4 again
"""


@pytest.fixture(params=["fake", "kafka"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a broker listens."""
    if request.param == "kafka":
        yield ADDRESS
        return
    with FakeBroker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic(address: str) -> str:
    """A topic of four partitions."""
    name = f"t{uuid4().hex[:12]}"
    where = ("--bootstrap-server", address)
    tool("org.apache.kafka.tools.TopicCommand", *where, "--create", "--topic", name, "--partitions", "4")
    return name


def test_two_members_commits_expressions_static_restarts_and_migration(address: str, topic: str) -> None:
    script = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool"]
    program = str(ROOT / "tests" / "support" / "java" / "NewConsumer.java")
    done = subprocess.run([*script, program, address, topic], capture_output=True, text=True, timeout=180, check=False)
    assert (done.stdout, done.returncode) == (STEPS, 0), done.stderr


def test_the_console_consumer_and_the_group_command(address: str, topic: str) -> None:
    where = ("--bootstrap-server", address)
    script = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool"]
    sender = [*script, "org.apache.kafka.tools.ConsoleProducer", *where, "--topic", topic]
    subprocess.run(sender, input="a\nb\nc\n", check=True, capture_output=True, text=True, timeout=120)
    limits = ("--from-beginning", "--max-messages", "3", "--timeout-ms", "60000")
    how = ("--group", f"{topic}-g", "--command-property", "group.protocol=consumer")
    assert sorted(tool(CONSOLE, *where, "--topic", topic, *limits, *how).split()) == ["a", "b", "c"]
    listed = tool(GROUPS, *where, "--list", "--type", "consumer", "--state")
    assert [line.split()[1:] for line in listed.splitlines() if line.startswith(f"{topic}-g ")] == [
        ["Consumer", "Empty"]
    ]
    described = tool(GROUPS, *where, "--describe", "--group", f"{topic}-g").splitlines()
    assert sum(int(line.split()[3]) for line in described if line.startswith(f"{topic}-g ")) == 3
    assert "successful" in tool(GROUPS, *where, "--delete", "--group", f"{topic}-g")

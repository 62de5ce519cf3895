"""The program of docs/cluster.md and a real broker. For `make test-broker`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from tests.support.example_programs import example
from tests.support.live.real_broker import ADDRESS
from tests.support.places import ROOT
from tests.support.subjects.scripted_broker import unused_address

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

TIME = 1_700_000_000_000


def test_the_example_prints_leaders_and_the_last_records(capsys: pytest.CaptureFixture[str]) -> None:
    topic = f"report-{uuid4()}"
    producer = Producer({"bootstrap.servers": ADDRESS})
    for number in range(12):
        producer.produce(topic, b"%d" % number, timestamp=TIME + number)
    assert producer.flush(30) == 0
    asyncio.run(example("cluster_report").report(f"{unused_address()},{ADDRESS}", topic))
    shown = capsys.readouterr()
    leaders = [line for line in shown.out.splitlines() if " leads " in line]
    assert all(f"{ADDRESS} leads {topic}/{number}, " in line for number, line in enumerate(leaders))
    assert sum(int(line.rpartition(" ")[2]) for line in leaders) == 12
    assert shown.out.splitlines()[-10:] == [f"{TIME + number} None b'{number}'" for number in range(2, 12)]


def test_an_address_where_nothing_listens_is_one_line() -> None:
    command = [sys.executable, str(ROOT / "examples/cluster_report.py"), unused_address(), "orders"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)

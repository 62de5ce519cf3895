"""Kafka's answers to all cases, kept in `tests/data`, and where the fake broker may answer otherwise.

`python -m tests.support.broker_cases.recorded` writes them, of the broker that `make broker` has started.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from kipwire.testing import FakeBroker
from tests.support.broker_cases import answers_of
from tests.support.broker_cases.consumer_groups import OTHER_EXPRESSIONS
from tests.support.live import real_broker
from tests.support.places import ROOT

ACCEPTED = {
    "There are no internal topics": ("create name '__consum'",),
    "Any replication factor above 0 and any replicas are accepted": ("create partitions 1 replication 9",),
    "of other topic settings only types are checked": (
        "create config cleanup.policy=keep",
        "create config min.insync.replicas=0",
    ),
    "Records that `kipwire.records` cannot read": (
        "damaged record size gzip",
        "damaged record smaller size gzip",
        "damaged record size beyond gzip",
        "damaged record key size none",
        "damaged record key size gzip",
    ),
    "Produce with null records, which Kafka never answers": ("produce null records",),
    "Metadata of a topic without name and id is refused": ("metadata neither in v12",),
    "Any session timeout above 0 is accepted": ("join session 1", "join session 10^8"),
    "A partition that DeleteRecords names twice is answered twice": ("delete records a partition twice",),
    "RE2J takes larger regular expressions than RE2": tuple(f"cg syntax {regex}" for regex in OTHER_EXPRESSIONS),
    "AlterConfigs of a topic named twice, which Kafka never answers": ("alter configs twice",),
}
"""The cases that the fake broker answers otherwise, by the words of docs/testing.md that give the reason."""

FILE = ROOT / "tests" / "data" / "kafka_answers.json"


def read() -> dict[str, Any]:
    """Kafka's answers, by the name of the case."""
    answers: dict[str, Any] = json.loads(FILE.read_text())["answers"]
    return answers


def fake_answers() -> dict[str, Any]:
    """Return the answers of a fake broker that creates topics with the partitions of the broker of `make broker`."""
    with FakeBroker(default_partitions=3) as broker:
        answers: dict[str, Any] = json.loads(json.dumps(answers_of(broker.host, broker.port, "cases")))
    return answers


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the cases with different answers, in their order."""
    return [case for case in one if one[case] != other.get(case)] + [case for case in other if case not in one]


def kafka_answers() -> dict[str, Any]:
    """Return the answers of the broker that runs."""
    return answers_of(real_broker.HOST, real_broker.PORT, f"cases{uuid4().hex[:12]}")


def write() -> None:
    """Write the answers of the broker that runs."""
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(answer)}" for case, answer in kafka_answers().items())
    FILE.write_text('{"release": "4.4.0", "answers": {\n' + lines + "\n}}\n")


if __name__ == "__main__":
    write()

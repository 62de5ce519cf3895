"""Kafka's answers to all cases, kept in `tests/data`, and where the fake broker may answer otherwise.

`python -m tests.support.broker_cases.recorded` writes them, of the broker that `make broker` has started.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from tests.support.broker_cases import answers_of
from tests.support.live import real_broker
from tests.support.places import ROOT

FILE = ROOT / "tests" / "data" / "kafka_answers.json"


def read() -> dict[str, Any]:
    """Kafka's answers, by the name of the case."""
    answers: dict[str, Any] = json.loads(FILE.read_text())["answers"]
    return answers


def kafka_answers() -> dict[str, Any]:
    """The answers of the broker that runs."""
    return answers_of(real_broker.HOST, real_broker.PORT, f"cases{uuid4().hex[:12]}")


def write() -> None:
    """Write the answers of the broker that runs."""
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(answer)}" for case, answer in kafka_answers().items())
    FILE.write_text('{"release": "4.3.1", "answers": {\n' + lines + "\n}}\n")


if __name__ == "__main__":
    write()

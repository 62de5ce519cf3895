"""The adapter of tshark: it claims what the dissector serves, and what the dissector says is judged."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator

import pytest

import kafka_messages
from kipwire.conformance import kafka
from kipwire.conformance.deriving import derive
from kipwire.conformance.vectors import Index, Vector
from kipwire.console.conform.program import Program
from kipwire.console.conform.questions import Claims, Verdict, evaluate, questions
from tests.support.places import ROOT

ADAPTER = ROOT / "conformance" / "python" / "tshark_adapter.py"

pytestmark = [
    pytest.mark.night,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark"),
]


def asked(vectors: Iterable[Vector]) -> tuple[Claims, list[Verdict]]:
    """Return the claims of the adapter, and the verdicts on its answers."""
    program = Program([sys.executable, str(ADAPTER)], limit=60)
    try:
        claims = Claims.of_answer(program.hello())
        answers = program.ask(questions(filter(claims.has, vectors), claims))
        return claims, [evaluate(question, answer, Index(0, "Kafka", {})) for question, answer in answers]
    finally:
        program.close()


def derived(name: str, version: int) -> Iterator[Vector]:
    return derive(kafka_messages.message(name, version))


def test_messages_that_the_dissector_reads_pass() -> None:
    claims, verdicts = asked(derived("HeartbeatRequest", 3))
    assert claims.ops == {"accept"}
    assert claims.versions["message"].keys() >= {"FetchRequest", "FetchResponse", "ProduceResponse"}
    assert "ConsumerGroupHeartbeatRequest" not in claims.versions["message"]
    assert not [one for one in verdicts if one.outcome == "failed" and one.level == "required"]
    assert {one.vector.kind for one in verdicts if one.outcome == "passed"} == {"valid", "refuse"}


def test_long_messages_and_responses_are_shown_to_it() -> None:
    _, verdicts = asked(derived("HeartbeatResponse", 1))
    assert {one.outcome for one in verdicts} == {"passed"}
    _, verdicts = asked(derived("ProduceResponse", 2))
    assert "skipped" not in {one.outcome for one in verdicts}
    long = [one for one in kafka.golden("OffsetFetchRequest") if len(one.data) > 65_535]
    _, verdicts = asked(long)
    assert {one.outcome for one in verdicts} == {"passed"}


def test_refusals_of_valid_messages_fail_but_for_bytes_that_are_looked_into() -> None:
    _, verdicts = asked(derived("SyncGroupResponse", 0))
    valid = [one for one in verdicts if one.vector.kind == "valid"]
    outcomes = {(bool(one.vector.json["assignment"]), one.outcome) for one in valid}
    assert (False, "failed") in outcomes  # 4.0 reads the length of bytes that are empty wrongly
    assert (True, "skipped") in outcomes
    assert (True, "failed") not in outcomes

"""Kafka's own Java classes agree with every derived vector: with values and bytes, and with each verdict on damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

import kafka_messages
from kipwire.conformance import kafka
from kipwire.conformance.deriving import derive, tagged_defaults
from kipwire.conformance.vectors import Index, Vector
from kipwire.console.conform.program import Death, Program
from kipwire.console.conform.questions import Claims, evaluate, questions
from tests.support import golden_data
from tests.support.kafka_jars import ARTIFACTS, fetch_class_path
from tests.support.places import ROOT

PROGRAM = ROOT / "conformance" / "java" / "KafkaClients.java"
REMOVED = {(line["message"], line["version"]) for line in golden_data.lines("removed")}

pytestmark = pytest.mark.maven


def disagreements(jars: Iterable[Path], pairs: Iterable[tuple[str, int]]) -> tuple[list[str], Counter[str], int]:
    """Return Java's disagreements, the number of its agreements by kind of question, and the number of versions."""
    program = Program(["java", "-cp", ":".join(map(str, jars)), str(PROGRAM)], limit=30)
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    versions: set[tuple[str, int]] = set()
    try:
        claims = Claims.of_answer(program.hello())
        index: dict[str, dict[int, dict[str, object]]] = {}

        def vectors() -> Iterator[Vector]:
            for name, version in pairs:
                cls = kafka_messages.message(name, version)
                index.setdefault(name, {})[version] = dict(tagged_defaults(cls))
                yield from filter(claims.has, chain(derive(cls)))

        for question, answer in program.ask(questions(vectors(), claims)):
            verdict = evaluate(question, answer, Index(0, "Kafka", index))
            versions.add((verdict.vector.message, verdict.vector.version))
            if verdict.outcome == "failed":
                wrong.append(f"{verdict.id}: {verdict.reason}")
            elif verdict.vector.kind == "may_refuse" and (isinstance(answer, Death) or "json" not in answer):
                wrong.append(f"{verdict.id}: refuses it, too: {answer}")
            else:
                counts[verdict.vector.kind] += verdict.outcome == "passed"
    finally:
        program.close()
    return wrong, counts, len(versions)


def test_java_agrees_with_every_derived_vector(tmp_path: Path) -> None:
    pairs = [pair for pair in golden_data.every_message_and_version() if pair not in REMOVED]
    wrong, counts, versions = disagreements(fetch_class_path(tmp_path, "4.4.0", ARTIFACTS), pairs)
    assert wrong == []
    assert versions == 744
    assert counts["valid"] > 50_000
    assert counts["refuse"] > 25_000
    assert counts["may_refuse"] > 8_000
    assert counts["unknown_tags"] > 7_000


def test_the_java_of_kafka_3_agrees_about_what_kafka_4_removed(tmp_path: Path) -> None:
    wrong, counts, versions = disagreements(
        fetch_class_path(tmp_path, "3.9.1", ["kafka-clients", "kafka-metadata"]), REMOVED
    )
    assert wrong == []
    assert versions > 100
    assert counts["refuse"] > 2_000


def test_java_reads_the_records_that_are_shipped(tmp_path: Path) -> None:
    jars = fetch_class_path(tmp_path, "4.4.0", ARTIFACTS)
    program = Program(["java", "-cp", ":".join(map(str, jars)), str(PROGRAM)], limit=30)
    try:
        claims = Claims.of_answer(program.hello())
        asked = program.ask(questions(kafka.batches(), claims))
        verdicts = [evaluate(question, answer, Index(0, "Kafka", {})) for question, answer in asked]
    finally:
        program.close()
    assert len(verdicts) == 128
    assert [f"{one.id}: {one.reason}" for one in verdicts if one.outcome != "passed"] == []

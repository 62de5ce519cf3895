"""`kipgen compat` on facts of the history of Kafka's specs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.subjects.compat_changes import VERSIONS, compare_texts
from tests.support.subjects.kafka_history import BROKEN_BYTES, CHANGED_CODE
from tests.support.subjects.kafka_history_notices import NO_HARM

FACTS = {**BROKEN_BYTES, **CHANGED_CODE, **NO_HARM}


@pytest.mark.parametrize("name", FACTS)
def test_verdict_on_a_change_that_kafka_made(name: str, tmp_path: Path) -> None:
    fact = FACTS[name]
    # Kafka's peers agree on versions; one renamed message is found where it is alone.
    is_asked = "Request" in fact.old or "Response" in fact.old
    more = (VERSIONS,) if is_asked and '"ApiVersionsResponse"' not in fact.old else ()
    compared = compare_texts(tmp_path, fact.old, fact.new, *more)
    found = [(one.severity, one.rule.id, one.path.partition(".")[2]) for one in compared]
    assert sorted(found) == sorted(fact.found)  # each once

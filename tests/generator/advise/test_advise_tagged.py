"""`kipgen advise` leaves the forms of released tagged fields alone, in every message of Kafka."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.subjects.compat_changes import compare_texts
from tests.support.subjects.small_values import FILES, fields_of, small_values

SCHEMAS = ROOT / "schemas"


def _lowest(versions: str) -> int:
    return int(re.split(r"[-+]", versions)[0])


def test_no_form_of_a_released_tagged_field_is_changed_in_any_message(tmp_path: Path) -> None:
    proposals, kept = 0, set()
    for file in FILES:
        advised = small_values(file)
        if advised is None:
            continue
        _, advice, document = advised
        written = dict(fields_of(document))
        newest = advice.spec.valid_versions.highest
        for field in advice.fields:
            for path in field.paths:
                steps = path.split(".")
                around = [written[".".join(steps[:count])] for count in range(1, len(steps) + 1)]
                if any("tag" in one and _lowest(one["taggedVersions"]) <= newest for one in around):
                    kept.add(f"{advice.spec.name}.{path}")
                    assert field.text == "", f"{advice.spec.name}.{path}: {field.text}"
                    assert "keeps its form (KIP-482)" in field.note or "not in version" in field.note
            proposals += bool(field.text)
    assert proposals > 500
    assert {"ApiVersionsResponse.FinalizedFeaturesEpoch", "FetchRequest.ReplicaState.ReplicaEpoch"} <= kept
    assert len(kept) > 40


@pytest.mark.parametrize("name", ["ApiVersionsResponse", "FetchResponse", "FetchRequest"])
def test_pasted_texts_of_messages_with_tagged_fields_break_nobody(name: str, tmp_path: Path) -> None:
    file = SCHEMAS / "kafka_messages" / "clients" / f"{name}.json"
    advised = small_values(file)
    assert advised is not None
    _, advice, document = advised
    old = json.dumps(document)
    written = dict(fields_of(document))
    document["validVersions"] = f"{advice.spec.valid_versions.lowest}-{advice.next_version}"
    for field in advice.fields:
        written[field.path].update(json.loads(f"{{{field.text}}}"))
    assert any(field.text for field in advice.fields)
    assert {found.severity for found in compare_texts(tmp_path, old, json.dumps(document))} == {"notice"}

"""`kipgen advise` leaves the forms of released tagged fields alone, in every message of Kafka."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kipgen.commands.advise.savings import Advice, advise
from kipgen.reading.check import read_file
from kipwire.encodings import Counts, IntegerCounts
from tests.support.places import ROOT
from tests.support.subjects.compat_changes import compare_texts

pytestmark = pytest.mark.same_without_kernel("values are counted from ranges of numbers, not from messages")

SCHEMAS = ROOT / "schemas"
FILES = [file for file in sorted(SCHEMAS.glob("kafka_messages/*/*.json")) if not file.name.endswith(".enum.json")]


def small_values(file: Path) -> tuple[Advice, dict[str, Any]] | None:
    """The advice on a message whose integers are all small, and its spec as it is written; None of a retired one."""
    spec = read_file(file).spec
    if spec is None or spec.served_versions.is_empty:
        return None
    document = json.loads(re.sub(r"(?m)^\s*//.*$", "", file.read_text()))
    fields = {}
    for path, field in _fields(document, document.get("fields", [])):
        element = field["type"].removeprefix("[]")
        if element in ("int16", "int32", "int64"):
            is_element = element != field["type"]
            fields[path] = IntegerCounts.of(element, range(20), is_element=is_element)
    counts = Counts.from_plain(
        {
            "message": spec.name,
            "versions": {str(spec.valid_versions.highest): 1},
            "fields": {path: _plain(one) for path, one in fields.items()},
        }
    )
    return advise(spec, counts), document


def _plain(counts: IntegerCounts) -> dict[str, Any]:
    return {name: getattr(counts, name) for name in counts.__dataclass_fields__}


def _fields(document: dict[str, Any], fields: list[dict[str, Any]], outer: str = "") -> Any:
    common = {struct["name"]: struct["fields"] for struct in document.get("commonStructs", [])}
    for field in fields:
        yield outer + field["name"], field
        inner = field.get("fields") or common.get(field["type"].removeprefix("[]"), [])
        yield from _fields(document, inner, f"{outer}{field['name']}.")


def _lowest(versions: str) -> int:
    return int(re.split(r"[-+]", versions)[0])


def test_no_form_of_a_released_tagged_field_is_changed_in_any_message(tmp_path: Path) -> None:
    proposals, kept = 0, set()
    for file in FILES:
        advised = small_values(file)
        if advised is None:
            continue
        advice, document = advised
        written = dict(_fields(document, document.get("fields", [])))
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
    advice, document = advised
    old = json.dumps(document)
    written = dict(_fields(document, document["fields"]))
    document["validVersions"] = f"{advice.spec.valid_versions.lowest}-{advice.next_version}"
    for field in advice.fields:
        written[field.path].update(json.loads(f"{{{field.text}}}"))
    assert any(field.text for field in advice.fields)
    assert {found.severity for found in compare_texts(tmp_path, old, json.dumps(document))} == {"notice"}

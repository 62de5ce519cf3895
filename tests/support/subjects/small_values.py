"""Counts of small values for every integer field of a message, from its spec alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipgen.commands.advise.savings import Advice, advise
from kipgen.reading.check import read_file
from kipwire.drafts.kip_625 import Counts, IntegerCounts
from tests.support.places import ROOT

FILES = [file for file in sorted(ROOT.glob("schemas/kafka_messages/*/*.json")) if not file.name.endswith(".enum.json")]
"""The specs of Kafka's messages."""


def small_values(file: Path) -> tuple[Counts, Advice, dict[str, Any]] | None:
    """Return counts, advice and spec as written, of a message whose integers are all small; None if it is retired."""
    spec = read_file(file).spec
    if spec is None or spec.served_versions.is_empty:
        return None
    document = json.loads(re.sub(r"(?m)^\s*//.*$", "", file.read_text()))
    fields = {}
    for path, field in fields_of(document):
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
    return counts, advise(spec, counts), document


def fields_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every field of a spec as written, by its path."""
    return _fields(document, document.get("fields", []))


def _fields(
    document: dict[str, Any], fields: list[dict[str, Any]], outer: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    common = {struct["name"]: struct["fields"] for struct in document.get("commonStructs", [])}
    for field in fields:
        yield outer + field["name"], field
        inner = field.get("fields") or common.get(field["type"].removeprefix("[]"), [])
        yield from _fields(document, inner, f"{outer}{field['name']}.")


def _plain(counts: IntegerCounts) -> dict[str, Any]:
    return {name: getattr(counts, name) for name in counts.__dataclass_fields__}

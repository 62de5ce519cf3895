"""Specs that pages of the documentation site are made of."""

from __future__ import annotations

from pathlib import Path

from docs.site import messages
from kipgen.language.spec import MessageSpec
from kipgen.reading import check
from tests.support.places import ROOT


def spec(text: str, folder: Path) -> MessageSpec:
    file = folder / "Probe.json"
    file.write_text(text)
    found = check.read_file(file).spec
    assert found is not None
    return found


def kafka_specs() -> list[tuple[str, MessageSpec]]:
    """Folder and spec of every message."""
    return [(file.parent.name, spec) for file, spec in messages.kafka_specs(ROOT)]


PROBE = """{
  "type": "data", "name": "Probe", "validVersions": "0-2", "flexibleVersions": "1+",
  "fields": [
    { "name": "Plain", "type": "int32", "versions": "0+", "default": "-1" },
    { "name": "Items", "type": "[]Item", "versions": "1+", "fields": [
      { "name": "Text", "type": "string", "versions": "0+", "nullableVersions": "2+" },
      { "name": "Gone", "type": "bool", "versions": "0" }
    ]},
    { "name": "Late", "type": "uuid", "versions": "1+", "tag": 3, "taggedVersions": "1+" }
  ]
}"""

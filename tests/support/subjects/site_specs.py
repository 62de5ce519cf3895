"""Specs that pages of the documentation site are made of."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kipgen.language.spec import MessageSpec
from kipgen.reading import check
from tests.support.places import ROOT

SPECS = ROOT / "schemas" / "kafka_messages"


def spec(text: str, folder: Path) -> MessageSpec:
    file = folder / "Probe.json"
    file.write_text(text)
    found = check.read_file(file).spec
    assert found is not None
    return found


@cache
def kafka_specs() -> list[tuple[str, MessageSpec]]:
    """Folder and spec of every message."""
    return [(Path(one.file).parent.name, one.spec) for one in check.read_folder(SPECS)[0] if one.spec is not None]


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

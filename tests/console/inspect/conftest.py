"""Fixtures of the tests in this folder."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.spec_package import generated


@pytest.fixture
def encodings_package(tmp_path: Path) -> Iterator[str]:
    """The name of a generated package whose integers and structs are written in ways that Kafka's are not."""
    fields = [
        {"name": "Zigzag", "type": "int32", "versions": "0+", "encoding": "packed32"},
        {"name": "Narrow", "type": "int64", "versions": "0+", "encoding": "fixed32"},
        {"name": "Cursor", "type": "Cursor", "versions": "0+", "nullableVersions": "0+", "fields": [
            {"name": "At", "type": "int8", "versions": "0+"}]},
        {"name": "Late", "type": "Late", "versions": "0+", "taggedVersions": "0+", "tag": 0, "nullableVersions": "0+",
         "default": "null", "fields": [{"name": "At", "type": "int8", "versions": "0+"}]},
    ]  # fmt: skip
    head = {"name": "Odd", "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "Odd.json").write_text(json.dumps({**head, "fields": fields}))
    name = f"odd_{uuid.uuid4().hex}"  # modules of other tests must not be found
    with generated(tmp_path / "specs", name, tmp_path):
        yield name

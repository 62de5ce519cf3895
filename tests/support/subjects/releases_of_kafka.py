"""Packages of some messages as of an earlier release of Kafka: our specs without later fields and versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kipgen.language.names import attribute_name
from kipgen.language.versions import Versions
from tests.support.places import ROOT
from tests.support.spec_package import write_package
from tests.support.stored_columns import Column, is_in, recorded

SPECS = ROOT / "schemas" / "kafka_messages"


def write_release(line: str, messages: Sequence[str], package: Path) -> None:
    """Generate the package of some messages as a line of releases had them, into a folder of its name."""
    specs = package.parent / f"{package.name}_specs"
    specs.mkdir(parents=True)
    for name in messages:
        (file,) = SPECS.rglob(f"{name}.json")
        (specs / file.name).write_text(json.dumps(_cut(json.loads(_without_comments(file)), name, line)))
    write_package(specs, package)


def _without_comments(file: Path) -> str:
    lines = file.read_text().splitlines()
    return "\n".join(one for one in lines if not one.lstrip().startswith("//"))


def _cut(spec: dict[str, Any], name: str, line: str) -> dict[str, Any]:
    """Return the spec with the versions and the columns that a line of releases had."""
    highest = recorded()[name].highest(line)
    assert highest is not None, f"{name} is not in Kafka {line}"
    valid = Versions.parse(spec["validVersions"])
    spec["validVersions"] = spec["servedVersions"] = f"{valid.lowest}-{highest}"
    spec["fields"] = _kept(spec["fields"], recorded()[name].columns, line)
    return spec


def _kept(fields: list[dict[str, Any]], columns: Sequence[Column], line: str) -> list[dict[str, Any]]:
    """Return the fields of a line of releases, without their enums, which are no part of a column."""
    known = {column.name: column for column in columns if is_in(column.since, line)}
    found = []
    for field in fields:
        column = known.get(attribute_name(field["name"]))
        if column is not None:
            inner = {"fields": _kept(field["fields"], column.inner, line)} if "fields" in field else {}
            plain = {key: value for key, value in field.items() if key not in ("enum", "enumBits")}
            found.append({**plain, **inner})
    return found

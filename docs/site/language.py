"""The reference of the spec language: its properties from the JSON Schema, its rules from the rules themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from docs.site.navigation import Page
from docs.site.templating import render
from kipgen.reading.rules import ALL


@dataclass(frozen=True, slots=True)
class Property:
    """One property as the schema describes it."""

    name: str
    is_needed: bool
    types: str
    """Its JSON types in words."""
    values: tuple[str, ...]
    """All that it may be, where it is one of a list."""
    examples: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Section:
    """The properties of one kind of object."""

    title: str
    about: str
    properties: tuple[Property, ...]


def language_pages(root: Path) -> list[Page]:
    """Return the generated pages of the language: every property, every rule. The guide to it is a written page.

    Args:
        root: the repository.
    """
    schema = json.loads((root / "schemas" / "message-spec.schema.json").read_text(encoding="utf-8"))
    return [
        Page("language/properties.md", "Every property", render("properties.md.j2", sections=sections(schema))),
        Page("language/rules.md", "Every rule", render("rules.md.j2", rules=ALL)),
    ]


def sections(schema: dict[str, Any]) -> tuple[Section, ...]:
    """Return a section for every kind of object in a spec, the message first.

    Args:
        schema: the JSON Schema of message specs.
    """
    objects = {name: one for name, one in schema["$defs"].items() if one.get("type") == "object"}
    return (
        _section("message", schema, schema),
        *(_section(name, one, schema) for name, one in sorted(objects.items())),
    )


def _section(name: str, schema: dict[str, Any], whole: dict[str, Any]) -> Section:
    needed = set(schema.get("required", ()))
    properties = tuple(_property(key, key in needed, one, whole) for key, one in schema["properties"].items())
    return Section(f"The {name}", schema.get("description", ""), properties)


def _property(name: str, is_needed: bool, schema: dict[str, Any], whole: dict[str, Any]) -> Property:
    while "$ref" in schema:  # its own words count more than words of its target
        schema = reduce(lambda part, step: part[step], schema["$ref"].split("/")[1:], whole) | {
            key: value for key, value in schema.items() if key != "$ref"
        }
    about = schema.get("description", "")
    given = schema.get("type", [])
    types = " or ".join([given] if isinstance(given, str) else given)
    values = tuple(dict.fromkeys(json.dumps(one) for one in schema.get("enum", ())))
    examples = tuple(json.dumps(one) for one in schema.get("examples", ()))
    return Property(name, is_needed, types, values, examples, about)

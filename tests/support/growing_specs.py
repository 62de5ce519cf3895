"""Specs of any size, for what must not cost more than their size says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TYPES = ("int32", "string", "[]int32", "bytes", "uuid", "bool")


def fields(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"Field{n}", "type": TYPES[n % len(TYPES)], "versions": "1+", **more} for n in range(count)]


def message(**parts: Any) -> dict[str, Any]:
    return {"name": "Big", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [], **parts}


def of_fields(count: int) -> dict[str, Any]:
    return message(fields=fields(count))


def of_tagged_fields(count: int) -> dict[str, Any]:
    return message(fields=[{**field, "tag": n, "taggedVersions": "1+"} for n, field in enumerate(fields(count))])


def of_structs(count: int) -> dict[str, Any]:
    parts = [{"name": f"Part{n}", "type": f"[]Part{n}", "versions": "0+", "fields": fields(2)} for n in range(count)]
    return message(fields=parts)


def of_common_structs(count: int) -> dict[str, Any]:
    common = [{"name": f"Part{n}", "versions": "0+", "fields": fields(2)} for n in range(count)]
    uses = [{"name": f"Part{n}", "type": f"Part{n}", "versions": "0+"} for n in range(count)]
    return message(fields=uses, commonStructs=common)


def of_versions(count: int) -> dict[str, Any]:
    new = [{**field, "versions": f"{n}-{n + 3}"} for n, field in enumerate(fields(count))]
    return message(fields=new, validVersions=f"0-{count - 1}")


def of_items(count: int) -> dict[str, Any]:
    kinds = ({"type": "int32"}, {"type": "string", "size": "int16"})
    items = [{"name": f"Item{n}", "versions": "0+", **kinds[n % 2]} for n in range(count)]
    return {"name": "Big", "type": "layout", "validVersions": "0-1", "fields": items}


SHAPES = [of_fields, of_tagged_fields, of_structs, of_common_structs, of_versions, of_items]
"""Specs of as many fields, structs, versions or items."""

LEVELS: dict[str, dict[str, Any]] = {
    "structs": {"type": "Level{}"},
    "arrays": {"type": "[]Level{}"},
    "structs that may be null": {"type": "Level{}", "nullableVersions": "0+", "default": "null"},
    "tagged structs": {"type": "Level{}", "taggedVersions": "0+"},
}


def of_levels(how: str) -> Callable[[int], dict[str, Any]]:
    """Specs of structs within each other, each of which has two fields of the one below it.

    Args:
        how: one of `LEVELS`.
    """

    def spec(count: int) -> dict[str, Any]:
        def field(name: str, tag: int, below: int) -> dict[str, Any]:
            found = {"name": name, "versions": "0+", **LEVELS[how], "type": LEVELS[how]["type"].format(below)}
            return {**found, "tag": tag} if "taggedVersions" in found else found

        leaf = [{"name": "Number", "type": "int32", "versions": "0+"}]
        common = [
            {
                "name": f"Level{level}",
                "versions": "0+",
                "fields": [field("One", 0, level + 1), field("Other", 1, level + 1)] if level < count else leaf,
            }
            for level in range(1, count + 1)
        ]
        root = [field("Top", 0, 1)]
        return message(fields=root, commonStructs=common, flexibleVersions="0+")

    return spec

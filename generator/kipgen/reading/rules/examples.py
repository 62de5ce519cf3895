"""Small specs for the examples of the rules.

`kipgen rules` prints these texts, so they are short, formatted, and alike but for what a rule is about.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def spec(
    *fields: str,
    name: str = "Probe",
    type_: str = "data",
    valid: str = "0-3",
    flexible: str = "2+",
    more: str = "",
    common: tuple[str, ...] = (),
) -> str:
    """Write the text of a message spec.

    Args:
        fields: the fields, each as JSON.
        name: the message's name.
        type_: its type.
        valid: its valid versions.
        flexible: its flexible versions.
        more: properties to go first, as JSON, as in `"apiKey": 1`.
        common: the common structs, each as JSON.
    """
    lines = [
        *([more] if more else []),
        f'"name": "{name}", "type": "{type_}"',
        f'"validVersions": "{valid}", "flexibleVersions": "{flexible}"',
        _list("fields", fields or (ALPHA,)),
        *([_list("commonStructs", common)] if common else []),
    ]
    return "{\n" + ",\n".join(f"  {line}" for line in lines) + "\n}\n"


def layout(*fields: str, valid: str = "0-3", more: str = "", common: tuple[str, ...] = ()) -> str:
    """Make the text of a layout's spec; for the arguments see `spec`."""
    return spec(*fields, type_="layout", valid=valid, flexible="none", more=more, common=common)


def enum(*values: str, name: str = "Light", more: str = "") -> str:
    """Write the text of an enum.

    Args:
        values: the values, each as JSON.
        name: the enum's name.
        more: properties to go last, as JSON.
    """
    lines = [f'"name": "{name}", "about": {_ENUM_ABOUT}', *([_list("values", values)] if values else [])]
    return "{\n" + ",\n".join(f"  {line}" for line in [*lines, *([more] if more else [])]) + "\n}\n"


def file_name(text: str, stem: str) -> str:
    """Name the file of an example."""
    return f"{stem}.enum.json" if _ENUM_ABOUT in text else f"{stem}.json"


def _list(name: str, items: tuple[str, ...]) -> str:
    return f'"{name}": [\n' + ",\n".join(f"    {item}" for item in items) + "\n  ]"


def field_of(
    type_: str, name: str = "Alpha", versions: str = "0+", fields: Sequence[str] | None = None, **more: object
) -> str:
    """Make the text of a field.

    Args:
        type_: its type.
        name: its name.
        versions: its versions.
        fields: the fields of its struct, each as JSON.
        more: all other properties.
    """
    return _object({"name": name, "type": type_, "versions": versions, **more}, fields)


def tagged_field(name: str = "Alpha", tag: int = 0, versions: str = "2+", **more: Any) -> str:
    """Make the text of an int32 field that is tagged in all of its versions; for the arguments see `field_of`."""
    return field_of("int32", name, versions, taggedVersions=versions, tag=tag, **more)


def struct_named(name: str, *fields: str, versions: str = "0+") -> str:
    """Make the text of a common struct; for the arguments see `field_of`."""
    return _object({"name": name, "versions": versions}, fields or None)


def _object(properties: dict[str, object], fields: Sequence[str] | None) -> str:
    texts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in properties.items()]
    if fields is not None:
        texts.append('"fields": [' + ",".join(f"\n      {field}" for field in fields) + "]")
    return "{" + ", ".join(texts) + "}"


_ENUM_ABOUT = '"A light."'
ALPHA = field_of("int32")
"""The plainest field."""

LEAF = field_of("int32", "Leaf")
"""A field for a struct."""

"""Facts -> the text of a spec, spaced like ours: properties fill the lines, structs are in their field."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kipgen.commands.drift.compare import PROPERTIES, Node, Value

WIDTH = 120
_STEP = "  "


def message_text(nodes: Mapping[str, Node]) -> str:
    """A whole spec.

    Args:
        nodes: its content, as `facts.nodes` gives it.
    """
    message = nodes[""]
    lines = [f"{_STEP}{property_text(name, message.facts[name])}" for name in PROPERTIES if name in message.facts]
    lines.append(f'{_STEP}"fields": [{_elements(nodes, message.children, _STEP)}]')
    structs = tuple(path for path, node in nodes.items() if node.kind == "struct")
    if structs:
        lines.append(f'{_STEP}"commonStructs": [{_elements(nodes, structs, _STEP)}]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def element_text(nodes: Mapping[str, Node], path: str, indent: str) -> str:
    """A field or a common struct with its contents, without the indentation of its first line."""
    node = nodes[path]
    names = ["name", *(name for name in PROPERTIES if name in node.facts and name != "name")]
    text, width = "{ ", len(indent) + 2
    for index, name in enumerate(names):
        item = property_text(name, node.facts[name])
        if index and width + len(item) + len(", ") > WIDTH - len(" },"):
            text, width = f"{text},\n{indent}{_STEP}{item}", len(indent + _STEP + item)
        else:
            text, width = text + (", " if index else "") + item, width + len(item) + (2 if index else 0)
    if node.children or node.kind == "struct":
        inner = _elements(nodes, node.children, indent)
        return f'{text}, "fields": [{inner}]}}'
    return text + " }"


def property_text(name: str, value: Value) -> str:
    """A property as it is written in a spec."""
    return f"{json.dumps(name)}: {value_json(value)}"


def value_json(value: Value) -> str:
    """A fact as JSON, in which only necessary characters are escaped."""
    return json.dumps(value, ensure_ascii=False)


def _elements(nodes: Mapping[str, Node], paths: tuple[str, ...], indent: str) -> str:
    """The text between the brackets of a list."""
    if not paths:
        return ""
    inner = indent + _STEP
    return ",".join(f"\n{inner}{element_text(nodes, path, inner)}" for path in paths) + f"\n{indent}"

"""Use of a generated class: its constructor as it is generated, and the example as a call of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import black

from kipwire.model.structs import Root, Struct

_MODE = black.Mode(line_length=88)
"""Narrower than our own code, so that it fits on a page."""
_SHARED = re.compile(r"^from \. import v(\d+)$", re.MULTILINE)


def constructors(modules: Mapping[int, str], version: int) -> str:
    """Return the class of a version and its structs with only their constructors, the message first.

    Args:
        modules: the text of the generated module of each version.
        version: the version.
    """
    source = modules[version]
    if shared := _SHARED.search(source):  # it has the code of an earlier version
        source = modules[int(shared[1])]
    lines = source.splitlines()
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return "\n\n".join(_narrow(_constructor(node, lines)) for node in reversed(classes))


@cache
def _narrow(constructor: str) -> str:
    """Break the lines of a class that are too wide for a page.

    Generated code is formatted already; wide lines are rare, black is slow, and versions have most of them in common.
    """
    is_wide = any(len(line) > _MODE.line_length for line in constructor.splitlines())
    return black.format_str(constructor, mode=_MODE).rstrip() if is_wide else constructor


def _constructor(node: ast.ClassDef, lines: list[str]) -> str:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            signature = "\n".join(lines[item.lineno - 1 : item.body[0].lineno - 1]).rstrip()
            return f"class {node.name}:\n{signature} ..."
    return f"class {node.name}: ..."


def call(message: Root, module: str) -> str:
    """Python that makes a message and encodes it.

    Args:
        message: the message.
        module: the dotted name of its module.
    """
    used = sorted(set(_class_names(message)))
    modules = [f"from {module} import {', '.join(used)}\n"]
    text = repr(message)
    enums = {one.__name__: one.__module__ for one in _enums(message) if f"={one.__name__}." in text}
    for name, where in sorted(enums.items(), reverse=True):
        modules.insert(0, f"from {where} import {name}\n")
    if "UUID(" in text:
        modules.insert(0, "from uuid import UUID\n\n")
    return black.format_str(f"{''.join(modules)}\nmessage = {text}\ndata = message.encode()", mode=_MODE).rstrip()


def _enums(struct: Struct) -> Iterator[type[Any]]:
    """Yield the enums of fields whose numbers `repr` names."""
    for field in struct.ATTRIBUTES:
        if field.enum is not None:
            yield field.enum
        value = getattr(struct, field.name)
        if field.struct is not None and value is not None:
            for one in value if field.array else [value]:
                yield from _enums(one)


def _class_names(struct: Struct) -> Iterator[str]:
    yield type(struct).__name__
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.struct is not None and value is not None:
            for one in value if field.array else [value]:
                yield from _class_names(one)

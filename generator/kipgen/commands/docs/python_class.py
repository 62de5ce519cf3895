"""Use of a generated class: its constructor as it is generated, and the example as a call of it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache

import black

from kipwire import Message, Struct

_MODE = black.Mode(line_length=88)
"""Narrower than our own code, so that it fits on a page."""


def constructors(cls: type[Message]) -> str:
    """Return the class and its structs with only their constructors, the message first.

    Args:
        cls: the generated class of a message in one version.
    """
    source = inspect.getsource(sys.modules[cls.__module__])
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


def call(message: Message) -> str:
    """Python that makes a message and encodes it."""
    cls = type(message)
    used = sorted(set(_class_names(message)))
    modules = [f"from {cls.__module__} import {', '.join(used)}\n"]
    text = repr(message)
    if "UUID(" in text:
        modules.insert(0, "from uuid import UUID\n\n")
    return black.format_str(f"{''.join(modules)}\nmessage = {text}\ndata = message.encode()", mode=_MODE).rstrip()


def _class_names(struct: Struct) -> Iterator[str]:
    yield type(struct).__name__
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.struct is not None and value is not None:
            for one in value if field.array else [value]:
                yield from _class_names(one)

"""Descriptions of the fields of a generated class, read from its source on demand, so that they cost no memory before.

A class declares its attributes, each with its text under it. Computed fields have no attribute, so the docstring of the
class describes them, in the section `Computed`. Classes of code that earlier releases generated have all texts there,
in the section `Attributes`, each with its default after it if the default is not the type's zero value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SECTION = re.compile(r"\n\n(?P<margin> *)(?P<title>Attributes|Computed):\n")
_ENTRY = re.compile(r"(?P<name>\w+) \([^()]*\): (?P<text>.*)")
_UNKNOWN = "See the spec."


def about(owner: type, name: str, default: object) -> str:
    """Describe a field in the words of its spec; "" if the spec has no text, or if there is no source.

    Args:
        owner: the class that has the field.
        name: the field's name in Python.
        default: the default of an attribute; `()` for a computed field.
    """
    return _declared_texts(owner).get(name) or _find_text(owner.__doc__ or "", name, default)


@lru_cache(maxsize=256)
def _declared_texts(owner: type) -> dict[str, str]:
    """Read the texts under the declarations of a class, by name, as the source has them at the first call."""
    return _classes(_source(owner)).get(owner.__qualname__, {})


def _source(owner: Any) -> str:
    """Find the source of a class's module, even if another module has its name now; "" if there is none."""
    module: dict[str, Any] = getattr(vars(owner).get("__init__"), "__globals__", {})
    get_source = getattr(getattr(module.get("__spec__"), "loader", None), "get_source", None)
    if get_source is None:
        return ""
    try:
        return get_source(module["__spec__"].name) or ""
    except (ImportError, OSError, SyntaxError, ValueError):  # the file is gone, or no longer text
        return ""


@lru_cache(maxsize=8)
def _classes(source: str) -> dict[str, dict[str, str]]:
    """Collect the texts under the declarations of each class of a module, by class and name."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):  # the file is being edited
        return {}
    return {one.name: dict(_texts(one.body)) for one in statements if isinstance(one, ast.ClassDef)}


def _texts(statements: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the texts that follow a declaration, with the name that it declares."""
    for declaration, text in pairwise(statements):
        match declaration, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(value))),
            ):
                yield name, " ".join(value.split())


def _find_text(docstring: str, name: str, default: object) -> str:
    """Find the text of a field in a docstring, without the default."""
    text = _entries(docstring).get(name, "")
    if default is None or bool(default.int if isinstance(default, UUID) else default):
        text = text.rpartition("Default: ")[0].rstrip()
    return "" if text == _UNKNOWN else text


@lru_cache(maxsize=256)
def _entries(docstring: str) -> dict[str, str]:
    """Parse the section of a docstring into its texts, by name."""
    section = _SECTION.search(docstring)
    if section is None:
        return {}
    margin = f"{section['margin']}    "  # Python 3.13 and later take the indentation away
    joined = re.sub(rf"\n{margin} +", " ", docstring[section.end() :])
    found = (_ENTRY.fullmatch(line.strip()) for line in joined.splitlines())
    return {entry["name"]: entry["text"] for entry in found if entry}

"""Safe contents of generated code: words, numbers, and Python code in which all texts are escaped.

Templates get every value through `fit`. A text from a spec, or the name of a file or folder, must be escaped first.
"""

from __future__ import annotations

import re
from typing import Any

import jinja2

from kipwire.tools.text import escape

_WORD = re.compile(r"[A-Za-z0-9_.|+*? \[\]-]*", re.ASCII)
"""Harmless anywhere: it cannot end a comment or a string, call or assign anything."""
_NOT_IN_COMMENT = re.compile(r"[^\w ./+@,()\[\]~-]")


class Code(str):
    """Python code, in which all texts from outside are escaped."""

    __slots__ = ()


class NotCode:
    """A text that templates can test but not print."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        raise ValueError(f"a template prints {self._text!r}, which is neither a word nor escaped")


def literal(text: str) -> Code:
    """Write a string literal as black has it: in double quotes, unless single ones need fewer backslashes."""
    quote = '"' if text.count('"') <= text.count("'") else "'"
    body = f"\\{quote}".join(repr(part)[1:-1] for part in text.split(quote))
    return Code(f"{quote}{body}{quote}")


def comment(text: str) -> Code:
    """Make a text fit for a comment or a docstring.

    Unusual characters are escaped: a line end would end the comment, and `coding:` or `coding=` in the first line of a
    module would change the encoding that the whole of it is read with.
    """
    return Code(_NOT_IN_COMMENT.sub(lambda match: escape(match[0]), text))


def fit(value: Any) -> Any:
    """Return the value as a template may have it: a text that is neither a word nor `Code` becomes a `NotCode`."""
    if isinstance(value, str):
        return value if isinstance(value, Code) or _WORD.fullmatch(value) else NotCode(value)
    if isinstance(value, dict):
        return value if all(fit(item) is item for pair in value.items() for item in pair) else NotCode(repr(value))
    if isinstance(value, list | tuple | set | frozenset):
        return value if all(fit(item) is item for item in value) else NotCode(repr(value))
    if isinstance(value, float | bytes):
        return NotCode(repr(value))  # their defaults are expressions already, made in `python.pymodel`
    # Jinja prints an object by its `__str__`, so such an object is judged by that text.
    if getattr(type(value), "__str__", None) is not object.__str__ and not isinstance(value, int | jinja2.Undefined):
        return value if fit(str(value)) == str(value) else NotCode(str(value))
    return value


# Jinja's autoescaping is for HTML, and a filter in each template could be forgotten in one. So the environment itself
# refuses a text that nothing has escaped, at every access.
class CodeEnvironment(jinja2.Environment):
    """The templates' way to data: each attribute and item passes `fit`, wherever it is used."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return fit(super().getattr(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return fit(super().getitem(obj, argument))

"""JSON as people write it: with comments after `//` and commas before a closing bracket; read and written.

What is printed for people is read again, so that a template or a response can be edited and sent.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NoReturn

from kipwire.message.frames import LARGEST_FRAME
from kipwire.model.errors import KipwireError
from kipwire.model.structs import Field, Struct
from kipwire.tools.files import need_input
from kipwire.tools.text import count_of

Line = tuple[tuple[str, str], ...]
"""Texts, each with its style: words of `kipwire.tools.text.STYLES`, or none."""

_LARGEST = 2 * LARGEST_FRAME
"""Bytes of JSON, in which a frame takes more than on a connection."""
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*')
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"?|,(?=\s*[}\]])')
_STDIN = "-"
_STYLES = {"name": "cyan", "text": "green", "number": "bright_cyan", "word": "magenta", "comment": "dim"}


# Reading.


def read_json_argument(argument: str) -> Any:
    """Read the JSON object that an argument is or leads to: a text, `@FILE`, or `-` for standard input.

    Raises:
        KipwireError: there is no such file, or it is no JSON object.
    """
    if argument == _STDIN:
        return parse(_decode(sys.stdin.buffer.read(_LARGEST + 1), "standard input"), "standard input")
    if argument.startswith("@"):
        path = Path(argument[1:])
        need_input(path)
        with path.open("rb") as file:
            return parse(_decode(file.read(_LARGEST + 1), str(path)), str(path))
    if not argument.lstrip().startswith(("{", "//")):
        raise KipwireError(
            f"{argument[:80]!r} is not a JSON object; use one such as '{{\"topics\": null}}', or @FILE, or -"
        )
    return parse(argument, "the JSON")


def _decode(data: bytes, where: str) -> str:
    if len(data) > _LARGEST:
        raise KipwireError(f"{where}: is larger than {count_of(_LARGEST, 'byte')}, the limit for a request")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KipwireError(f"{where}: byte {error.start} is not valid UTF-8") from None


def parse(text: str, where: str) -> dict[str, Any]:
    """Parse a JSON text, which may have comments, to its object.

    Args:
        text: the text.
        where: the name of the text in errors.

    Raises:
        KipwireError: it is no JSON object, or has a key twice.
    """
    # What is taken out leaves blanks, so that positions in errors stay right.
    plain = _LAST_COMMA.sub(_blank_of(","), _COMMENT.sub(_blank_of("//"), text))

    def no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in found if names.count(name) > 1)
            raise KipwireError(f"{where}: the key {twice[:80]!r} is duplicated in one object")
        return found

    def no_number(word: str) -> NoReturn:
        raise KipwireError(f"{where}: {word} is not valid JSON; write it as a string, as in {json.dumps(word)}")

    try:
        found = json.loads(plain, object_pairs_hook=no_twice, parse_constant=no_number)
    except JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise KipwireError(f"{where}: line {error.lineno}, column {error.colno}: {reason}") from None
    except RecursionError:
        raise KipwireError(f"{where}: is nested too deeply for any message") from None
    except KipwireError:
        raise
    except ValueError:  # of a number of thousands of digits
        raise KipwireError(f"{where}: a number has too many digits for any field") from None
    if not isinstance(found, dict):
        raise KipwireError(f"{where}: must be a JSON object, as in '{{\"topics\": null}}'")
    return found


def _blank_of(start: str) -> Callable[[re.Match[str]], str]:
    return lambda match: " " * len(match[0]) if match[0].startswith(start) else match[0]


# Writing.


class Notes:
    """Comments beside the values of fields."""

    def above(self, field: Field) -> list[str]:
        """Return the lines of a comment above a field."""
        return []

    def beside(self, field: Field, value: Any) -> str:
        """Return a comment to stand behind a value that is no object."""
        return ""


def lines_of(cls: type[Struct], value: dict[str, Any], notes: Notes) -> Iterator[Line]:
    """Format the JSON form of a message as lines, with notes.

    Args:
        cls: its class.
        value: what `to_json` gives.
        notes: for its fields.
    """
    yield from _struct(cls, value, notes, "", (), "")


def _struct(
    cls: type[Struct], value: dict[str, Any], notes: Notes, indent: str, before: Line, after: str
) -> Iterator[Line]:
    fields = [(field, name) for field, name in _names_of(cls) if name in value]  # type: ignore[arg-type]  # mypy asks its instances for a hash
    if not fields:
        yield (indent, ""), *before, (f"{{}}{after}", "")
        return
    yield (indent, ""), *before, ("{", "")
    inner = f"{indent}  "
    last = fields[-1][0]
    for field, name in fields:
        for text in notes.above(field):
            yield (inner, ""), (f"// {text}", _STYLES["comment"])
        head = (f'"{name}"', _STYLES["name"]), (": ", "")
        yield from _field(field, value[name], notes, inner, head, "" if field is last else ",")
    yield (indent, ""), (f"}}{after}", "")


@lru_cache(maxsize=1024)
def _names_of(cls: type[Struct]) -> tuple[tuple[Field, str], ...]:
    """List the fields of a class with their names in JSON."""
    return tuple((field, field.json_name) for field in cls.ATTRIBUTES)


def _field(field: Field, value: Any, notes: Notes, indent: str, before: Line, after: str) -> Iterator[Line]:
    if field.struct is not None and isinstance(value, dict):
        yield from _struct(field.struct, value, notes, indent, before, after)
    elif field.struct is not None and value:
        yield (indent, ""), *before, ("[", "")
        for number, element in enumerate(value):
            comma = "," if number < len(value) - 1 else ""
            yield from _struct(field.struct, element, notes, f"{indent}  ", (), comma)
        yield (indent, ""), (f"]{after}", "")
    elif field.element == "records" and isinstance(value, list) and value:
        yield (indent, ""), *before, ("[", "")
        for number, element in enumerate(value):
            comma = "," if number < len(value) - 1 else ""
            yield (f"{indent}  ", ""), (f"{_scalar(element)}{comma}", "")
        yield (indent, ""), (f"]{after}", "")
    else:
        note = notes.beside(field, value)
        comment = ((f"  // {note}", _STYLES["comment"]),) if note else ()
        yield (indent, ""), *before, (_scalar(value), _style(value)), (after, ""), *comment


def _scalar(value: Any) -> str:
    """Format a value on one line; characters that would do something to a terminal are escapes, which JSON has too."""
    if type(value) is int:
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _style(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _STYLES["word"]
    if isinstance(value, str):
        return _STYLES["text"]
    return _STYLES["number"] if isinstance(value, (int, float)) else ""

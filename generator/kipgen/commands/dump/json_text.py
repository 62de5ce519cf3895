"""Decoded messages as JSON text, without the dicts between: coordinator logs have very many small ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple

from kipwire.description.json_form import bytes_to_json, float_to_json, uuid_to_json
from kipwire.structs import Field, Struct
from kipwire.types import KINDS


class _Member(NamedTuple):
    """An attribute of a class."""

    name: str
    start: str
    """Its name in JSON, quoted, and the colon."""
    tagged: Field | None
    """The field, if it is tagged."""
    write: Callable[[Any], str]
    """What makes the text of an element."""
    is_array: bool


class JsonText:
    """Makes the JSON text of messages, with other characters than ASCII as they are or as escapes."""

    def __init__(self, *, ascii: bool) -> None:
        quote: Callable[[str], str] = encode_basestring_ascii if ascii else encode_basestring
        self.any: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=ascii, separators=(",", ":")).encode
        """The text of plain data."""
        self._writers: dict[str, Callable[[Any], str]] = {
            "integer": int.__repr__,
            "bool": lambda value: "true" if value else "false",
            "float": lambda value: json.dumps(float_to_json(value)),
            "uuid": lru_cache(maxsize=1024)(lambda value: f'"{uuid_to_json(value)}"'),
            "text": quote,
            "blob": lambda value: f'"{bytes_to_json(value)}"',
        }
        self._members = lru_cache(maxsize=1024)(self._find_members)

    def of(self, item: Struct) -> str:
        """The text of a message that was decoded and not changed since: the same as of its `to_json`."""
        parts = []
        for name, start, tagged, write, is_array in self._members(type(item)):  # type: ignore[arg-type]  # it is hashable
            value = getattr(item, name)
            if tagged is not None and tagged.is_default(value):
                continue
            if value is None:
                parts.append(f"{start}null")
            elif is_array:
                parts.append(f"{start}[{','.join([write(element) for element in value])}]")
            else:
                parts.append(start + write(value))
        return f"{{{','.join(parts)}}}"

    def _find_members(self, cls: type[Struct]) -> tuple[_Member, ...]:
        return tuple(
            _Member(
                field.name,
                f'"{field.json_name}":',
                None if field.tag is None else field,
                self.of if field.struct is not None else self._writers[KINDS[field.element]],
                field.array,
            )
            for field in cls.ATTRIBUTES
        )

"""Messages as compact JSON text, the same as from `to_json`; made by one template for each class."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from kipwire.description.json_codec import bytes_to_json, float_to_json, uuid_to_json
from kipwire.model.structs import Field, Struct
from kipwire.model.types import KINDS

Write = Callable[[Any], str]
"""The text of a value."""


class _Template(NamedTuple):
    """Template for the text of a class's messages."""

    values: Callable[[Struct], tuple[object, ...]]
    template: str
    """A comma before each attribute, its name and `%s`; of a tagged one only `%s`, since it may be left out."""
    writes: tuple[tuple[int, Write], ...]
    """Functions for the text of values that are not integers, with the numbers of the values."""


class JsonText:
    """Makes the JSON text of messages, with other characters than ASCII as they are or as escapes."""

    def __init__(self, *, ascii: bool, of_bytes: Mapping[str, Write] = MappingProxyType({})) -> None:
        """Make one.

        Args:
            ascii: whether other characters are escaped.
            of_bytes: the texts of bytes that are more than bytes, by the names of their attributes.
        """
        self.any: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=ascii, separators=(",", ":")).encode
        """The text of plain data."""
        self._of_bytes = of_bytes
        self._writes: dict[str, Write] = {
            "integer": int.__repr__,
            "bool": lambda value: "true" if value else "false",
            "float": lambda value: json.dumps(float_to_json(value)),
            "uuid": _uuid,
            "text": encode_basestring_ascii if ascii else encode_basestring,
            "blob": bytes_text,
        }
        self._template_of = lru_cache(maxsize=1024)(self._make_template)

    def of(self, item: Struct) -> str:
        """Make the text of a message that was decoded and not changed since: the same as from `to_json`."""
        get, template, writes = self._template_of(type(item))  # type: ignore[arg-type]  # it is hashable
        values = get(item)
        if writes:
            texts = list(values)
            for number, write in writes:
                texts[number] = write(texts[number])
            values = tuple(texts)
        return f"{{{(template % values)[1:]}}}"

    def _make_template(self, cls: type[Struct]) -> _Template:
        writes = [self._write(field) if field.tag is None else self._write_tagged(field) for field in cls.ATTRIBUTES]
        return _Template(
            _getter([field.name for field in cls.ATTRIBUTES]),
            "".join("%s" if field.tag is not None else f"{_start(field)}%s" for field in cls.ATTRIBUTES),
            tuple((number, write) for number, write in enumerate(writes) if write is not int.__repr__),
        )

    def _write_tagged(self, field: Field) -> Write:
        is_default, start, write = _is_default(field), _start(field), self._write(field)
        return lambda value: "" if is_default(value) else f"{start}{write(value)}"

    def _write(self, field: Field) -> Write:
        write = self.of if field.struct is not None else self._writes[KINDS[field.element]]
        if KINDS.get(field.element) == "blob":
            write = self._of_bytes.get(field.name, write)
        if field.array:
            write = _array(write)
        return _or_null(write) if field.nullable or field.present_if or field.absent_if else write


def bytes_text(value: bytes) -> str:
    """Format bytes as a string of base64."""
    return f'"{bytes_to_json(value)}"'


def _start(field: Field) -> str:
    return f',"{field.json_name}":'


def _getter(names: list[str]) -> Callable[[Struct], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda item: tuple([getattr(item, name) for name in names])


def _array(write: Write) -> Write:
    return lambda value: f"[{','.join([write(element) for element in value])}]"


def _or_null(write: Write) -> Write:
    return lambda value: "null" if value is None else write(value)


def _is_default(field: Field) -> Callable[[Any], bool]:
    """Choose the test for values that are left out; for uuids by number, whose comparison is a fifth of the work."""
    if KINDS.get(field.element) != "uuid" or field.array or field.default is None:
        return field.is_default
    number = getattr(field.default, "int", 0)
    return lambda value: value is not None and value.int == number


def _uuid(value: Any) -> str:
    return _uuid_text(value.int)


@lru_cache(maxsize=1024)
def _uuid_text(number: int) -> str:
    return f'"{uuid_to_json(UUID(int=number))}"'

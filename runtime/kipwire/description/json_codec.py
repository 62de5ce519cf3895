"""JSON form of messages, as Kafka's Java converters write it, for any class with field metadata.

Objects have the spec's field names with the first letter lowered. Bytes and records are standard base64, uuids are
URL-safe base64 without padding, NaN and the infinities are strings. Tagged fields at their defaults are left out.
"""

from __future__ import annotations

import base64
import binascii
import math
import uuid
from collections.abc import Callable
from operator import index
from typing import Any, TypeVar

from kipwire.description.fields import Visitor, fields_of_other_versions, is_required
from kipwire.description.values import check, out_of_range
from kipwire.model.errors import JsonError, abbreviate
from kipwire.model.structs import Field, Root, Struct
from kipwire.model.types import KINDS
from kipwire.tools.text import did_you_mean

R = TypeVar("R", bound="Root")
S = TypeVar("S", bound="Struct")

_LONGEST_KEY = 100
_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def write_json(message: Root) -> dict[str, Any]:
    """Convert a message to plain data for `json.dumps`.

    Raises:
        EncodeError: a value does not fit its field.
    """
    check(message)
    return _struct_to_json(message)


def _struct_to_json(item: Struct) -> dict[str, Any]:
    result = {}
    for field in item.ATTRIBUTES:
        value = getattr(item, field.name)
        if field.tag is None or not field.is_default(value):
            result[field.json_name] = _to_json(field, value)
    return result


def _to_json(field: Field, value: Any) -> Any:
    if value is None:
        return None
    convert = _struct_to_json if field.struct is not None else _TO_JSON[KINDS[field.element]]
    return [convert(element) for element in value] if field.array else convert(value)


def default_to_json(field: Field) -> Any:
    """Convert the default of a field to the JSON form; null where it has none."""
    return _to_json(field, field.default_value())


def float_to_json(value: float) -> float | str:
    """Convert a float64; what JSON has no number for becomes a string."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def bytes_to_json(value: bytes) -> str:
    """Encode bytes or records in standard base64."""
    return base64.b64encode(bytes(value)).decode()


def uuid_to_json(value: uuid.UUID) -> str:
    """Encode a uuid in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


_TO_JSON: dict[str, Callable[[Any], Any]] = {
    "integer": index,
    "bool": bool,
    "float": float_to_json,
    "uuid": uuid_to_json,
    "text": str,
    "blob": bytes_to_json,
}


def read_json(cls: type[R], value: Any) -> R:
    """Decode the message that a JSON object describes.

    Raises:
        JsonError: the object does not describe a message of this version; the error has the path.
    """
    return _Reader(cls).struct(cls, value)


def read_partial_json(cls: type[R], value: Any) -> R:
    """Read a message from hand-written JSON: fields without a key have their defaults.

    Every key must name a field of this version: a value for another version is an error, although `read_json` drops it
    where the field is ignorable.

    Raises:
        JsonError: the value does not describe a message of this version, or a field without a default has no key.
    """
    return _PartialReader(cls).struct(cls, value)


def _as_step(key: str) -> str:
    """Escape and shorten an unknown JSON key for the path of an error."""
    return key if key.isprintable() and len(key) <= _LONGEST_KEY else ascii(key[:_LONGEST_KEY])


class _Reader(Visitor):
    """Reads one JSON object."""

    error = JsonError

    def struct(self, cls: type[S], value: Any) -> S:
        self.expect(value, dict, "a JSON object")
        values = {}
        fields = {field.json_name: field for field in cls.ATTRIBUTES}
        for name, field in fields.items():
            if name in value:
                self.path.append(name)
                values[field.name] = self.field(field, value[name])
                self.path.pop()
            elif field.tag is None:
                self.missing(field, value)
        for name in value:
            if name not in fields:
                self.path.append(_as_step(str(name)))
                self.foreign(cls, name, value[name])
                self.path.pop()
        return cls(**values)

    def missing(self, field: Field, value: dict[str, Any]) -> None:
        """Refuse an object without the key of a positional field."""
        due = field.json_name.lower()
        hints = (f"; correct {_as_step(key)!r}" for key in map(str, value) if key.replace("_", "").lower() == due)
        self.fail(f"the key {field.json_name!r} is missing{next(hints, '')}")

    def foreign(self, cls: type[Struct], name: str, value: Any) -> None:
        """Check a key that this version has no field for: valid only if another version has it and may lose it."""
        for version, field in fields_of_other_versions(self.message, cls):
            if field.json_name == name:
                if not field.ignorable and not field.is_default(self.field(field, value)):
                    self.fail(f"not a field of this version (but of version {version}), and not ignorable")
                return
        self.fail("no version of the message has a field of this name")

    def field(self, field: Field, value: Any) -> Any:
        if value is None:
            if not field.nullable:
                self.fail("must not be null in this version")
            return None
        if not field.array:
            return self.element(field, value)
        elements: list[Any] = self.expect(value, list, "a JSON array")
        return [self.element(field, element) for element in self.each(elements)]

    def element(self, field: Field, value: Any) -> Any:
        kind = KINDS.get(field.element, "struct")
        if field.struct is not None:
            return self.struct(field.struct, value)
        if kind == "integer":
            return self.integer(field, value)
        if kind == "bool":
            return self.expect(value, bool, "true or false")
        if kind == "float":
            return self.float(value)
        text: str = self.expect(value, str, "a string")
        if kind == "uuid":
            return self.uuid(text)
        return text if kind == "text" else self.bytes(text)

    def integer(self, field: Field, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(f"must be a whole number, not {self.kind(value)}")
        if problem := out_of_range(field, value):
            self.fail(problem)
        return value

    def float(self, value: Any) -> float:
        if isinstance(value, str) and value in _SPECIAL_FLOATS:
            return _SPECIAL_FLOATS[value]
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.fail(f"must be a number, not {self.kind(value)}")
        try:
            return float(value)
        except OverflowError:
            self.fail("too large for a float64")

    def uuid(self, text: str) -> uuid.UUID:
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) != 16:
            self.fail(f"{abbreviate(text)} is not 16 bytes in URL-safe base64")
        return uuid.UUID(bytes=raw)

    def bytes(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            self.fail("not valid base64")

    def kind(self, value: object) -> str:
        names = {type(None): "null", bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
        return names.get(type(value), "a number" if isinstance(value, (int, float)) else super().kind(value))


class _PartialReader(_Reader):
    """Reads one JSON object in which keys may be missing, and in which no value may be dropped."""

    def missing(self, field: Field, value: dict[str, Any]) -> None:
        if is_required(field):
            super().missing(field, value)

    def foreign(self, cls: type[Struct], name: str, value: Any) -> None:
        others = fields_of_other_versions(self.message, cls)
        if having := sorted({version for version, field in others if field.json_name == name}):
            versions = f"{having[0]} to {having[-1]}" if len(having) > 1 else f"{having[0]} alone"
            self.fail(f"not a field of version {self.message.VERSION}, but of {versions}")
        hint = did_you_mean(name[:_LONGEST_KEY], [field.json_name for field in cls.ATTRIBUTES])
        self.fail(f"no version of the message has a field of this name{hint}")

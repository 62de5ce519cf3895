"""Functions of users that decode keys and values for display; `registry` in their place is `schema_registry`.

A function gets the bytes and returns what to show. If its second argument is required, or is called `ctx` or `context`,
it gets a `Context`, too, which has the attributes that deserializers of Confluent's client expect of theirs.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Set
from importlib import import_module
from typing import Any

from kipwire.console import schema_registry
from kipwire.console.schema_registry.heads import Context, Part, RegistryError, ValueFormError
from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError
from kipwire.records import Record
from kipwire.tools.text import did_you_mean, printable_line

PARTS: tuple[Part, Part] = ("key", "value")
_CONTEXT = ("ctx", "context")
_LONGEST_REASON = 500
"""Characters of the text of an exception that are shown."""
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ValueFailedError(KipwireError):
    """A function has raised an exception; the text names it, in one line."""


Decode = Callable[[bytes, Context], object]
Texts = Callable[[object], str]


class Decoders:
    """The functions for keys and for values, and the partition whose records they get."""

    def __init__(self, key: Decode | None = None, value: Decode | None = None) -> None:
        self._of: dict[Part, Decode | None] = {"key": key, "value": value}
        self._topic: str | None = None
        self._partition: int | None = None

    def __bool__(self) -> bool:
        return any(self._of.values())

    def turn_to(self, topic: str | None, partition: int | None) -> None:
        """Say which partition the next records are of."""
        self._topic, self._partition = topic, partition

    def shown(self, part: Part, record: Record, text: Texts) -> str | None:
        """Make the text of a key or a value; None if it is shown as it is: it is null, or there is no function.

        Raises:
            ValueFailedError: the function failed, or what it returned has no text.
        """
        decode, data = self._of[part], getattr(record, part)
        if decode is None or data is None:
            return None
        try:
            return text(decode(data, Context(self._topic, part, record.headers, self._partition, record)))
        except (ValueFormError, RegistryError) as error:
            raise ValueFailedError(f"{part}: {error}") from None
        except (Exception, SystemExit) as error:  # it is not ours, and may raise anything
            raise ValueFailedError(f"{part}: {_reason(error)}") from None


def decoders_of(value: str | None, record_key: str | None, registry: str | None) -> Decoders:
    """Load what the options `--value` and `--record-key` name.

    Args:
        value: a function by its name, `module:function`, or one of `schema_registry.NAMES`; None for none.
        record_key: the same for keys.
        registry: the URL or settings file of a schema registry.

    Raises:
        ValueError: one cannot be used, or there is a registry without a use.
    """
    named = {name for name in (value, record_key) if name in schema_registry.NAMES}
    if registry is not None and not named:
        raise ValueError("--registry needs --value registry or --record-key registry")
    made = {name: schema_registry.registry_decoder(name, registry) for name in sorted(named)}
    return Decoders(
        *(
            None if name is None else made.get(name) or decoder(option, name)
            for option, name in (("--record-key", record_key), ("--value", value))
        )
    )


def decoder(option: str, name: str) -> Decode:
    """Load a function by its name, `module:function`; the module may lie in the current folder.

    Args:
        option: for errors.
        name: it; the function may be an attribute of one, as in `module:Class.method`.

    Raises:
        ValueError: there is none, or it cannot be called with the bytes alone or with a context.
    """
    where, colon, path = name.partition(":")
    if not colon or not path or not all(part.isidentifier() for part in (*where.split("."), *path.split("."))):
        hint = schema_registry.hint_of(name)
        raise ValueError(f"{option} {name!r} is not module:function, such as decoders:order, nor registry{hint}")
    if "" not in sys.path:
        sys.path.append("")
    try:
        found: Any = import_module(where)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{option} {name}: {where} cannot be imported: {_reason(error)}") from None
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"{option} {name}: no attribute {part!r}{did_you_mean(part, dir(found))}") from None
    if not callable(found):
        raise ValueError(f"{option} {name}: is not a function but {type(found).__name__}")
    return _with_context(option, name, found)


def _with_context(option: str, name: str, function: Callable[..., object]) -> Decode:
    """Adapt a function of a user, so that it is called with as much of bytes and context as it takes."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions in C do not say what they take
        return lambda data, context: function(data)
    positional = [one for one in parameters if one.kind in _POSITIONAL]
    needed = [one for one in parameters if one.default is one.empty and one.kind in (*_POSITIONAL, one.KEYWORD_ONLY)]
    if not positional and not any(one.kind is one.VAR_POSITIONAL for one in parameters):
        raise ValueError(f"{option} {name}: takes no argument; it gets the bytes, and the context if it takes two")
    if len(needed) > 2 or any(one.kind is one.KEYWORD_ONLY for one in needed):
        raise ValueError(f"{option} {name}: needs more arguments than the bytes and the context")
    second = positional[1] if len(positional) > 1 else None
    if second is not None and (second.default is second.empty or second.name in _CONTEXT):
        return function
    return lambda data, context: function(data)


def json_text(*, ascii: bool) -> Texts:
    """Make a function that writes what a function returns as JSON, with other characters as they are or escaped."""
    encoder = json.JSONEncoder(ensure_ascii=ascii, separators=(",", ":"), default=_plain, allow_nan=False)

    def text(value: object) -> str:
        try:
            return encoder.encode(value)
        except ValueError:  # of a number that is none, which JSON does not have
            return encoder.encode(_numbers_as_text(value))

    return text


def _plain(value: object) -> object:
    """Convert a value that JSON does not have."""
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, bytes | bytearray | memoryview):
        return text_or_base64(bytes(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return str(value)


def text_or_base64(data: bytes) -> str | dict[str, str]:
    """Convert bytes for JSON: to a string if they are UTF-8, else to an object with base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _numbers_as_text(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _numbers_as_text(one) for key, one in value.items()}
    return [_numbers_as_text(one) for one in value] if isinstance(value, list | tuple) else value


def _reason(error: BaseException) -> str:
    try:
        text = printable_line(str(error))
    except Exception:  # of a class of users
        text = ""
    text = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

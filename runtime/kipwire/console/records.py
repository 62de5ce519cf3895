"""Record batches within JSON: an array of records takes the place of their base64, in a request and in a response."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from typing import Any

from kipwire.description.json_codec import bytes_to_json
from kipwire.model.errors import KipwireError
from kipwire.model.structs import Struct
from kipwire.records import RawHeaderKey, Record, read_batches, write_batch
from kipwire.tools.text import did_you_mean

_KEYS = ("offset", "timestamp", "key", "value", "headers")


def with_bytes(cls: type[Struct], value: Any) -> Any:
    """Put a batch, in base64, in the place of each array of records in the JSON form of a request.

    Raises:
        KipwireError: such an array has something else than records.
    """
    return _replace_records(cls, value, _batch, "")


def with_records(cls: type[Struct], value: Any) -> Any:
    """Put arrays of records in the place of their base64 in the JSON form of a response.

    Raises:
        KipwireError: a batch is broken, or its codec needs an extra that is not installed.
    """
    return _replace_records(cls, value, _records, "")


def _replace_records(cls: type[Struct], value: Any, replace: Callable[[Any, str], Any], path: str) -> Any:
    """Replace the values of `records` in the JSON form of a struct; what is no such form stays as it is."""
    if not isinstance(value, dict):
        return value
    fields = {field.json_name: field for field in cls.ATTRIBUTES}
    result = {}
    for name, inner in value.items():
        field = fields.get(name)
        at = f"{path}.{name}" if path else name
        if field is not None and field.element == "records":
            inner = replace(inner, at)
        elif field is not None and field.struct is not None and isinstance(inner, list):
            struct = field.struct
            inner = [_replace_records(struct, one, replace, f"{at}[{number}]") for number, one in enumerate(inner)]
        elif field is not None and field.struct is not None:
            inner = _replace_records(field.struct, inner, replace, at)
        result[name] = inner
    return result


def _batch(value: Any, path: str) -> Any:
    if not isinstance(value, list):
        return value
    now = int(time.time() * 1000)
    records = [_record(one, number, now, f"{path}[{number}]") for number, one in enumerate(value)]
    return bytes_to_json(write_batch(records)) if records else ""


def _record(value: Any, number: int, now: int, path: str) -> Record:
    if not isinstance(value, dict):
        raise KipwireError(f'{path}: must be a record, as in {{"key": "k", "value": "v"}}')
    for name in value:
        if name not in _KEYS:
            raise KipwireError(f"{path}.{name[:80]}: a record has no such key{did_you_mean(name[:80], _KEYS)}")
    headers = value.get("headers") or []
    if not isinstance(headers, list) or not all(_is_header(one) for one in headers):
        raise KipwireError(f'{path}.headers: must be pairs of a name and a value, as in [["trace", "t-1"]]')
    numbers = {name: value.get(name, default) for name, default in (("offset", number), ("timestamp", now))}
    for name, found in numbers.items():
        if not isinstance(found, int) or isinstance(found, bool):
            raise KipwireError(f"{path}.{name}: must be a whole number")
    return Record(
        offset=numbers["offset"],
        timestamp=numbers["timestamp"],
        key=_bytes_of(value.get("key"), f"{path}.key"),
        value=_bytes_of(value.get("value"), f"{path}.value"),
        headers=[(name, _bytes_of(content, f"{path}.headers")) for name, content in headers],
    )


def _is_header(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def _bytes_of(value: Any, path: str) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case {"base64": str(text)} if len(value) == 1:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                pass
    raise KipwireError(f'{path}: must be a string, null, or bytes as in {{"base64": "AAE="}}')


def _records(value: Any, path: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return [_record_json(record) for batch in read_batches(base64.b64decode(value)) for record in batch.records]
    except KipwireError as error:
        raise KipwireError(f"{path}: {error}") from None


def _record_json(record: Record) -> dict[str, Any]:
    headers = [
        [_content(key.raw) if isinstance(key, RawHeaderKey) else key, _content(value)] for key, value in record.headers
    ]
    more = {"headers": headers} if headers else {}
    pair = {"key": _content(record.key), "value": _content(record.value)}
    return {"offset": record.offset, "timestamp": record.timestamp, **pair, **more}


def _content(data: bytes | None) -> Any:
    """Convert bytes to text if they are UTF-8, as `kipwire dump` does; else to an object with base64."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": bytes_to_json(data)}

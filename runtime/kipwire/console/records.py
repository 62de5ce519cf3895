"""Record batches within JSON: an array of records takes the place of their base64, in a request and in a response."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from kipwire.console.dump.values import PARTS, Decoders, ValueFailedError, json_text
from kipwire.description.json_codec import bytes_to_json
from kipwire.model.errors import KipwireError
from kipwire.model.structs import Struct
from kipwire.records import RawHeaderKey, Record, read_batches, write_batch
from kipwire.tools.text import did_you_mean

MOST_OPENED = 64 * 1024 * 1024
"""About the most bytes of records that are shown of one field: compressed batches of others may have far more."""
_COST = 128
"""About how many bytes a record takes in addition to its key and value."""
TOPIC_NAME = "topicName"
"""The entity type of fields that name the topic of records after them."""
PARTITIONS = ("partition", "partition_index", "index")
"""Names of the fields that have the partition of records after them."""
_PLAIN = json_text(ascii=True)
"""The texts of what functions of users return, which are read again."""
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


def with_readable_records(cls: type[Struct], value: Any, decoders: Decoders) -> Any:
    """Put arrays of records in the place of their base64 in the JSON form of a message of others.

    What cannot be read is an object at the end of its array, with `error`: batches of others may be broken.

    Args:
        cls: the class of the message.
        value: its JSON form.
        decoders: functions of the user for keys and values.
    """
    topic: str | None = None

    def enter(struct: type[Struct], of_struct: dict[str, Any]) -> None:
        nonlocal topic
        for field in struct.ATTRIBUTES:
            if field.entity_type == TOPIC_NAME and not field.array:
                topic = of_struct.get(field.json_name)
            elif field.name in PARTITIONS:
                decoders.turn_to(topic, of_struct.get(field.json_name))

    def replace(one: Any, path: str) -> Any:
        return list(record_objects(base64.b64decode(one), decoders)) if isinstance(one, str) else one

    return _replace_records(cls, value, replace, "", enter)


def record_objects(data: bytes, decoders: Decoders) -> Iterator[dict[str, Any]]:
    """Yield the records of batches as objects for JSON, then, if the rest cannot be read, an object with `error`.

    Args:
        data: the batches.
        decoders: functions of the user for keys and values; a record for which one fails has an `error`, too.
    """
    size = 0
    try:
        for batch in read_batches(data):
            for record in batch.records:
                size += len(record.key or b"") + len(record.value or b"") + _COST
                if size > MOST_OPENED:
                    raise KipwireError(f"from offset {record.offset} on, records are not shown: they are too large")
                yield _decoded_record(record, decoders)
    except KipwireError as error:
        yield {"error": str(error)}


def _decoded_record(record: Record, decoders: Decoders) -> dict[str, Any]:
    shown = _record_json(record)
    wrong = []
    for part in PARTS if decoders else ():
        try:
            text = decoders.shown(part, record, _PLAIN)
        except ValueFailedError as error:
            wrong.append(str(error))
        else:
            shown |= {} if text is None else {part: json.loads(text)}
    return {**shown, "error": "; ".join(wrong)} if wrong else shown


def _replace_records(
    cls: type[Struct],
    value: Any,
    replace: Callable[[Any, str], Any],
    path: str,
    enter: Callable[[type[Struct], dict[str, Any]], None] = lambda cls, value: None,
) -> Any:
    """Replace the values of `records` in the JSON form of a struct; what is no such form stays as it is."""
    if not isinstance(value, dict):
        return value
    enter(cls, value)
    fields = {field.json_name: field for field in cls.ATTRIBUTES}
    result = {}
    for name, inner in value.items():
        field = fields.get(name)
        at = f"{path}.{name}" if path else name
        if field is not None and field.element == "records":
            inner = replace(inner, at)
        elif field is not None and field.struct is not None and isinstance(inner, list):
            struct = field.struct
            inner = [
                _replace_records(struct, one, replace, f"{at}[{number}]", enter) for number, one in enumerate(inner)
            ]
        elif field is not None and field.struct is not None:
            inner = _replace_records(field.struct, inner, replace, at, enter)
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

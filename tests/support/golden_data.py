"""The data in tests/golden, as tests want it."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from typing import Any

import kafka_messages
from kipwire import Message
from kipwire.conformance.kafka import MESSAGES
from tests.support.places import GOLDEN

FOLDER = GOLDEN
ORIGINS = MESSAGES


@cache
def lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of one file."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def messages() -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return all golden messages by name and version."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for origin in ORIGINS:
        for line in lines(origin):
            found[line["message"], line["version"]].append(line)
    return dict(found)


def every_message_and_version() -> list[tuple[str, int]]:
    """Return the name and version of every class of the package."""
    return [(name, version) for name in kafka_messages.names() for version in kafka_messages.versions(name)]


def message_of(cls: type[Message], line: dict[str, Any]) -> Message:
    """Return the message that a golden line describes, made from its JSON and its unknown tagged fields."""
    message = cls.from_json(line["json"])
    for unknown in line.get("unknown", ()):
        struct_at(message, unknown["path"]).unknown_tagged_fields[unknown["tag"]] = bytes.fromhex(unknown["hex"])
    return message


def struct_at(message: Message, pointer: str) -> Any:
    """Return the struct that a JSON pointer leads to."""
    value: Any = message
    for part in pointer.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(part)]
        else:
            value = getattr(value, next(field.name for field in value.ATTRIBUTES if field.json_name == part))
    return value


def unknown_tagged_fields(message: Message) -> list[dict[str, Any]]:
    """Return all unknown tagged fields of a message, in the form of the golden lines."""
    found: list[dict[str, Any]] = []

    def visit(struct: Any, path: str) -> None:
        if struct.FLEXIBLE:
            found.extend(
                {"path": path, "tag": tag, "hex": value.hex()} for tag, value in struct.unknown_tagged_fields.items()
            )
        for field in struct.ATTRIBUTES:
            value = getattr(struct, field.name)
            if field.struct is None or value is None:
                continue
            if field.array:
                for index, element in enumerate(value):
                    visit(element, f"{path}/{field.json_name}/{index}")
            else:
                visit(value, f"{path}/{field.json_name}")

    visit(message, "")
    return found

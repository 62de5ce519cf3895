"""Refusals by Kafka's own classes, kept in tests/golden: `getErrorResponse` of kafka-clients 4.3.1.

`python -m tests.support.java_refusals` writes them, with jars that Maven fetches.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import kafka_messages
from kipwire import Message, Struct, build
from tests.support.kafka_jars import fetch_class_path
from tests.support.places import GOLDEN, SUPPORT

RELEASE = "4.3.1"
FILE = GOLDEN / "error-responses.jsonl.gz"
PROGRAM = SUPPORT / "java" / "ErrorResponses.java"
CODE, TEXT = 29, "because"
"""Error code and text of every refusal."""
REGISTRY = kafka_messages.REGISTRY


def filled(cls: type[Struct], numbers: Iterator[int]) -> dict[str, Any]:
    """Return values in which each array has two elements, and no name or number stands twice."""
    values: dict[str, Any] = {}
    for field in cls.ATTRIBUTES:
        if field.struct is not None:
            values[field.name] = [filled(field.struct, numbers) for _ in range(2 if field.array else 1)]
            values[field.name] = values[field.name] if field.array else values[field.name][0]
        elif field.array and field.element in ("string", "int32"):
            some = [next(numbers), next(numbers)]
            values[field.name] = some if field.element == "int32" else [f"name {one}" for one in some]
        elif not field.array and field.type == "string":
            values[field.name] = f"name {next(numbers)}"
        elif not field.array and field.type in ("int32", "int64"):
            values[field.name] = next(numbers)
        elif not field.array and field.type in ("int8", "int16"):
            values[field.name] = 1  # a value that every enum of Kafka has
        elif not field.array and field.type == "uuid":
            values[field.name] = UUID(int=next(numbers))
        elif field.type == "records":
            values[field.name] = b""
    return values


def requests() -> Iterator[Message]:
    """Yield a request of each API and version."""
    for name in REGISTRY.names():
        if REGISTRY.entry(name).type == "request":
            for version in REGISTRY.versions(name):
                cls = REGISTRY.message(name, version)
                yield build(cls, filled(cls, count(1)))


def recorded() -> list[dict[str, Any]]:
    """Return the lines of the file: `message`, `version` and `hex` of a request, and `response`, which refuses it."""
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).decode().splitlines()]


def printed(folder: Path) -> list[dict[str, Any]]:
    """Run the program with jars fetched into a folder; return its lines, without messages that this release lacks."""
    jars = fetch_class_path(folder, RELEASE, ["kafka-clients"])
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", ":".join(map(str, jars)), str(PROGRAM), str(CODE), TEXT]
    asked: list[Any] = list(requests())
    lines = "".join(f"{one.API_KEY} {one.VERSION} {one.encode().hex()}\n" for one in asked)
    done = subprocess.run(command, check=True, input=lines, capture_output=True, text=True, timeout=120)
    return [
        {"message": type(one).NAME, "version": one.VERSION, "hex": one.encode().hex(), "response": response}
        for one, response in zip(asked, done.stdout.split(), strict=True)
        if response != "-"
    ]


def write() -> None:
    """Write the file again."""
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"{json.dumps(line)}\n" for line in printed(Path(folder)))
    FILE.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


if __name__ == "__main__":
    write()

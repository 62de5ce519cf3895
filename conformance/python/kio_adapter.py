"""kio for `kipwire conform`: conformance/python/kio_adapter.py."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any

from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer

CLASSES: dict[str, dict[int, str]] = {}
"""The places of classes by the name of the message and the version."""
for versions in schema_name_map.values():
    for number, types in versions.items():
        for place in types.values():
            CLASSES.setdefault(place.rpartition(":")[2], {})[number] = place


@cache
def codec(name: str, number: int) -> tuple[Any, Any]:
    cls = resolve_name(CLASSES[name][number])
    return entity_reader(cls), entity_writer(cls)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    if asked["op"] == "hello":
        claims = {name: [min(numbers), max(numbers)] for name, numbers in CLASSES.items()}
        return {"name": "kio", "release": version("kio"), "ops": ["reencode"], "claims": {"message": claims}}
    try:
        read, write = codec(asked["message"], asked["version"])
        message, _ = read(bytes.fromhex(asked["bytes"]), 0)
        buffer = io.BytesIO()
        write(buffer, message)
        return {"bytes": buffer.getvalue().hex()}
    except Exception as error:  # some errors of damaged bytes are of Python itself
        return {"refused": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)

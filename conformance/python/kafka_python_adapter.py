"""kafka-python for `kipwire conform`: conformance/python/kafka_python_adapter.py."""

from __future__ import annotations

import json
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

warnings.simplefilter("ignore")

import kafka.protocol  # noqa: E402 - it warns when it is imported
from kafka.protocol.api_message import ApiMessage  # noqa: E402

for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
    if not module.name.startswith(("kafka.protocol.old", "kafka.protocol.generate_stubs")):
        import_module(module.name)


def classes(cls: Any) -> Iterator[Any]:
    for one in cls.__subclasses__():
        yield one
        yield from classes(one)


CLASSES = {cls.name: cls for cls in classes(ApiMessage) if cls._class_version is None and cls.__name__ == cls.name}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    if asked["op"] == "hello":
        # Versions below the lowest of its specs are allowed, too; only the versions of the specs are claimed.
        claims = {name: list(cls.valid_versions) for name, cls in CLASSES.items() if cls.valid_versions}
        release = version("kafka-python")
        return {"name": "kafka-python", "release": release, "ops": ["reencode"], "claims": {"message": claims}}
    try:
        message = CLASSES[asked["message"]].decode(bytes.fromhex(asked["bytes"]), version=asked["version"])
        message._header = None  # 3.0.12 reads it when it encodes, but does not set it for a body without header
        return {"bytes": bytes(message.encode(version=asked["version"])).hex()}
    except Exception as error:  # it has no class for what is wrong with bytes
        return {"refused": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)

"""Places of the generator's own files: beside the code in an installed wheel, at the root of a checkout otherwise."""

from __future__ import annotations

from pathlib import Path

import kipwire

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def package_folder() -> Path:
    """Return the folder of the generator's own code."""
    return _PACKAGE


def runtime_folder() -> Path:
    """Return the folder of the runtime's code."""
    return Path(kipwire.__file__).resolve().parent


def schema_path() -> Path:
    """Find the JSON Schema of message specs."""
    return _first_existing("schemas/message-spec.schema.json")


def enum_schema_path() -> Path:
    """Find the JSON Schema of enums."""
    return _first_existing("schemas/enum.schema.json")


def resolved_schema_path() -> Path:
    """Find the JSON Schema of resolved specs."""
    return _first_existing("schemas/resolved.schema.json")


def vector_schema_path() -> Path:
    """Find the JSON Schema of vectors."""
    return _first_existing("schemas/vector.schema.json")


def template_folder() -> Path:
    """Find the folder of the templates that generated code is rendered from."""
    return _first_existing("templates")


def kafka_specs() -> Path:
    """Find the folder of the specs of Kafka's own messages."""
    return _first_existing("schemas/kafka_messages")


def kafka_spec(name: str) -> Path | None:
    """Find the spec of one of Kafka's own messages; None if there is none of that name."""
    return next(kafka_specs().rglob(f"{name}.json"), None) if name.isidentifier() else None


def _first_existing(name: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.exists() else _CHECKOUT / name

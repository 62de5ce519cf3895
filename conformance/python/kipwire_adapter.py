"""kipwire for `kipwire conform`: kipwire_adapter.py [plain | kernel | columns | projections] [PACKAGE].

`columns` and `projections` read and write the same bytes by other code: messages as Arrow columns, and all fields of a
message as a projection that replaces them in its bytes.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

WAY = sys.argv[1] if len(sys.argv) > 1 else "kernel"
os.environ["KIPWIRE_NATIVE"] = "0" if WAY == "plain" else "1"

import kipwire  # noqa: E402 - the environment says which engine it takes
from kipwire.codec import wire  # noqa: E402
from kipwire.description.json_codec import default_to_json  # noqa: E402
from kipwire.message.registry import registry_of  # noqa: E402
from kipwire.model.errors import Malformed  # noqa: E402
from kipwire.model.types import ENCODINGS  # noqa: E402

REGISTRY = registry_of(sys.argv[2] if len(sys.argv) > 2 else "kafka_messages")
IS_KAFKA = REGISTRY.package == "kafka_messages"
OPS = ["decode", "encode", "reencode"] if WAY in ("plain", "kernel") else ["reencode"]


def hello() -> dict[str, Any]:
    if WAY == "kernel" and not kipwire.native.in_use:
        sys.exit(f"the kernel is not in use: {kipwire.native.reason}")
    messages = {name: REGISTRY.versions(name) for name in REGISTRY.names()}
    claims = {"message": {name: [some[0], some[-1]] for name, some in messages.items() if some}}
    if "decode" in OPS:
        framed = [name for name in claims["message"] if REGISTRY.entry(name).type in ("request", "response")]
        claims["frame"] = {name: claims["message"][name] for name in framed}
    if "decode" in OPS and IS_KAFKA:
        claims["encoding"] = {name: [0, 0] for name in ENCODINGS}
        claims["records"] = {"records": [0, 2]}
    return {"name": f"kipwire ({WAY})", "release": kipwire.__version__, "ops": OPS, "claims": claims}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    if asked["op"] == "hello":
        return hello()
    try:
        return FORMS[asked["form"]](asked)
    except kipwire.KipwireError as error:
        return {"refused": str(error)}


def message(asked: dict[str, Any]) -> dict[str, Any]:
    cls = REGISTRY.message(asked["message"], asked["version"])
    if asked["op"] == "encode":
        return {"bytes": cls.from_json(asked["json"]).encode().hex()}
    data = bytes.fromhex(asked["bytes"])
    if WAY == "columns":
        from kipwire import columns

        return {"bytes": columns.encode(cls, columns.decode(cls, [data])).to_pylist()[0].hex()}
    if WAY == "projections":
        return {"bytes": projected(cls, data).hex()}
    made = cls.decode(data)
    return {"json": with_defaults(made, made.to_json())} if asked["op"] == "decode" else {"bytes": made.encode().hex()}


def with_defaults(struct: kipwire.Struct, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form with the tagged fields that are left out, so that their defaults are checked, too."""
    for field in struct.ATTRIBUTES:
        if field.json_name not in plain:
            plain[field.json_name] = default_to_json(field)
        elif field.struct is not None and (value := getattr(struct, field.name)) is not None:
            pairs = (
                zip(value, plain[field.json_name], strict=True) if field.array else [(value, plain[field.json_name])]
            )
            for inner, inner_plain in pairs:
                with_defaults(inner, inner_plain)
    return plain


def projected(cls: Any, data: bytes) -> bytes:
    from kipwire.projection import Projection

    if not cls.ATTRIBUTES:
        return bytes(cls.decode(data).encode())
    projection = Projection(cls, *(field.name for field in cls.ATTRIBUTES))
    return projection.replace(data, projection.decode(data))


def frame(asked: dict[str, Any]) -> dict[str, Any]:
    name, version = asked["message"], asked["version"]
    entry = REGISTRY.entry(name)
    cls = REGISTRY.message(name, version)
    header = REGISTRY.header_class(f"{entry.type.capitalize()}Header", cls)
    if asked["op"] == "encode":
        parts = header.from_json(asked["json"]["header"]).encode() + cls.from_json(asked["json"]["body"]).encode()
        return {"bytes": (len(parts).to_bytes(4, "big") + parts).hex()}
    data = bytes.fromhex(asked["bytes"])
    head, at = header.read(data, 4)
    body = cls.decode(data[at:])
    if asked["op"] == "decode":
        return {"json": {"header": head.to_json(), "body": body.to_json()}}
    return {"bytes": (data[:4] + head.encode() + body.encode()).hex()}


def records(asked: dict[str, Any]) -> dict[str, Any]:
    from kipwire.records import read_batches

    def text(data: bytes | None) -> str | None:
        return None if data is None else base64.b64encode(data).decode()

    found = [
        {
            "offset": one.offset,
            "timestamp": one.timestamp,
            "key": text(one.key),
            "value": text(one.value),
            "headers": [{"key": key, "value": text(value)} for key, value in one.headers],
        }
        for batch in read_batches(bytes.fromhex(asked["bytes"]))
        for one in batch.records
    ]
    return {"json": {"records": found}}


def encoding(asked: dict[str, Any]) -> dict[str, Any]:
    scheme, bits = ENCODINGS[asked["message"]].scheme, ENCODINGS[asked["message"]].bits
    write = {"packed": wire.write_packed, "upacked": wire.write_upacked}.get(scheme)
    if asked["op"] == "encode":
        number = asked["json"]
        return {"bytes": (write(number, bits) if write else number.to_bytes(bits // 8, "big", signed=True)).hex()}
    data = bytes.fromhex(asked["bytes"])
    if write is None:
        if len(data) != bits // 8:
            return {"refused": f"{len(data)} bytes"}
        return {"json": int.from_bytes(data, "big", signed=True)}
    try:
        if data and data[0] < 0x80:
            read, end = ((data[0] >> 1) ^ -(data[0] & 1) if scheme == "packed" else data[0]), 1
        else:
            read, end = (wire.read_packed if scheme == "packed" else wire.read_upacked)(data, 1, bits)
    except (Malformed, IndexError):
        return {"refused": "malformed"}
    return {"json": read} if end == len(data) else {"refused": "trailing bytes"}


FORMS = {"message": message, "frame": frame, "records": records, "encoding": encoding}

for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)

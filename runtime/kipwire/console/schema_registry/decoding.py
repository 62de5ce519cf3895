"""Keys and values decoded by the schemas of a registry: Avro, JSON and protobuf, each by a library of its own.

Avro is read by Apache's own library. fastavro is six times as fast, but its compiled reader ends the process with a
segmentation fault for a recursive schema and 10,000 bytes of a hostile value, and takes any count of items for true.
JSON is not checked against its schema: what the producer wrote is shown. Protobuf needs the registry's serialized form
of a schema (a `FileDescriptorProto`), since the text of a .proto file has to be compiled.
"""

from __future__ import annotations

import base64
import io
import json
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NoReturn

from kipwire.console.schema_registry.client import RegistryClient, RegistrySettings, Schema
from kipwire.console.schema_registry.heads import Context, Head, RegistryError, ValueFormError, head_of, without_indexes
from kipwire.model.extras import missing_extra
from kipwire.tools.text import leftover_reason, printable_line

EXTRA = "schema-registry"
_MOST_REFERENCES = 1000
_LONGEST_REASON = 300
"""Characters of a library's error."""

Read = Callable[[Head, bytes], dict[str, object]]
"""Decodes what follows an id; returns what is shown beside the id."""


class Schemas:
    """The schemas of a registry, each made ready at its first value."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Make a client; the libraries must be there, since nearly all schemas need one.

        Raises:
            MissingExtraError: a library is not installed.
        """
        for module in ("avro.io", "google.protobuf.json_format"):
            try:
                import_module(module)
            except ImportError:
                raise missing_extra("--registry needs", module.partition(".")[0], EXTRA) from None
        self._client = RegistryClient(settings)
        self._readers: dict[int | str | None, Read] = {}

    def decode(self, data: bytes, context: Context) -> object:
        """Decode a key or a value.

        Raises:
            ValueFormError: it has no id, or does not fit its schema.
            RegistryError: there is no such schema, or none that can be used.
        """
        head, rest = head_of(data, context)
        name = head.id if head.guid is None else head.guid
        try:
            read = self._readers.get(name)
            if read is None:
                read = self._readers[name] = self._reader(head)
        except RegistryError as error:
            raise RegistryError(f"{head}: {error}") from None
        try:
            shown = read(head, rest)
        except ValueFormError:
            raise
        except Exception as error:  # libraries raise errors of many classes for bytes that do not fit
            raise ValueFormError(f"{head}: the value does not fit its schema: {_reason(error)}") from None
        return {**head.shown(), **shown}

    def _reader(self, head: Head) -> Read:
        schema = self._schema(head)
        try:
            match schema.type:
                case "AVRO":
                    return _avro(schema, self._references(schema))
                case "JSON":
                    return _json
                case "PROTOBUF":
                    schema = self._schema(head, serialized=True)
                    return _protobuf(schema, self._references(schema, serialized=True))
        except RegistryError:
            raise
        except Exception as error:  # as above
            raise RegistryError(f"the schema cannot be used: {_reason(error)}") from None
        raise RegistryError(f"its type is {printable_line(schema.type)!r}; AVRO, JSON and PROTOBUF are decoded")

    def _schema(self, head: Head, *, serialized: bool = False) -> Schema:
        if head.guid is not None:
            return self._client.by_guid(head.guid, serialized=serialized)
        return self._client.by_id(head.id or 0, serialized=serialized)

    def _references(self, schema: Schema, *, serialized: bool = False) -> list[tuple[str, Schema]]:
        """Fetch what a schema refers to, also by references of references: each once, after those that it needs.

        Raises:
            RegistryError: one cannot be had, or there are too many.
        """
        found: dict[tuple[str, int], tuple[str, Schema]] = {}
        seen: set[tuple[str, int]] = set()

        def visit(one: Schema) -> Iterator[Schema]:
            """Yield the schemas to visit before the next; loops end at what was seen."""
            for name, subject, version in one.references:
                if (subject, version) in seen:
                    continue
                seen.add((subject, version))
                if len(seen) > _MOST_REFERENCES:
                    raise RegistryError(f"the schema refers to more than {_MOST_REFERENCES:,} others")
                try:
                    inner = self._client.of_subject(subject, version, serialized=serialized)
                except RegistryError as error:
                    raise RegistryError(f"its reference to {printable_line(name)!r}: {error}") from None
                yield inner
                found[subject, version] = name, inner

        stack = [visit(schema)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(visit(inner))
        return list(found.values())


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = printable_line(" ".join(str(error).split()))
    text = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
    return text or type(error).__name__


def _json(head: Head, rest: bytes) -> dict[str, object]:
    def refuse(constant: str) -> NoReturn:
        raise ValueFormError(f"{head}: the value does not fit its schema: JSON has no {constant}")

    return {"data": json.loads(rest, parse_constant=refuse)}


def _avro(schema: Schema, references: list[tuple[str, Schema]]) -> Read:
    from avro.io import BinaryDecoder, DatumReader
    from avro.name import Names
    from avro.schema import make_avsc_object

    names = Names()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of logical types that are not known, whose values are shown without
        for _, one in references:
            make_avsc_object(json.loads(one.text), names, validate_enum_symbols=False)
        parsed = make_avsc_object(json.loads(schema.text), names, validate_enum_symbols=False)
    reader = DatumReader(parsed, parsed)

    def read(head: Head, rest: bytes) -> dict[str, object]:
        stream = io.BytesIO(rest)
        value = reader.read(BinaryDecoder(stream))
        if left := len(rest) - stream.tell():
            raise ValueFormError(f"{head}: {leftover_reason(left, 'the value')}")
        return {"data": value}

    return read


def _protobuf(schema: Schema, references: list[tuple[str, Schema]]) -> Read:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message_factory import GetMessageClass

    pool, known = DescriptorPool(), set()

    def add(file: FileDescriptorProto) -> None:
        for needed in file.dependency:
            if needed.startswith("google/protobuf/") and needed not in known:  # no registry has these
                known.add(needed)
                module = import_module(needed.removesuffix(".proto").replace("/", ".") + "_pb2")
                add(FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb))
        pool.Add(file)

    def descriptor(one: Schema, name: str) -> FileDescriptorProto:
        try:
            file = FileDescriptorProto.FromString(base64.b64decode(one.text, validate=True))
        except Exception:
            raise RegistryError("the registry does not give this protobuf schema in its serialized form") from None
        file.name = name
        return file

    for name, one in references:
        known.add(name)
        add(descriptor(one, name))
    root = descriptor(schema, "value.proto")
    add(root)
    file = pool.FindFileByName("value.proto")

    def read(head: Head, rest: bytes) -> dict[str, object]:
        head, rest = without_indexes(head, rest)
        at: Any = root
        path = []
        for depth, index in enumerate(head.indexes or ()):
            messages = at.message_type if depth == 0 else at.nested_type
            if index >= len(messages):
                raise ValueFormError(f"{head}: the schema has no message at indexes {list(head.indexes or ())}")
            at = messages[index]
            path.append(at.name)
        found = file.message_types_by_name[path[0]]
        for name in path[1:]:
            found = found.nested_types_by_name[name]
        message = GetMessageClass(found).FromString(rest)
        return {
            "message": found.full_name,
            "data": MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=pool),
        }

    return read

"""The resolved specs of a package as one document: exactly what is on the wire, in each version of each message.

The document has nothing of the spec language in it: no version ranges, no properties that decide between forms. It is
the result of `resolve`, and its schema is schemas/resolved.schema.json. docs/resolved.md lists what may change.

A reader needs no other file: headers are part of the document, Kafka's if the package has none, and so are the numbers
of its enums. The tests have a reader with nothing but this JSON, which reads every golden message of Kafka's Java
classes; a fact that it would lack belongs here, not into a reader. Order never depends on files: messages and enums go
by name, so equal specs give equal bytes, which `kipgen resolve --check` relies on. `items` describes the bytes of one
struct.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kipgen.data.items import Data, items
from kipgen.language import names
from kipgen.language.problems import Problem
from kipgen.language.spec import HEADERS, MessageSpec
from kipgen.python.render import registry_entry
from kipgen.python.render_enums import message_number_name, numbered_messages
from kipgen.reading import check
from kipgen.reading.enum_spec import EnumSpec, EnumValue
from kipgen.resolve.headers import HeaderVersions, header_versions, resolve_versions
from kipgen.resolve.wire import WireMessage, WireStruct, same_form
from kipgen.resources import kafka_spec
from kipwire.description.plan import struct_plan
from kipwire.model.api_keys import UNSUPPORTED_VERSION

FORMAT = 1
"""The number of the document's format. It grows when a reader of the format before could misread the document."""


class Resolved(NamedTuple):
    """A folder of specs as a document."""

    document: Data | None
    """None if a spec has an error."""
    problems: tuple[Problem, ...]
    """Errors and warnings, by location."""


def resolve_folder(folder: Path, package: str) -> Resolved:
    """Resolve a folder of specs to its document; what is wrong with them are problems, never an exception.

    Args:
        folder: the folder of specs.
        package: the dotted name of the package that they are.
    """
    checked, problems = check.read_folder(folder)
    if any(problem.severity == "error" for problem in problems):
        return Resolved(None, problems)
    specs = [one.spec for one in checked if one.spec is not None]
    return Resolved(document(package, specs, check.read_enums(folder)), problems)


def document(package: str, specs: Sequence[MessageSpec], enums: Sequence[EnumSpec]) -> Data:
    """Convert the specs of a package to resolved ones, as data for `json.dumps`; equal specs give equal data.

    Args:
        package: its dotted name.
        specs: its messages, without problems, in any order.
        enums: its enums, without problems, in any order.
    """
    ordered = sorted(specs, key=lambda spec: spec.name)
    versions = header_versions(ordered)
    given = frozenset(enum.name for enum in enums)
    own = {spec.name: spec for spec in ordered}
    headers = {
        type_: own.get(name) or kafka_header(name)
        for type_, name in HEADERS.items()
        if any(spec.type == type_ for spec in ordered)
    }
    return {
        "format": FORMAT,
        "package": package,
        "headers": {type_: _message(spec, versions, given) for type_, spec in headers.items()},
        "enums": [_enum(enum, ordered, versions) for enum in sorted(enums, key=lambda enum: enum.name)],
        "messages": [_message(spec, versions, given) for spec in ordered],
    }


def text_of(data: Data) -> str:
    """Write a document as the text of a file: the same bytes for equal documents."""
    # JSON has no NaN; defaults that are not finite are texts already, as in the JSON form of messages.
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def kafka_header(name: str) -> MessageSpec:
    """Kafka's own header, which messages have in a package without headers."""
    file = kafka_spec(name)
    spec = check.read_file(file).spec if file is not None else None
    assert spec is not None, f"kipgen has no spec of Kafka's {name}"
    return spec


def _message(spec: MessageSpec, headers: HeaderVersions, enums: frozenset[str]) -> Data:
    data: Data = {"name": spec.name, "type": spec.type}
    if spec.about:
        data["about"] = spec.about
    if spec.api_key is not None:
        data["apiKey"] = spec.api_key
    valid = spec.valid_versions
    data["versions"] = [*valid.each()]
    data["servedVersions"] = [*spec.served_versions.intersect(valid).each()]
    if deprecated := [*spec.deprecated_versions.intersect(valid).each()]:
        data["deprecatedVersions"] = deprecated
    if spec.listeners:
        data["listeners"] = [*spec.listeners]
    if spec.has_oldest_header and valid.lowest == 0:
        # A broker that lacks the version of an ApiVersionsRequest answers in version 0, whatever was asked (KIP-511).
        data["refusal"] = {"version": 0, "errorCode": UNSUPPORTED_VERSION}
    data["forms"] = [_form(alike, enums) for alike in _alike(resolve_versions(spec, headers))]
    return data


def _alike(resolved: Iterable[type[WireMessage]]) -> Iterator[list[type[WireMessage]]]:
    """Group the versions in runs of the same form."""
    run: list[type[WireMessage]] = []
    for message in resolved:
        if run and not same_form(message, run[-1]):
            yield run
            run = []
        run.append(message)
    if run:
        yield run


def _form(alike: Sequence[type[WireMessage]], enums: frozenset[str]) -> Data:
    """Describe the wire form that one or more neighbouring versions share."""
    message = alike[0]
    data: Data = {"versions": [one.VERSION for one in alike]}
    if "HEADER_VERSION" in vars(message):
        data["headerVersion"] = message.HEADER_VERSION
    own_names = {names.class_name(name): name for name in message.SPEC.struct_fields}
    data["structs"] = [_struct(own_names[one.__name__], one, message, enums) for one in (*message.STRUCTS, message)]
    return data


def _struct(name: str, struct: type[WireStruct], message: type[WireMessage], enums: frozenset[str]) -> Data:
    data: Data = {"name": name}
    if struct.ABOUT and struct is not message:
        data["about"] = struct.ABOUT
    if not message.SPEC.is_layout and struct_plan(struct).minimum_size == 0:
        data["mayTakeNoBytes"] = True
    present = [field for field in message.SPEC.struct_fields[name] if message.VERSION in field.versions]
    found = items(struct, present, enums)
    data["items"] = [item for item in found if "tag" not in item]
    if struct.FLEXIBLE:
        tagged = sorted((item for item in found if "tag" in item), key=lambda item: int(item["tag"]))
        # Kafka's readers refuse a tag that only other versions have a field for, so it is no unknown field.
        data["tagSection"] = {"fields": tagged, "refusedTags": sorted(struct.OTHER_TAGS)}
    return data


def _enum(enum: EnumSpec, specs: Sequence[MessageSpec], headers: HeaderVersions) -> Data:
    data: Data = {"name": enum.name, "about": enum.about}
    if enum.values_from is not None:
        entries = numbered_messages(enum.values_from, [registry_entry(spec, headers) for spec in specs])
        data["values"] = [
            {"value": entry.api_key, "name": message_number_name(entry), "message": entry.name} for entry in entries
        ]
    else:
        data["values"] = [_enum_value(value) for value in enum.values]
    reserved = ("reservedValues", enum.reserved_values), ("reservedNames", enum.reserved_names)
    data |= {key: [*taken] for key, taken in reserved if taken}
    return data


def _enum_value(value: EnumValue) -> Data:
    data: Data = {"value": value.number, "name": value.name, "about": value.about}
    data |= {key: it for key, it in (("kip", value.kip), ("retriable", value.retriable)) if it is not None}
    if value.header_key is not None:
        row = value.header_key
        columns = {"name": row.name, "by": row.by, "url": row.url, "notes": row.notes}
        data["header"] = {key: text for key, text in columns.items() if text is not None}
    return data

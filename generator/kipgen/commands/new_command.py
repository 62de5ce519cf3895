"""The command `kipgen new`, and the specs that it starts a message with: small, valid, and explained line by line.

A spec that this command writes must pass `kipgen check` without a warning, and its comments are the first documentation
of the language that a user sees: a change of the language changes them, too. The texts are templates of `str.format`
where braces are doubled (`_HEAD`, `_LAYOUT`), and plain texts where they are not. Nothing is written if one of the
files exists, so that a pair is made as a whole or not at all.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from kipgen.commands.console import settings_here
from kipgen.language.names import need_package_name
from kipgen.language.spec import MESSAGE_TYPES
from kipgen.reading.check import read_files
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.model.api_keys import API_VERSIONS_KEY, VERSIONS_ANSWER
from kipwire.tools.files import write_whole
from kipwire.tools.text import print_out

_HEAD = """\
// {about}
// The whole language: "kipgen rules". Comments like this one are allowed everywhere.
{{
{api_key}  "type": "{type}",
  "name": "{name}",
  "about": "Say what the message is for: who sends or stores it, and why.",
  // Each version has its own class. A new version is added by raising the upper end.
  "validVersions": "0",
  // From this version on: compact lengths, and tagged fields can be added without a new version (KIP-482).
  "flexibleVersions": "{flexible}",
  "fields": [
{fields}
  ]
}}
"""

_FIELDS = """\
    // "versions" says which versions have the field: "0+" is all from 0 on, "1-3" only these.
    { "name": "Key", "type": "string", "versions": "0+",
      "about": "Say what it means: units, the meaning of -1 or null." },
    // An array of structs defines its struct in place.
    { "name": "Items", "type": "[]Item", "versions": "0+",
      "about": "The items that are meant.", "fields": [
      { "name": "Name", "type": "string", "versions": "0+",
        "about": "Name of the item." },
      { "name": "Numbers", "type": "[]int32", "versions": "0+",
        "about": "Say what they count." }
    ]}"""

_TAGGED_FIELD = """\
,
    // A tagged field takes no bytes while it has its default value. Its tag is never reused.
    { "name": "Reason", "type": "string", "versions": "0+", "tag": 0, "taggedVersions": "0+",
      "nullableVersions": "0+", "default": "null",
      "about": "Why it is sent; null if no reason is given." }"""

_RESPONSE_FIELDS = """\
    // A server answers with a code of its own where its handler fails, and for versions that it does not serve.
    { "name": "ErrorCode", "type": "int16", "versions": "0+",
      "about": "What went wrong; 0 if nothing did." },
    // A tagged field takes no bytes while it has its default value. Its tag is never reused.
    { "name": "ErrorMessage", "type": "string", "versions": "0+", "tag": 0, "taggedVersions": "0+",
      "nullableVersions": "0+", "default": "null",
      "about": "The error in words; null if there is none." }"""


_ASK = """\
// Spec of ApiVersionsRequest: a client asks which versions the server has. It stays as it is.
{{
  "apiKey": {api_key},
  "type": "request",
  "name": "ApiVersionsRequest",
  "about": "The first request on a connection: a client asks which API keys and versions the server has.",
  "validVersions": "0",
  "flexibleVersions": "none",
  "fields": []
}}
"""
_TABLE = """\
// Spec of ApiVersionsResponse, in the form of Kafka's, by which kipwire knows it. Version 0 stays as it is.
{{
  "apiKey": {api_key},
  "type": "response",
  "name": "ApiVersionsResponse",
  "about": "The versions of each API that the server has.",
  "validVersions": "0",
  "flexibleVersions": "none",
  // Also of later versions: a server that lacks them answers in version 0, and the client reads the same header.
  "headerVersions": {{ "0+": "0" }},
  "fields": [
    {{ "name": "ErrorCode", "type": "int16", "versions": "0+",
      "about": "35 where the server lacks the version of the request, which it then answers in version 0." }},
    {{ "name": "ApiKeys", "type": "[]ApiVersion", "versions": "0+",
      "about": "A row for each API that the server has.", "fields": [
      {{ "name": "ApiKey", "type": "int16", "versions": "0+", "mapKey": true,
        "about": "Number of the API." }},
      {{ "name": "MinVersion", "type": "int16", "versions": "0+",
        "about": "Lowest version that the server has." }},
      {{ "name": "MaxVersion", "type": "int16", "versions": "0+",
        "about": "Highest version that the server has." }}
    ]}}
  ]
}}
"""
_CODES = """\
// Names for the numbers in all fields ErrorCode of the package.
{
  "name": "ErrorCode",
  "about": "Why a request failed.",
  "values": [
    { "value": -1, "name": "UNKNOWN_SERVER_ERROR", "retriable": false,
      "about": "The server failed; its log says more." },
    { "value": 0, "name": "NONE", "retriable": false,
      "about": "No error." },
    { "value": 35, "name": "UNSUPPORTED_VERSION", "retriable": false,
      "about": "The server does not have this version of the request." }
  ]
}
"""

_LAYOUT = """\
// Spec of {name}, to be changed into what you need.
// All that layouts have: https://github.com/kipwire/kipwire/blob/main/docs/spec-language.md, or "kipgen rules".
// Comments like these are allowed everywhere.
{{
  "type": "layout",
  "name": "{name}",
  "about": "Say what the bytes are for: who sends or stores them, and why.",
  // Each version has its own class. A new version is added by raising the upper end.
  "validVersions": "0",
  "fields": [
    // Computed, so not an attribute: the bytes after it. The fields after it must end exactly there.
    {{ "name": "Length", "type": "int32", "versions": "0+", "sizeOf": "rest",
      "about": "Bytes of the entry after this field." }},
    {{ "name": "Magic", "type": "int8", "versions": "0+", "constant": "version",
      "about": "Number of the format." }},
    {{ "name": "Crc", "type": "uint32", "versions": "0+",
      "checksum": {{ "algorithm": "crc32", "from": "Attributes" }},
      "about": "CRC-32 of everything after it." }},
    // Each name is an attribute. Bits without a name are zero.
    {{ "name": "Attributes", "type": "int8", "versions": "0+",
      "about": "Flags of the entry.", "bits": [
      {{ "name": "Compression", "bits": "0-2",
        "about": "How the body is compressed; 0 not at all." }},
      {{ "name": "HasHeaders", "bits": "3",
        "about": "Whether there are headers." }}
    ]}},
    {{ "name": "Key", "type": "bytes", "versions": "0+", "size": "varint", "nullableVersions": "0+",
      "about": "Say what null means." }},
    // Not on the wire if it is empty; then the bit is 0.
    {{ "name": "Headers", "type": "[]{name}Header", "versions": "0+", "count": "uvarint", "presentIf": "HasHeaders",
      "about": "Headers of the entry.", "fields": [
      {{ "name": "Name", "type": "string", "versions": "0+", "size": "uvarint",
        "about": "Name of the header." }},
      {{ "name": "Value", "type": "bytes", "versions": "0+", "size": "uvarint",
        "about": "What it says." }}
    ]}},
    // Nothing says how long it is: it goes on to the end.
    {{ "name": "Body", "type": "bytes", "versions": "0+", "size": "rest",
      "about": "The contents." }}
  ]
}}
"""


VERSIONS_ASK = "ApiVersionsRequest"
_CODES_FILE = "enums/ErrorCode.enum.json"

_ENDINGS = {
    "request": ("Request", "Response"),
    "response": ("Request", "Response"),
    "coordinator-key": ("Key", "Value"),
    "coordinator-value": ("Key", "Value"),
}
"""Endings of the names of two messages that belong together, by the type of either."""


def new_specs(name: str, type_: str, api_key: int) -> dict[str, str]:
    """Write the specs, by file name: a request comes with its response, a coordinator's key with its value.

    Args:
        name: the message's name; `Request`, `Response`, `Key` or `Value` at its end may be left out.
        type_: one of `MESSAGE_TYPES`.
        api_key: the number under which it is registered, where its type has one.

    Raises:
        ValueError: the type does not exist, or the name is only an ending.
    """
    if type_ not in MESSAGE_TYPES:
        raise ValueError(f"{type_!r} is not a message type; write one of {', '.join(MESSAGE_TYPES)}")
    for ending in _ENDINGS.get(type_, ()):
        if name == ending:
            raise ValueError(f"{name} is only the ending of a name; write one such as Foo{ending}")
        if name.endswith(ending):
            name = name.removesuffix(ending)
            break
    if type_ in ("request", "response"):
        return {
            f"{name}Request.json": _text(f"{name}Request", "request", api_key, _FIELDS + _TAGGED_FIELD),
            f"{name}Response.json": _text(f"{name}Response", "response", api_key, _RESPONSE_FIELDS),
        }
    if type_ in ("coordinator-key", "coordinator-value"):
        return {
            f"{name}Key.json": _text(f"{name}Key", "coordinator-key", api_key, _FIELDS, flexible="none"),
            f"{name}Value.json": _text(f"{name}Value", "coordinator-value", api_key, _FIELDS + _TAGGED_FIELD),
        }
    if type_ == "layout":
        return {f"{name}.json": _LAYOUT.format(name=name)}
    key = api_key if type_ == "metadata" else None
    return {f"{name}.json": _text(name, type_, key, _FIELDS + _TAGGED_FIELD)}


def negotiation_specs(api_key: int) -> dict[str, str]:
    """Write the specs by which peers agree on versions, by file name: ApiVersions, and names for error codes.

    Args:
        api_key: of ApiVersions.
    """
    return {
        f"{VERSIONS_ASK}.json": _ASK.format(api_key=api_key),
        f"{VERSIONS_ANSWER}.json": _TABLE.format(api_key=api_key),
        _CODES_FILE: _CODES,
    }


def taken_api_keys(folder: Path, type_: str) -> dict[int, str]:
    """Find the API keys that a message of a type cannot have in a folder, each with the message that has it."""
    pair = _ENDINGS.get(type_)
    taken: dict[int, str] = {}
    for one in read_files(folder)[0]:
        if one.draft is None or "apiKey" in one.draft.part.broken:
            continue
        message = one.draft.message
        if message.api_key is None:
            continue
        if message.type == type_ or (pair is not None and _ENDINGS.get(message.type) == pair):
            taken.setdefault(message.api_key, message.name)
    return taken


def _text(name: str, type_: str, api_key: int | None, fields: str, flexible: str = "0+") -> str:
    return _HEAD.format(
        about=f"Spec of {name}, to be changed into what you need.",
        api_key="" if api_key is None else f'  "apiKey": {api_key},\n',
        type=type_,
        name=name,
        flexible=flexible,
        fields=fields,
    )


@click.command
@click.argument("name", help="Its name, such as Foo or FooRequest; its counterpart is made with it.")
@click.option(
    "--out", "-o", "folder", type=PATH, help="The folder of specs to put it into; that of the settings, or this one."
)
@click.option(
    "--type",
    "-t",
    "type_",
    default="request",
    help="request (with its response), metadata, data, layout, coordinator-key ...",
)
@click.option(
    "--api-key",
    type=click.IntRange(0, 32767),
    help="Its number in the registry; the first free one from 1000 on if not given.",
)
@click.option(
    "--negotiated",
    is_flag=True,
    help="Also write ApiVersions and error codes, if they are missing: peers then agree on a version.",
)
@click.option(
    "--versions-key",
    type=click.IntRange(0, 32767),
    help="The API key of ApiVersions; 18, as in Kafka, if not given.",
)
def new(
    name: str, folder: Path | None, type_: str, api_key: int | None, negotiated: bool, versions_key: int | None
) -> None:
    """Start a new message with a commented spec."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name, re.ASCII):
        fail(f"{name!r} is not a valid message name; start with a capital, then use letters and digits")
    settings = settings_here()
    if folder is None:
        folder = settings.specs[0] if len(settings.specs) == 1 else Path()
    taken = taken_api_keys(folder, type_) if folder.is_dir() else {}
    if versions_key is not None and not negotiated:
        fail("--versions-key needs --negotiated")
    if name in ("ApiVersions", VERSIONS_ASK, VERSIONS_ANSWER) and not negotiated:
        fail(f"{name} has a form by which kipwire knows it; kipgen new --negotiated writes its specs")
    if negotiated and type_ not in ("request", "response"):
        fail("--negotiated needs a request or a response: of nothing else do peers agree on a version")
    extra = _missing_negotiation(folder, name, taken, api_key, versions_key) if negotiated else {}
    if api_key in taken:
        fail(f"--api-key {api_key} belongs to {taken[api_key]}; {_first_free(taken)} is free")
    try:
        texts = new_specs(name, type_, _first_free(taken) if api_key is None else api_key)
    except ValueError as error:
        fail(str(error))
    texts = {**texts, **extra}
    for file in texts:
        # Also a link to nothing, through which a file elsewhere would be made.
        if os.path.lexists(folder / file):
            fail(f"{folder / file} already exists")
    for file, text in texts.items():
        write_whole(folder / file, text)
        print_out(f"wrote {one_line(folder / file)}")
    package = _package_option(settings.package_name(folder))
    print_out(f"next: edit, then kipgen check {one_line(folder)} and kipgen generate {one_line(folder)}{package}")


def _missing_negotiation(
    folder: Path, name: str, taken: dict[int, str], api_key: int | None, versions_key: int | None
) -> dict[str, str]:
    """Make the specs by which peers agree, as far as a folder lacks them; exit with 2 if their API key is taken."""
    present = next((key for key, one in taken.items() if one in (VERSIONS_ASK, VERSIONS_ANSWER)), None)
    if present is not None:
        if versions_key not in (None, present):
            fail(f"--versions-key {versions_key}: the folder has ApiVersions, with API key {present}")
        return {}
    key = API_VERSIONS_KEY if versions_key is None else versions_key
    if key in taken or key == api_key:
        fail(f"API key {key} of ApiVersions belongs to {taken.get(key, name)}; give another one as --versions-key")
    taken[key] = VERSIONS_ASK
    texts = negotiation_specs(key)
    has_codes = folder.is_dir() and any(folder.rglob(Path(_CODES_FILE).name))
    return {file: text for file, text in texts.items() if not (has_codes and file == _CODES_FILE)}


def _package_option(name: str) -> str:
    """Return the option that `kipgen generate` needs where the name of a folder cannot be a package's; else nothing."""
    candidates = name, re.sub(r"\W", "_", name), f"{name}_protocol", "my_protocol"
    for candidate in candidates:
        try:
            need_package_name(candidate)
        except ValueError:
            continue
        return "" if candidate == name else f" --package {candidate}"
    raise AssertionError("the last candidate is a valid name")


def _first_free(taken: dict[int, str]) -> int:
    return next(number for number in range(1000, 1001 + len(taken)) if number not in taken)

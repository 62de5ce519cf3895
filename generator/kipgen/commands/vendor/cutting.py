"""Specs cut to chosen versions: a folder from which a package is generated like from any other.

A cut spec has other versions, and lacks the fields that none of them has. Their tags stay taken by stand-ins: a reader
of the chosen versions refuses them, as a reader with all versions does. The enums come whole.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from kipgen.commands.vendor.choosing import Chosen
from kipgen.language.spec import MessageSpec, enum_of
from kipgen.language.versions import Versions
from kipgen.reading.check import enum_files, read_file
from kipgen.reading.enum_spec import ENUM_SUFFIX
from kipgen.reading.source import load


def write_cut(chosen: Iterable[Chosen], specs: Path, out: Path) -> None:
    """Write the specs of messages, cut to their versions, and of the enums that their fields name.

    Args:
        chosen: the messages.
        specs: the folder that they are in.
        out: the folder to write; below it each file has the path that it has in `specs`.
    """
    enums: set[str] = set()
    for one in chosen:
        target = out / one.file.relative_to(specs)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(_cut(one), indent=2, ensure_ascii=False) + "\n", "utf-8")
        enums.update(_enums(target))
    for file in enum_files(specs):
        if file.name.removesuffix(ENUM_SUFFIX) in enums:
            target = out / file.relative_to(specs)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def _cut(one: Chosen) -> dict[str, Any]:
    """Return the JSON of a message with the chosen versions alone."""
    document = load(one.file, str(one.file)).document
    assert document is not None, "it was read before"
    spec = cast(dict[str, Any], document.value).copy()
    versions, message = one.versions, one.spec
    spec["validVersions"] = str(versions)
    if message.served_versions != message.valid_versions:
        spec["servedVersions"] = str(message.served_versions.intersect(versions))
    if "deprecatedVersions" in spec:
        spec["deprecatedVersions"] = str(message.deprecated_versions.intersect(versions))
    if versions.highest < message.valid_versions.highest:
        spec.pop("latestVersionUnstable", None)
    spec["fields"] = list(_kept(spec.get("fields", ()), versions))
    if "commonStructs" in spec:
        kept = (struct for struct in spec["commonStructs"] if _is_in(struct, versions))
        spec["commonStructs"] = [{**struct, "fields": list(_kept(struct["fields"], versions))} for struct in kept]
    return spec


def _kept(fields: Sequence[dict[str, Any]], versions: Versions) -> Iterator[dict[str, Any]]:
    """Yield the fields that one of the versions has, and a stand-in for each other one that has a tag."""
    for field in fields:
        if _is_in(field, versions):
            inner = {"fields": list(_kept(field["fields"], versions))} if "fields" in field else {}
            yield {**field, **inner}
        elif "tag" in field:
            # Of a tag that no version has, nothing but the number counts; a struct in no version would be an error.
            facts = {key: value for key, value in field.items() if key in _OF_A_TAG}
            yield {**facts, "type": "bytes"}


_OF_A_TAG = ("name", "versions", "tag", "taggedVersions", "about")


def _is_in(part: dict[str, Any], versions: Versions) -> bool:
    # A field that is tagged wherever it is may leave its versions out.
    present = part.get("versions", part.get("taggedVersions"))
    return present is None or not Versions.parse(present).intersect(versions).is_empty


def _enums(file: Path) -> Iterator[str]:
    spec = read_file(file).comparable
    if isinstance(spec, MessageSpec):
        for fields in spec.struct_fields.values():
            yield from (name for field in fields if (name := enum_of(field)))

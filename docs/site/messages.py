"""A page for each message of `kafka_messages`, and the pages that list them and name their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import kafka_messages
from docs.site.enums import enum_page
from docs.site.example import Example, examples
from docs.site.navigation import Page
from docs.site.real_messages import real_messages
from docs.site.templating import render
from kipgen.commands.docs.python_class import call
from kipgen.commands.docs.related import pairs
from kipgen.commands.docs.version_groups import VersionGroup, version_groups
from kipgen.commands.docs.versions_table import Row, version_rows
from kipgen.language.spec import MessageSpec
from kipgen.reading import check

PACKAGE = "kafka_messages"
_KINDS = {
    "request": "Requests and responses",
    "response": "Requests and responses",
    "header": "Headers",
    "metadata": "Records of the metadata log",
    "coordinator-key": "Records of the coordinators",
    "coordinator-value": "Records of the coordinators",
    "data": "Other data",
}


@dataclass(frozen=True, slots=True)
class MessagePage:
    """All that the page of one message shows."""

    spec: MessageSpec
    source: str
    """The spec's path in the repository."""
    pair: str
    """The message that belongs to it, such as the response of a request; "" if none."""
    rows: tuple[Row, ...]
    groups: tuple[VersionGroup, ...]
    example: Example
    call: str


@cache
def kafka_specs(root: Path) -> tuple[tuple[Path, MessageSpec], ...]:
    """Read the specs of `kafka_messages`, each with its file.

    Args:
        root: the repository.
    """
    checked, _ = check.read_folder(root / "schemas" / PACKAGE)
    return tuple((Path(one.file), one.spec) for one in checked if one.spec is not None)


@cache
def kafka_examples(root: Path) -> Mapping[str, Example]:
    """Choose the example of each message of `kafka_messages`, by name.

    Args:
        root: the repository.
    """
    folders = [(file.parent.name, spec) for file, spec in kafka_specs(root)]
    keyed = {(folder, spec.type, spec.api_key): spec.name for folder, spec in folders if spec.api_key is not None}
    return examples(real_messages(root, keyed), kafka_messages.REGISTRY)


def message_pages(root: Path) -> list[Page]:
    """Return the list of messages, the names of their numbers, then a page for each.

    Retired messages have no version to show, and layouts no versions side by side; both are only in the specs.

    Args:
        root: the repository.
    """
    files, found = kafka_specs(root), kafka_examples(root)
    shown = [(file, spec) for file, spec in files if not spec.valid_versions.is_empty and not spec.is_layout]
    other_halves = pairs((file.parent.name, spec) for file, spec in shown)
    pages = [
        MessagePage(
            spec=spec,
            source=file.relative_to(root).as_posix(),
            pair=other_halves.get(spec.name, ""),
            rows=version_rows(spec),
            groups=version_groups(spec, kafka_messages.REGISTRY),
            example=found[spec.name],
            call=call(found[spec.name].message),
        )
        for file, spec in sorted(shown, key=lambda it: it[0].name)
    ]
    kinds = list(dict.fromkeys(_KINDS.values()))
    ordered = sorted(pages, key=lambda it: (kinds.index(_KINDS[it.spec.type]), it.spec.name))
    groups = [(kind, list(group)) for kind, group in groupby(ordered, lambda it: _KINDS[it.spec.type])]
    index = Page("messages/index.md", "All messages", render("messages.md.j2", groups=groups), is_index=True)
    return [
        index,
        enum_page(),
        *(Page(f"messages/{one.spec.name}.md", one.spec.name, render("message.md.j2", page=one)) for one in pages),
    ]

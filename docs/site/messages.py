"""A page for each message of `kafka_messages`, and the page that lists them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import kafka_messages
from docs.site.byte_layout import Box, boxes
from docs.site.example import Example, examples
from docs.site.navigation import Page
from docs.site.python_class import call, constructors
from docs.site.templating import render
from docs.site.versions_table import Row, version_rows
from kipgen import check
from kipgen.layout import lay_out
from kipgen.spec import MessageSpec

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
    rows: tuple[Row, ...]
    newest: int
    boxes: tuple[Box, ...]
    header: str
    """The header before it, such as `RequestHeader v2`; "" if none."""
    example: Example | None
    constructors: str
    call: str


def message_pages(root: Path) -> list[Page]:
    """The list of messages, then a page for each.

    Retired messages have no version to show, and layouts no versions side by side; both are only in the specs.

    Args:
        root: the repository.
    """
    folder = root / "schemas" / PACKAGE
    checked, _ = check.read_folder(folder)
    origins = sorted({Path(one.file).parent.name for one in checked})
    golden = [root / "tests" / "golden" / f"{origin}.jsonl.gz" for origin in (*origins, "removed")]
    found = examples((file for file in golden if file.is_file()), kafka_messages.REGISTRY)
    pages = [
        _page(one.spec, Path(one.file).relative_to(root).as_posix(), found.get(one.spec.name))
        for one in sorted(checked, key=lambda it: Path(it.file).name)
        if one.spec is not None and not one.spec.valid_versions.is_empty and not one.spec.is_layout
    ]
    kinds = list(dict.fromkeys(_KINDS.values()))
    ordered = sorted(pages, key=lambda it: (kinds.index(_KINDS[it.spec.type]), it.spec.name))
    groups = [(kind, list(group)) for kind, group in groupby(ordered, lambda it: _KINDS[it.spec.type])]
    index = Page("messages/index.md", "All messages", render("messages.md.j2", groups=groups), is_index=True)
    return [
        index,
        *(Page(f"messages/{one.spec.name}.md", one.spec.name, render("message.md.j2", page=one)) for one in pages),
    ]


def _page(spec: MessageSpec, source: str, example: Example | None) -> MessagePage:
    newest = spec.valid_versions.highest
    cls = kafka_messages.message(spec.name, newest)
    header_version = getattr(cls, "HEADER_VERSION", None)
    header = "" if header_version is None else f"{spec.type.capitalize()}Header v{header_version}"
    return MessagePage(
        spec=spec,
        source=source,
        rows=version_rows(spec),
        newest=newest,
        boxes=boxes(lay_out(spec, newest)),
        header=header,
        example=example,
        constructors=constructors(cls),
        call=call(example.message) if example is not None else "",
    )

"""Pages of messages: what the page of each shows, and the order in which they are listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from kipgen.commands.docs.example import Example
from kipgen.commands.docs.python_class import call
from kipgen.commands.docs.version_groups import VersionGroup, version_groups
from kipgen.commands.docs.versions_table import Growth, Row, VersionChanges, growth, version_changes, version_rows
from kipgen.language import names
from kipgen.language.spec import MessageSpec
from kipgen.resolve.headers import HeaderVersions

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
    """The spec's path."""
    pair: str
    """The message that belongs to it, such as the response of a request; "" if none."""
    rows: tuple[Row, ...]
    growth: tuple[Growth, ...]
    changes: tuple[VersionChanges, ...]
    groups: tuple[VersionGroup, ...]
    example: Example
    call: str


@dataclass(frozen=True, slots=True)
class Package:
    """Facts of a package that its messages share."""

    name: str
    """Dotted."""
    headers: HeaderVersions
    pairs: Mapping[str, str]
    """The message that belongs to a message, by name."""
    enums: frozenset[str]
    """Names of the enums that it has."""


def message_page(
    spec: MessageSpec, source: str, package: Package, modules: Mapping[int, str], example: Example
) -> MessagePage:
    """Make the page of a message.

    Args:
        spec: the message, which has versions and is no record format.
        source: the spec's path, as the page shows it.
        package: its package.
        modules: the text of the generated module of each version.
        example: an example of it.
    """
    # Error codes have a name for their enum by rule, also where the package has no such enum.
    rows = tuple(row if row.enum in package.enums else replace(row, enum="") for row in version_rows(spec))
    module = f"{package.name}.{names.module_name(spec.name)}.v{example.message.VERSION}"
    return MessagePage(
        spec=spec,
        source=source,
        pair=package.pairs.get(spec.name, ""),
        rows=rows,
        growth=growth(spec, rows),
        changes=version_changes(spec, rows),
        groups=version_groups(spec, package.headers, modules),
        example=example,
        call=call(example.message, module),
    )


def has_page(spec: MessageSpec) -> bool:
    """Return True for a message with versions side by side: not for a retired one, nor for a record format."""
    return not spec.valid_versions.is_empty and not spec.is_layout


def by_kind(pages: Iterable[MessagePage]) -> list[tuple[str, list[MessagePage]]]:
    """List pages by their kinds, each kind by name."""
    kinds = list(dict.fromkeys(_KINDS.values()))
    ordered = sorted(pages, key=lambda it: (kinds.index(_KINDS[it.spec.type]), it.spec.name))
    return [(kind, list(group)) for kind, group in groupby(ordered, lambda it: _KINDS[it.spec.type])]

"""The bytes and the class of every version, with neighbouring versions of the same bytes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from kipgen.commands.docs.byte_layout import Box, boxes
from kipgen.commands.docs.python_class import constructors
from kipgen.commands.docs.templating import highlighted
from kipgen.language.spec import MessageSpec
from kipgen.resolve.headers import HeaderVersions, numbers_of
from kipgen.resolve.wire import resolve


@dataclass(frozen=True, slots=True)
class VersionGroup:
    """Neighbouring versions that have the same bytes for the same values."""

    lowest: int
    highest: int
    header: str
    """The header before it, such as `RequestHeader v2`; "" if none."""
    boxes: tuple[Box, ...]
    constructors: Markup
    """The constructors of the highest version, highlighted."""

    @property
    def versions(self) -> str:
        """The versions as a specification writes them: `3` or `3-5`."""
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


def version_groups(spec: MessageSpec, headers: HeaderVersions, modules: Mapping[int, str]) -> tuple[VersionGroup, ...]:
    """List the groups of versions of a message, the newest version first.

    Args:
        spec: a message that has versions.
        headers: the headers of its package.
        modules: the text of the generated module of each version.
    """
    versions = sorted(spec.valid_versions.each(), reverse=True)
    numbers = numbers_of(spec, headers)
    found = []
    for (header, drawn), group in groupby(versions, lambda version: _bytes_of(spec, version, numbers)):
        together = list(group)
        python = constructors(modules, together[0])
        found.append(VersionGroup(together[-1], together[0], header, drawn, highlighted(python)))
    return tuple(found)


def _bytes_of(spec: MessageSpec, version: int, numbers: Mapping[int, int]) -> tuple[str, tuple[Box, ...]]:
    header = f"{spec.type.capitalize()}Header v{numbers[version]}" if version in numbers else ""
    return header, boxes(resolve(spec, version))

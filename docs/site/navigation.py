"""Kinds of pages, and their names in the table of contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Nav: TypeAlias = "str | dict[str, str | Sequence[Nav]]"
"""An entry of mkdocs' nav: a page, a page with a title, or a section."""


@dataclass(frozen=True, slots=True)
class Page:
    """One generated page."""

    path: str
    """Below the folder of pages, such as `messages/FetchRequest.md`."""
    title: str
    text: str
    """Markdown."""
    is_index: bool = False
    """True if it is the page of its section."""

    @property
    def entry(self) -> Nav:
        """The page in a table of contents; mkdocs finds the page of a section by its having no title there."""
        return self.path if self.is_index else {self.title: self.path}

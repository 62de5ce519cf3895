"""What functions that read files take: a `Path`, or what has its few methods, such as an object of a store."""

from __future__ import annotations

from io import BufferedReader
from typing import Literal, Protocol, Self


class ReadableFile(Protocol):
    """A file or folder; every `Path` is one. Its text is how errors name it."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        ...

    @property
    def parent(self) -> Self:
        """The folder that it is in."""
        ...

    def __truediv__(self, name: str, /) -> Self:
        """What has that name in this folder."""
        ...

    def exists(self) -> bool:
        """Whether it exists."""
        ...

    def is_file(self) -> bool:
        """Whether it exists and is a regular file."""
        ...

    def open(self, mode: Literal["rb"], /) -> BufferedReader:
        """Open it to read bytes.

        Raises:
            OSError: it cannot be opened.
        """
        ...

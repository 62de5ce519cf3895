"""Names that jsonschema and referencing import of rpds-py, in plain Python: that library has no build for WebAssembly.

Each change copies the whole; the largest here has some twenty entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class HashTrieMap(Mapping[Any, Any]):
    """A mapping that is never changed; changes give another one."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Any = (), **more: Any) -> None:
        """Take the entries of a mapping, or pairs."""
        self._entries: dict[Any, Any] = dict(entries, **more)

    @classmethod
    def convert(cls, entries: Any) -> HashTrieMap:
        """Return a mapping as one of this class."""
        return entries if isinstance(entries, cls) else cls(entries)

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """Return one that has this entry, too."""
        return HashTrieMap({**self._entries, key: value})

    def update(self, *others: Any, **more: Any) -> HashTrieMap:
        """Return one that has these entries, too."""
        entries = dict(self._entries)
        for other in (*others, more):
            entries.update(other)
        return HashTrieMap(entries)

    def remove(self, key: Any) -> HashTrieMap:
        """Return one without this key.

        Raises:
            KeyError: there is no such key.
        """
        entries = dict(self._entries)
        del entries[key]
        return HashTrieMap(entries)

    def discard(self, key: Any) -> HashTrieMap:
        """Return one without this key, which may be missing."""
        return self.remove(key) if key in self._entries else self

    def __getitem__(self, key: Any) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))


class HashTrieSet(frozenset[Any]):
    """A set that is never changed; changes give another one."""

    def insert(self, value: Any) -> HashTrieSet:
        """Return one that has this value, too."""
        return HashTrieSet(self | {value})

    def remove(self, value: Any) -> HashTrieSet:
        """Return one without this value."""
        return HashTrieSet(self - {value})

    def update(self, *others: Iterable[Any]) -> HashTrieSet:
        """Return one that has these values, too."""
        return HashTrieSet(self.union(*others))


class List(tuple[Any, ...]):
    """A list that is never changed; changes give another one. Its first element is the newest."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> List:
        """Take an iterable, or the elements themselves."""
        return super().__new__(cls, values[0] if len(values) == 1 and isinstance(values[0], Iterable) else values)

    @property
    def first(self) -> Any:
        """The first element."""
        return self[0]

    @property
    def rest(self) -> List:
        """All but the first."""
        return List(self[1:])

    def push_front(self, value: Any) -> List:
        """Return one with this element before all others."""
        return List((value, *self))

    def drop_first(self) -> List:
        """Return one without its first element."""
        return self.rest

"""Reads equal array elements many at a time: structs with the same lengths and counts share one `struct` format.

It serves classes whose fields are numbers, flags, uuids, compact texts and compact arrays of numbers, and is tried on
long arrays; elements that differ are read one by one.
"""

from __future__ import annotations

from itertools import repeat
from struct import Struct as Packer
from struct import calcsize

from kipwire.codec.wire import FALSE_TRUE, KEPT, ONE_BYTE, PLAIN_CODES
from kipwire.structs import FEW
from kipwire.types import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kipwire.structs import Field, Struct

MANY = 24
"""The shortest array that is worth a try, for structs without a fixed width."""
_MOST = 256
"""The most elements read at once: it bounds the cost of a try that fails late."""


class EqualElements:
    """Reads neighbours that are alike, for one struct.

    Its fields are codes here: one of the `struct` module, `*` and such a code for an array, `bool`, `uuid` or `text`.
    """

    __slots__ = ("_codes", "_converted", "_flexible", "_rest", "_row", "_sized", "_unpackers", "least")

    def __init__(self, codes: Sequence[str], *, flexible: bool) -> None:
        self._codes = codes
        self._flexible = flexible
        self._converted = any(code in PLAIN_CODES for code in codes)
        self._unpackers: dict[tuple[int, ...], Packer] = {}
        self._sized: list[tuple[int, int]] = []
        """Of each text and array: the bytes between it and the one before, and the width of what its size counts."""
        self._rest = 0
        """Bytes between the last of them and the tag section."""
        for code in codes:
            if code == "text" or code[0] == "*":
                self._sized.append((self._rest, 1 if code == "text" else calcsize(f">{code[1]}")))
                self._rest = 0
            else:
                self._rest += calcsize(f">{PLAIN_CODES.get(code, code)}")
        self.least = MANY if self._sized else FEW
        """The shortest array that is worth a try. After a failure this many are read one by one, then twice as many
        each time."""
        self._row = None if self._sized else self._unpacker(())
        """The format of an element, where all fields have a fixed width."""

    def read(self, data: bytes, pos: int, count: int) -> tuple[Sequence[Iterable[Any]], int, int] | None:
        """The elements from `pos` on that are like the first: (what `_fill` takes, how many, position after them).

        At most `count` are taken; None where there are too few.
        """
        if self._row:
            return self._read_rows(self._row, data, pos, count)
        found = self._sizes(data, pos)
        if found is None:
            return None
        sizes, end = found
        stride = end - pos
        count = min(count, _MOST, (len(data) - pos) // stride)
        for at, size in sizes:
            column = data[at : pos + stride * count : stride]
            count = len(column) - len(column.lstrip(ONE_BYTE[size]))
            if count < self.least:
                return None
        end = pos + stride * count
        lengths = tuple([size - 1 for _, size in sizes[: len(self._sized)]])
        unpacker = self._unpackers.get(lengths) or self._unpacker(lengths)
        columns = [*zip(*unpacker.iter_unpack(data[pos:end]), strict=True)]
        return self._values(columns, lengths, count), count, end

    def _read_rows(
        self, row: Packer, data: bytes, pos: int, count: int
    ) -> tuple[Sequence[Iterable[Any]], int, int] | None:
        """As `read`, where all fields have a fixed width: elements then differ in their tag sections alone."""
        stride = row.size
        end = pos + stride * count
        if end > len(data):
            return None
        if self._flexible:
            sections = data[pos + stride - 1 : end : stride]
            if sections.count(0) != count:
                count -= len(sections.lstrip(b"\0"))
                if count < self.least:
                    return None
                end = pos + stride * count
        rows: Iterable[Iterable[Any]] = row.iter_unpack(data[pos:end])
        if self._converted:
            columns = [*zip(*rows, strict=True)]
            rows = zip(*self._values(columns, (), count), strict=False)
        return (rows,), count, end

    def _sizes(self, data: bytes, pos: int) -> tuple[list[tuple[int, int]], int] | None:
        """The position and the byte of each size in the first element, with an empty tag section; and its end.

        None if one of them is null or has a second byte.
        """
        sizes = []
        limit = len(data)
        for skipped, width in self._sized:
            pos += skipped
            if pos >= limit or not 0 < (size := data[pos]) < 128:
                return None
            sizes.append((pos, size))
            pos += 1 + (size - 1) * width
        pos += self._rest
        if self._flexible:
            sizes.append((pos, 0))
            pos += 1
        return sizes, pos

    def _unpacker(self, lengths: tuple[int, ...]) -> Packer:
        """A new format, of a row without the sizes and the tag section, which have been looked at."""
        if len(self._unpackers) == KEPT:
            self._unpackers.clear()
        length = iter(lengths)
        parts = [">"]
        for code in self._codes:
            if code == "text":
                parts.append(f"x{next(length)}s")
            elif code[0] == "*":
                parts.append(f"x{next(length)}{code[1]}")
            else:
                parts.append(PLAIN_CODES.get(code, code))
        unpacker = self._unpackers[lengths] = Packer("".join(parts) + "x" * self._flexible)
        return unpacker

    def _values(self, columns: list[tuple[Any, ...]], lengths: tuple[int, ...], count: int) -> list[Iterable[Any]]:
        """What the attributes get, by field, from unpacked columns; an array has as many of them as elements."""
        values: list[Iterable[Any]] = []
        at = 0
        length = iter(lengths)
        for code in self._codes:
            width = next(length) if code[0] == "*" else 1
            if code[0] == "*":
                values.append(_lists(columns[at : at + width], count))
            elif code == "text":
                values.append([text.decode() for text in columns[at]] if next(length) else repeat("", count))
            elif code == "bool":
                values.append([FALSE_TRUE[byte] for byte in columns[at]])
            elif code == "uuid":
                from kipwire.codec.uuids import uuid_from  # whoever has a uuid has imported it

                values.append([*map(uuid_from, columns[at])])
            else:
                values.append(columns[at])
            at += width
        return values


def equal_elements_of(cls: type[Struct]) -> EqualElements:
    """The reader for a generated class whose fields all have a code, and whose tag section has no known field."""
    return EqualElements([_code(field) for field in cls.FIELDS], flexible=cls.FLEXIBLE)


def _code(field: Field) -> str:
    if field.element == "string":
        return "text"
    if field.element in PLAIN_CODES:
        return field.element
    code = TYPES[field.encoding.replace("fixed", "int") if field.encoding else field.element].code
    return f"*{code}" if field.array else code


def _lists(columns: list[tuple[Any, ...]], count: int) -> Iterable[list[Any]]:
    """A list for each row; written out for the counts that are most common, which is a fifth faster."""
    if not columns:
        return [[] for _ in range(count)]
    if len(columns) == 1:
        return [[one] for one in columns[0]]
    if len(columns) == 2:
        return [[one, two] for one, two in zip(*columns, strict=True)]
    if len(columns) == 3:
        return [[one, two, three] for one, two, three in zip(*columns, strict=True)]
    return map(list, zip(*columns, strict=True))

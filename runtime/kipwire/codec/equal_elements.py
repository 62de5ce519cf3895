"""Reads equal array elements many at a time: structs with the same lengths and counts share `struct` formats.

It serves classes whose fields are numbers, flags, uuids, compact texts and compact arrays of numbers, and is tried on
long arrays; elements that differ are read one by one.
"""

from __future__ import annotations

from itertools import repeat
from struct import Struct as Packer
from struct import calcsize

from kipwire.codec.wire import KEPT, ONE_BYTE
from kipwire.structs import FEW
from kipwire.types import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kipwire.structs import Field, Rows, Struct

MANY = 24
"""The shortest array that is worth a try, for structs without a fixed width."""
_MOST = 256
"""The most elements read at once: it bounds the cost of a try that fails late."""


class EqualElements:
    """Reads neighbours that are alike, for one struct.

    Its fields are codes here: one of the `struct` module, `*` and such a code for an array, or `text`. Neighbouring
    fields of a fixed width are a run, which one format unpacks; each text and array has a format of its own.
    """

    __slots__ = ("_codes", "_flexible", "_formats", "_rest", "_row", "_sized", "least")

    def __init__(self, codes: Sequence[str], *, flexible: bool) -> None:
        self._codes = codes
        self._flexible = flexible
        self._formats: dict[tuple[int, ...], list[Callable[[bytes], Rows]]] = {}
        self._sized: list[tuple[int, int]] = []
        """Of each text and array: the bytes between it and the one before, and the width of what its size counts."""
        self._rest = 0
        """Bytes between the last of them and the tag section."""
        for code in codes:
            if code == "text" or code[0] == "*":
                self._sized.append((self._rest, 1 if code == "text" else calcsize(f">{code[1]}")))
                self._rest = 0
            else:
                self._rest += calcsize(f">{code}")
        self.least = MANY if self._sized else FEW
        """The shortest array that is worth a try. After a failure this many are read one by one, then twice as many
        each time."""
        self._row = None if self._sized else Packer(f">{''.join(codes)}{'x' * flexible}")
        """The format of an element, where all fields have a fixed width."""

    def read(self, data: bytes, pos: int, count: int) -> tuple[list[Rows], int, int] | None:
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
        formats = self._formats.get(lengths) or self._formats_of(lengths)
        elements = data[pos:end]
        return [rows_of(elements) for rows_of in formats], count, end

    def _read_rows(self, row: Packer, data: bytes, pos: int, count: int) -> tuple[list[Rows], int, int] | None:
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
        return [row.iter_unpack(data[pos:end])], count, end

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

    def _formats_of(self, lengths: tuple[int, ...]) -> list[Callable[[bytes], Rows]]:
        """What unpacks elements with these lengths: functions that each take all bytes, and leave out others' fields.

        The sizes and the tag section are left out, too, since they have been looked at.
        """
        if len(self._formats) == KEPT:
            self._formats.clear()
        parts = [""]  # the runs, which may be empty, and between them the texts and arrays
        length = iter(lengths)
        for code in self._codes:
            if code == "text" or code[0] == "*":
                parts += [f"x{next(length)}{'s' if code == 'text' else code[1]}", ""]
            else:
                parts[-1] += code
        widths = [calcsize(f">{part}") for part in parts]
        stride = sum(widths) + self._flexible
        formats: list[Callable[[bytes], Rows]] = []
        before = 0
        for part, width in zip(parts, widths, strict=True):
            if part.startswith("x0"):
                formats.append(_empty_texts if part == "x0s" else _empty_arrays)
            elif part:
                formats.append(Packer(f">{before}x{part}{stride - before - width}x").iter_unpack)
            before += width
        self._formats[lengths] = formats
        return formats


def _empty_texts(elements: bytes) -> Rows:
    return repeat((b"",))


def _empty_arrays(elements: bytes) -> Rows:
    return repeat(())


def equal_elements_of(cls: type[Struct]) -> EqualElements:
    """The reader for a generated class whose fields all have a code, and whose tag section has no known field."""
    return EqualElements([_code(field) for field in cls.FIELDS], flexible=cls.FLEXIBLE)


def _code(field: Field) -> str:
    if field.element == "string":
        return "text"
    code = TYPES[field.encoding.replace("fixed", "int") if field.encoding else field.element].code
    return f"*{code}" if field.array else code

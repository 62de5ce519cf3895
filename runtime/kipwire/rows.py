"""Array elements many at a time: structs that have their lengths and counts in common are rows of one `struct` format.

Generated code tries this on long arrays of structs whose fields are numbers, texts and arrays of numbers, and reads
one by one what is not alike. The codes that such a struct is described by stand for its fields: one of the `struct`
module for a number, `*` and such a code for a compact array of numbers, `bool`, or `text` for a compact string. A tag
section ends the struct.
"""

from __future__ import annotations

from itertools import islice, repeat
from struct import Struct as Packer
from struct import calcsize

from kipwire.wire import FALSE_TRUE, ONE_BYTE, write_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

MANY = 24
"""Elements from which on it pays to look for rows. So many are read one by one before it is tried again, then twice as
many each time."""
_MOST = 256
"""Rows taken at once: it bounds what a try costs that fails late."""
_KEPT = 256
"""Formats kept for a struct; lengths vary without end."""
_ONE_VALUE = {"bool": "B"}
"""Codes that the `struct` module has under another name."""


class RowReader:
    """Reads neighbours that are alike, for one struct."""

    __slots__ = ("_codes", "_rest", "_sized", "_unpackers")

    def __init__(self, *codes: str) -> None:
        self._codes = codes
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
                self._rest += calcsize(f">{_ONE_VALUE.get(code, code)}")

    def read(self, data: bytes, pos: int, count: int) -> tuple[list[Iterable[Any]], int, int] | None:
        """The elements from `pos` on that are like the first: (values by field, how many, position behind them).

        At most `count` are taken; None where there are too few.
        """
        sizes = self._sizes(data, pos)
        if sizes is None:
            return None
        stride = sizes[-1][0] - pos + 1
        count = min(count, _MOST)
        for at, size in sizes:
            column = data[at : pos + stride * count : stride]
            count = len(column) - len(column.lstrip(ONE_BYTE[size]))
            if count < MANY:
                return None
        end = pos + stride * count
        lengths = tuple([size - 1 for _, size in sizes[:-1]])
        unpacker = self._unpackers.get(lengths) or self._unpacker(lengths)
        columns = [*zip(*unpacker.iter_unpack(data[pos:end]), strict=True)]
        return self._values(columns, lengths, count), count, end

    def _sizes(self, data: bytes, pos: int) -> list[tuple[int, int]] | None:
        """Where each size of the first element stands, and its byte, down to an empty tag section.

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
        sizes.append((pos + self._rest, 0))
        return sizes

    def _unpacker(self, lengths: tuple[int, ...]) -> Packer:
        """A new format, of a row without the sizes and the tag section, which have been looked at."""
        if len(self._unpackers) == _KEPT:
            self._unpackers.clear()
        unpacker = self._unpackers[lengths] = Packer(_format(self._codes, lengths, "x"))
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
            else:
                values.append(columns[at])
            at += width
        return values


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


class RowPackers(dict[tuple[int, ...], "Callable[..., bytes]"]):
    """By the sizes of a struct's arrays, as they stand on the wire: the function that writes an element of that shape.

    It takes the values in their order, and before the elements of an array its size. An empty tag section is its end.
    """

    __slots__ = ("_codes",)

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __missing__(self, sizes: tuple[int, ...]) -> Callable[..., bytes]:
        if max(sizes) > 127:
            return lambda *values: _pack_long(self._codes, values)
        if len(self) == _KEPT:
            self.clear()
        pack = self[sizes] = Packer(_format(self._codes, [size - 1 for size in sizes], "B")).pack
        return pack


def _pack_long(codes: tuple[str, ...], values: tuple[Any, ...]) -> bytes:
    """An element in which a size has several bytes."""
    parts = []
    left = iter(values)
    for code in codes:
        if code[0] == "*":
            size = next(left)
            parts.append(write_size(size))
            parts.append(Packer(f">{size - 1}{code[1]}").pack(*islice(left, size - 1)))
        else:
            parts.append(Packer(f">{_ONE_VALUE.get(code, code)}").pack(next(left)))
    parts.append(b"\0")
    return b"".join(parts)


def _format(codes: tuple[str, ...], lengths: Sequence[int], size: str) -> str:
    """The `struct` format of an element with so long texts and arrays; `size` is the code for their sizes."""
    length = iter(lengths)
    parts = [">"]
    for code in codes:
        if code == "text":
            parts.append(f"{size}{next(length)}s")
        elif code[0] == "*":
            parts.append(f"{size}{next(length)}{code[1]}")
        else:
            parts.append(_ONE_VALUE.get(code, code))
    return "".join((*parts, "x"))

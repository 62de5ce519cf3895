"""Headers as KIP-82's version 43 has them: a map from numbers to bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import pairwise
from typing import Any

from kipwire.codec.wire import new
from kipwire.drafts.header_keys import HIGHEST_KEY
from kipwire.model.errors import abbreviate

Content = Mapping[int, bytes] | Iterable[tuple[int, bytes]]
"""Input for headers: a mapping, or pairs of key and value in any order."""


def key_text(key: int) -> str:
    """Format a key as the KIP prints it, such as `0x00100010`."""
    return f"0x{key:08x}"


def check_key(key: int) -> int:
    """Check a key and return it.

    Raises:
        TypeError: it is not an int.
        ValueError: it is negative or has more than 32 bits.
    """
    if not isinstance(key, int) or isinstance(key, bool):
        raise TypeError(f"a header key must be an int, not {type(key).__name__} {abbreviate(key)}")
    if not 0 <= key <= HIGHEST_KEY:
        raise ValueError(f"{abbreviate(key)} is not a header key; the range is 0 to {HIGHEST_KEY:#010x}")
    return key


def _check_value(key: int, value: bytes) -> bytes:
    """Check a value and return it as bytes.

    Raises:
        TypeError: it is not a buffer; the KIP has no null values.
    """
    if type(value) is bytes:
        return value
    if not isinstance(value, bytes | bytearray | memoryview):
        what = f"{type(value).__name__} {abbreviate(value)}"
        raise TypeError(f"the value of header {key_text(key)} must be bytes, not {what}; a serializer can make them")
    return bytes(value)


def _check_headers(content: Content) -> dict[int, bytes]:
    """Check headers and sort them by their keys, in ascending order.

    Raises:
        TypeError: a key is not an int, or a value not a buffer.
        ValueError: a key is out of range, or is there twice.
    """
    pairs: Any = content.items() if isinstance(content, Mapping) else content
    ordered = sorted(((check_key(key), _check_value(key, value)) for key, value in pairs), key=lambda one: one[0])
    for (key, _), (following, _) in pairwise(ordered):
        if key == following:
            raise ValueError(f"header {key_text(key)} is given twice; headers are a map")
    return dict(ordered)


class Headers(Mapping[int, bytes]):
    """Headers that cannot be changed, as a consumer gets them: numbers and their values, in ascending order.

    Equal to every mapping with the same items; the order of setting does not matter.

    Raises:
        TypeError: a key is not an int, or a value not bytes or another buffer.
        ValueError: a key is not in 0 to 0xffffffff, or is there twice.

    Source: KIP-82 version 43, "Add a headers field Map<int, byte[]>"; keys are unsigned, as it prints them.
    """

    __slots__ = ("_by_key",)

    def __init__(self, content: Content = ()) -> None:
        self._by_key: dict[int, bytes] = content._by_key if isinstance(content, Headers) else _check_headers(content)

    def __getitem__(self, key: int) -> bytes:
        return self._by_key[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __hash__(self) -> int:
        return hash(tuple(self._by_key.items()))

    def __repr__(self) -> str:
        return _repr(self)


def trusted_headers(by_key: dict[int, bytes]) -> Headers:
    """Make headers of values known to be right and not used elsewhere: keys that are in range and ascend, and bytes."""
    headers = new(Headers)
    headers._by_key = by_key
    return headers


class MutableHeaders(MutableMapping[int, bytes]):
    """Headers that are set by key, as a producer or an interceptor does; read in ascending order of the keys.

    Equal to every mapping with the same items; the order of setting does not matter.

    Raises:
        TypeError: a key is not an int, or a value not bytes or another buffer; on creating and on setting.
        ValueError: a key is not in 0 to 0xffffffff, or is there twice.

    Source: KIP-82 version 43, "Accessor methods of void setHeader(int, byte[]) and byte[] getHeader(int)".
    """

    __slots__ = ("_by_key",)

    def __init__(self, content: Content = ()) -> None:
        self._by_key = _check_headers(content)

    def __getitem__(self, key: int) -> bytes:
        return self._by_key[key]

    def __setitem__(self, key: int, value: bytes) -> None:
        self._by_key[check_key(key)] = _check_value(key, value)

    def __delitem__(self, key: int) -> None:
        del self._by_key[key]

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._by_key))

    def __len__(self) -> int:
        return len(self._by_key)

    def __repr__(self) -> str:
        return _repr(self)


def _repr(headers: Mapping[int, bytes]) -> str:
    items = ", ".join(f"{key_text(key)}: {value!r}" for key, value in headers.items())
    return f"{type(headers).__name__}({{{items}}})" if items else f"{type(headers).__name__}()"

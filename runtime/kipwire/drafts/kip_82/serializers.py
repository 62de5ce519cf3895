"""Values of headers as their owners mean them: a pair of functions for each key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from kipwire.drafts.kip_82.headers import Headers, check_key, key_text
from kipwire.model.errors import KipwireError, abbreviate

T = TypeVar("T")


class HeaderValueError(KipwireError):
    """A value that the functions of its key's owner do not take; the cause is what they raised, if they did."""

    def __init__(self, key: int, reason: str) -> None:
        super().__init__(key, reason)
        self.key = key
        """The header's key."""
        self.reason = reason

    def __str__(self) -> str:
        return f"header {key_text(self.key)}: {self.reason}"


class Serializer(NamedTuple, Generic[T]):
    """The two functions of a key's owner: from a value to bytes, and back."""

    serialize: Callable[[T], bytes]
    deserialize: Callable[[bytes], T]


class HeaderSerializers:
    """The serializers of a program, by key; a key without one has bytes as its values. Cannot be changed.

    Args:
        by_key: the pair of functions of each key's owner.

    Raises:
        TypeError: a key is not an int.
        ValueError: a key is not in 0 to 0xffffffff.

    Source: KIP-82 version 43, "Each headers value will be custom serialisable by the interceptors/plugins that use the
    header".
    """

    __slots__ = ("by_key",)

    by_key: Mapping[int, Serializer[Any]]
    """The serializers by key; read-only."""

    def __init__(self, by_key: Mapping[int, Serializer[Any]]) -> None:
        copy = MappingProxyType({check_key(key): Serializer(*one) for key, one in by_key.items()})
        object.__setattr__(self, "by_key", copy)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; make another one with all serializers")

    def __reduce__(self) -> tuple[type[HeaderSerializers], tuple[dict[int, Serializer[Any]]]]:
        return type(self), (dict(self.by_key),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(key_text(key) for key in sorted(self.by_key))})"

    def serialize(self, key: int, value: Any) -> bytes:
        """Serialize a value as the bytes of its header.

        Raises:
            HeaderValueError: the key's function raised an error or did not give bytes; or the key has no serializer,
                and the value is not bytes.
            TypeError: the key is not an int.
            ValueError: the key is not in 0 to 0xffffffff.
        """
        one = self.by_key.get(check_key(key))
        if one is None:
            if not isinstance(value, bytes):
                raise HeaderValueError(key, f"has no serializer, so its value must be bytes, not {_what(value)}")
            return value
        try:
            data = one.serialize(value)
        except Exception as failure:  # of a function that is not ours
            raise HeaderValueError(key, f"cannot serialize {_what(value)}: {_text(failure)}") from failure
        if not isinstance(data, bytes):
            raise HeaderValueError(key, f"its serializer must give bytes, not {_what(data)}")
        return data

    def deserialize(self, key: int, data: bytes) -> Any:
        """Deserialize the bytes of a header; return the bytes themselves where the key has no serializer.

        Raises:
            HeaderValueError: the key's function raised an error.
            TypeError: the key is not an int.
            ValueError: the key is not in 0 to 0xffffffff.
        """
        one = self.by_key.get(check_key(key))
        if one is None:
            return data
        try:
            return one.deserialize(data)
        except Exception as failure:  # of a function that is not ours
            raise HeaderValueError(key, f"cannot deserialize {abbreviate(data)}: {_text(failure)}") from failure

    def get(self, headers: Mapping[int, bytes], key: int, default: Any = None) -> Any:
        """Deserialize the value of a header; return the default where the headers do not have it.

        Raises:
            HeaderValueError: as `deserialize`.
        """
        data = headers.get(key)
        return default if data is None else self.deserialize(key, data)

    def set(self, headers: MutableMapping[int, bytes], key: int, value: Any) -> None:
        """Set a header to a value.

        Raises:
            HeaderValueError: as `serialize`; the headers stay as they are.
            TypeError: the key is not an int.
            ValueError: the key is not in 0 to 0xffffffff.
        """
        headers[key] = self.serialize(key, value)

    def values(self, headers: Mapping[int, bytes]) -> dict[int, Any]:
        """Deserialize the values of all headers, by key.

        Raises:
            HeaderValueError: as `deserialize`.
        """
        return {key: self.deserialize(key, data) for key, data in headers.items()}

    def headers(self, values: Mapping[int, Any]) -> Headers:
        """Serialize values as headers.

        Raises:
            HeaderValueError: as `serialize`.
            TypeError: a key is not an int.
            ValueError: a key is not in 0 to 0xffffffff.
        """
        return Headers({key: self.serialize(key, value) for key, value in values.items()})


def _what(value: object) -> str:
    return f"{type(value).__name__} {abbreviate(value)}"


def _text(failure: Exception) -> str:
    """Format an error as its type and text; as the type alone if the text is empty."""
    return f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__

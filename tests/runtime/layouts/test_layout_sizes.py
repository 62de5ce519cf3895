"""Sizes of layouts at and beyond what their declared width and sign can say: the kernel and Python have one outcome."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from kipwire import DecodeError, EncodeError, Message, native
from kipwire.codec.wire import write_varint
from tests.support.spec_package import Classes

MOST = 2**15 - 1
SIZES = [MOST - 1, MOST, MOST + 1, MOST + 2, 2**16 - 2, 2**16 - 1]


def _two_bytes(size: int) -> bytes:
    return size.to_bytes(2, "big")


def _zigzag(size: int) -> bytes:
    return write_varint(size << 1)


FORMS: dict[int, Callable[[int], bytes]] = {0: _two_bytes, 5: _zigzag, 6: write_varint, 7: _two_bytes}
"""Encoders of the size, by version of Frames: of versions whose `sizeOf` has 16 bits, which all have a sign."""

METHODS: list[Callable[[Any, Any], Any]] = [
    lambda cls, data: cls.decode(data),
    native.PYTHON["decode"],
    lambda cls, data: cls.read(data + bytes(2**16))[0],
    lambda cls, data: native.PYTHON["read"](cls, data + bytes(2**16))[0],
]


WIDE = 1
"""Version of Frames whose size has 32 bits: all bytes but the size are the same as in the other versions."""


def rest_of(message: Message) -> bytes:
    """Return the bytes after the size of Frames without leaves."""
    return message.encode()[2 + 4 :]


def of_size(layouts: Classes, version: int, size: int) -> Any:
    """Return Frames with a number of bytes after the size, which may exceed the range of the size."""

    def made(version: int, content: int) -> Any:
        cls: Any = layouts("Frames", version)
        module: Any = import_module(cls.__module__)
        return cls(elements=[module.Element(kind=1, content=bytes(content))])

    around = len(rest_of(made(WIDE, size - 20))) - (size - 20)
    return made(version, size - around)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("version", FORMS)
def test_size_is_read_with_its_width_and_sign(layouts: Classes, version: int, size: int) -> None:
    cls = layouts("Frames", version)
    rest = rest_of(of_size(layouts, WIDE, size))
    assert len(rest) == size
    data = bytes(2) + FORMS[version](size) + rest
    for method in METHODS:
        if size <= MOST:
            assert method(cls, data) == of_size(layouts, version, size)
        else:
            with pytest.raises(DecodeError, match=r"size_.*is -\d+; a size must not|size_.*more than 16 bits"):
                method(cls, data)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("version", FORMS)
def test_size_that_its_form_cannot_say_is_not_written(layouts: Classes, version: int, size: int) -> None:
    message = of_size(layouts, version, size)
    for write in (type(message).encode, native.PYTHON["encode"]):
        if size <= MOST:
            assert write(message) == bytes(2) + FORMS[version](size) + rest_of(of_size(layouts, WIDE, size))
        else:
            with pytest.raises(EncodeError, match=f"{size} bytes follow; .* can declare at most {MOST}"):
                write(message)


@pytest.mark.parametrize("field", ["text_int16", "blob_int16"])
@pytest.mark.parametrize("size", SIZES)
def test_size_of_a_value_is_read_with_its_width_and_sign(layouts: Classes, field: str, size: int) -> None:
    cls = layouts("Prefixes", 0)
    value: Any = "a" * size if field.startswith("text") else b"a" * size
    wide = cls(**{field.replace("int16", "int32"): value}).encode()
    narrow = cls().encode()
    at = {"text_int16": 2, "blob_int16": 2 + 2 + 4 + 1 + 1 + 4}[field]
    data = narrow[:at] + size.to_bytes(2, "big") + size * b"a" + narrow[at + 2 :]
    assert len(data) == len(wide)
    for method in METHODS:
        if size <= MOST:
            assert getattr(method(cls, data), field) == value
        else:
            with pytest.raises(DecodeError, match=rf"{field}.*length of the .* is -|{field}.* null, but"):
                method(cls, data)
    message = cls(**{field: value})
    for write in (cls.encode, native.PYTHON["encode"]):
        if size <= MOST:
            assert write(message) == data
        else:
            with pytest.raises(EncodeError, match=f"int16 before it can declare at most {MOST}"):
                write(message)

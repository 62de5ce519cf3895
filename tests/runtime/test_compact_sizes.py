"""Compact sizes of two bytes and more, which generated code writes: their bytes, their limit, and the kept ones."""

from __future__ import annotations

from typing import Any

import pytest

from kipwire.codec.wire import MAX_LENGTH, read_size, write_size
from kipwire.model.errors import Malformed

SHORTEST, FIRST_OF_THREE = 128, 16384


@pytest.mark.parametrize("size", [SHORTEST, FIRST_OF_THREE - 1, FIRST_OF_THREE, 2**21, 2**28, MAX_LENGTH + 1])
def test_a_size_is_read_as_it_was_written(size: int) -> None:
    first, again = write_size(size), write_size(size)
    assert first == again
    assert read_size(first, 1) == (size, len(first))


def test_a_size_beyond_the_limit_is_refused() -> None:
    with pytest.raises(Malformed):
        write_size(MAX_LENGTH + 2)


def test_sizes_of_three_bytes_are_not_kept() -> None:
    kept: Any = getattr(write_size, "__self__")  # noqa: B009 - type checkers do not know it
    write_size(SHORTEST)
    write_size(FIRST_OF_THREE)
    assert SHORTEST in kept
    assert FIRST_OF_THREE not in kept

"""`Generic` and `overload` for modules that every message needs, without importing `typing`.

That import takes 8 ms of processor time; a first message without it takes 15, its interpreter not counted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic as Generic
    from typing import overload as overload
else:

    class Generic:
        """A base whose parameters are for type checkers."""

        def __class_getitem__(cls, parameters):
            return cls

    def overload(function):
        """The function itself, which the one that follows replaces."""
        return function

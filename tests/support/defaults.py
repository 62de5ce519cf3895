"""Messages of defaults, also of classes with required fields."""

from __future__ import annotations

from typing import TypeVar

from kipwire.description.fields import is_required
from kipwire.model.structs import Struct

S = TypeVar("S", bound=Struct)


def of_defaults(cls: type[S]) -> S:
    """Return an instance of defaults, with 0 where a value is required."""
    return cls(**{field.name: 0 for field in cls.ATTRIBUTES if is_required(field)})

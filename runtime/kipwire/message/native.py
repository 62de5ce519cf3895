"""The compiled kernel: whether it is in use, and why.

    >>> from kipwire import native
    >>> native.in_use, native.reason
    (False, 'KIPWIRE_NATIVE=0 switches it off')

If it is in use, its functions stand in for Python's: for `decode`, `read`, `encode` and `encoded_size` of every
message, and for each function with the decorator `from_kernel`. Python's define the result and make the errors.

The kernel is left for Python

- as a whole, if KIPWIRE_NATIVE is 0, if it is not built, and in a second interpreter of the process;
- for a class, if its plan has what the kernel does not know, such as `requiredIf`, if it overrides generated code,
  `__setattr__` or `__getattribute__`, if its instances have a `__dict__`, or if its structs are more than 100 deep;
- for a call, with bytes that are not valid, with a value whose type is not exactly its field's, with a number beyond 64
  bits, for a conversion with `lost` or `strict`, for a conversion, a projection or columns of a record format, for
  batches of magic 0 or 1, of a draft or in a buffer that is not `bytes`, and for the codecs of compressed ones.

Then a function of the kernel calls the one that it stands in for, with the same arguments. The engines of projections
and columns, which stand in for no function, give None.
"""

# Why a kernel and no compiled classes: by mypyc, `OffsetCommitRequest` v8 takes 1.04 times as long to decode and 0.90
# times as long to encode as interpreted, at 380 KB a module.

from __future__ import annotations

import os

from kipwire.message.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

in_use: bool
"""True if the kernel reads and writes messages."""
reason: str
"""The reason, in a few words."""


def _load() -> tuple[ModuleType | None, str]:
    """Import the kernel, if it is built and not switched off; return it or None, and the reason."""
    if os.environ.get("KIPWIRE_NATIVE") == "0":
        return None, "KIPWIRE_NATIVE=0 switches it off"
    try:
        import kipwire._kernel as _kernel
    except ModuleNotFoundError as error:
        return None, f"it is not built for this Python: {error}"
    except ImportError as error:  # such as in a second interpreter: its types and numbers are C globals
        return None, f"it cannot be loaded here: {error}"
    return _kernel, f"it is built: {_kernel.__file__}"


kernel, reason = _load()
in_use = kernel is not None

PYTHON: dict[str, Any] = {}
"""Names of Python that the kernel is given: the functions that its own stand in for, and the things of `give`."""


def give(**things: object) -> None:
    """Give the kernel what its functions use by these names, beside the functions that they stand in for."""
    for name, thing in things.items():
        _bind(name, thing)


def from_kernel(name: str) -> Callable[[F], F]:
    """Replace the decorated function by the kernel's function of this name, if the kernel is in use."""

    def replace(function: F) -> F:
        found: Any = _bind(name, function)
        if found is None:
            return function
        found.__doc__ = function.__doc__
        found.__module__, found.__qualname__ = function.__module__, function.__qualname__
        found.__wrapped__ = function  # what `help` and `inspect` take the signature from
        return found  # type: ignore[no-any-return]

    return replace


def _bind(name: str, thing: object) -> object:
    PYTHON[name] = thing
    return None if kernel is None else kernel.bind(name, thing)


# The methods of messages are replaced from here, since the kernel imports their module.
for _name in ("decode", "read", "encode", "encoded_size"):
    _method = vars(Message)[_name]
    if isinstance(_method, classmethod):
        setattr(Message, _name, classmethod(from_kernel(_name)(_method.__func__)))
    else:
        setattr(Message, _name, from_kernel(_name)(_method))

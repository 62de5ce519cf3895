"""The compiled kernel: whether it is in use, and why.

    >>> from kipwire import native
    >>> native.in_use, native.reason
    (False, 'KIPWIRE_NATIVE=0 switches it off')

If it is in use, its functions are the methods `decode`, `read`, `encode` and `encoded_size` of every message; anything
that it cannot handle falls back to the Python methods it replaced. See docs/native.md.
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


PYTHON_METHODS = {
    "decode": vars(Message)["decode"].__func__,
    "read": vars(Message)["read"].__func__,
    "encode": Message.encode,
    "encoded_size": Message.encoded_size,
}
"""The functions of the methods that the kernel replaces."""


def _replace_methods(kernel: ModuleType) -> None:
    kernel.fall_back_on(**PYTHON_METHODS)
    for name, method in PYTHON_METHODS.items():
        function = _in_place_of(method, getattr(kernel, name))
        setattr(Message, name, classmethod(function) if name in ("decode", "read") else function)


def _in_place_of(method: Callable[..., Any], function: Any) -> Any:
    """Make the kernel's function look like the method that it replaces, and return it."""
    function.__doc__ = method.__doc__
    function.__module__, function.__qualname__ = method.__module__, method.__qualname__
    function.__wrapped__ = method  # what `help` and `inspect` take the signature from
    return function


def from_kernel(name: str) -> Callable[[F], F]:
    """Replace the decorated function by the kernel's function of this name, if the kernel is in use.

    Where the kernel fails, it calls the decorated function with the same arguments, which makes the error.
    """

    def replace(function: F) -> F:
        return function if kernel is None else _in_place_of(function, kernel.replacement(name, function))

    return replace


kernel, reason = _load()
in_use = kernel is not None
if kernel is not None:
    _replace_methods(kernel)

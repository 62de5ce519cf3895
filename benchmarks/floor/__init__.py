"""The floor of decoding: the time to make the objects of a message, without reading any bytes.

`_floor.pyx` is the compiled kernel, built again with a function that copies a decoded message object by object. Native
decode makes the same objects and reads the bytes, too, so it cannot be faster. No wheel has that function.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kipwire import Message

ROOT = Path(__file__).resolve().parents[2]


def maker(message: Message) -> Callable[[], Message]:
    """Return a function that makes all objects of a decoded message.

    Raises:
        CalledProcessError: the kernel cannot be built; the tools have printed the reason.
        ValueError: the copy is not the message.
    """
    copy_of = _copy_of()
    copied = copy_of(message)
    if copied is message or copied.encode() != message.encode():
        raise ValueError(f"the copy of {type(message).NAME} is not the message")
    return partial(copy_of, message)


@cache
def _copy_of() -> Callable[[Message], Message]:
    """Import the function, after a build if its sources are newer."""
    command = [sys.executable, str(ROOT / "scripts" / "build_native.py"), "--floor", "--into", str(ROOT / "build")]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
    spec = spec_from_file_location("_floor", built)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    copy_of: Callable[[Message], Message] = module.copy_of
    return copy_of

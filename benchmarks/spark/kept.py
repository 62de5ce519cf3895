"""Data that is made once and kept in build/, since making it takes as long as a measurement."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from pathlib import Path
from zlib import crc32


def kept(root: Path, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` has written; make it if it does not exist, or if the module of `make` has changed.

    A folder that was not finished is never used.
    """
    code = crc32(Path(inspect.getfile(make)).read_bytes())
    folder = root / f"{name}-{code:08x}"
    if not folder.exists():
        for old in root.glob(f"{name}-????????"):
            shutil.rmtree(old)
        unfinished = root / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        make(unfinished)
        unfinished.rename(folder)
    return folder

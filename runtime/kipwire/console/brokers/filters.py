"""Filters of users, functions marked by `on`, from Python files: of a proxy, and of the fake broker."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from kipwire.aio.filters import Filter, FilterError
from kipwire.tools.files import need_file
from kipwire.tools.text import error_line


def filters_of(files: Iterable[Path]) -> list[Filter]:
    """Load the filters that Python files define, in their order; a `FilterError` for a file that has none, or fails."""
    found: list[Filter] = []
    for number, path in enumerate(files):
        folder = str(path.parent.resolve())  # which is the first, as Python has it for a script
        sys.path[:] = [folder, *(one for one in sys.path if one != folder)]
        name = f"filters_{number}_{path.stem}"
        module = sys.modules[name] = ModuleType(name)  # where it is looked for, such as by dataclasses
        module.__file__ = str(path)
        try:
            need_file(path)
            loader = SourceFileLoader(name, str(path))  # no bytecode: it may be of an earlier text of the same second
            exec(loader.source_to_code(path.read_bytes(), str(path)), vars(module))
        except (Exception, SystemExit) as error:  # of the user's code, in which anything may go wrong
            if isinstance(error, OSError) and error.filename == str(path):
                raise
            raise FilterError(f"{path}: cannot be imported: {error_line(error)}") from error
        own = [one for one in vars(module).values() if isinstance(one, Filter)]
        if not own:
            raise FilterError(f"{path}: has no filters; define functions with @on(...) of kipwire.proxy")
        found += own
    return found

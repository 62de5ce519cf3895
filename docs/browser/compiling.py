"""Compiles the modules that a first result needs. It runs in the page's Python when the page is built.

Compiling them in the browser would take two thirds of the time until there is a result. Other modules stay sources,
which are smaller.
"""

from __future__ import annotations

import _imp
import importlib
import importlib._bootstrap_external as files  # as py_compile, which the page leaves out
import sys
import zipfile
from pathlib import Path

_TIME = (1980, 1, 1, 0, 0, 0)
_FRAME = "0000001b00000007000000000000000000000001036b31000023840105016e"


def load() -> None:
    """Import what a first result needs, by making one."""
    looking = importlib.import_module("looking")  # it is in the archive of the page

    Path("/tmp/frame.txt").write_text(_FRAME, "utf-8")
    found = looking.run(["inspect", "--response", "FindCoordinator", "3", "/tmp/frame.txt"], "page")
    assert found["status"] == 0 and found["page"], found


def compile_loaded(archive: str, level: int) -> None:
    """Replace the sources of all loaded modules of an archive by what they compile to.

    Args:
        archive: the path of a zip, from which they were imported, or a copy of that.
        level: of optimization; 2 drops docstrings.
    """
    places = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
    loaded = {place.partition(".zip/")[2] for place in places}
    with zipfile.ZipFile(archive) as opened:
        contents = {name: opened.read(name) for name in opened.namelist()}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as made:
        for name, source in contents.items():
            if name in loaded and name.endswith(".py"):
                code = compile(source, name, "exec", dont_inherit=True, optimize=level)
                found = _imp.source_hash(_imp.pyc_magic_number_token, source)  # type: ignore[attr-defined]
                source = files._code_to_hash_pyc(code, found, False)  # type: ignore[attr-defined]
                name += "c"
            made.writestr(zipfile.ZipInfo(name, _TIME), source)

"""The archives of the page: zips that are stored and then compressed as a whole, a third of the size of usual zips.

Generated classes resemble each other, and only a compressor that sees all of them makes use of it. Python imports from
the zip inside, which the page decompresses.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_TIME = (1980, 1, 1, 0, 0, 0)
_TEXTS = frozenset({".py", ".json", ".css", ".js", ".j2", ".txt"})

_LEFT_OUT_OF_KIPWIRE = re.compile(
    r"kipwire/(drafts/proposals|aio|cluster(?!/__init__|/given)|columns|conformance|proxy|tables|testing)/"
    r"|kipwire/console/(broker|brokers/running|call|conform|offsets|pack|produce|proxy|transactions)\b"
    r"|.*/kipgen\.manifest\.json$"
)
"""Code that needs pyarrow, a network or golden data, and files that only the generator reads."""
_LEFT_OUT_OF_PYTHON = frozenset(
    """_pydatetime.py _pydecimal.py _pyio.py _pyrepl antigravity.py asyncio/__main__.py asyncio/proactor_events.py
    asyncio/tools.py asyncio/windows_events.py asyncio/windows_utils.py bdb.py cProfile.py concurrent/futures/process.py
    curses doctest.py ensurepip ftplib.py http/cookiejar.py http/server.py idlelib imaplib.py lib2to3 logging/config.py
    logging/handlers.py mailbox.py multiprocessing nntplib.py optparse.py pdb.py pickletools.py poplib.py profile
    profile.py profiling pstats.py pyclbr.py pydoc.py pydoc_data smtplib.py socketserver.py sqlite3 statistics.py
    tabnanny.py tarfile.py telnetlib.py test this.py tkinter trace.py tracemalloc.py turtle.py turtledemo unittest venv
    webbrowser.py wsgiref xml xmlrpc""".split()
)
"""Modules of the standard library for terminals, servers and tests, and copies in Python of what is there in C."""
_ENCODINGS = frozenset(
    f"encodings/{name}.py"
    for name in """__init__ aliases ascii cp437 idna latin_1 raw_unicode_escape unicode_escape utf_8 utf_8_sig utf_16
    utf_16_be utf_16_le utf_32 utf_32_be utf_32_le""".split()
)
_LEFT_OUT_OF_WHEELS = re.compile(
    r".*/tests/|.*\.dist-info/|blackd/|jsonschema/benchmarks/|rich/_unicode_data/unicode(?!17)"
)


def stored(contents: Mapping[str, bytes]) -> bytes:
    """Return an archive of files by name, the same bytes for the same files; nothing in it is compressed."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name, _TIME), data)
    return made.getvalue()


def compressed(data: bytes) -> bytes:
    """Compress by gzip, which browsers know."""
    return gzip.compress(data, 9, mtime=0)


def compressed_for_python(data: bytes) -> bytes:
    """Compress by xz, a quarter smaller, which only Python can undo."""
    return lzma.compress(data, preset=9)


def standard_library(archive: Path) -> dict[str, bytes]:
    """Return the files of Python's standard library that the page keeps.

    Args:
        archive: the `python_stdlib.zip` of pyodide.
    """
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if not name.endswith("/") and _is_kept(name)]
        return {name: opened.read(name) for name in names}


def _is_kept(name: str) -> bool:
    if name.startswith("encodings/"):
        return name in _ENCODINGS
    parts = name.split("/")
    return not any("/".join(parts[:end]) in _LEFT_OUT_OF_PYTHON for end in range(1, len(parts) + 1))


def kipwire(root: Path) -> dict[str, bytes]:
    """Return the runtime and the generated packages by the names under which Python imports them."""
    found = {**_files(root / "runtime"), **_files(root / "generated")}
    return {name: data for name, data in found.items() if not _LEFT_OUT_OF_KIPWIRE.match(name)}


def generator(root: Path) -> dict[str, bytes]:
    """Return the generator with its templates and the JSON Schemas, in the places where an installed wheel has them."""
    schemas = {f"kipgen/schemas/{file.name}": file.read_bytes() for file in (root / "schemas").glob("*.schema.json")}
    templates = {f"kipgen/templates/{name}": data for name, data in _files(root / "templates").items()}
    return {**_files(root / "generator"), **schemas, **templates}


def python_of(wheels: Iterable[Path]) -> dict[str, bytes]:
    """Return the Python modules of wheels with the data beside them; no tests."""
    found = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as opened:
            for name in opened.namelist():
                if name.endswith(".dist-info/METADATA"):  # has the release, which manifests name
                    found[name] = opened.read(name).partition(b"\n\n")[0]
                elif Path(name).suffix in _TEXTS and not _LEFT_OUT_OF_WHEELS.match(name):
                    found[name] = opened.read(name)
    return found


def _files(folder: Path) -> dict[str, bytes]:
    return dict(_walk(folder, folder))


def _walk(folder: Path, top: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.iterdir()):
        if path.name == "__pycache__" or path.is_symlink():
            continue  # the link to the proposals, which are in generated/, too
        if path.is_dir():
            yield from _walk(path, top)
        elif path.suffix in _TEXTS:
            yield path.relative_to(top).as_posix(), path.read_bytes()

"""Formats generated code with black: each distinct block once, on all cores, and never again if a cache has it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from kipgen.python.caches import cache_folder
from kipgen.python.pymodel import LINE_LENGTH

_FEW = 3
"""The number of blocks that are formatted before a second process has started."""
_CACHE_LIMIT = 64 * 2**20
"""The most bytes that the cache may have; a larger one is deleted."""


def format_blocks(
    texts: Iterable[str], progress: Callable[[int, int], object], cache: FormatCache | None
) -> dict[str, str]:
    """Every text, formatted, by the text as it was.

    Args:
        texts: blocks of Python, each a whole module to black.
        progress: called from time to time with the blocks done and the blocks to do.
        cache: what was formatted before; None to format everything.

    Raises:
        black.InvalidInput: a text is not Python, which is a defect of a template.
    """
    wanted = dict.fromkeys(texts)
    done = cache.look_up(wanted) if cache is not None else {}
    missing = [text for text in wanted if text not in done]
    fresh = {}
    for text, result in zip(missing, _format_all(missing), strict=True):
        fresh[text] = result
        progress(len(fresh), len(missing))
    if cache is not None:
        cache.add(fresh)
    return {**done, **fresh}


def _format(text: str) -> str:
    import black  # costs a tenth of a second, which a run with nothing new need not pay
    from black.mode import TargetVersion

    return black.format_str(text, mode=black.Mode(target_versions={TargetVersion.PY311}, line_length=LINE_LENGTH))


def _format_all(texts: list[str]) -> Iterable[str]:
    if len(texts) <= _FEW:
        yield from map(_format, texts)
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(_format, texts, chunksize=8 if len(texts) > 200 else 1)


class FormatCache:
    """What black made of earlier blocks. Anybody who can write to it decides what is generated from it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_user(cls) -> FormatCache | None:
        """The user's cache; None if it cannot be created."""
        folder = cache_folder("black")
        return cls(folder / f"{version('black')}.sqlite") if folder else None

    def look_up(self, texts: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            with closing(_connection(self.path)) as connection:
                for text in texts:
                    row = connection.execute("SELECT result FROM pieces WHERE key = ?", (_key(text),)).fetchone()
                    if row is not None and isinstance(row[0], str):
                        found[text] = row[0]
        except (sqlite3.Error, OSError):
            return {}
        return found

    def add(self, blocks: dict[str, str]) -> None:
        if not blocks:
            return
        try:
            if self.path.exists() and self.path.stat().st_size > _CACHE_LIMIT:
                self.path.unlink()
            with closing(_connection(self.path)) as connection, connection:
                rows = [(_key(text), result) for text, result in blocks.items()]
                connection.executemany("INSERT OR REPLACE INTO pieces VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return


def _key(text: str) -> bytes:
    return hashlib.sha256(f"{LINE_LENGTH}\n{text}".encode()).digest()


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5)
    connection.execute("CREATE TABLE IF NOT EXISTS pieces (key BLOB PRIMARY KEY, result TEXT) WITHOUT ROWID")
    return connection

"""A folder of files, by topic and date as Hive, Spark, DuckDB and polars read it, and what makes its files visible.

A file is written under a name that readers pass over, `.part-000001.parquet.tmp`, and renamed when a run says so. A
folder `topic=orders` has no column `topic` in its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kipwire.tables.arrow import pc
from kipwire.tables.errors import JobError
from kipwire.tables.writing.files import FileFormat, RowFile
from kipwire.tools.atomic import sync_folder

KEYS = {"topic": "topic", "date": "timestamp"}
"""Parts of a folder's path, and the column that each is made of."""
_NOWHERE = "__HIVE_DEFAULT_PARTITION__"
"""The part of rows without a value, also of times without a date."""
OPEN = 64
"""Files that are open at once."""
GATHERED = 64 << 20
"""Bytes of all files together that are not written yet."""
_HIDDEN = re.compile(r"\.part-\d{6}(?:-\d+)?\.[a-z]+\.tmp")
LOCK = ".kipwire.lock"
"""A file of a folder by which one run at a time writes there."""
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS = range(1 - _EPOCH, date.max.toordinal() + 1 - _EPOCH)


class Layout(NamedTuple):
    """The way in which rows are put into files."""

    folder: Path
    """Of all of them; it exists."""
    format: FileFormat
    schema: pa.Schema
    """The columns to write; rows may have more, which `by` needs."""
    by: tuple[str, ...]
    """Some of `KEYS`."""


class Parts:
    """The files of one round of a run."""

    def __init__(self, layout: Layout, number: int) -> None:
        """Make no file yet; the number is of the round."""
        self._layout = layout
        self._number = number
        self._schema = pa.schema([one for one in layout.schema if one.name != "topic" or "topic" not in layout.by])
        self._open: dict[str, RowFile] = {}
        """By the folder below, the one that rows were last added to at the end."""
        self._counts: dict[str, int] = {}
        self._files: list[str] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows of one topic.

        Raises:
            OSError: they cannot be written.
        """
        for below, rows in self._routed(batch):
            file = self._open.pop(below, None) or self._new(below)
            self._open[below] = file
            file.add(rows.select(self._schema.names))
        if sum(file.gathered for file in self._open.values()) > GATHERED:
            max(self._open.values(), key=lambda file: file.gathered).flush()

    def _routed(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if not len(batch):
            return
        topic = f"topic={batch.column('topic')[0].as_py()}/" if "topic" in self._layout.by else ""
        if "date" not in self._layout.by:
            yield topic, batch
            return
        days = batch.column("timestamp").cast(pa.date32()).cast(pa.int32())
        for day in pc.unique(days).to_pylist():
            mask = pc.is_null(days) if day is None else pc.equal(days, day)
            rows = batch.filter(mask) if mask.null_count or mask.false_count else batch
            yield f"{topic}date={_date_text(day)}/", rows

    def _new(self, below: str) -> RowFile:
        if len(self._open) >= OPEN:
            self._open.pop(next(iter(self._open))).close()
        count = self._counts[below] = self._counts.get(below, 0) + 1
        more = f"-{count}" if count > 1 else ""
        name = f"{below}part-{self._number:06d}{more}.{self._layout.format}"
        self._files.append(name)
        path = hidden(self._layout.folder / name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return RowFile(path, self._layout.format, self._schema)

    def close(self) -> tuple[str, ...]:
        """Put all rows on the disk; return the names of the files, which no reader sees yet.

        Raises:
            OSError: one cannot be written.
        """
        for file in self._open.values():
            file.close()
        self._open.clear()
        for folder in {(self._layout.folder / name).parent for name in self._files}:
            for one in (folder, *folder.relative_to(self._layout.folder).parents):
                sync_folder(self._layout.folder / one)
        return tuple(self._files)

    def discard(self) -> None:
        """Remove the files, unless they have become visible."""
        for file in self._open.values():
            file.discard()
        for name in self._files:
            hidden(self._layout.folder / name).unlink(missing_ok=True)


def _date_text(day: int | None) -> str:
    """Format the date of a day since 1970."""
    return _NOWHERE if day is None or day not in _DAYS else date.fromordinal(day + _EPOCH).isoformat()


def hidden(path: Path) -> Path:
    """Return the name that a file has until readers may see it."""
    return path.with_name(f".{path.name}.tmp")


def show(folder: Path, names: Iterable[str]) -> None:
    """Let readers see files; those that they see already stay.

    Raises:
        JobError: one is gone.
        OSError: one cannot be renamed.
    """
    for name in names:
        path = folder / name
        try:
            hidden(path).replace(path)
        except FileNotFoundError:
            if not path.exists():
                raise JobError(
                    f"{path}: a run before has written it, and it is gone, so its rows are missing; "
                    "give a new --state and --out to write all rows again"
                ) from None
    for below in {(folder / name).parent for name in names}:
        sync_folder(below)


def remove_hidden(folder: Path) -> None:
    """Remove the files that a run which was killed has left."""
    for path in [*folder.rglob(".part-*.tmp")]:
        if _HIDDEN.fullmatch(path.name):
            path.unlink(missing_ok=True)


def has_files(folder: Path) -> bool:
    """True if a folder has files, other than those that `remove_hidden` removes."""
    return any(not (one.is_dir() or _HIDDEN.fullmatch(one.name) or one.name == LOCK) for one in folder.rglob("*"))

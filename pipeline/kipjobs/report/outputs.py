"""Files that the command line writes, in one of several formats: completely or not at all.

Existing tables are not overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from kipjobs.engines import engine_of
from kipjobs.report.report import Table
from kipwire.tables.errors import JobError
from kipwire.tools.atomic import need_place, new_folder, rename_new, write_atomically


class TableFormat(StrEnum):
    """The formats of files of tables."""

    PARQUET = "parquet"
    """A folder for each table."""
    CSV = "csv"
    """One file for each table, by RFC 4180 in UTF-8."""
    JSONL = "jsonl"
    """One file for each table, with one JSON object a row."""


def check_folder(path: Path, option: str) -> None:
    """Check, before a job starts, that a path is a folder or can become one.

    Raises:
        JobError: it is a file, or is not writable.
    """
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir():
        where = "is a file" if there == path else f"{there} is a file"
        raise JobError(f"{path}: {where}; {option} needs a folder, which is created if it does not exist")
    if not os.access(there, os.W_OK):
        raise JobError(f"{path}: {there} is not writable")


def check_tables(out: Path | None, table_format: TableFormat) -> None:
    """Check, before a job starts, that its tables can be written as wanted, if they are.

    Raises:
        JobError: the folder is not one, or is not empty; or there is no folder for tables of that format.
    """
    if out is None:
        if table_format is not TableFormat.PARQUET:
            raise JobError(f"--out-format {table_format} needs --out, the folder for the tables")
        return
    check_folder(out, "--out")
    if out.is_dir() and any(out.iterdir()):
        raise JobError(
            f"{out}: already has files, and nothing is overwritten; choose another folder or remove this one"
        )


def check_file(file: Path, option: str) -> None:
    """Check, before a job starts, that the file of an option can be written.

    Raises:
        JobError: it is a folder, or its folder does not exist.
        OSError: it is a link, a pipe, a socket or a device.
    """
    if file.is_dir():
        raise JobError(f"{file}: is a folder; {option} needs the name of a file")
    if not file.absolute().parent.is_dir():
        raise JobError(f"{file}: the folder {file.absolute().parent} does not exist")
    need_place(file)


def write_tables(out: Path, tables: Iterable[Table], table_format: TableFormat = TableFormat.PARQUET) -> None:
    """Write tables: all of them, or none if one cannot be written.

    Parquet files are in a folder for each table. Of the formats that are text each table is one file, with the rows in
    the order of the report.

    Tables are written next to their final places, and renamed once all are complete, so that two runs never touch
    each other's. If Spark writes to another machine or file system, nothing can be renamed: then it writes Parquet
    files to the final folders, which must not exist, and after a failure the files written so far stay.

    Raises:
        JobError: another run has written a table of that name meanwhile, or Spark writes text elsewhere.
    """
    with _folder(out), new_folder(beside=out / "tables") as made:
        target: Path | None = None
        names = []
        for table in tables:
            engine = engine_of(table.frame)
            target = target or (made if engine.sees(table.frame, made) else out)
            if table_format is TableFormat.PARQUET:
                engine.write_parquet(table.frame, target / table.name)
                names.append(table.name)
            elif target == made:
                names.append(f"{table.name}.{table_format}")
                engine.write_text(table.frame, table.order, table_format, made / names[-1])
            else:
                raise JobError(
                    f"{out}: Spark runs elsewhere without access to this folder, and writes only Parquet there; "
                    f"leave out --out-format {table_format}, or choose a folder that all its machines share"
                )
        if target == made:
            _publish(made, out, names)


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make a folder and its parents; after a failure remove the new ones, unless another run has files there."""
    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for folder in new:
                folder.rmdir()
        raise


def _publish(made: Path, out: Path, names: Iterable[str]) -> None:
    """Rename tables to their final places, all or none."""
    done: list[str] = []
    name = ""
    try:
        for name in names:
            _place(made / name, out / name)
            done.append(name)
    except BaseException as error:
        for ours in done:
            (out / ours).rename(made / ours)  # only tables of this run
        if isinstance(error, FileExistsError):
            raise JobError(
                f"{out / name}: another run has written it meanwhile, and nothing is overwritten; choose another folder"
            ) from None
        raise


def _place(made: Path, path: Path) -> None:
    """Rename a folder or a file to a path at which nothing exists yet."""
    if made.is_dir():
        rename_new(made, path)
    else:
        path.touch(exist_ok=False)  # takes the name, since renaming a file would replace another run's
        made.replace(path)


def json_lines(tables: Iterable[Table]) -> Iterator[str]:
    """Yield all rows of tables as lines of JSON, with line ends: the table's name as `table`, then its columns.

    Raises:
        JobError: Spark writes to another machine.
    """
    with TemporaryDirectory(prefix="kipwire-") as folder:
        for table in tables:
            engine, file = engine_of(table.frame), Path(folder) / table.name
            if not engine.sees(table.frame, file.parent):
                raise JobError(f"--format json needs a folder that Spark can write to; it has no access to {folder}")
            engine.write_text(table.frame, table.order, TableFormat.JSONL, file)
            with file.open(encoding="utf-8", newline="\n") as lines:
                yield from (f'{{"table":"{table.name}",{line[1:]}' for line in lines)
            file.unlink()


def write_file(file: Path, text: str) -> None:
    """Write a text file, which replaces an existing one only once it is complete."""
    write_atomically(file, text.encode())

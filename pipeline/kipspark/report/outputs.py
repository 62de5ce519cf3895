"""Files that the command line writes: completely or not at all; existing tables are not overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kipspark.errors import JobError
from kipspark.report.report import Table
from kipwire.tools.atomic import new_folder, rename_new, write_atomically


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


def check_empty(out: Path) -> None:
    """Check, before a job starts, that tables can be written to a folder.

    Raises:
        JobError: it is not a folder, or is not empty.
    """
    check_folder(out, "--out")
    if out.is_dir() and any(out.iterdir()):
        raise JobError(
            f"{out}: already has files, and nothing is overwritten; choose another folder or remove this one"
        )


def check_file(html: Path) -> None:
    """Check, before a job starts, that a page can be written.

    Raises:
        JobError: it is a folder, or its folder does not exist.
    """
    if html.is_dir():
        raise JobError(f"{html}: is a folder; --html needs the name of a file")
    if not html.absolute().parent.is_dir():
        raise JobError(f"{html}: the folder {html.absolute().parent} does not exist")


def write_tables(out: Path, tables: Iterable[Table]) -> None:
    """Write tables as Parquet files, each in its own folder: all of them, or none if one cannot be written.

    Tables are written next to their final folders, and renamed once all are complete, so that two runs never touch
    each other's. If Spark writes to another machine or file system, nothing can be renamed: then it writes to the final
    folders, which must not exist, and after a failure what it has written stays.

    Raises:
        JobError: another run has written a table of that name meanwhile.
    """
    out.mkdir(parents=True, exist_ok=True)
    with new_folder(beside=out / "tables") as made:
        target: Path | None = None
        names = []
        for table in tables:
            target = target or (made if _is_seen(table.frame.sparkSession, made) else out)
            table.frame.write.parquet(str(target / table.name))
            names.append(table.name)
        if target == made:
            _publish(made, out, names)


def _is_seen(spark: SparkSession, folder: Path) -> bool:
    """Whether Spark sees a folder of this machine."""
    probe = folder / "probe"
    probe.write_text("seen")
    try:
        return [row[0] for row in spark.read.text(str(probe)).collect()] == ["seen"]
    except PySparkException:
        return False
    finally:
        probe.unlink()


def _publish(made: Path, out: Path, names: Iterable[str]) -> None:
    """Rename tables to their final folders, all or none."""
    done: list[str] = []
    name = ""
    try:
        for name in names:
            rename_new(made / name, out / name)
            done.append(name)
    except BaseException as error:
        for ours in done:
            (out / ours).rename(made / ours)  # only tables of this run
        if isinstance(error, FileExistsError):
            raise JobError(
                f"{out / name}: another run has written it meanwhile, and nothing is overwritten; choose another folder"
            ) from None
        raise


def write_file(file: Path, text: str) -> None:
    """Write a text file, which replaces an existing one only once it is complete."""
    write_atomically(file, text.encode())

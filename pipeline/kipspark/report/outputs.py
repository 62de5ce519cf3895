"""Files that the command line writes: whole ones or none, and nothing in the place of what is there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kipspark.errors import JobError
from kipspark.report.report import Table
from kipwire.tools.atomic import new_folder, rename_new, write_atomically


def check_folder(place: Path, option: str) -> None:
    """Whether a place is a folder or may become one, known before a job starts.

    Raises:
        JobError: it is a file, or may not be written to.
    """
    there = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    if not there.is_dir():
        where = "is a file" if there == place else f"{there} is a file"
        raise JobError(f"{place}: {where}; {option} needs a folder, which is made if it is not there")
    if not os.access(there, os.W_OK):
        raise JobError(f"{place}: {there} may not be written to")


def check_empty(out: Path) -> None:
    """Whether tables may be written to a folder, known before a job starts.

    Raises:
        JobError: it is no folder, or one that is not empty.
    """
    check_folder(out, "--out")
    if out.is_dir() and any(out.iterdir()):
        raise JobError(
            f"{out}: has files already, and nothing is overwritten; choose another folder or remove this one"
        )


def check_file(html: Path) -> None:
    """Whether a page may be written there, known before a job starts.

    Raises:
        JobError: it is a folder, or in none.
    """
    if html.is_dir():
        raise JobError(f"{html}: is a folder; --html needs the name of a file")
    if not html.absolute().parent.is_dir():
        raise JobError(f"{html}: there is no such folder as {html.absolute().parent}")


def write_tables(out: Path, tables: Iterable[Table]) -> None:
    """Write tables as Parquet files, a folder each; all of them, or none where one cannot be written.

    They are written beside their places, and renamed once all are there, so that two runs never touch each other's.
    Where Spark's files are on another machine or file system nothing can be renamed: there it writes to the places
    themselves, which it does not if anything is there, and what it has written stays.

    Raises:
        JobError: another run has written a table of that name meanwhile.
    """
    out.mkdir(parents=True, exist_ok=True)
    with new_folder(beside=out / "tables") as made:
        place = None
        names = []
        for table in tables:
            place = place or (made if _is_seen(table.frame.sparkSession, made) else out)
            table.frame.write.parquet(str(place / table.name))
            names.append(table.name)
        if place == made:
            _publish(made, out, names)


def _is_seen(spark: SparkSession, folder: Path) -> bool:
    """Whether a folder of this machine is one of Spark's, too."""
    probe = folder / "probe"
    probe.write_text("seen")
    try:
        return [row[0] for row in spark.read.text(str(probe)).collect()] == ["seen"]
    except PySparkException:
        return False
    finally:
        probe.unlink()


def _publish(made: Path, out: Path, names: Iterable[str]) -> None:
    """Give tables their places, all or none."""
    done: list[str] = []
    name = ""
    try:
        for name in names:
            rename_new(made / name, out / name)
            done.append(name)
    except BaseException as error:
        for ours in done:
            (out / ours).rename(made / ours)  # what was renamed is ours
        if isinstance(error, FileExistsError):
            raise JobError(
                f"{out / name}: another run has written it meanwhile, and nothing is overwritten; choose another folder"
            ) from None
        raise


def write_file(file: Path, text: str) -> None:
    """Write a text, which takes the place of one that is there once it is whole."""
    write_atomically(file, text.encode())

"""Files that the command line writes: whole ones or none, and nothing in the place of what is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from kipspark.errors import JobError
from kipspark.report import Table


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
    """Write tables as Parquet files, a folder each; all of them, or none where one cannot be written."""
    begun = []
    try:
        for table in tables:
            begun.append(out / table.name)
            table.frame.write.parquet(str(out / table.name))
    except BaseException:
        for folder in begun:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def write_file(file: Path, text: str) -> None:
    """Write a text, which takes the place of one that is there once it is whole."""
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)

"""Files that the command line writes, in one of several formats: completely or not at all.

Existing tables are not overwritten.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType, TimestampType

from kipjobs.errors import JobError
from kipjobs.files.access import read_path
from kipspark.report.report import Table
from kipwire.tools.atomic import new_folder, rename_new, write_atomically

_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}
"""ISO 8601 in UTC, such as `2026-11-21T08:00:50.123000Z`, whatever the zone of the session is."""
_AS_JSON = {**_TIMES, "ignoreNullFields": "false"}
_NESTED = (ArrayType, MapType, StructType)


class Format(StrEnum):
    """What files of tables are made of."""

    PARQUET = "parquet"
    """A folder for each table, written by Spark's tasks."""
    CSV = "csv"
    """One file for each table, by RFC 4180 in UTF-8."""
    JSONL = "jsonl"
    """One file for each table, with one JSON object a row."""


LINE_ENDS = {Format.CSV: "\r\n", Format.JSONL: "\n"}
"""The formats that are text."""


def lines(frame: DataFrame, text_format: Format) -> DataFrame:
    """The rows of a table as text, in a column `value`; without line ends and without a header."""
    if text_format is Format.CSV:
        return frame.select(sf.concat_ws(",", *map(_csv, frame.schema.names, _types(frame))).alias("value"))
    return frame.select(sf.to_json(sf.struct(*map(_column, frame.schema.names)), _AS_JSON).alias("value"))


def header(frame: DataFrame, text_format: Format) -> str:
    """What is before the lines of a table: the names of its columns, for CSV."""
    if text_format is Format.CSV:
        return ",".join(frame.schema.names) + LINE_ENDS[text_format]
    return ""


def _types(frame: DataFrame) -> list[DataType]:
    return [field.dataType for field in frame.schema.fields]


def _column(name: str) -> Column:
    """The column with that name, even if it has a dot."""
    return sf.col(f"`{name}`")


def _csv(name: str, type_: DataType) -> Column:
    """A field of CSV: nothing for null, and text always in quotes, so that an empty text is not null."""
    column = _column(name)
    if isinstance(type_, TimestampType):
        text = sf.to_csv(sf.struct(column), _TIMES)
    elif isinstance(type_, _NESTED):
        text = _quoted(sf.to_json(column, _AS_JSON))
    elif isinstance(type_, BinaryType):
        text = _quoted(sf.base64(column))
    elif isinstance(type_, StringType):
        text = _quoted(column)
    else:
        text = column.cast("string")
    return sf.when(column.isNull(), sf.lit("")).otherwise(text)


def _quoted(text: Column) -> Column:
    quote = sf.lit('"')
    return sf.concat(quote, sf.replace(sf.make_valid_utf8(text), quote, sf.lit('""')), quote)


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


def check_tables(out: Path | None, table_format: Format) -> None:
    """Check, before a job starts, that its tables can be written as wanted, if they are.

    Raises:
        JobError: the folder is not one, or is not empty; or there is no folder for tables of that format.
    """
    if out is None:
        if table_format is not Format.PARQUET:
            raise JobError(f"--format {table_format} needs --out, the folder for the tables")
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
    """
    if file.is_dir():
        raise JobError(f"{file}: is a folder; {option} needs the name of a file")
    if not file.absolute().parent.is_dir():
        raise JobError(f"{file}: the folder {file.absolute().parent} does not exist")


def write_tables(out: Path, tables: Iterable[Table], table_format: Format = Format.PARQUET) -> None:
    """Write tables: all of them, or none if one cannot be written.

    Parquet files are in a folder for each table. Of the formats that are text each table is one file, with the rows in
    the order of the report.

    Tables are written next to their final places, and renamed once all are complete, so that two runs never touch
    each other's. If Spark writes to another machine or file system, nothing can be renamed: then it writes Parquet
    files to the final folders, which must not exist, and after a failure what it has written stays.

    Raises:
        JobError: another run has written a table of that name meanwhile, or Spark writes text elsewhere.
    """
    out.mkdir(parents=True, exist_ok=True)
    with new_folder(beside=out / "tables") as made:
        target: Path | None = None
        names = []
        for table in tables:
            target = target or (made if _is_seen(table.frame.sparkSession, made) else out)
            if table_format is Format.PARQUET:
                table.frame.write.parquet(str(target / table.name))
                names.append(table.name)
            elif target == made:
                names.append(f"{table.name}.{table_format}")
                _write_text(made, names[-1], table, table_format)
            else:
                raise JobError(
                    f"{out}: Spark does not see this folder, and writes only Parquet files elsewhere; "
                    f"leave out --format {table_format}, or choose a folder that all its machines share"
                )
        if target == made:
            _publish(made, out, names)


def _write_text(made: Path, name: str, table: Table, text_format: Format) -> None:
    """Write a table to one file: Spark's tasks write its parts, since not every table fits in memory."""
    parts = made / f"{name}.parts"
    rows = lines(table.frame.orderBy(*table.order), text_format)
    rows.write.option("lineSep", LINE_ENDS[text_format]).text(str(parts))
    with (made / name).open("xb") as file:
        file.write(header(table.frame, text_format).encode())
        for part in sorted(parts.glob("part-*")):
            with part.open("rb") as written:
                shutil.copyfileobj(written, file)
            part.unlink()  # so that a table is not twice on the disk
    shutil.rmtree(parts)


def _is_seen(spark: SparkSession, folder: Path) -> bool:
    """Whether Spark sees a folder of this machine."""
    probe = folder / "probe"
    probe.write_text("seen")
    try:
        return [row[0] for row in spark.read.text(read_path(probe)).collect()] == ["seen"]
    except PySparkException:
        return False
    finally:
        probe.unlink()


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
    """Give a folder or a file its name, where nothing may be yet."""
    if made.is_dir():
        rename_new(made, path)
    else:
        path.touch(exist_ok=False)  # takes the name, since renaming a file would replace another run's
        made.replace(path)


def write_file(file: Path, text: str) -> None:
    """Write a text file, which replaces an existing one only once it is complete."""
    write_atomically(file, text.encode())

"""An archive of Spark's Java classes, with which sessions start some five seconds sooner.

A new JVM reads, checks and links each of the 20,000 classes that a job needs. Java can keep the result: a JVM writes it
to a file when it ends, and later ones map that file into memory. Java compares its version, the jars and all checksums
with the archive, and starts without one that does not match. But it fails on one that was cut off, so the name has the
size.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from kipjobs.errors import JobError
from kipspark.spark.java import cache

_OF_SPARK = "SPARK_SUBMIT_OPTS"
"""Variable with options of the JVM in which Spark runs, not of the one before it, which makes its command line."""
_OF_JAVA = (_OF_SPARK, "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
_CHOICES = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")
"""Options by which the user decides about archives."""
_SILENT = "-Xlog:disable"
"""Else Java prints a line for each class that an archive cannot have."""
_MAGIC = (0xF00BABA8).to_bytes(4, "little"), (0xF00BABA8).to_bytes(4, "big")


@contextmanager
def class_archive() -> Iterator[None]:
    """Let a JVM of Spark that starts in the block use the archive, if there is one; JAVA_HOME must be set."""
    is_decided = any(choice in os.environ.get(name, "") for name in _OF_JAVA for choice in _CHOICES)
    with _java_options([] if is_decided else using(*_find_installed())):
        yield


def using(java: Path, spark: Path) -> Sequence[str]:
    """Return the options with which Java uses the archive; none if there is no archive.

    Args:
        java: the folder of Java.
        spark: the folder of Spark.
    """
    try:
        archive = _find_kept(java, spark)
    except (OSError, RuntimeError):  # such as a home that is unknown
        return []
    if archive is None:
        return []
    # Checksums are compared, since Java runs the mapped classes.
    return [_SILENT, f"-XX:SharedArchiveFile={archive}", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifySharedSpaces"]


def make(run: Callable[[], object]) -> Path:
    """Make the archive, in place of an earlier one, and return its file; JAVA_HOME must be set.

    Args:
        run: starts a JVM that loads Spark's classes, and returns when that JVM has ended.

    Raises:
        JobError: Java has written no archive.
    """
    java, spark = _find_installed()
    folder = _folder()
    made = folder / f"{os.getpid()}.made"
    try:
        name = _name(java, spark)
        folder.mkdir(parents=True, exist_ok=True)
        with _java_options([_SILENT, f"-XX:ArchiveClassesAtExit={made}"]):
            run()
        with made.open("rb") as file:
            is_whole = file.read(4) in _MAGIC  # Java writes the header after everything else
            os.fsync(file.fileno())  # else a power cut could leave the name without the bytes
            size = os.fstat(file.fileno()).st_size
        if not is_whole:
            raise JobError(f"{folder}: Java did not complete the archive; does the disk have 200 MB free?")
        for earlier in folder.glob(f"{name}-*.jsa"):
            earlier.unlink()
        return made.rename(folder / f"{name}-{size}.jsa")
    except OSError as error:
        what = f"{error.filename or folder}: {error.strerror}"
        raise JobError(f"Java {java} did not write the class archive ({what})") from None
    finally:
        made.unlink(missing_ok=True)


def _find_installed() -> tuple[Path, Path]:
    """Find the folders of Java and of Spark."""
    return Path(os.environ["JAVA_HOME"]), Path(_find_spark_home())


def _folder() -> Path:
    return cache() / "spark-classes"


def _name(java: Path, spark: Path) -> str:
    """Return a name that changes with everything that Java compares with an archive.

    Raises:
        FileNotFoundError: this Java has no archive of its own classes, and so can make none of others.
    """
    files = [java / "lib" / "server" / "classes.jsa", *sorted((spark / "jars").glob("*.jar"))]
    known = [(str(file), status.st_size, status.st_mtime_ns) for file in files for status in [file.stat()]]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


def _find_kept(java: Path, spark: Path) -> Path | None:
    """Find the archive for this Java and Spark, if its size has not changed."""
    name = _name(java, spark)
    found = _folder().glob(f"{name}-*.jsa")
    return next((one for one in found if one.stem == f"{name}-{one.stat().st_size}"), None)


@contextmanager
def _java_options(options: Sequence[str]) -> Iterator[None]:
    """Give options to a JVM of Spark that starts in the block, before the user's own."""
    before = os.environ.get(_OF_SPARK)
    if options:
        os.environ[_OF_SPARK] = " ".join([*map(_quote, options), *([before] if before else [])])
    try:
        yield
    finally:
        if before is not None:
            os.environ[_OF_SPARK] = before
        elif options:
            del os.environ[_OF_SPARK]


def _quote(option: str) -> str:
    """Quote an option, since Spark splits the text of several options at spaces."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Sessions of the embedded engine: a DuckDB in memory, with a bound, and a folder for what does not fit.

Each query has its own connection, since the Python function that gives a query its rows may run another query.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import Any

import duckdb
import pyarrow as pa

from kipjobs.engines.embedded.decoders import KNOWN, Decoder
from kipjobs.engines.embedded.engine import ENGINE
from kipjobs.engines.embedded.frames import Frame, Kept, Need, Rows
from kipjobs.engines.embedded.progress import Progress
from kipjobs.engines.functions import Engine
from kipwire.tables.errors import JobError
from kipwire.tables.processes import PIECE, Readers
from kipwire.tables.sources.formats import FORMATS

MEMORY = 384
"""MiB that tables may take before they go to the disk. Memory of Python and of the files being read is not included."""
_BATCH = 16384
"""Rows in a batch that Python gets."""
_SPLIT = {"splitBytes": str(PIECE)}
"""Options of `kafka_log`: small splits, of which progress is counted after each one, too."""
_DECODER = re.compile(r"\bdecoded_\d+\b")
_INTERRUPTED = re.compile(r"\bQuery interrupted\b|\bKeyboardInterrupt\b")
"""Part of DuckDB's error after Ctrl-C; the second is of Ctrl-C between DuckDB and the Python code that it calls."""
_OF_FILE = "Could not write file"
"""Part of DuckDB's error about a file, whose path follows."""
_BEYOND = re.compile(r"\bout of range\b|\boverflow\b", re.IGNORECASE)
"""Part of DuckDB's errors about a number that its type cannot have."""


class EngineError(JobError):
    """Tables that the engine cannot compute; the text is kipwire's own, and the cause is the engine's error."""


class EmbeddedSession:
    """Makes frames of the embedded engine, and computes them."""

    engine: Engine = ENGINE

    def __init__(self, memory: int = MEMORY, progress: Progress | None = None, cores: int | None = None) -> None:
        """Open a session, which `stop` or the end of a `with` block closes.

        Args:
            memory: MiB that tables may take before they go to the disk.
            progress: counts the files that are read.
            cores: number of cores to use; by default all that there are.
        """
        self._folder = Path(gettempdir()) / f"kipwire-{token_hex(8)}"
        self._remove = partial(shutil.rmtree, self._folder, ignore_errors=True)
        atexit.register(self._remove)  # before the folder is there, since Ctrl-C may come at any moment
        self._folder.mkdir(mode=0o700)
        self._progress = progress or Progress()
        self._readers = Readers(cores)
        self._raised: BaseException | None = None
        self._functions: set[str] = set()
        self._memory = memory
        try:
            self._database = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": f"{memory}MiB",
                    "threads": min(self._readers.cores, 4),
                    "temp_directory": str(self._folder),
                    "preserve_insertion_order": False,
                    # The side of a join that is kept in memory is the right one, as jobs write it: the engine would
                    # choose by numbers of rows, and takes a log, whose number it does not know, for one row.
                    "disabled_optimizers": "join_order,build_side_probe_side",
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            self._database.execute("SET GLOBAL TimeZone = 'UTC'")
        except duckdb.Error as error:
            self._forget()
            raise EngineError(f"its engine, DuckDB, cannot start ({type(error).__name__})") from error
        except BaseException:
            self._forget()
            raise

    def __enter__(self) -> EmbeddedSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the session, and remove its files from the disk."""
        try:
            self._readers.close()
            self._database.close()
        finally:
            self._forget()

    def _forget(self) -> None:
        """Remove the folder; if that is interrupted, it is done at the end of the program."""
        self._remove()
        atexit.unregister(self._remove)

    @property
    def read(self) -> Reader:
        """A reader of files, as `SparkSession.read`."""
        return Reader(self)

    def frame_of(
        self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]], needs: frozenset[Need] = frozenset()
    ) -> Frame:
        """Return the rows that a function yields as a frame; `frames.Queries` has the arguments."""
        rows = Rows(schema, lambda: self._keep_error(batches()))
        return Frame(self, f"SELECT * FROM {rows.name}", schema.names, needs | {rows})

    def table(self, frame: Frame) -> pa.Table:
        """Compute all rows of a frame."""
        with self._running(frame.sql, frame.needs) as cursor:
            return cursor.sql(frame.sql).to_arrow_table()

    def batches(self, frame: Frame) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a frame as they are computed."""
        with self._running(frame.sql, frame.needs) as cursor:
            yield from cursor.sql(frame.sql).to_arrow_reader(_BATCH)

    def run(self, statement: str, frame: Frame) -> None:
        """Run a statement on a frame, whose query is part of its text."""
        with self._running(statement, frame.needs) as cursor:
            cursor.execute(statement)

    def load(self, name: str, options: Mapping[str, str]) -> Frame:
        """Return the rows of files of a format."""
        found = FORMATS[name]
        schema = found.schema(options)
        plan = found.plan({**_SPLIT, **options} if name == "kafka_log" else options)

        return self.frame_of(schema, lambda: self._progress.reading(plan, self._readers))

    @contextmanager
    def _running(self, sql: str, needs: frozenset[Need]) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection for a query; raise a `JobError`, or the error of Python code that the query has called."""
        for kept in sorted((one for one in needs if isinstance(one, Kept)), key=lambda one: int(one.name[5:])):
            self._keep(kept)
        for name in sorted(set(_DECODER.findall(sql)) - self._functions):
            self._define(KNOWN[name])
        cursor = self._database.cursor()
        try:
            for one in needs:
                if isinstance(one, Rows):
                    cursor.register(one.name, one)
            yield cursor
        except (duckdb.Error, RuntimeError, pa.ArrowException) as error:
            reason = self._reason(error)
            raise reason from error if isinstance(reason, EngineError) else None
        finally:
            cursor.close()

    def _keep(self, kept: Kept) -> None:
        if not kept.is_there:
            self.run(f"CREATE TABLE {kept.name} AS {kept.frame.sql}", kept.frame)
            kept.is_there = True

    def _define(self, decoder: Decoder) -> None:
        """Define a decoder as a function of DuckDB, with side effects, so that it is called only once for each row."""

        def decode(*columns: pa.ChunkedArray) -> pa.Array:
            try:
                return decoder.decode(*[one.combine_chunks() for one in columns])
            except (Exception, KeyboardInterrupt) as error:
                self._raised = self._raised or error
                raise

        def decode_pairs(key: pa.ChunkedArray, value: pa.ChunkedArray) -> pa.Array:
            return decode(key, value)

        define: Any = self._database.create_function  # whose types do not say that types and options may be texts
        define(
            decoder.name,
            (lambda data: decode(data)) if decoder.inputs == 1 else decode_pairs,  # DuckDB counts the parameters
            ["BLOB"] * decoder.inputs,
            decoder.sql_type,
            type="arrow",
            null_handling="special",
            side_effects=True,
        )
        self._functions.add(decoder.name)

    def _keep_error(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the same batches, and keep an error that Python raises: DuckDB passes on only its text."""
        try:
            yield from batches
        except (Exception, KeyboardInterrupt) as error:
            self._raised = self._raised or error
            raise

    def _reason(self, error: Exception) -> BaseException:
        text = str(error)
        if _INTERRUPTED.search(text):
            return KeyboardInterrupt()
        if self._raised is not None:
            raised, self._raised = self._raised, None
            return raised
        if isinstance(error, duckdb.OutOfMemoryException):
            return JobError(
                f"the tables do not fit in {self._memory} MiB and on the disk of {self._folder.parent}: "
                "set --memory to more MiB, or TMPDIR to a folder on another disk"
            )
        if "No space left" in text:
            if _OF_FILE in text and str(self._folder) not in text:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # of --out
            return JobError(
                f"no space is left on the disk of {self._folder.parent}; "
                "set TMPDIR to a folder on another one for what does not fit in memory"
            )
        if _BEYOND.search(text):
            return EngineError(
                "a number in its tables exceeds 64 bits; an offset or a time in the files may be damaged: kipwire dump "
                "--summary shows those of each file"
            )
        return EngineError(f"its engine, DuckDB, cannot compute a table ({type(error).__name__})")


class Reader:
    """Makes frames of files, with the method names of PySpark."""

    def __init__(self, session: EmbeddedSession, name: str = "", options: Mapping[str, str] | None = None) -> None:
        self._session = session
        self._name = name
        self._options = dict(options or {})

    def format(self, name: str) -> Reader:
        """Return this reader for a format."""
        return Reader(self._session, name, self._options)

    def option(self, name: str, value: object) -> Reader:
        """Return this reader with one more option."""
        return self.options(**{name: value})

    def options(self, **options: object) -> Reader:
        """Return this reader with more options."""
        texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
        return Reader(self._session, self._name, self._options | texts)

    def load(self, path: str | None = None) -> Frame:
        """Return the rows of the files at a path."""
        return self._session.load(self._name, self._options | ({} if path is None else {"path": path}))

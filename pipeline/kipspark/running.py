"""Runs the jobs of `kipspark`: Spark on this machine, on the machines of a master, or on a Spark Connect server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import click
from pyspark.sql import SparkSession

from kipjobs.engines import Session
from kipspark.spark.progress import progress_line
from kipspark.spark.session import FOR_FEW_ROWS, open_session

_SMALL = 16 * 2**20
"""Bytes up to which a job takes only seconds, most of them until Java's compilers have done their work."""

OPTIONS: Sequence[click.Parameter] = (
    click.Option(["--master"], metavar="MASTER", help="Spark master; by default all cores of this machine."),
    click.Option(["--remote"], metavar="URL", help="Address of a Spark Connect server, such as sc://localhost."),
)
"""The options that choose where a job runs."""


class OnSpark(NamedTuple):
    """A runner of jobs on Spark."""

    master: str | None = None
    remote: str | None = None

    @property
    def are_here(self) -> bool:
        """True if the paths of a job are on this machine."""
        return self.remote is None

    @contextmanager
    def session(self, size: int | None) -> Iterator[SparkSession]:
        """Open a session of Spark, with fewer optimizations for little data."""
        is_small = size is not None and size <= _SMALL
        spark = open_session(self.master, self.remote, FOR_FEW_ROWS if is_small else {})
        try:
            yield spark
        finally:
            spark.stop()

    @contextmanager
    def waiting(self, session: Session) -> Iterator[None]:
        """Show the progress of Spark as a line on the terminal."""
        with progress_line(cast(SparkSession, session)):
            yield

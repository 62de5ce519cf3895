"""The embedded engine as `kipjobs.engines.Engine`: its functions, and the files of tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kipjobs.engines.embedded.columns import column_of, text
from kipjobs.engines.embedded.frames import own
from kipjobs.engines.embedded.functions import EmbeddedFunctions
from kipjobs.engines.frames import Column, DataFrame, Session
from kipwire.tables.json_text import csv_head, csv_lines, json_lines


class EmbeddedEngine:
    """DuckDB in this process."""

    functions = EmbeddedFunctions()

    def tasks_at_once(self, session: Session) -> int:
        """Return about how many tasks run at the same time: Python reads in one."""
        return 1

    def sees(self, frame: DataFrame, folder: Path) -> bool:
        """True if the engine can write the files of tables to a folder of this machine."""
        return True

    def write_parquet(self, frame: DataFrame, folder: Path) -> None:
        """Write a table as one Parquet file of a new folder."""
        folder.mkdir()
        file = text(str(folder / "part-00000.parquet"))
        query = own(frame)
        query.queries.run(f"COPY ({query.sql}) TO {file} (FORMAT parquet, COMPRESSION zstd)", query)

    def write_text(self, frame: DataFrame, order: Sequence[Column | str], text_format: str, file: Path) -> None:
        """Write a table, sorted, as CSV with a header or as JSON lines to a new file."""
        query = own(frame)
        with file.open("x", encoding="utf-8", newline="") as opened:
            if text_format == "csv":
                opened.write(csv_head(query.schema))
            for batch in query.queries.batches(query.orderBy(*map(column_of, order))):
                opened.writelines(csv_lines(batch) if text_format == "csv" else json_lines(batch))


ENGINE = EmbeddedEngine()

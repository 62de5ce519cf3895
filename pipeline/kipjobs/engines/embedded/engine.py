"""The embedded engine as `kipjobs.engines.Engine`: sessions, and the files of tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kipjobs.engines.embedded.columns import Column, text
from kipjobs.engines.embedded.frames import Frame
from kipjobs.engines.embedded.functions import EmbeddedFunctions
from kipjobs.engines.embedded.session import EmbeddedSession
from kipwire.tables.json_text import csv_head, csv_lines, json_lines


class EmbeddedEngine:
    """DuckDB in this process."""

    functions = EmbeddedFunctions()

    def tasks_at_once(self, session: EmbeddedSession) -> int:
        """Return about how many tasks run at the same time: Python reads in one."""
        return 1

    def sees(self, frame: Frame, folder: Path) -> bool:
        """True if the engine can write the files of tables to a folder of this machine."""
        return True

    def write_parquet(self, frame: Frame, folder: Path) -> None:
        """Write a table as one Parquet file of a new folder."""
        folder.mkdir()
        file = text(str(folder / "part-00000.parquet"))
        frame.session.run(f"COPY ({frame.sql}) TO {file} (FORMAT parquet, COMPRESSION zstd)", frame)

    def write_text(self, frame: Frame, order: Sequence[Column | str], text_format: str, file: Path) -> None:
        """Write a table, sorted, as CSV with a header or as JSON lines to a new file."""
        with file.open("x", encoding="utf-8", newline="") as opened:
            if text_format == "csv":
                opened.write(csv_head(frame.schema))
            for batch in frame.session.batches(frame.orderBy(*order)):
                opened.writelines(csv_lines(batch) if text_format == "csv" else json_lines(batch))


ENGINE = EmbeddedEngine()

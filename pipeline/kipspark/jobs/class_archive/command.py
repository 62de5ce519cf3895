"""`kipspark class-archive`."""

from __future__ import annotations

from kipjobs.errors import JobError
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.encodings.command import encodings_report
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.shared.options import sample_capture, sample_segments
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import first_rows
from kipspark.spark import class_archive as archives
from kipspark.spark.java import use_java
from kipspark.spark.progress import progress_line
from kipspark.spark.session import FOR_FEW_ROWS, end_java, is_submitted, open_session
from kipwire.cli.terminal import OUT

_MEGABYTE = 1_000_000


def command() -> None:
    """Run `kipspark class-archive`."""
    if is_submitted():
        raise JobError("class-archive cannot run under spark-submit; run kipspark class-archive directly")
    use_java()
    OUT.print("Running the jobs on the sample data, so that Java loads their classes; then Java writes them to a file.")
    archive = archives.make(_run_jobs)
    OUT.print(
        f"{archive}: {archive.stat().st_size // _MEGABYTE} MB. Later commands use it; it may be deleted at any time."
    )


def _run_jobs() -> None:
    """Run the jobs in a session of their own, up to the end of its JVM."""
    spark = open_session(settings=FOR_FEW_ROWS)
    try:
        with progress_line(spark):
            logs, capture = str(sample_segments()), str(sample_capture())
            for report in (
                offsets_report(spark, logs),
                metadata_report(spark, logs, None),
                transactions_report(spark, logs),
                compaction_report(spark, logs, ()),
                share_report(spark, logs),
                traffic_report(spark, capture),
                encodings_report(spark, capture),
            ):
                for table in report.tables:
                    first_rows(table, table.shown)
    finally:
        end_java(spark)

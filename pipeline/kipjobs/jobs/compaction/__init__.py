"""Dead records of compacted topics (`kipspark compaction`)."""

from __future__ import annotations

from kipjobs.jobs.compaction.tables import INTERNAL, OF_RECORDS, compacted_topics, partitions, segments

__all__ = ["INTERNAL", "OF_RECORDS", "compacted_topics", "partitions", "segments"]

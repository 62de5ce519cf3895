"""The commands that only Spark has, and the names by which notebooks import the jobs of `kipjobs`.

There is one package of jobs, `kipjobs.jobs`, whose functions take data frames of any engine. `from kipspark.jobs import
offsets` is `kipjobs.jobs.offsets`, so that programs for Spark import `kipspark` alone. The folder here is
`offsets_stream`, for `kipspark offsets --stream`.
"""

from kipjobs.jobs import compaction, metadata, offsets, share, tiered, traffic, transactions

__all__ = ["compaction", "metadata", "offsets", "share", "tiered", "traffic", "transactions"]

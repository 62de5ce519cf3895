"""Jobs on Spark: those of `kipjobs.jobs` by the same names, and what only Spark has.

`from kipspark.jobs import offsets` gives `kipjobs.jobs.offsets`, whose functions take data frames of any engine. The
folders here are jobs of Spark alone: `conform`, and what `kipspark offsets` has for live brokers and streams.
"""

from kipjobs.jobs import compaction, encodings, metadata, offsets, share, tiered, traffic, transactions

__all__ = ["compaction", "encodings", "metadata", "offsets", "share", "tiered", "traffic", "transactions"]

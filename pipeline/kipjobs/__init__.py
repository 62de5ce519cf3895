"""Jobs over Kafka's logs and traffic, from what is read to what is shown, on one machine or on Spark.

`files` finds paths, `sources` reads them as Arrow batches, and `messages` decodes columns of bytes. Nothing here
imports Spark: `kipspark` runs the same on it. See docs/spark-jobs.md.
"""

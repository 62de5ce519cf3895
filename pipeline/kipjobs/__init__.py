"""Jobs over Kafka's logs and traffic, from what is read to what is shown, on one machine or on Spark.

`kipwire.tables` reads files as Arrow batches, and decodes columns of bytes. Nothing here imports Spark: `kipspark` runs
the same on it. See docs/jobs.md.
"""

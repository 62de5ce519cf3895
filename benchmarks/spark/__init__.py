"""The pipeline on Spark, compared with other ways to get columns from bytes. `python -m benchmarks.spark` runs it."""

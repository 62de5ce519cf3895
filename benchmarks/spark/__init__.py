"""The pipeline on Spark beside the other ways to get columns out of bytes. `python -m benchmarks.spark` runs it."""

#!/bin/sh
# Runs a module as `python -m` does, for Spark: see worker_python.py.
exec "$KIPSPARK_PYTHON" -m kipspark.spark.worker_python "$@"

"""Columns of bytes to columns of messages and back, on Arrow arrays only, as Spark's tasks run it."""

"""Columns of bytes as columns of messages and back, on Arrow arrays alone: what Spark's tasks run."""

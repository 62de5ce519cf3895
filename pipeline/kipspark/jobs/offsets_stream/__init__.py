"""The part of `kipspark offsets` that only Spark has: commits as a stream."""

"""The parts of `kipspark offsets` that only Spark has: groups at live brokers, and commits as a stream."""

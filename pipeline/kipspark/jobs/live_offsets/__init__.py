"""What `kipspark offsets` has on Spark alone: groups at live brokers, and commits as a stream."""

"""The files of brokers next to segments as tables: indexes, producer snapshots, checkpoints; and a list of segments."""

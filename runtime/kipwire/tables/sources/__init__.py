"""Files as Arrow batches: log segments, snapshots, captured frames, files next to segments."""

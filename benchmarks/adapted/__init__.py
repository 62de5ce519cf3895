"""aiokafka with the adapter of the examples and without. `python -m benchmarks.adapted` runs it."""

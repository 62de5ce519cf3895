"""Spark's Kafka connector, fetched (`kipspark connector`)."""

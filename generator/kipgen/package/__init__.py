"""Whole packages of generated code: what to write, what is stale, what belongs to kipgen."""

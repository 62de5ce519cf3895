"""Logs that change while they are read: how a stream follows them, and how a task reads what has been moved."""

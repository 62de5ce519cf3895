"""What charts and notes about times share."""

from __future__ import annotations

from datetime import UTC, datetime

DOTS = 5000
"""The most dots of a chart over time; the last ones are shown."""


def utc(time: datetime) -> str:
    """A time as people read it."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

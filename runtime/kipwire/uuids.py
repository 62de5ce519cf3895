"""The uuid that stands for none."""

from __future__ import annotations

import uuid

ZERO_UUID = uuid.UUID(int=0)
"""Kafka's uuids are never null; all bits zero mean that there is none."""

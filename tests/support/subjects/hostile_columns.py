"""Columns that tests damage."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kipwire import native

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")

HeartbeatRequest: Any = kafka_messages.message("HeartbeatRequest", 4)
OffsetCommitValue: Any = kafka_messages.message("OffsetCommitValue", 3)

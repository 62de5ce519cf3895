"""The kernel, and the classes that tests give it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import kafka_messages
import kafka_records
from kipwire import native
from kipwire.drafts import proposals
from tests.support.native_checks import LEFT_TO_PYTHON

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
KERNEL: Any = native.kernel

METADATA: Any = import_module("kafka_messages.metadata_response.v12")
FETCH: Any = import_module("kafka_messages.fetch_request.v17")

EVERY_CLASS = [
    (module.__name__, name, version)
    for module in (kafka_messages, kafka_records, proposals)
    for name in module.names()
    for version in module.versions(name)
]
SERVED_CLASSES = [one for one in EVERY_CLASS if one not in LEFT_TO_PYTHON]

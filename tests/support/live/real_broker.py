"""Logs and address of the broker of `make test-broker`."""

from __future__ import annotations

import os

from tests.support.places import ROOT

LOGS = ROOT / "build" / "broker" / "data"
"""Its log folders."""
HOST, PORT = "127.0.0.1", int(os.environ.get("BROKER_PORT", "19092"))
ADDRESS = f"{HOST}:{PORT}"

"""Folders that tests read."""

from pathlib import Path

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
GOLDEN = TESTS / "golden"
FORMS = DATA / "forms"
"""Specs with features of the language that Kafka's own specs do not use."""
LAYOUTS = DATA / "layouts"
"""Specs of record formats that use every property of record formats."""

"""Fixtures for the tests of clusters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as Spark takes it: with the ending of an archive."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, env=os.environ | {"KIPWIRE_NATIVE": "0"}, timeout=120)
    return next(folder.glob("*.whl")).rename(folder / "kipwire.zip")

"""A folder that cannot be listed, also by root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let nobody list a folder, whatever its permissions are."""
    scandir = os.scandir

    def forbidden(path: Any) -> Any:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbidden)

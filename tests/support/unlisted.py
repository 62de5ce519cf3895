"""A folder that cannot be listed, also by root."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Refuse to list a folder, whatever its permissions are."""
    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, _forbidden(getattr(os, name), folder))


def _forbidden(function: Callable[[Any], Any], folder: Path) -> Callable[[Any], Any]:
    def forbidden(path: Any) -> Any:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return function(path)

    return forbidden

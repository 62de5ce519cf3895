"""Where kipspark keeps what takes long to make or to fetch."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """The folder of this user for what can be made again; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kipwire"

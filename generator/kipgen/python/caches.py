"""The user's cache folder, for results that are expensive to compute. Without it everything works, but slower."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def cache_folder(name: str) -> Path | None:
    """A folder of that name in the user's cache folder; None if it cannot be created."""
    folder = Path(platformdirs.user_cache_dir("kipgen"), name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder

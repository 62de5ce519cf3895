"""The user's cache folder, for what is costly to make. Without it everything works, only slower."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def cache_folder(name: str) -> Path | None:
    """A folder of that name in the user's cache folder; None where there can be none."""
    folder = Path(platformdirs.user_cache_dir("kipgen"), name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder

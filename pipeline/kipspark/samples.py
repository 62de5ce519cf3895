"""Sample data for every job, from an installed wheel or from a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def capture() -> Path:
    """Frames of a small cluster and its clients; examples/capture/README.md describes them."""
    return _first_existing(_PACKAGE / "samples" / "capture", _CHECKOUT / "examples" / "capture")


def segments() -> Path:
    """The log folder of a broker of the same cluster, a minute after it was created."""
    return _first_existing(_PACKAGE / "samples" / "segments", _CHECKOUT / "tests" / "data" / "segments")


def _first_existing(installed: Path, checkout: Path) -> Path:
    return installed if installed.exists() else checkout

"""Sample data, so that every job runs without any of one's own: in an installed wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def capture() -> Path:
    """Frames of a small cluster and its clients; examples/capture/README.md tells what is in it."""
    return _first_existing(_PACKAGE / "samples" / "capture", _CHECKOUT / "examples" / "capture")


def segments() -> Path:
    """The log folder of a broker of the same cluster, a minute after it was made."""
    return _first_existing(_PACKAGE / "samples" / "segments", _CHECKOUT / "tests" / "data" / "segments")


def _first_existing(installed: Path, checkout: Path) -> Path:
    return installed if installed.exists() else checkout

"""The files of a folder that are specs: all `*.json` in it and below it, but for what kipgen itself writes."""

from __future__ import annotations

from pathlib import Path

from kipgen.reading.enum_spec import is_enum_file
from kipgen.reading.source import MAX_BYTES
from kipwire.tools.files import read_regular

MANIFEST = "kipgen.manifest.json"
"""Name of the file with the origin of a generated package; it is never a spec."""

# Every message needs it, and other JSON rarely has it. The text is not parsed, since a spec with a fault is one, too.
_ONLY_IN_SPECS = b'"validVersions"'


def is_spec_file(path: Path | str) -> bool:
    """True if a file in a folder of specs is read as one, by its name."""
    name = Path(path).name
    return name.endswith(".json") and name != MANIFEST


def spec_files(folder: Path) -> list[Path]:
    """List the specs of a folder and its sub-folders, enums among them, in the order of their paths.

    Raises:
        OSError: the folder cannot be listed.
    """
    return sorted(file for file in folder.rglob("*.json") if is_spec_file(file) and not file.is_dir())


def spec_in(folder: Path) -> Path | None:
    """Find a spec that lies in a folder itself, not in one below it; None if there is none."""
    if not folder.is_dir():
        return None
    files = sorted(file for file in folder.glob("*.json") if is_spec_file(file) and file.is_file())
    return next((file for file in files if is_enum_file(file) or _ONLY_IN_SPECS in read_regular(file, MAX_BYTES)), None)

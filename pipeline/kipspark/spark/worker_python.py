"""The Python that Spark runs its modules with, which imports the installed PySpark and not Spark's zip of it.

Spark puts `pyspark.zip` first on the path of each Python process that it starts. A zip has no compiled modules, so
every such process compiles PySpark's source again, for half a second, and a job starts three of them in turn: to make
a data source, to plan it, and to read it. Spark has no setting for that path. It has one for the Python that it runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from runpy import run_module
from shutil import which

_SCRIPT = Path(__file__).with_suffix(".sh")
_PYTHON = "KIPSPARK_PYTHON"
"""The Python that the script runs."""
_SECONDS_TO_IMPORT = 60
_OF_SPARK = ("pyspark", "python", "lib")
"""The folders in which an installed PySpark has its zips."""


def settings() -> Mapping[str, str]:
    """Return the variables that Spark's environment needs, so that workers on this machine run this Python."""
    if not os.access(_SCRIPT, os.X_OK):  # installed by something that does not keep modes of files
        return {"PYSPARK_PYTHON": sys.executable}
    return {"PYSPARK_PYTHON": str(_SCRIPT), _PYTHON: sys.executable}


def why_not(python: str) -> str | None:
    """Return the reason why a Python of this machine cannot run workers of this program; None if it can.

    Args:
        python: path or name, as given to Spark.
    """
    found = which(python)
    fix = f"set the environment variable PYSPARK_PYTHON={sys.executable} before the session starts"
    if found is None:
        return f"Spark's workers run {python}: there is no such program; {fix}"
    if Path(found) in (Path(sys.executable), _SCRIPT):
        return None
    run = f"Spark's workers run {python}" + ("" if found == python else f", which is {found}")
    command = [found, "-c", "import sys; print(*sys.version_info[:2], sep='.'); import kipspark.sources"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_TO_IMPORT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None  # Spark will report it
    ours = ".".join(map(str, sys.version_info[:2]))
    theirs = done.stdout.strip()
    if theirs and theirs != ours:
        return f"{run}: it is Python {theirs}, and this program runs {ours}; {fix}"
    return f"{run}: it has no kipspark; {fix}" if "ModuleNotFoundError" in done.stderr else None


def without_zips(path: Sequence[str]) -> list[str]:
    """Remove the zips of an installed PySpark from a module search path that has its folder, too."""
    return [one for one in path if not _is_installed(Path(one), path)]


def _is_installed(zipped: Path, path: Sequence[str]) -> bool:
    """Return True if a file is a zip of the PySpark that one of the folders has."""
    return zipped.suffix == ".zip" and zipped.parts[-4:-1] == _OF_SPARK and str(zipped.parents[len(_OF_SPARK)]) in path


def main() -> None:
    """Run the module that the arguments `-m MODULE` name, with the arguments that follow."""
    sys.path[:] = without_zips(sys.path)
    option, module, *arguments = sys.argv[1:]
    if option != "-m":
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    sys.argv[1:] = arguments
    run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Find a Java for Spark, and the cache folder for files of Spark that take long to make or to fetch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kipwire.tables.errors import JobError

OLDEST = 17
"""The first version that Spark 4 runs on."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def use_java() -> None:
    """Let Spark use a Java that is new enough, from JAVA_HOME, PATH or one of the usual folders.

    Raises:
        JobError: there is no such Java; the text explains how to install one.
    """
    too_old = []
    for home in _homes():
        version = java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            os.environ["JAVA_HOME"] = str(home)
            return
        if version is not None:
            too_old.append(f"{home} has {version}")
    seen = f" ({'; '.join(too_old)})" if too_old else ""
    raise JobError(
        f"Spark needs Java {OLDEST} or newer, and none was found{seen}. Install one, for example with\n"
        f"  apt-get install openjdk-{OLDEST}-jre-headless      (Debian, Ubuntu)\n"
        f"  dnf install java-{OLDEST}-openjdk-headless         (Fedora, Red Hat)\n"
        f"  brew install openjdk@{OLDEST}                      (macOS)\n"
        "or set JAVA_HOME to its folder."
    )


def java_version(java: Path) -> int | None:
    """Return the main version of a Java, such as 17; None if it does not run."""
    try:
        result = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(result.stderr + result.stdout)
    return int(found[1]) if found else None


def cache() -> Path:
    """Return the user's cache folder for files that can be made again; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kipwire"


def _homes() -> Iterator[Path]:
    """Yield the folders that may have a Java, the user's own choice first."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines", "/opt/homebrew/opt"):
        for found in sorted(Path(folder).glob("*"), reverse=True):
            yield from (home for home in (found, found / "Contents" / "Home") if (home / "bin" / "java").exists())

"""Virtual environments with other releases of Spark than the lock has, made once and kept in build/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import pytest

from tests.support.places import ROOT

NEEDED = ("--editable", f"{ROOT}[spark,jobs,generator,testing]", "pytest", "pytest-xdist")
"""Packages of the environments besides Spark."""
NO_NETWORK = "Retrying (Retry("
"""Output of a pip that cannot reach the package index."""
LOCK = ROOT / "requirements-dev.lock"


@contextmanager
def constraints(folder: Path) -> Iterator[Path]:
    """Write the lock's versions to a file, without Spark's, and without hashes: pip would require one of Spark, too."""
    file = folder / "constraints.txt"
    pins = re.findall(r"^(?!pyspark==)[a-z0-9][^\\\n]*", LOCK.read_text(), re.MULTILINE)
    kept = [pin.strip() for pin in pins]
    file.write_text("\n".join(kept))
    yield file
    file.unlink()


def environment(release: str) -> Path:
    """Make a virtual environment with a release of Spark and kipwire once, and keep it in build/.

    Where the package index cannot be reached, the test is skipped, except in CI.
    """
    needs = crc32((ROOT / "pyproject.toml").read_bytes() + LOCK.read_bytes() + repr(NEEDED).encode())
    folder = ROOT / "build" / "spark-releases" / f"{release}-{sys.version_info.minor}-{needs:08x}"
    if (folder / ".ready").exists():
        return folder
    for old in folder.parent.glob(f"{release}-{sys.version_info.minor}-*"):
        shutil.rmtree(old)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, timeout=120)
    with constraints(folder) as file:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        install = [*pip, "--constraint", str(file)]
        install += [f"pyspark=={release}", *NEEDED]
        done = subprocess.run(install, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        if NO_NETWORK in done.stderr and not os.environ.get("CI"):
            cause = done.stderr.strip().splitlines()[-1].strip()
            pytest.skip(f"Spark {release} cannot be installed without a network: {cause}")
        pytest.fail(f"Spark {release} cannot be installed: {done.stderr[-3000:]}")
    (folder / ".ready").touch()
    return folder

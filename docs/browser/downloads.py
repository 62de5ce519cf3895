"""Downloads for the page: CPython as WebAssembly from npm, and wheels, each file checked against its hash."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha512
from pathlib import Path
from shutil import which

from scripts.locked import blocks

PYODIDE = "314.0.7"
"""The release of pyodide, which is CPython 3.14.2."""
_INTEGRITY = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""The SHA-512 of the package, as npm's `dist.integrity` has it."""
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")

_WASM = ("pyemscripten_2026_0_wasm32",)
_LINUX = ("manylinux2014_x86_64", "manylinux_2_28_x86_64")


def pyodide(folder: Path) -> Path:
    """Return the folder of pyodide's files below `folder`; they are downloaded if they are not there.

    Raises:
        OSError: npm is missing, or cannot get the package.
        ValueError: the package is not the one that is known.
    """
    archive = folder / f"pyodide-{PYODIDE}.tgz"
    if not archive.exists():
        npm = which("npm")
        if npm is None:
            raise OSError("npm is missing, which gets pyodide; install Node with npm")
        folder.mkdir(parents=True, exist_ok=True)
        run([npm, "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", str(folder)])
    found = b64encode(sha512(archive.read_bytes()).digest()).decode()
    if found != _INTEGRITY:
        raise ValueError(f"{archive}: has the SHA-512 {found}, not {_INTEGRITY}; remove it, and try again")
    out = folder / f"pyodide-{PYODIDE}"
    if not out.exists():
        with tarfile.open(archive) as opened:
            for name in PYODIDE_FILES:
                opened.extract(f"package/{name}", out, filter="data")
    return out / "package"


def wheels(names: Iterable[str], lock: str, folder: Path, *, for_wasm: bool = True) -> list[Path]:
    """Return the wheels of packages, in the versions of a lock; pip downloads those that are missing, by their hashes.

    Args:
        names: of packages, normalized.
        lock: the text of requirements-dev.lock.
        folder: where they are kept.
        for_wasm: True for wheels that run in the page; False for wheels of Linux, of which only the Python is used.

    Raises:
        OSError: pip cannot get one, or its hash is another one.
    """
    known = blocks(lock)
    wanted = folder / "wanted.txt"
    lines = "".join(known[name][0] for name in names)
    stamp = folder / "complete.txt"
    if not stamp.exists() or stamp.read_text("utf-8") != lines:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.whl"):
            old.unlink()
        wanted.write_text(lines, "utf-8")
        platforms = [f"--platform={one}" for one in (_WASM if for_wasm else _LINUX)]
        abis = [f"--abi={one}" for one in ("cp314", "abi3", "none")]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        of_python = ["--only-binary=:all:", "--python-version=3.14", "--implementation=cp", *abis, *platforms]
        run([*pip, "--require-hashes", *of_python, f"--dest={folder}", f"--requirement={wanted}"])
        stamp.write_text(lines, "utf-8")
    return sorted(folder.glob("*.whl"))


def run(command: list[str]) -> None:
    """Run a command.

    Raises:
        OSError: it fails; with what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise OSError(f"{Path(command[0]).name} failed: {said[-2000:]}")

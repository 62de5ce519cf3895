"""Build the compiled kernel, kipwire._kernel, for the Python that runs this.

    python scripts/build_native.py [--into FOLDER] [--sanitize [address|thread]] [--floor]

It needs Cython, setuptools and a C compiler; without them it names what is missing and exits with 1. The path of the
built file is the last line of the output. Nothing is done if the file is newer than its sources.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "runtime" / "kernel"
PACKAGE = ROOT / "runtime" / "kipwire"
FLOOR = ROOT / "benchmarks" / "floor"

# Reading is recursive, and then compilers do not inline the functions that read most values, unless forced to.
ALWAYS_INLINE = "-DCYTHON_INLINE=inline __attribute__((always_inline))"
MSVC = ["/O2", "/DCYTHON_INLINE=__forceinline"]
OPTIMIZED = MSVC if sys.platform == "win32" else ["-O3", "-g0", ALWAYS_INLINE]
DEBUGGABLE = ["-O1", "-g", "-fno-omit-frame-pointer"]
SANITIZED = {
    "address": [*DEBUGGABLE, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": [*DEBUGGABLE, "-fsanitize=thread"],  # for a Python that was built with it, too
}


class BuildError(Exception):
    """The kernel cannot be built here."""


def target(folder: Path, source: Path) -> Path:
    """Return the path of the file that a build puts into a folder."""
    return folder / f"{source.stem}{EXTENSION_SUFFIXES[0]}"


def is_fresh(built: Path, source: Path) -> bool:
    """True if a built file is newer than its sources."""
    sources = [*SOURCES.iterdir(), *source.parent.iterdir(), Path(__file__)]
    return built.exists() and all(built.stat().st_mtime > source.stat().st_mtime for source in sources)


def build(folder: Path, flags: list[str], work: Path, source: Path) -> None:
    """Translate to C and compile; C and object files go to the folder `work`.

    Raises:
        BuildError: a tool is missing or fails; tools that fail have said why on the standard error output.
    """
    try:
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError
        from setuptools import Distribution, Extension
        from setuptools.errors import BaseError, CCompilerError
    except ImportError as error:
        raise BuildError(f"{error}; pip install cython setuptools") from None

    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise BuildError("the header files of this Python are missing (Debian: apt-get install python3-dev)")
    os.chdir(ROOT)  # the tools keep paths relative to it
    extension = Extension(
        source.stem,
        [str(source.relative_to(ROOT))],
        extra_compile_args=flags,
        extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
    )
    try:
        places = [str(SOURCES), str(source.parent)]
        modules = cythonize([extension], build_dir=str(work), include_path=places, quiet=True)
        command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.force = str(folder), str(work), True
        command.ensure_finalized()
        command.run()
    except (CompileError, BaseError, CCompilerError) as error:
        raise BuildError(str(error) or "Cython refuses the sources") from None


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--into", type=Path, default=PACKAGE, help="folder of the built file (default: the package)")
    parser.add_argument(
        "--sanitize",
        nargs="?",
        const="address",
        choices=SANITIZED,
        help="for fuzzing: with AddressSanitizer and UBSan (address, the default), or with ThreadSanitizer (thread)",
    )
    parser.add_argument("--floor", action="store_true", help="with what benchmarks compare decoding with")
    options = parser.parse_args()
    folder = options.into.resolve()
    source = FLOOR / "_floor.pyx" if options.floor else SOURCES / "_kernel.pyx"
    built = target(folder, source)
    if not is_fresh(built, source):
        work = ROOT / "build" / (options.sanitize or "native")
        try:
            build(folder, SANITIZED.get(options.sanitize, OPTIMIZED), work, source)
        except BuildError as error:
            print(f"the kernel was not built: {error}", file=sys.stderr)
            return 1
    print(built)
    return 0


if __name__ == "__main__":
    sys.exit(main())

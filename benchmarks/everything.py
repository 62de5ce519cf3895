"""Import of all classes in all versions, and the size of their code, compared with kio."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

PACKAGES = {"kipwire": "kafka_messages", "kio": "kio.schema"}
"""The package that has all messages of a library."""

_PROGRAM = """
import pkgutil, sys, time
from importlib import import_module
sys.modules["hypothesis"] = None
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
before = resident()
start = time.perf_counter()
package = import_module(sys.argv[1])
count = sum(1 for one in pkgutil.walk_packages(package.__path__, package.__name__ + ".") if import_module(one.name))
print(time.perf_counter() - start, resident() - before, count)
"""


@dataclass(frozen=True)
class Everything:
    """Costs of importing all messages of a library."""

    name: str
    modules: int
    source_bytes: int
    lines: int
    seconds: float
    """To import all modules, compiled before; median."""
    memory_bytes: int
    """The growth of the process, as Linux reports it; median."""


def measure(runs: int) -> list[Everything]:
    """Import everything `runs` times, each time in a new process; a first time, which compiles, does not count."""
    return [_measure(name, package, runs) for name, package in PACKAGES.items()]


def _measure(name: str, package: str, runs: int) -> Everything:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _PROGRAM, package]
    results = [
        subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout.split()
        for _ in range(runs + 1)
    ][1:]
    texts = [file.read_bytes() for folder in _folders(package) for file in folder.rglob("*.py")]
    return Everything(
        name=name,
        modules=int(results[0][2]),
        source_bytes=sum(map(len, texts)),
        lines=sum(text.count(b"\n") for text in texts),
        seconds=median(float(result[0]) for result in results),
        memory_bytes=int(median(int(result[1]) for result in results)),
    )


def _folders(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(folder) for folder in (spec.submodule_search_locations or [] if spec else [])]

"""Packages that tests generate from specs of their own."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from kipgen.generate import carry_out, plan


@contextmanager
def generated(specs: Path, name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package of that name; worker processes share one, and the second finds that nothing is left to do."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        planned = plan(specs, folder / name, name, lambda done, total: None)
        assert not planned.has_errors, "\n".join(map(str, planned.problems))
        carry_out(planned)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.path.remove(str(folder))


def declared_versions(specs: Path) -> list[tuple[str, int]]:
    """Every message of the specs in every version, known before anything is generated."""
    pairs = []
    for file in sorted(specs.glob("*.json")):
        lowest, _, highest = json.loads(file.read_text())["validVersions"].partition("-")
        pairs += [(file.stem, version) for version in range(int(lowest), int(highest or lowest) + 1)]
    return pairs

"""The lock of the development environment: it fits pyproject.toml, and says nothing of the machine that made it."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.places import ROOT

LOCK = (ROOT / "requirements-dev.lock").read_text()
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def pins(text: str) -> list[Requirement]:
    lines = (line.partition("\\")[0] for line in text.splitlines() if not line.lstrip().startswith(("#", "--hash=")))
    return [Requirement(line) for line in lines if line.strip()]


def asked() -> list[Requirement]:
    """Return the requirements that pyproject.toml itself declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = {name: texts for name, texts in project["dependency-groups"].items() if name != "release"}
    lists = [*project["project"]["optional-dependencies"].values(), *groups.values()]
    found = [Requirement(text) for texts in lists for text in texts]
    return [one for one in found if one.name != "kipwire"]


@pytest.mark.parametrize("python", PYTHONS)
def test_each_python_gets_one_version_of_each_library_within_its_bounds(python: str) -> None:
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    chosen: dict[str, str] = {}
    for pin in pins(LOCK):
        if pin.marker is None or pin.marker.evaluate(environment):
            assert canonicalize_name(pin.name) not in chosen, f"{pin.name} twice on {python}"
            (bound,) = pin.specifier
            assert bound.operator == "==", pin
            chosen[canonicalize_name(pin.name)] = bound.version
    for one in asked():
        name = canonicalize_name(one.name)
        assert name in chosen, f"{one} of pyproject.toml is not in the lock: make lock"
        assert one.specifier.contains(chosen[name]), f"{one} is {chosen[name]} in the lock: make lock"


def test_pip_installs_the_lock_from_any_index() -> None:
    assert not any(one.extras or one.url for one in pins(LOCK)), "an extra or an address is not a version"
    assert "://" not in LOCK
    assert not re.search(r"^\s*-(?!-hash=)", LOCK, re.MULTILINE), "options such as an index belong to a machine"
    assert "--requirement requirements-dev.lock" in (ROOT / "scripts" / "setup.sh").read_text()


def test_every_version_has_hashes_and_pip_checks_them() -> None:
    entries = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins(LOCK))
    for entry in entries:
        assert re.search(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", entry, re.MULTILINE), entry.splitlines()[0]
    setup = (ROOT / "scripts" / "setup.sh").read_text()
    assert "--require-hashes --requirement requirements-dev.lock" in setup
    assert "--no-deps --no-build-isolation --editable ." in setup, "nothing but the lock brings libraries"
    assert "--generate-hashes" in (ROOT / "Makefile").read_text()

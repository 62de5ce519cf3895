"""The map of CONTRIBUTING.md has every room that is there, and no other; so has the contract about their imports."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGES = ("generator/kipgen", "runtime/kipwire", "pipeline/kipspark")
_ROOMS = re.compile(r"(?:\w+/ *)+(?: |$)")


def rooms_on(page: str) -> dict[str, list[str]]:
    """The rooms of each folder on the map of a page, in its order."""
    _, _, rest = page.partition("```text\n")
    found: dict[str, list[str]] = {}
    folder = ""
    for line in rest.partition("```")[0].splitlines():
        if not line.startswith(" "):
            folder, _, line = line.partition("/ ")
            found[folder] = []
        if rooms := _ROOMS.match(line.strip()):
            found[folder] += re.findall(r"\w+", rooms[0])
    return found


def rooms_of(package: Path) -> list[str]:
    """The folders of a package that have modules; the link to generated code is in one of them."""
    return sorted({file.relative_to(package).parts[0] for file in package.glob("*/**/*.py")})


MAP = rooms_on((ROOT / "CONTRIBUTING.md").read_text())


@pytest.mark.parametrize("package", PACKAGES)
def test_the_map_has_every_room_and_no_other(package: str) -> None:
    assert sorted(MAP[package]) == rooms_of(ROOT / package)


def test_every_folder_on_the_map_is_there() -> None:
    assert all((ROOT / folder).is_dir() for folder in MAP)


def test_every_room_of_the_runtime_is_on_one_storey_in_the_order_of_the_map() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (storeys,) = (one["layers"] for one in contracts if "kipwire.model" in one.get("layers", ()))
    rooms = [room for storey in storeys for room in storey.split(" | ")]
    assert [room.removeprefix("kipwire.") for room in rooms if room.startswith("kipwire.")] == MAP["runtime/kipwire"]


def test_a_room_that_the_map_lacks_is_found(tmp_path: Path) -> None:
    page = (
        "# A page\n\n```text\nsrc/acme/   the code\n            kitchen/  what cooks\n            cellar/ attic/\n```\n"
    )
    assert rooms_on(page) == {"src/acme": ["kitchen", "cellar", "attic"]}
    for room in ("kitchen", "cellar", "attic", "hall/wardrobe", "empty"):
        (tmp_path / room).mkdir(parents=True)
        if room != "empty":
            (tmp_path / room / "one.py").touch()
    (tmp_path / "loose.py").touch()
    assert rooms_of(tmp_path) == ["attic", "cellar", "hall", "kitchen"]

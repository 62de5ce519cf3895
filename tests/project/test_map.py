"""The map, the picture and the paths of CONTRIBUTING.md are true, and tests that texts name as guards are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGES = ("generator/kipgen", "runtime/kipwire", "pipeline/kipjobs", "pipeline/kipspark")
_ROOMS = re.compile(r"(?:\w+/ *)+(?: |$)")


def rooms_on(page: str) -> dict[str, list[str]]:
    """Return the rooms of each folder on the map of a page, in its order."""
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
    """Return the folders of a package that have modules; the link to generated code is in one of them."""
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


# The picture of the whole.

_STOREY = re.compile(r"\| ((?:kipspark|kipjobs|kipwire\.\w+|kafka_\w+)(?: \| [\w.]+)*) +\|")


def storeys_on(page: str) -> list[str]:
    """Return the storeys of the picture, the second of the blocks of text."""
    return _STOREY.findall(page.split("```text\n")[2].partition("```")[0])


def test_the_picture_has_the_storeys_of_the_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (storeys,) = (one["layers"] for one in contracts if "kipwire.model" in one.get("layers", ()))
    assert storeys_on((ROOT / "CONTRIBUTING.md").read_text()) == storeys


# The table of things to find.

_CODE = re.compile(r"`([^`]+)`")


def rows_of_paths(page: str) -> dict[str, str]:
    """Return the table of a page: each thing to find, with the way to it."""
    _, _, rest = page.partition("| what | where |\n|---|---|\n")
    rows = (line.strip("| ").partition(" | ") for line in rest.partition("\n\n")[0].splitlines())
    return {what: where for what, _, where in rows}


def wrong_steps(where: str, root: Path) -> list[str]:
    """Return the steps of a way that lead nowhere: a step is a path, or a text in the file of the step before."""
    wrong = []
    at = root
    for step in _CODE.findall(where):
        found = next((path for path in (root / step, at / step) if path.exists()), None)
        if found is not None:
            at = found
        elif at.is_dir():
            said = (file for file in at.glob("*.py") if step in file.read_text("utf-8"))
            wrong += [] if "/" not in step and "." not in step and any(said) else [step]
        elif step.replace("-", "_") not in at.read_text("utf-8"):
            wrong.append(step)
    return wrong


def test_each_way_to_something_leads_there() -> None:
    rows = rows_of_paths((ROOT / "CONTRIBUTING.md").read_text())
    assert len(rows) > 10
    assert {what: wrong for what, where in rows.items() if (wrong := wrong_steps(where, ROOT))} == {}


def test_a_step_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "kitchen").mkdir()
    (tmp_path / "kitchen" / "stove.py").write_text("def cook(): ...\n")
    page = "| what | where |\n|---|---|\n| how to cook | `kitchen/` → `stove.py` → `cook` |\n\nText.\n"
    assert rows_of_paths(page) == {"how to cook": "`kitchen/` → `stove.py` → `cook`"}
    assert wrong_steps("`kitchen/` → `stove.py` → `cook`; in all of `kitchen/` one can `cook`", tmp_path) == []
    assert wrong_steps("`kitchen/` → `stove.py` → `bake`", tmp_path) == ["bake"]
    assert wrong_steps("`kitchen/` → `oven.py`; `kitchen/` → `bake`", tmp_path) == ["oven.py", "bake"]


# Tests that texts name.

_NAMED = re.compile(r"`(test_\w+)`|\b(test_\w+\.py)\b")


def guards_in(text: str) -> set[str]:
    """Return the tests and the modules of tests that a text names."""
    return {test or module for test, module in _NAMED.findall(text)}


def known_tests() -> set[str]:
    """Return the names of all tests, and of the modules that have them."""
    files = [*(ROOT / "tests").rglob("test_*.py")]
    names = (re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE) for file in files)
    return {file.name for file in files}.union(*names)


def test_every_test_that_a_text_names_as_its_guard_is_there() -> None:
    folders = [ROOT / package for package in PACKAGES]
    texts = [file for folder in folders for file in folder.rglob("*.py") if not file.is_symlink()]
    texts += [*(ROOT / "templates").rglob("*.j2"), ROOT / "CONTRIBUTING.md"]
    named = {name: file for file in texts for name in guards_in(file.read_text("utf-8"))}
    known = known_tests()
    assert len(named) > 20
    assert {name: file for name, file in named.items() if name not in known} == {}


def test_names_of_tests_are_found_in_texts() -> None:
    assert guards_in("# holds (`test_a_b`), as test_c.py shows; latest_d") == {"test_a_b", "test_c.py"}

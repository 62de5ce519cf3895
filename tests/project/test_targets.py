"""Every target, test and benchmark is run on every change or every night: what nothing runs breaks unnoticed."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from scripts.mutants import AREAS
from tests.support.places import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> str:
    """Return the first line and the commands of a target."""
    found = re.search(rf"^{target}:.*\n(?:\t.*\n)*", MAKEFILE, re.MULTILINE)
    assert found is not None, target
    return found[0].replace("\\\n", "")


NOT_RUN = {
    "help": "prints the list of targets",
    "clean": "removes what the others have made",
    "lock": "takes the newest versions of everything",
    "generate": "check-generated generates all, and compares",
    "native": "setup runs the same script",
    "types": "its two parts are run, beside each other",
    "broker": "with broker.sh, which starts and stops a broker, others run",
    "broker-stop": "the same",
}


def targets(makefile: str) -> dict[str, set[str]]:
    """Return the targets of a Makefile, each with the others that it runs: those before it, and those it calls."""
    text = makefile.replace("\\\n", " ")
    for name, value in re.findall(r"^(\w+) := (.*)$", text, re.MULTILINE):
        text = text.replace(f"$({name})", value)
    found = re.findall(r"^([a-z-]+):([^=#\n]*)(?:##.*)?\n((?:\t.*\n)*)", text, re.MULTILINE)
    called = {name: [*before.split(), *made_by(recipe)] for name, before, recipe in found}
    return {name: {one for one in others if one in called} for name, others in called.items()}


def made_by(commands: str) -> list[str]:
    """Return the words of all calls of make."""
    calls = re.findall(r"(?:\$\(MAKE\)|\bmake) ([^;&|#\n]*)", commands)
    return [word for call in calls for word in call.split()]


def never_run(makefile: str, places: list[str]) -> set[str]:
    """Return the targets that no call of make in these places leads to."""
    runs = targets(makefile)
    waiting = [name for place in places for name in made_by(place) if name in runs]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += runs[name]
    return runs.keys() - reached


def places() -> list[str]:
    """Return the commands that are run on every change and every night."""
    workflows = [yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text()) for name in ("ci", "night")]
    steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
    every_change = re.sub(r"#.*", "", (ROOT / ".ci/run").read_text())
    return [every_change, *(step["run"] for step in steps if "run" in step)]


def test_every_target_is_run_on_every_change_or_every_night() -> None:
    assert never_run(MAKEFILE, places()) == NOT_RUN.keys()
    assert never_run(MAKEFILE + "new: setup  ## Do something\n\techo\n", places()) - NOT_RUN.keys() == {"new"}


def test_every_benchmark_is_tried_by_its_own_target() -> None:
    """With BENCH=--smoke, which each passes on, it takes about a second."""
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "parser_of(__doc__)" in path.read_text()}
    modules |= {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
    assert set(re.findall(r"-m benchmarks\.(\w+)(?: --quick)? \$\(BENCH\)$", MAKEFILE, re.MULTILINE)) == modules
    assert targets(MAKEFILE)["bench-smoke"] == {
        "setup",
        *(name for name in targets(MAKEFILE) if re.match("bench(-|$)", name) and name != "bench-smoke"),
    }


def left_out() -> set[str]:
    """Return the markers of tests that pytest leaves out by default."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    return set(re.findall(r"not (\w+)", settings["addopts"]))


def test_every_test_is_run_on_every_change_or_every_night() -> None:
    """A marker that no target chooses would leave its tests out for ever."""
    targets = recipe("night-steps").partition(":")[2].split()
    chosen = {found[1] for target in targets if (found := re.search(r"-m ['\"]?(\w+)", recipe(target)))}
    every_change = re.search(r"-m 'smoke or (\w+)'", recipe("smoke"))
    assert every_change is not None and "make smoke" in (ROOT / ".ci/run").read_text()
    assert chosen | {every_change[1]} == left_out() != set()
    assert {"test-pure", "fuzz-native"} <= set(targets)
    night = yaml.safe_load((ROOT / ".github/workflows/night.yml").read_text())
    assert "make night" in [step["run"] for step in night["jobs"]["night"]["steps"] if "run" in step]


@pytest.mark.parametrize("name", AREAS)
def test_areas_of_mutants_have_modules_and_tests(name: str) -> None:
    """Tests that are not there would notice every change."""
    area = AREAS[name]
    assert all(any(ROOT.glob(pattern)) for pattern in f"{area.modules} {area.tests} {area.native_tests}".split())

"""The workflows and the settings of wheels run what the repository has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WHEELS = PROJECT["tool"]["cibuildwheel"]
WITHOUT_GIL = "3.14t"
PYTHONS = [
    one.rpartition(" ")[2]
    for one in PROJECT["project"]["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)
]


def commands(workflow: Path) -> list[str]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.stem)
def test_a_workflow_runs_files_and_targets_that_are_there(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands(workflow):
        for path in re.findall(r"(?<![\w/.])(?:tests|scripts|\.ci)/[\w/.]*", command):
            assert (ROOT / path).exists(), command
        for target in re.findall(r"\bmake ([a-z-]+)", command):
            assert target in targets, command


def test_what_wheels_are_tested_by_is_there() -> None:
    for tested in [WHEELS, *WHEELS["overrides"]]:
        paths = [path for command in tested["test-command"] for path in re.findall(r"tests/[\w/.]+", command)]
        assert paths
        assert all((ROOT / path).exists() for path in paths)
        assert set(tested["test-extras"]) <= set(PROJECT["project"]["optional-dependencies"])


def test_every_supported_python_gets_wheels_and_is_tested_on_every_system() -> None:
    assert [f"cp{python.replace('.', '')}-*" for python in [*PYTHONS, WITHOUT_GIL]] == WHEELS["build"]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert jobs["systems"]["strategy"]["matrix"]["python"] == PYTHONS
    (python,) = [step["with"] for step in jobs["free-threaded"]["steps"] if "setup-python" in step.get("uses", "")]
    assert python["python-version"] == WITHOUT_GIL


def test_releases_are_published_with_attestations() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"] if "gh-action-pypi-publish" in step.get("uses", "")]
    assert steps and all(step["with"]["attestations"] is True for step in steps)


def test_nothing_of_development_is_published_as_an_extra() -> None:
    assert not set(PROJECT["project"]["optional-dependencies"]) & set(PROJECT["dependency-groups"])

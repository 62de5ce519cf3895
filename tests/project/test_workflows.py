"""The workflows and the settings of wheels run what the repository has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from scripts.locked import blocks, required
from tests.support.places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WHEELS = PROJECT["tool"]["cibuildwheel"]
LOCK = blocks((ROOT / "requirements-dev.lock").read_text())
NAMED = {**PROJECT["project"]["optional-dependencies"], **PROJECT["dependency-groups"]}
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


USES = re.compile(r"^ *(?:- )?uses: *(.*)$", re.MULTILINE)
PINNED = re.compile(r"(?P<action>[\w.-]+/[\w./-]+)@(?P<hash>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)(?!\S*\d)")


def test_actions_are_pinned_by_the_hash_of_a_commit_with_its_version() -> None:
    """A tag can be moved to other code; a hash cannot, and tools that renew it read the version."""
    versions: dict[str, set[tuple[str, str]]] = {}
    for workflow in WORKFLOWS:
        for used in USES.findall(workflow.read_text()):
            found = PINNED.match(used)
            assert found is not None, f"{workflow.name}: {used}: pin it by the hash of a commit, with its version"
            versions.setdefault(found["action"], set()).add((found["hash"], found["version"]))
    assert versions
    assert [action for action, pins in versions.items() if len(pins) > 1] == []


@pytest.mark.parametrize(
    "used", ["actions/cache@v4", "a/b@release/v1", "a/b@" + "0" * 40, "a/b@" + "0" * 39 + " # v1.0.0", "a/b@stable"]
)
def test_a_tag_or_a_hash_without_its_version_is_no_pin(used: str) -> None:
    assert PINNED.match(used) is None


def installs(command: str) -> list[str]:
    """Return the parts of a command that make pip or a builder fetch packages."""
    parts = re.split(r"&&|\|\||;|\n", re.sub(r"\\\n", " ", command))
    fetching = (
        r"\bpip3?[\"']? (?:install|wheel|download)\b|\bpipx\b|\buvx?\b|\bpython3? -m build\b|locked\.py --install"
    )
    return [part.strip() for part in parts if re.search(fetching, part)]


def is_locked(command: str) -> bool:
    """True if pip checks the hashes of the lock, or fetches nothing."""
    from_lock = re.search(r"locked\.py --install (.*)", command)
    if from_lock:
        return required(from_lock[1].split(), NAMED) <= LOCK.keys()
    return "--require-hashes" in command or ("--no-deps" in command and "--no-build-isolation" in command)


def test_what_is_installed_to_test_and_to_release_comes_from_the_lock() -> None:
    shell = [path.read_text() for path in [ROOT / ".ci/run", ROOT / "Makefile", *(ROOT / "scripts").rglob("*.sh")]]
    settings = [
        one[key] for one in [WHEELS, *WHEELS["overrides"]] for key in ("before-build", "before-test") if key in one
    ]
    of_workflows = [command for workflow in WORKFLOWS for command in commands(workflow)]
    found = [part for text in [*shell, *settings, *of_workflows] for part in installs(text)]
    assert len(found) >= 10
    for part in found:
        if "pip compile" not in part:  # which writes the lock
            assert is_locked(part), part
    assert WHEELS["build-frontend"] == {"name": "build", "args": ["--no-isolation"]}
    assert not [one for one in [WHEELS, *WHEELS["overrides"]] if "test-requires" in one]


@pytest.mark.parametrize(
    "command",
    [
        'python -m pip install --editable ".[generator]" "pytest>=8.3"',
        "pip install --no-deps --editable .",
        "python -m pip install --group release",
        "python scripts/locked.py --install generator pytset",
        "python -m build --sdist",
        "echo && uv pip install x",
    ],
)
def test_an_installation_that_is_not_locked_is_noticed(command: str) -> None:
    (part,) = installs(command)
    assert not is_locked(part)


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


def test_a_push_is_compared_with_what_was_there_before_it() -> None:
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["ci"]["steps"]
    (step,) = [step for step in steps if step.get("run") == "bash .ci/run"]
    assert step["env"] == {"COMPAT_BEFORE": "${{ github.event.before }}"}
    assert steps[0]["with"]["fetch-depth"] == 0


def test_releases_are_published_with_attestations() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"] if "gh-action-pypi-publish" in step.get("uses", "")]
    assert steps and all(step["with"]["attestations"] is True for step in steps)


def test_nothing_of_development_is_published_as_an_extra() -> None:
    assert not set(PROJECT["project"]["optional-dependencies"]) & set(PROJECT["dependency-groups"])

"""`.ci/run` fails with the log of the failed step, even if it ran beside others, and leaves nothing running."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.same_without_kernel("no message is read")

BESIDE = ["test-broker", "test-maven", "test-cluster", "test-spark-releases"]
CHECKS = "--jobs=2 --output-sync mypy pyright check-generated check-compat lint fuzz-build"
IN_ORDER = ["setup", CHECKS, "test", "test-pure", "fuzz-native"]

MAKE = """#!/usr/bin/env bash
echo "made $*"
echo "$*" >>done
case "$*" in
    "$FAILS")
        until [ -z "$HANGS" ] || [ -s hanging ]; do sleep 0.1; done
        echo "the reason of $*"
        exit 3
        ;;
    "$HANGS")
        exec 9>hanging
        flock 9 # until it ends
        echo "$$" >&9
        exec sleep 1000
        ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose `make` and scripts do nothing."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "scripts/broker").mkdir(parents=True)
    for name in ("java", "maven", "compiler", "install", "broker/broker"):
        (tmp_path / f"scripts/{name}.sh").write_text('echo "$0 $*" >>done')
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin/make"
    make.write_text(MAKE)
    make.chmod(0o755)
    return tmp_path


def run(checkout: Path, *, fails: str = "", hangs: str = "") -> tuple[int, str, list[str]]:
    """The exit status, what was said and what was done."""
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FAILS": fails, "HANGS": hangs}
    done = subprocess.run(["bash", ".ci/run"], cwd=checkout, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, (checkout / "done").read_text().splitlines()


def test_every_step_is_taken_and_what_ran_beside_is_shown_after_it(checkout: Path) -> None:
    status, output, done = run(checkout)
    assert status == 0
    assert [step for step in done if step in IN_ORDER] == IN_ORDER
    assert [step for step in done if step in BESIDE] == BESIDE
    places = [output.index(f"\nmade {step}\n") for step in [*IN_ORDER, *BESIDE]]
    assert places == sorted(places)


@pytest.mark.parametrize("step", [*IN_ORDER, *BESIDE])
def test_a_step_that_fails_fails_the_run_with_its_log(step: str, checkout: Path) -> None:
    status, output, done = run(checkout, fails=step)
    assert status != 0
    assert f"the reason of {step}\n" in output
    assert "== all of it" not in output
    if step in BESIDE:
        assert not {*BESIDE[BESIDE.index(step) + 1 :]} & {*done}


def test_nothing_goes_on_when_a_step_fails(checkout: Path) -> None:
    status, _, done = run(checkout, fails="fuzz-native", hangs="test-broker")
    assert status == 3
    released = subprocess.run(["flock", "--wait", "30", checkout / "hanging", "true"], check=False)
    assert released.returncode == 0, "what hangs is still there"

    assert done[-1] == "scripts/broker/broker.sh stop"

"""The fuzzers say what they did in one line, and fail where the kernel and Python differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kipwire
from kipwire import native
from tests.support import native_checks
from tests.support.places import ROOT
from tests.support.spec_package import write_package

KERNEL = Path(kipwire.__file__).parent

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")

BROKEN = """
from tests.fuzz import fuzzing

def target(kernel, chance):
    yield
    yield
    {fault}

fuzzing.run("", {{"broken": target}})
"""


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit status of a fuzzer, and its last line."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout.strip().rpartition("\n")[2]


@needs_kernel
def test_fuzzer_counts_its_inputs() -> None:
    assert run("-m", "tests.fuzz.fuzz_native", str(KERNEL), "--target", "records", "--seconds", "0") == (
        0,
        "records: 1 inputs, 0 reports, 0 differences",
    )


@needs_kernel
@pytest.mark.parametrize("fault", ["assert not kernel", "raise KeyError('not an error of kipwire')"])
def test_fuzzer_fails_at_differences_and_at_unexpected_errors(fault: str) -> None:
    program = BROKEN.format(fault=fault)
    assert run("-c", program, str(KERNEL), "--target", "broken") == (1, "broken: 2 inputs, 0 reports, 1 differences")


@pytest.mark.night
@needs_kernel
def test_threads_are_fuzzed_with_all_that_they_may_do(tmp_path: Path) -> None:
    for specs in ("forms", "layouts"):
        write_package(ROOT / "tests" / "data" / specs, tmp_path / f"{specs}_of_every_kind")
    program = (sys.executable, "-m", "tests.fuzz.fuzz_threads", str(KERNEL), "--target", "threads", "--seconds", "2")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    counts, last = done.stdout.strip().splitlines()
    assert re.fullmatch(r"threads: [1-9]\d* inputs, 0 reports, 0 differences", last)
    assert {"change", "replace", "use_its_own", "use_table", "write"} <= set(re.findall(r"\w+", counts))


@pytest.mark.parametrize("error", [KeyError, MemoryError, AssertionError, SystemError])
def test_checks_do_not_take_a_crash_for_an_error_of_kipwire(error: type[Exception]) -> None:
    def crash(*_: Any) -> None:
        raise error

    with pytest.raises(error):
        native_checks.result(crash)

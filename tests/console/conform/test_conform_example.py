"""The program in C of docs/conform.md passes, and a mistake in it is found; the page says what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs_samples import samples
from tests.support.places import ROOT

COMPILER = shutil.which("cc")
PAGE = (ROOT / "docs" / "conform.md").read_text()
SOURCE = ROOT / "examples" / "conform" / "reading.c"

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler (cc) to build examples/conform/reading.c"
)


def steps() -> list[str]:
    """Return the commands of the page that need a compiler."""
    (code,) = [one.code for one in samples("conform.md", PAGE) if "needs a C compiler" in one.reason]
    return [line for line in code.splitlines() if not line.startswith("#")]


def run_steps(folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-ec", "\n".join(steps())], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )


@pytest.fixture
def example(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "conform", tmp_path / "examples" / "conform")
    return tmp_path


def test_the_program_of_the_page_passes_and_prints_what_it_says(example: Path) -> None:
    done = run_steps(example)
    assert done.returncode == 0, done.stdout + done.stderr
    (shown,) = re.findall(r"It prints\n\n```text\n(.*?)```", PAGE, re.S)
    assert shown in done.stdout
    assert "<h1>reading.c 1</h1>" in (example / "reading.html").read_text()
    assert SOURCE.read_text().count("\n") <= 101


@pytest.mark.parametrize(
    ("line", "instead", "found"),
    [
        ("return width == 2 ? (int16_t)value", "return width == 2 ? (int32_t)value", "Reading:1:"),
        pytest.param('if (version >= 1) boolean("isLast");', "", "Reading:1:", marks=pytest.mark.night),
        pytest.param(
            "if (size == -1 && nullable)", "if (size == -1 && !nullable)", "Reading:1:", marks=pytest.mark.night
        ),
    ],
)
def test_a_mistake_in_the_program_is_found(example: Path, line: str, instead: str, found: str) -> None:
    file = example / "examples" / "conform" / "reading.c"
    text = file.read_text()
    assert line in text
    file.write_text(text.replace(line, instead))
    done = run_steps(example)
    assert done.returncode == 1
    assert found in done.stdout

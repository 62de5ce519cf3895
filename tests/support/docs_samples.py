"""The samples in the written pages: which there are, and how they are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md")))
RUN = ("python", "sh", "console")
"""Python, commands that must succeed, and sessions that must look as they are shown."""
SHOWN = ("json", "mermaid", "text", "toml", "yaml")

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A fenced block; a comment before it, which readers do not see, says why its sample cannot be run."""
_MARK = "\x1e"


@dataclass(frozen=True)
class Sample:
    """One fenced block."""

    page: str
    line: int
    """The line of its first line of code, from 1."""
    language: str
    code: str
    reason: str = ""
    """Reason why it cannot be run."""

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.reason


def samples(page: str, text: str) -> list[Sample]:
    """Return the fenced blocks of a page."""
    return [
        Sample(
            page,
            text.count("\n", 0, match.start("code")) + 1,
            match["language"].strip(),
            match["code"],
            match["reason"] or "",
        )
        for match in _FENCE.finditer(text)
    ]


def run(sample: Sample, before: list[Sample], folder: Path) -> str:
    """Run a sample in a folder; return its failure, or "".

    Args:
        sample: one that can be run.
        before: the samples of its page before it, whose names a Python sample may use.
        folder: where it runs; all samples of a page share one.
    """
    if sample.language == "python":
        return _python(sample, before, folder)
    if sample.language == "sh":
        done = _bash(f"set -euo pipefail\n{sample.code}", folder)
        return f"exit status {done.returncode}\n{done.stdout}" if done.returncode else ""
    return _session(sample, folder)


def _python(sample: Sample, before: list[Sample], folder: Path) -> str:
    script: list[str] = []
    for one in (*before, sample):
        if one.language == "python" and one.is_run:
            # At their own lines, so that a traceback names the lines of the page.
            script += [""] * (one.line - 1 - len(script)) + one.code.splitlines()
    file = folder / f"sample_{Path(sample.page).stem}.py"
    file.write_text("\n".join(script), encoding="utf-8")
    # With CI, Hypothesis has no time limits: a first draw builds its tables of characters, slowly on a busy machine.
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "error", "CI": "true"}
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr if done.returncode else ""


def _session(sample: Sample, folder: Path) -> str:
    """Run the commands of a session, and compare their output with the page."""
    steps = re.split(r"^\$ ", sample.code, flags=re.MULTILINE)[1:]
    commands = [step.partition("\n")[0] for step in steps]
    # The mark ends the output of a command and keeps its exit status.
    script = "\n".join(f"{command}\n(s=$?; printf '{_MARK}'; exit $s)" for command in commands)
    outputs = _bash(script, folder).stdout.split(_MARK)
    for command, step, output in zip(commands, steps, outputs, strict=False):
        shown = step.partition("\n")[2]
        if _lines(shown) != _lines(output):
            return f"$ {command}\nshown:\n{shown}\nsaid:\n{output}"
    return "" if len(outputs) == len(commands) + 1 else "the session ended early"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _bash(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )

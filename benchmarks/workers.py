"""Peers in other languages: small programs that time a round on request.

A program reads lines of four words from its standard input, `OPERATION COUNT MESSAGE FILE`, and answers each with one
line: `decode` and `encode` with the nanoseconds that COUNT calls took, `memory` with the bytes that one of COUNT
decoded messages takes, and `check` with `true` if the message comes back byte for byte. So their rounds alternate with
the rounds of the Python codecs. To add a language, write such a program and put its `Language` into `LANGUAGES`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bodies import Sample
from benchmarks.peers import WrongBytesError

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "bench"

BUILD_SECONDS = 600
"""Seconds that a build may take, downloads included."""


@dataclass(frozen=True)
class Language:
    """One program."""

    name: str
    """Name in the tables."""
    library: str
    tools: tuple[str, ...]
    """Commands that must be there."""
    build: Callable[[], list[str]]
    """Builds the program if anything changed, and returns the command that starts it."""
    pinned: tuple[str, str]
    """The file that pins the library's version, and a pattern that finds it there."""

    @property
    def version(self) -> str:
        """Return the pinned version of the library."""
        file, pattern = self.pinned
        found = re.search(pattern, (HERE / file).read_text(encoding="utf-8"))
        return found[1] if found else "of unknown version"


class NotBuiltError(Exception):
    """A program cannot be built here; the text has the reason."""


def _build_java() -> list[str]:
    classpath, classes = BUILD / "classpath.txt", BUILD / "java"
    _run("java", "mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={classpath}")
    jars = classpath.read_text(encoding="utf-8").strip()
    _run("java", "javac", "-cp", jars, "-d", str(classes), "Peer.java")
    return ["java", "-Xms512m", "-Xmx512m", "-cp", f"{classes}{os.pathsep}{jars}", "Peer"]


def _build_rust() -> list[str]:
    _run("rust", "cargo", "build", "--release", "--quiet", "--locked", "--target-dir", str(BUILD / "rust"))
    return [str(BUILD / "rust" / "release" / "kipwire-benchmarks")]


def _build_go() -> list[str]:
    _run("go", "go", "build", "-o", str(BUILD / "go-peer"), ".")
    return [str(BUILD / "go-peer")]


def _run(folder: str, *command: str) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=HERE / folder, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise NotBuiltError(f"{command[0]} took more than {BUILD_SECONDS} s") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotBuiltError(f"{command[0]}: {''.join(last) or f'exit status {done.returncode}'}")


JAVA = Language(
    "Java",
    "kafka-clients",
    ("java", "javac", "mvn"),
    _build_java,
    ("java/pom.xml", r"kafka-clients</artifactId>\s*<version>([^<]+)"),
)
RUST = Language("Rust", "kafka-protocol", ("cargo",), _build_rust, ("rust/Cargo.toml", r'kafka-protocol.*?"=([\d.]+)"'))
GO = Language("Go", "franz-go kmsg", ("go",), _build_go, ("go/go.mod", r"kmsg v([\d.]+)"))
LANGUAGES = (JAVA, RUST, GO)


def missing_tools(language: Language) -> list[str]:
    """Return the commands that are not installed of those that a language needs."""
    return [tool for tool in language.tools if not shutil.which(tool)]


def command(language: Language) -> list[str]:
    """Build the program, and return the command that starts it.

    Raises:
        NotBuiltError: a tool is missing, or the build fails.
    """
    if missing := missing_tools(language):
        raise NotBuiltError(f"{', '.join(missing)} not found")
    return language.build()


@dataclass(frozen=True)
class Worker:
    """A program that runs, and the folder of bodies that it reads."""

    language: Language
    process: subprocess.Popen[str]
    bodies: Path

    def sample(self, operation: str, sample: Sample, calls: int) -> float:
        """Measure the seconds per call, over `calls` calls in a row.

        Raises:
            ChildProcessError: the program ended.
        """
        return int(self._ask(operation, sample, calls)) / calls / 1e9

    def memory(self, sample: Sample, count: int) -> int:
        """Measure the bytes per decoded message, with `count` of them kept.

        Raises:
            ChildProcessError: the program ended.
        """
        return int(self._ask("memory", sample, count))

    def check(self, sample: Sample) -> None:
        """Make sure that the message comes back byte for byte.

        Raises:
            WrongBytesError: it does not.
            ChildProcessError: the program ended.
        """
        if self._ask("check", sample, 1) != "true":
            raise WrongBytesError(f"{self.language.name}: {sample.file} does not come back byte for byte")

    def _ask(self, operation: str, sample: Sample, count: int) -> str:
        requests, answers = self.process.stdin, self.process.stdout
        assert requests and answers, "both are pipes"
        with suppress(BrokenPipeError):  # the missing answer is noticed
            print(operation, count, sample.key, self.bodies / f"{sample.file}.bin", file=requests, flush=True)
        answer = answers.readline().strip()
        if not answer:
            raise ChildProcessError(f"{self.language.name}: the program ended when asked to {operation} {sample.file}")
        return answer


@contextmanager
def started(language: Language, program: list[str], bodies: Path) -> Iterator[Worker]:
    """Run a program within the block, and show its standard error."""
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Worker(language, process, bodies)
        finally:
            with suppress(BrokenPipeError):  # it has ended, and left something unread
                if process.stdin:
                    process.stdin.close()

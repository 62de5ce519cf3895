"""Verdicts, counted by message and version, beside a list of failures that are expected.

Everything is counted by form, message and version, which is the matrix of the page; whole verdicts are kept of the
first failures alone. A pattern that no failure matched is an expected failure that did not come, and makes a run fail
as an unexpected one does. The smallest failure of each version is what is shown first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.conformance.vectors import LEVELS, VECTOR_FORMS, Level, Vector, VectorForm
from kipwire.console.conform.questions import Claims, Verdict
from kipwire.tools.files import need_file

MOST_FAILURES = 20_000
"""Failures that are kept; all are counted."""


class Key(NamedTuple):
    """Key by which verdicts are counted."""

    form: VectorForm
    message: str
    version: int


@dataclass(slots=True)
class Count:
    """The verdicts on one version of a message."""

    passed: int = 0
    failed: dict[Level, int] = field(default_factory=lambda: dict.fromkeys(LEVELS, 0))
    """Without those that are expected."""
    expected: int = 0
    skipped: int = 0
    unclaimed: int = 0
    """Vectors of versions that the program does not claim."""
    smallest: Verdict | None = None
    """The failure with the fewest bytes; of one that is required if there is any."""

    @property
    def tried(self) -> int:
        """Questions that were answered one way or other."""
        return self.passed + self.expected + sum(self.failed.values())


class ExpectedError(ValueError):
    """A list of expected failures that cannot be read; the text names the place."""


class Expected:
    """Failures that are expected, by patterns of their ids."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """Take patterns with their places."""
        self._plain = {one for one in patterns if not re.search(r"[*?\[]", one)}
        self._globs = [one for one in patterns if one not in self._plain]
        self._places = patterns
        self._used: set[str] = set()

    @classmethod
    def read(cls, files: Iterable[Path]) -> Expected:
        """Read lists: a pattern on each line, `#` begins a comment.

        Raises:
            ExpectedError: a file cannot be read.
        """
        patterns: dict[str, str] = {}
        for file in files:
            try:
                need_file(file)
                lines = file.read_text("utf-8").splitlines()
            except OSError as error:
                raise ExpectedError(f"{file}: {error.strerror}") from None
            except UnicodeDecodeError:
                raise ExpectedError(f"{file}: is not UTF-8") from None
            for number, line in enumerate(lines, 1):
                if text := line.partition("#")[0].strip():
                    patterns[text] = f"{file}:{number}"
        return cls(patterns)

    def has(self, verdict: Verdict) -> bool:
        """True if a failure is expected; remembers that it came."""
        for name in (verdict.id, verdict.vector.id):
            if name in self._plain:
                self._used.add(name)
                return True
        found = next((one for one in self._globs if fnmatchcase(verdict.id, one)), None)
        if found is not None:
            self._used.add(found)
        return found is not None

    def unused(self) -> Iterator[str]:
        """Yield the patterns of which nothing failed, with their places."""
        return (f"{place}: {one}" for one, place in self._places.items() if one not in self._used)


class Results:
    """All verdicts on one program."""

    def __init__(self, claims: Claims, expected: Expected) -> None:
        self.claims = claims
        self.counts: dict[Key, Count] = {}
        self.failures: list[Verdict] = []
        self._expected = expected

    def keep_claimed(self, vectors: Iterable[Vector]) -> Iterator[Vector]:
        """Yield the vectors that the program claims, and count the others."""
        for vector in vectors:
            if self.claims.has(vector):
                yield vector
            else:
                self._count(vector).unclaimed += 1

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        count = self._count(verdict.vector)
        if verdict.outcome == "passed":
            count.passed += 1
        elif verdict.outcome == "skipped":
            count.skipped += 1
        elif self._expected.has(verdict):
            count.expected += 1
        else:
            count.failed[verdict.level] += 1
            if count.smallest is None or _rank(verdict) < _rank(count.smallest):
                count.smallest = verdict
            if len(self.failures) < MOST_FAILURES:
                self.failures.append(verdict)

    def unused(self) -> list[str]:
        """List the expected failures that did not come."""
        return list(self._expected.unused())

    def total(self, level: Level) -> int:
        """Count the failures of a level."""
        return sum(count.failed[level] for count in self.counts.values())

    def sorted_counts(self) -> list[tuple[Key, Count]]:
        """Sort the counts by form, message and version."""
        return sorted(self.counts.items(), key=lambda pair: (VECTOR_FORMS.index(pair[0].form), *pair[0][1:]))

    def is_good(self, level: Level) -> bool:
        """True if there is no unexpected result, up to a level."""
        wrong = self.total("required") + (self.total("recommended") if level == "recommended" else 0)
        return not wrong and not self.unused()

    def plain(self) -> dict[str, Any]:
        """Convert the results to data for `json.dumps`."""
        return {
            "program": {"name": self.claims.name, "release": self.claims.release, "ops": sorted(self.claims.ops)},
            "versions": [
                {
                    **key._asdict(),
                    "passed": count.passed,
                    "failed": count.failed,
                    "expected": count.expected,
                    "skipped": count.skipped,
                    "unclaimed": count.unclaimed,
                    "smallest": None if count.smallest is None else plain_verdict(count.smallest),
                }
                for key, count in self.sorted_counts()
            ],
            "unexpectedly_passed": self.unused(),
        }

    def _count(self, vector: Vector) -> Count:
        key = Key(vector.form, vector.message, vector.version)
        if key not in self.counts:
            self.counts[key] = Count()
        return self.counts[key]


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """Convert a verdict to data for `json.dumps`."""
    return {
        "id": verdict.vector.id,
        "op": verdict.op,
        "level": verdict.level,
        "kind": verdict.vector.kind,
        "field": verdict.vector.field,
        "case": verdict.vector.case,
        "bytes": verdict.vector.data.hex(),
        "reason": verdict.reason,
        "given": verdict.given,
    }


def _rank(verdict: Verdict) -> tuple[int, int]:
    return LEVELS.index(verdict.level), len(verdict.vector.data)

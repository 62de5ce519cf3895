"""What a project makes of warnings: it ignores them, takes them for errors, or lets them fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kipgen.commands.settings import Settings
from kipgen.language.problems import Problem


@dataclass(frozen=True, slots=True)
class Policy:
    """How problems are judged."""

    ignore: frozenset[str] = frozenset()
    error: frozenset[str] = frozenset()
    strict: bool = False

    @classmethod
    def of(cls, settings: Settings, strict: bool | None) -> Policy:
        """The policy of the settings; `--strict` or `--no-strict` wins over them."""
        return cls(settings.ignore, settings.error, settings.strict if strict is None else strict)

    @property
    def judges_warnings(self) -> bool:
        """Whether a warning may fail."""
        return self.strict or bool(self.error)

    def judged(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems that are reported, with their severity."""
        return [
            replace(one, severity="error") if one.rule in self.error else one
            for one in problems
            if one.rule not in self.ignore or one.rule in self.error
        ]

    def fails(self, judged: Iterable[Problem]) -> bool:
        """Whether judged problems are a failure."""
        return any(self.strict or one.severity == "error" for one in judged)

"""Faults that a test asks for: some requests are answered with an error, late, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kipwire.connection import Request

Condition = Callable[[Request], bool]


@dataclass(frozen=True, slots=True)
class Fail:
    """The request is answered with an error code, and not handled."""

    error: int


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is handled later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection is closed instead of an answer."""

    is_handled: bool
    """Whether the request takes effect before, so that only the answer is lost."""


Effect = Fail | Delay | Disconnect


@dataclass(slots=True)
class _Fault:
    api_key: int
    effect: Effect
    times: int | None
    """How often it still happens; None means always."""
    condition: Condition | None

    def takes(self, request: Request) -> bool:
        return request.api_key == self.api_key and (self.condition is None or self.condition(request))


class Faults:
    """All faults that are to happen, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._faults: list[_Fault] = []

    def add(self, api_key: int, effect: Effect, times: int | None, condition: Condition | None) -> None:
        """Let a fault happen to requests that come."""
        self._faults.append(_Fault(api_key, effect, times, condition))

    def clear(self) -> None:
        """Let no fault happen any more."""
        self._faults.clear()

    def take(self, request: Request) -> Effect | None:
        """What happens to a request; None if nothing does."""
        for fault in self._faults:
            if fault.takes(request):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times == 0:
                        self._faults.remove(fault)
                return fault.effect
        return None

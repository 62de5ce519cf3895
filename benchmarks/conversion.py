"""Conversion to another version, beside decoding of the same message."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import kafka_messages
import kipwire
from benchmarks.bodies import ALIKE, METADATA, SIX, Sample
from benchmarks.timing import interleaved, median_ratio
from kipwire import native


class Case(NamedTuple):
    """A message of one version, as it comes, and the version that it is converted to."""

    body: Sample
    come: int
    wanted: int
    has_more_lists: bool = False
    """True if the wanted version has one more list in each partition: then more objects are made than by decoding."""

    @property
    def title(self) -> str:
        """Name in the tables."""
        what = f", {self.body.what}" if self.body.what else ""
        return f"{self.body.name}{what}, {self.come} to {self.wanted}"


CASES = (
    Case(METADATA, 9, 13),
    Case(METADATA, 13, 9),
    Case(METADATA, 1, 13, has_more_lists=True),
    Case(METADATA, 12, 12),
    Case(ALIKE, 9, 13),
    Case(SIX[2], 11, 12),
)


class Conversion(NamedTuple):
    """Times of both operations: seconds per call, one figure per round."""

    convert: list[float]
    decode: list[float]

    @property
    def ratio(self) -> float:
        """Time of converting divided by the time of decoding, median over the rounds."""
        return median_ratio(self.convert, self.decode)


def measure(rounds: int, seconds: float) -> dict[tuple[str, str], Conversion]:
    """Measure converting and decoding, by codec and case."""
    measured = {}
    ways = {"native": (_native, kipwire.convert)} if native.in_use else {}
    for name, (decoded, convert) in {"interpreted": (_interpreted, inspect.unwrap(kipwire.convert)), **ways}.items():
        for case in CASES:
            whole = kafka_messages.message(case.body.name, case.body.version).decode(case.body.golden)
            message = kipwire.convert(whole, case.come)
            wanted = kafka_messages.message(case.body.name, case.wanted)
            functions: dict[str, Callable[[], object]] = {
                "convert": partial(convert, message, wanted),
                "decode": decoded(type(message), message.encode()),
            }
            samples = interleaved(functions, rounds, seconds)
            measured[name, case.title] = Conversion(samples["convert"], samples["decode"])
    return measured


def _native(cls: Any, data: bytes) -> Callable[[], object]:
    return partial(cls.decode, data)


def _interpreted(cls: Any, data: bytes) -> Callable[[], object]:
    return partial(native.PYTHON["decode"], cls, data)

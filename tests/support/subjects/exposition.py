"""Prometheus' text format, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Sample = tuple[str, frozenset[tuple[str, str]]]
_LABEL = r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"'
_SAMPLE = re.compile(rf"([a-zA-Z_:][\w:]*)(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\S+)")


def unescaped(text: str) -> str:
    """Return the value of a label."""
    return re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), text)


def samples(text: str) -> dict[Sample, float]:
    """Return the samples of the text format, read strictly: each metric has help and type first, and one piece."""
    found: dict[Sample, float] = {}
    known: list[str] = []
    assert text.endswith("\n")
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("# HELP "):
            known.append(line.split(" ")[2])
            assert next(lines) == f"# TYPE {known[-1]} gauge"
            continue
        parts = _SAMPLE.fullmatch(line)
        assert parts is not None, line
        assert parts[1] == known[-1]
        labels = frozenset((name, unescaped(value)) for name, value in re.findall(_LABEL, parts[2] or ""))
        assert (parts[1], labels) not in found
        found[parts[1], labels] = float(parts[parts.re.groups])
    assert len(known) == len(set(known))
    return found


def by_labels(found: Mapping[Sample, float], metric: str, labels: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Return the samples of one metric by the values of these labels, which must be all that they have."""
    chosen = {}
    for (name, pairs), value in found.items():
        if name == metric:
            assert {label for label, _ in pairs} == set(labels)
            chosen[tuple(dict(pairs)[label] for label in labels)] = value
    return chosen

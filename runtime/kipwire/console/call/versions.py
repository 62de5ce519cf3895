"""The versions of each API that a broker serves, beside those that the package has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kipwire.cli.apis import apis
from kipwire.console.call.json_text import Line
from kipwire.message.registry import Registry


class Row(NamedTuple):
    """One API."""

    key: int
    name: str | None
    """Name of the API; None if the package does not have it."""
    theirs: range
    """Empty where the broker does not serve it."""
    ours: range

    @property
    def used(self) -> int | None:
        """The version that a request is sent in; None where both have none in common."""
        both = [version for version in self.ours if version in self.theirs]
        return both[-1] if both else None


def rows_of(registry: Registry, theirs: Mapping[int, range]) -> list[Row]:
    """Compare the APIs that the broker or the package has, in a row each, by their keys."""
    # Of two names of one API the one that is served, which comes last.
    ranked = sorted(apis(registry), key=lambda one: bool(registry.served(one.request)))
    ours = {one.key: one for one in ranked if one.key in theirs or registry.served(one.request)}
    none = range(0)
    return [
        Row(
            key,
            ours[key].name if key in ours else None,
            theirs.get(key, none),
            ours[key].versions if key in ours else none,
        )
        for key in sorted({*ours, *theirs})
    ]


def json_of(rows: list[Row]) -> list[dict[str, Any]]:
    """Convert rows to data for `json.dumps`."""
    return [
        {"apiKey": row.key, "name": row.name, "broker": _ends(row.theirs), "kipwire": _ends(row.ours), "used": row.used}
        for row in rows
    ]


def _ends(versions: range) -> dict[str, int] | None:
    return {"min": versions[0], "max": versions[-1]} if versions else None


def table_lines(rows: list[Row]) -> Iterator[Line]:
    """Format rows as lines of a table; what only one side has is in a colour of its own."""
    cells = [("key", "API", "broker", "kipwire", "used")]
    for row in rows:
        used = "-" if row.used is None else str(row.used)
        cells.append((str(row.key), row.name or "?", _versions_text(row.theirs), _versions_text(row.ours), used))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for number, (key, *rest) in enumerate(cells):
        text = "  ".join(
            [f"{key:>{widths[0]}}", *(f"{one:<{width}}" for one, width in zip(rest, widths[1:], strict=True))]
        )
        style = "underline" if not number else ("" if rows[number - 1].used is not None else "yellow")
        yield ((text.rstrip(), style),)


def _versions_text(versions: range) -> str:
    if not versions:
        return "-"
    return f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else str(versions[0])

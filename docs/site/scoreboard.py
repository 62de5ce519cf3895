"""The scoreboard of conformance: a bar for each library, which unfolds to its shortest failing bytes.

It takes the place of the table that docs/conformance.md has between two comments, and is made of the same results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

import kafka_messages
from docs.site.templating import render
from docs.site.touch import touch
from kipwire.console.inspect.tree import inspect_message

_PART = re.compile(r"<!-- scoreboard -->\n.*?<!-- end of scoreboard -->\n", re.DOTALL)


def with_scoreboard(root: Path, page: str) -> str:
    """Return the page with the scoreboard in the place of its table.

    Args:
        root: the repository.
        page: its Markdown.
    """
    results = json.loads((root / "conformance/results.json").read_text("utf-8"))
    every = sum(len(kafka_messages.versions(name)) for name in kafka_messages.names())
    libraries = _with_one_kipwire(sorted(results["libraries"], key=_rank))
    rows = [
        {**one, "examples": [_example(failure, f"{number}-{at}") for at, failure in enumerate(one["failures"])]}
        for number, one in enumerate(libraries)
    ]
    board = render("scoreboard.html.j2", rows=rows, day=results["day"], every=every)
    return _PART.sub(lambda _: f"{board}\n", page)


def _with_one_kipwire(libraries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the libraries with one row for all ways in which kipwire was asked, if none of these was wrong."""
    ours = [one for one in libraries if one["name"].startswith("kipwire (")]
    if not ours or any(one["required"] or one["recommended"] for one in ours):
        return [{**one, "ways": ""} for one in libraries]
    ways = ", ".join(one["name"].removeprefix("kipwire (").rstrip(")") for one in ours)
    others = [{**one, "ways": ""} for one in libraries if one not in ours]
    return [{**ours[0], "name": "kipwire", "ways": f"Asked in {len(ours)} ways, all right: {ways}."}, *others]


def _rank(library: Mapping[str, Any]) -> tuple[int, int]:
    return library["wrong_versions"], -library["versions"]


def _example(failure: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Give a failure its bytes as what can be touched."""
    data = bytes.fromhex(failure["bytes"])
    inspection = inspect_message(kafka_messages.message(failure["message"], failure["version"]), data)
    case = ", ".join(one for one in (failure["field"], failure["case"]) if one)
    return {**failure, "case": case, "shown": touch(inspection, f"failing-{name}") if data else Markup()}

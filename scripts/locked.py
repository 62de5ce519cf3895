"""Print the part of requirements-dev.lock that some extras and groups of pyproject.toml need.

    python scripts/locked.py EXTRA...

The lock has the dependents of each package ("via"), so that nothing has to be resolved.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NAME = re.compile(r"[\w.-]+")
_OURS = "kipwire["


def plain(name: str) -> str:
    """Normalize a name as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(extras: Iterable[str], known: dict[str, list[str]]) -> set[str]:
    """Return the names of the packages that extras and groups name, also by other extras."""
    waiting, found, seen = list(extras), set(), set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for one in known[extra]:
            if one.startswith(_OURS):
                waiting += one[len(_OURS) :].rstrip("]").split(",")
            else:
                found.add(plain(_NAME.match(one)[0]))  # type: ignore[index]  # each begins with a name
    return found


def blocks(lock: str) -> dict[str, tuple[str, set[str]]]:
    """Return the lines of each package of a lock, and the packages that require it."""
    found: dict[str, tuple[str, set[str]]] = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]:
        via = re.findall(r"^    #(?: via|  ) (\S+)$", block, flags=re.MULTILINE)
        name = plain(_NAME.match(block)[0])  # type: ignore[index]
        before, others = found.get(name, ("", set()))  # a package may have versions for several Pythons
        found[name] = (before + block, others.union(map(plain, via)))
    return found


def part(wanted: set[str], known: dict[str, tuple[str, set[str]]]) -> str:
    """Return the lines of packages, and of all packages that they require."""
    chosen = wanted & known.keys()
    while more := {name for name, (_, via) in known.items() if name not in chosen and via & chosen}:
        chosen |= more
    return "".join(known[name][0] for name in sorted(chosen))


def main() -> None:
    """Run the program."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    known = {**project["project"]["optional-dependencies"], **project["dependency-groups"]}
    print(part(required(sys.argv[1:], known), blocks((ROOT / "requirements-dev.lock").read_text())), end="")


if __name__ == "__main__":
    main()

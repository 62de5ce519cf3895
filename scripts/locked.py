"""Print the part of requirements-dev.lock that some extras and groups of pyproject.toml need, or some packages.

    python scripts/locked.py [--install] NAME...

With --install the pip of this Python installs that part instead, and checks its hashes. The lock has the dependents of
each package ("via"), so that nothing has to be resolved.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
_NAME = re.compile(r"[\w.-]+")
_OURS = "kipwire["


def plain(name: str) -> str:
    """Normalize a name as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(names: Iterable[str], known: dict[str, list[str]]) -> set[str]:
    """Return the names of the packages that extras and groups name, also by other extras; other names are packages."""
    waiting, found, seen = list(names), set(), set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        if extra not in known:
            found.add(plain(extra))
            continue
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
    """Return the lines of packages, and of all packages that they require.

    Raises:
        LookupError: the lock has no such package.
    """
    if missing := wanted - known.keys():
        raise LookupError(
            f"requirements-dev.lock has no {', '.join(sorted(missing))}: see pyproject.toml, or make lock"
        )
    chosen = set(wanted)
    while more := {name for name, (_, via) in known.items() if name not in chosen and via & chosen}:
        chosen |= more
    return "".join(known[name][0] for name in sorted(chosen))


def install(lines: str) -> int:
    """Have pip install these lines of the lock, and return its exit status."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    with TemporaryDirectory() as folder:
        file = Path(folder, "wanted.txt")
        file.write_text(lines, encoding="utf-8")
        return subprocess.run([*pip, "--requirement", str(file)], check=False).returncode


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="+", metavar="NAME", help="an extra or a group of pyproject.toml, or a package")
    parser.add_argument("--install", action="store_true", help="have this Python's pip install them")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = {**project["project"]["optional-dependencies"], **project["dependency-groups"]}
    lock = blocks((ROOT / "requirements-dev.lock").read_text(encoding="utf-8"))
    try:
        lines = part(required(options.names, known), lock)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    if options.install:
        return install(lines)
    print(lines, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

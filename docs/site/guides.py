"""The written pages: the README, docs/*.md, and every file of the repository that they lead to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from docs.site.navigation import Nav

START = ("docs/getting-started.md",)
ORDER = (
    "installation",
    "own-specs",
    "editors",
    "connections",
    "typed-client",
    "aio",
    "cluster",
    "migrating",
    "projection",
    "proxy",
    "records",
    "tables",
    "columns",
    "record-formats",
    "testing",
    "evolution",
    "compatibility",
    "inspect",
    "dump",
    "pack",
    "tap",
    "call",
    "offsets",
    "commands",
    "conform",
    "conformance",
    "names",
    "advise",
    "drift",
    "resolved",
    "wireshark",
    "spark",
    "spark-sources",
    "jobs",
    "where",
    "native",
    "strictness",
    "json",
    "kip-625",
)
"""The guides in the order in which they are offered; all others follow by name."""
LANGUAGE_GUIDE = "docs/spec-language.md"
OF_THE_PROJECT = ("docs/releasing.md",)
"""Pages in the folder of the guides that are for maintainers of kipwire."""
SOURCES = "docs/sources/README.md"
"""The page that leads to the tables of the source documents, which are beside it."""

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<fence>```+).*?^(?P=fence)\s*?$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)


def repository_files(root: Path, more: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the written pages with pictures and linked files, by path in the repository, so that links stay right.

    A link to a folder becomes one to its README, or plain text if it has none.

    Args:
        root: the repository.
        more: other files that generated pages link to.
    """
    pending = ["README.md", *sorted(f"docs/{file.name}" for file in (root / "docs").glob("*.md")), *more]
    found: dict[str, bytes] = {}
    while pending:
        path = pending.pop(0)
        if path in found:
            continue
        data = (root / path).read_bytes()
        if path.endswith(".md"):
            text, targets = _with_links(root, path, data.decode("utf-8"))
            data = text.encode()
            pending += targets
        found[path] = data
    return found


def is_guide(path: str) -> bool:
    """Return True for a page of the folder of guides, by its path in the repository."""
    return str(PurePosixPath(path).parent) == "docs" and path.endswith(".md")


def nav_of_guides(contents: Mapping[str, bytes]) -> list[Nav]:
    """Return the table of contents of the written pages.

    Args:
        contents: the pages by path, as `repository_files` gives them; they have their titles.
    """
    guides = [path for path in contents if is_guide(path)]
    ordered = sorted(set(guides) - {*START, LANGUAGE_GUIDE, *OF_THE_PROJECT}, key=_rank)
    tables = sorted(path for path in contents if PurePosixPath(path).match("docs/sources/*.md") and path != SOURCES)
    sources = [path for path in (SOURCES, *tables) if path in contents]
    listed = {*ordered, *sources, *START, LANGUAGE_GUIDE, "README.md"}
    others = sorted(path for path in contents if path.endswith(".md") and path not in listed)
    nav: list[Nav] = [{"Overview": "README.md"}]
    nav.extend({title_of(path, contents[path]): path} for path in START if path in contents)
    for name, paths in (("Guides", ordered), ("Source documents", sources), ("Project", others)):
        if paths:
            nav.append({name: [{title_of(path, contents[path]): path} for path in paths]})
    return nav


def _rank(path: str) -> tuple[int, str]:
    name = PurePosixPath(path).stem
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def title_of(path: str, content: bytes) -> str:
    """Return the title of a written page: its first heading, or its name if it has none.

    Args:
        path: the page's path in the repository.
        content: its Markdown.
    """
    heading = _HEADING.search(content.decode("utf-8"))
    return heading["title"].replace("`", "") if heading else PurePosixPath(path).stem.replace("-", " ").capitalize()


def _with_links(root: Path, path: str, text: str) -> tuple[str, list[str]]:
    """Return the page with links that work on the site, and the files to which they lead."""
    targets: list[str] = []

    def follow(match: re.Match[str]) -> str:
        target = match["target"]
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if (root / place).is_dir():
            place, target = f"{place}/README.md", f"{target.rstrip('/')}/README.md"
        if place.startswith("..") or not (root / place).is_file():
            return match["text"]
        targets.append(place)
        return f"{match['image']}[{match['text']}]({target}{match['anchor'] or ''})"

    pieces, done = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_LINK.sub(follow, text[done : fence.start()]), fence[0]]
        done = fence.end()
    return "".join([*pieces, _LINK.sub(follow, text[done:])]), targets

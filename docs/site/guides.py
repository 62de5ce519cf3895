"""The written pages: the README, docs/*.md, and every file of the repository that they lead to."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from docs.site.navigation import Nav

START = ("docs/getting-started.md",)
KINDS = {
    "tutorial": ("getting-started", "own-specs"),
    "how-to": (
        "advise",
        "browser",
        "call",
        "conform",
        "drift",
        "editors",
        "evolution",
        "installation",
        "migrating",
        "pack",
        "proxy",
        "tables",
        "tap",
        "testing",
        "typed-client",
        "where",
        "wireshark",
    ),
    "reference": (
        "aio",
        "cluster",
        "columns",
        "commands",
        "compatibility",
        "conformance",
        "connections",
        "dump",
        "glossary",
        "inspect",
        "jobs",
        "json",
        "kafka-versions",
        "kip-625",
        "names",
        "offsets",
        "projection",
        "record-formats",
        "records",
        "resolved",
        "spark",
        "spark-sources",
        "spec-language",
        "strictness",
    ),
    "explanation": ("how-it-works", "native"),
}
"""The guides by what they are for: to learn, to do something, to look something up, to understand.

They are the kinds of https://diataxis.fr; the menu shows them.
"""
LANGUAGE_GUIDE = "docs/spec-language.md"
SOURCES = "docs/sources/README.md"
"""The page that leads to the tables of the source documents, which are beside it."""

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<fence>```+).*?^(?P=fence)\s*?$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
_GROUPS = re.compile(r"^## What you can do with it\n(?P<table>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_GROUP = re.compile(r"^\| (?P<name>[^|]+) \| (?P<links>.+) \|$", re.MULTILINE)
_THEORY = re.compile(r"^<!-- theory of (?P<path>\S+) -->$", re.MULTILINE)
_COMMENTS = re.compile(r"^# Theory\. (?P<text>.*\n(?:#.*\n)*)", re.MULTILINE)


def repository_files(root: Path, more: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the written pages with pictures and linked files, by path in the repository, so that links stay right.

    A link to a folder becomes one to its README, or plain text if it has none. A line `<!-- theory of FILE -->` becomes
    the `theory` of that module.

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
            whole = _THEORY.sub(lambda found: theory((root / found["path"]).read_text("utf-8")), data.decode("utf-8"))
            text, targets = _with_links(root, path, whole)
            data = text.encode()
            pending += targets
        found[path] = data
    return found


def is_guide(path: str) -> bool:
    """Return True for a page of the folder of guides, by its path in the repository."""
    return str(PurePosixPath(path).parent) == "docs" and path.endswith(".md")


def kind_of(path: str) -> str:
    """Return the kind of a guide in `KINDS`, or "" if it has none.

    Args:
        path: its path in the repository.
    """
    name = PurePosixPath(path).stem
    return next((kind for kind, names in KINDS.items() if name in names), "") if is_guide(path) else ""


def theory(source: str) -> str:
    """Return the theory at the head of a module as Markdown.

    It is the comment that begins with "Theory.", or else the docstring without its first line.

    Args:
        source: the text of the module.
    """
    if found := _COMMENTS.search(source):
        return re.sub(r"^# ?", "", found["text"], flags=re.MULTILINE)
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[2] + "\n"


def groups_of(readme: str) -> dict[str, dict[str, str]]:
    """Return the groups of the menu: the rows of README's table "What you can do with it".

    A page is in the first row that links to it as a whole; links to a section of a page leave its place open.

    Args:
        readme: the text of README.md.

    Returns:
        By name of the group the text of each link, by the path of its page.
    """
    section = _GROUPS.search(readme)
    seen: set[str] = set()
    groups = {}
    for row in _GROUP.finditer(section["table"] if section else ""):
        links = {
            link["target"]: link["text"]
            for link in _LINK.finditer(row["links"])
            if is_guide(link["target"]) and not link["anchor"] and link["target"] not in seen
        }
        seen |= links.keys()
        if links:
            groups[_capital(row["name"].strip())] = {path: _capital(text) for path, text in links.items()}
    return groups


def _capital(text: str) -> str:
    return text.replace("`", "")[:1].upper() + text.replace("`", "")[1:]


def nav_of_guides(contents: Mapping[str, bytes]) -> list[Nav]:
    """Return the table of contents of the written pages: the guides in the groups of the README, then all others.

    Args:
        contents: the pages by path, as `repository_files` gives them; they have their titles.
    """
    guides = {path for path in contents if is_guide(path)} - {*START, LANGUAGE_GUIDE}
    groups = groups_of(contents["README.md"].decode("utf-8"))
    grouped: list[Nav] = [
        {name: [{title: path} for path, title in links.items() if path in guides]}
        for name, links in groups.items()
        if guides & links.keys()
    ]
    rest = sorted(guides - {path for links in groups.values() for path in links})
    tables = sorted(path for path in contents if PurePosixPath(path).match("docs/sources/*.md") and path != SOURCES)
    sources = [path for path in (SOURCES, *tables) if path in contents]
    listed = {*guides, *sources, *START, LANGUAGE_GUIDE, "README.md"}
    others = sorted(path for path in contents if path.endswith(".md") and path not in listed)
    nav: list[Nav] = [{"Overview": "README.md"}]
    nav.extend({title_of(path, contents[path]): path} for path in START if path in contents)
    if guides:
        nav.append({"Guides": [*grouped, *_titled(rest, contents)]})
    for name, paths in (("Source documents", sources), ("Project", others)):
        if paths:
            nav.append({name: _titled(paths, contents)})
    return nav


def _titled(paths: Iterable[str], contents: Mapping[str, bytes]) -> list[Nav]:
    return [{title_of(path, contents[path]): path} for path in paths]


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

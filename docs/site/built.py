"""Faults of a built site: blank pages and broken links. `python -m docs.site.built FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

_UNLISTED = frozenset({"404.html"})
"""Pages of the theme, whose links are right at the root of a server alone."""
APART = "browser"
"""The folder of a page that is not of this site, and may be put beside its pages: `make browser`."""
_WITHOUT_TEXT = frozenset({"script", "style", "nav"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr", "col", "source", "area", "base"})


@dataclass(slots=True)
class Content:
    """Content of a page's article, without its navigation."""

    title: str = ""
    """The text of its first heading."""
    words: int = 0
    """Outside of its first heading."""
    tables: int = 0
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


def problems(folder: Path) -> list[str]:
    """Find the faults of the pages of a site, each with its page.

    A page needs a title, some text or a table after it, and links to pages, files and anchors that are there.

    Args:
        folder: the site as mkdocs built it.
    """
    pages = {
        file.relative_to(folder).as_posix(): content_of(file.read_text(encoding="utf-8"))
        for file in sorted(folder.rglob("*.html"))
        if file.relative_to(folder).parts[0] != APART
    }
    shown = {path: page for path, page in pages.items() if path not in _UNLISTED}
    if not shown:
        return [f"{folder}: no page is there; build the site first"]
    found = []
    for path, page in shown.items():
        if not page.title:
            found.append(f"{path}: the page has no title; begin it with a heading of the first level")
        if not page.words and not page.tables:
            found.append(f"{path}: the page is blank after its title; it needs text or a table")
        found += [f"{path}: {link}: {what}" for link, what in _dead_links(folder, path, page.links, shown)]
    return found


def content_of(html: str) -> Content:
    """Return the content of a page's article; empty if it has no article.

    Args:
        html: the whole page.
    """
    start = html.find("<article")
    reader = _Reader()
    if start >= 0:
        reader.feed(html[start : html.index("</article>", start)])
        reader.close()
    return reader.content


def _dead_links(folder: Path, path: str, links: list[str], pages: Mapping[str, Content]) -> Iterator[tuple[str, str]]:
    for link in links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = normpath(join(dirname(path), unquote(parts.path))) if parts.path else path
        if target in (APART, f"{APART}/index.html"):
            if not (folder / APART).is_dir():
                continue
            target = f"{APART}/index.html"
        if target.startswith("..") or not (folder / target).is_file():
            yield link, "no page or file of this name"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield link, "the page has no such anchor"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.content = Content()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.content.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        if tag == "a" and (target := given.get("href")) and "headerlink" not in (given.get("class") or ""):
            self.content.links.append(target)
        self.content.tables += tag == "table"
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if _WITHOUT_TEXT.intersection(self._open):
            return
        if "h1" in self._open:
            self.content.title += data.strip().rstrip("¶")
        else:
            self.content.words += len(data.split())


def main(folder: Path) -> int:
    """Check a built site, print its faults, and return the exit status: 1 if there are any.

    Args:
        folder: the site as mkdocs built it.
    """
    found = problems(folder)
    for one in found:
        print(one, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs/html")))

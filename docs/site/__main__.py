"""Write the pages of the documentation site and the settings that mkdocs builds it by: `python -m docs.site`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from docs.site.guides import LANGUAGE_GUIDE, is_guide, kind_of, nav_of_guides, repository_files, title_of
from docs.site.home import with_first_screen
from docs.site.language import language_pages
from docs.site.messages import message_pages
from docs.site.navigation import Nav, Page
from docs.site.python_reference import reference_pages
from docs.site.real_messages import CAPTURE, LOGS
from docs.site.scoreboard import with_scoreboard
from kipgen.commands.docs.templating import STYLE

ROOT = Path(__file__).resolve().parent.parent.parent
ASSETS = Path(__file__).parent / "assets"
HOME = "README.md"
SCOREBOARD = "docs/conformance.md"
HIDDEN = {HOME: ("navigation", "toc"), SCOREBOARD: ("toc",), "messages/": ("toc",)}
"""Parts of the theme that pages go without, by the beginning of their paths, for more room."""


def write_site(root: Path, out: Path) -> None:
    """Write all pages and `mkdocs.yml`, replacing what was there.

    Args:
        root: the repository.
        out: the folder for the build; `out/pages` gets the pages, `out/html` is where mkdocs puts the site.

    Raises:
        ValueError: two pages have the same path, or a page is blank.
    """
    pages = out / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    files = repository_files(root, [f"{folder}/README.md" for folder in (CAPTURE, *LOGS)])
    files[HOME] = with_first_screen(root, files[HOME].decode("utf-8")).encode()
    files[SCOREBOARD] = with_scoreboard(root, files[SCOREBOARD].decode("utf-8")).encode()
    language, messages, reference = language_pages(root), message_pages(root), reference_pages()
    for path, content in with_pages(files, (*language, *messages, *reference)).items():
        _write(pages / path, head_of(path, content) + content)
    shutil.copytree(ASSETS, pages / "assets", dirs_exist_ok=True)
    shutil.copy(STYLE, pages / "assets")
    guide: list[Nav] = [{title_of(LANGUAGE_GUIDE, files[LANGUAGE_GUIDE]): LANGUAGE_GUIDE}]
    nav: list[Nav] = [
        *nav_of_guides(files),
        {"Language": [*guide, *(page.entry for page in language)]},
        {"Messages": [page.entry for page in messages]},
        {"Python API": [page.entry for page in reference]},
    ]
    # JSON is YAML, too; mkdocs takes everything else from the file that is inherited.
    settings = {
        "INHERIT": str(root / "mkdocs.yml"),
        "docs_dir": str(pages),
        "site_dir": str(out / "html"),
        "nav": nav,
    }
    _write(out / "mkdocs.yml", json.dumps(settings, indent=1).encode())


def head_of(path: str, content: bytes) -> bytes:
    """Return the front matter of a page, b"" for most pages.

    A guide has the title for the browser, since the menu has a shorter one, and the kind. Its boost lets a search find
    the guide before the hundreds of pages of messages, modules and source documents.

    Args:
        path: its path in the repository.
        content: its Markdown.
    """
    hidden = [one for start, parts in HIDDEN.items() if path.startswith(start) for one in parts]
    facts: dict[str, object] = {"hide": hidden}
    if is_guide(path):
        facts |= {"title": title_of(path, content), "status": kind_of(path), "search": {"boost": 8}}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items() if value]
    return f"---\n{''.join(lines)}---\n\n".encode() if lines else b""


def with_pages(files: Mapping[str, bytes], pages: Iterable[Page]) -> dict[str, bytes]:
    """Return the contents of the site by path: written files and generated pages.

    Args:
        files: the written ones.
        pages: the generated ones.

    Raises:
        ValueError: a page has the path of another one or of a file, or is blank.
    """
    contents = dict(files)
    for page in pages:
        if page.path in contents:
            raise ValueError(f"{page.path}: there is a page at this path already; {page.title!r} needs another path")
        contents[page.path] = page.text.encode()
    for path, content in contents.items():
        if path.endswith(".md") and not content.strip():
            raise ValueError(f"{path}: the page is blank; every page has text")
    return contents


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


if __name__ == "__main__":
    write_site(ROOT, Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs").resolve())

"""Write the pages of the documentation site and the settings that mkdocs builds it by: `python -m docs.site`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from docs.site.guides import nav_of_guides, repository_files
from docs.site.language import language_pages
from docs.site.messages import message_pages
from docs.site.navigation import Nav

ROOT = Path(__file__).resolve().parent.parent.parent
ASSETS = Path(__file__).parent / "assets"


def write_site(root: Path, out: Path) -> None:
    """Write all pages and `mkdocs.yml`, replacing what was there.

    Args:
        root: the repository.
        out: the folder for the build; `out/pages` gets the pages, `out/html` is where mkdocs puts the site.
    """
    pages = out / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    files = repository_files(root)
    for path, content in files.items():
        _write(pages / path, content)
    language, messages = language_pages(root), message_pages(root)
    for page in (*language, *messages):
        _write(pages / page.path, page.text.encode())
    shutil.copytree(ASSETS, pages / "assets", dirs_exist_ok=True)
    nav: list[Nav] = [
        *nav_of_guides(files),
        {"Language": [{page.title: page.path} for page in language]},
        {"Messages": [page.path if page.is_index else {page.title: page.path} for page in messages]},
    ]
    # JSON is YAML, too; mkdocs takes everything else from the file that is inherited.
    settings = {
        "INHERIT": str(root / "mkdocs.yml"),
        "docs_dir": str(pages),
        "site_dir": str(out / "html"),
        "nav": nav,
    }
    _write(out / "mkdocs.yml", json.dumps(settings, indent=1).encode())


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


if __name__ == "__main__":
    write_site(ROOT, Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs").resolve())

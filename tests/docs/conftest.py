"""The site, written once for the modules that look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site.__main__ import write_site
from tests.support.places import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    write_site(ROOT, out)
    return out


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, str]:
    folder = site / "pages"
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.md")}

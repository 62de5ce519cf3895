"""Every line of the pages that installs kipwire has a form that docs/installation.md explains, and can work."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest

from kipwire.model.extras import MODULES, install
from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCE = PROJECT["urls"]["Source"]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
LINE = re.compile(r"pip3? install (?P<what>[^\n`]*?kipwire[^\n`]*)")
EXTRAS = r"\[(?P<extras>[a-z,-]+)\]"
COMMAND = {
    "from the repository": re.compile(rf"'kipwire{EXTRAS} @ git\+{re.escape(SOURCE)}'"),
    "from a checkout": re.compile(rf"'\./kipwire{EXTRAS}'"),
    "a wheel": re.compile(rf"'kipwire{EXTRAS} @ file:///\S+\.whl'"),
    "a wheel of a folder": re.compile(rf'"\$\(ls \S+\.whl\){EXTRAS}"'),
    "a wheel alone": re.compile(r"(--no-deps )?(/\S+/|\./)?kipwire-[\w.-]+\.whl"),
}
"""Arguments of `pip install` that work in a new environment, by the kind of source."""
SHORT = re.compile(rf"'kipwire{EXTRAS}'")
"""Short form on all other pages, which adds an extra to an installed kipwire, as installation.md explains."""


def install_lines() -> Iterator[tuple[str, str, bool]]:
    """Yield the place of each install line, pip's argument, and True for a command to copy, False within a sentence."""
    for page in PAGES:
        is_block = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.lstrip().startswith("```"):
                is_block = not is_block
            for found in LINE.finditer(line):
                if "pip wheel" not in line:
                    yield f"{page.relative_to(ROOT)}:{number}", found["what"], is_block


LINES = list(install_lines())


@pytest.mark.parametrize(("place", "what", "is_command"), LINES, ids=[place for place, _, _ in LINES])
def test_an_install_line_has_a_form_that_works(place: str, what: str, is_command: bool) -> None:
    forms = [*COMMAND.values(), *(() if is_command else (SHORT,))]
    found = next((match for form in forms if (match := form.search(what))), None)
    assert found is not None, f"{place}: pip install {what}"
    extras = found.groupdict().get("extras")
    assert set((extras or "").split(",")) - {""} <= set(PROJECT["optional-dependencies"])


def test_the_forms_are_those_of_the_page_on_installation() -> None:
    page = (ROOT / "docs/installation.md").read_text()
    for name in ("from the repository", "from a checkout", "a wheel"):
        assert COMMAND[name].search(page), name
    assert SHORT.search(page)
    assert len(LINES) > 15
    assert {place.partition(":")[0] for place, _, is_command in LINES if is_command} >= {
        "README.md",
        "docs/evolution.md",
    }


def test_errors_name_extras_in_quotes() -> None:
    assert set(MODULES) <= set(PROJECT["optional-dependencies"])
    for extra in MODULES:
        assert install(extra) == f'pip install "kipwire[{extra}]"'


def test_hooks_come_from_the_repository() -> None:
    for page in PAGES:
        for url in re.findall(r"^\s*- repo: (\S+)", page.read_text(), re.M):
            assert url in (SOURCE, "local"), page.name

"""The documentation site: every page is there, says what the specs say, and leads only to pages that exist."""

from __future__ import annotations

import inspect
import json
import os
import posixpath
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from docs.site.__main__ import with_pages
from docs.site.built import problems
from docs.site.guides import KINDS, START, groups_of, nav_of_guides, repository_files, theory, title_of
from docs.site.language import language_pages, sections
from docs.site.navigation import Page
from docs.site.python_reference import MODULES, SMALLER, public_names
from kipgen.commands.docs.byte_layout import Box, boxes
from kipgen.commands.docs.versions_table import version_rows
from kipgen.reading.rules import ALL
from kipgen.resolve.wire import resolve
from tests.support.places import ROOT
from tests.support.subjects.site_specs import PROBE, kafka_specs, spec

pytestmark = pytest.mark.xdist_group("docs_site")  # the site is written and built once


def test_versions_side_by_side_are_those_of_the_spec(tmp_path: Path) -> None:
    rows = version_rows(spec(PROBE, tmp_path))
    assert [(row.depth, row.name, row.default) for row in rows] == [
        (0, "Plain", "-1"),
        (0, "Items", ""),
        (1, "Text", ""),
        (0, "Late", ""),
    ], "Gone is in no version that has its struct"
    assert [[cell.is_there for cell in row.cells] for row in rows] == [[True] * 3, *[[False, True, True]] * 3]
    assert [cell.may_be_null for cell in rows[2].cells] == [False, False, True]
    assert [cell.tag for cell in rows[3].cells] == [None, 3, 3]


def outline(box: Box) -> object:
    return (box.name, box.size, [outline(one) for one in box.inner]) if box.inner else (box.name, box.size)


def test_the_boxes_are_the_bytes_of_the_version(tmp_path: Path) -> None:
    probe = spec(PROBE, tmp_path)
    assert [outline(box) for box in boxes(resolve(probe, 0))] == [("plain", "4")]
    text = ("text", "", [("length", "1 to 3"), ("text", "length")])
    assert [outline(box) for box in boxes(resolve(probe, 2))] == [
        ("plain", "4"),
        ("items", "", [("count", "1 to 5"), ("element", "for each", [text, ("tag count", "1 to 5")])]),
        (
            "tagged fields",
            "",
            [
                ("tag count", "1 to 5"),
                ("tag 3", "if not its default", [("tag", "1 to 5"), ("size", "1 to 5"), ("late", "16")]),
            ],
        ),
    ]


def fewest(box: Box) -> int:
    """Return the fewest bytes of a box: counts, lengths and tagged fields are zero or not there."""
    if (box.name.startswith("tag ") and box.inner) or box.size in ("for each", "length"):
        return 0
    return sum(map(fewest, box.inner)) if box.inner else int(box.size.split()[0])


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchRequest", "ProduceRequest", "VoteRequest", "TopicRecord"])
def test_the_boxes_of_real_messages_have_the_size_of_an_empty_one(name: str) -> None:
    (found,) = (one for _, one in kafka_specs() if one.name == name)
    for version in found.valid_versions.each():
        cls = kafka_messages.message(name, version)
        size = sum(map(fewest, boxes(resolve(found, version))))
        empty = cls.from_json(dict(cls().to_json(), **{it.json_name: [] for it in cls.ATTRIBUTES if it.array}))
        assert size == empty.encoded_size(), version


def test_every_message_that_has_a_version_has_a_page(pages: dict[str, str]) -> None:
    names = [name for name in kafka_messages.names() if kafka_messages.versions(name)]
    assert {f"messages/{name}.md" for name in names} | {"messages/index.md", "messages/enums.md"} == {
        path for path in pages if path.startswith("messages/")
    }
    for name in names:
        text = pages[f"messages/{name}.md"]
        assert "## An example of version " in text
        shown = [int(one) for found in re.findall(r'id="form-([\d-]+)"', text) for one in found.split("-")]
        assert (min(shown), max(shown)) == (kafka_messages.versions(name)[0], kafka_messages.versions(name)[-1])
        assert f'href="{name}.html"' in pages["messages/index.md"]


def test_links_lead_to_pages_and_files_that_are_there(site: Path, pages: dict[str, str]) -> None:
    count = 0
    for path, text in pages.items():
        code_free = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        targets = re.findall(r"\]\(([^)\s#]+)", code_free) + re.findall(r'href="([^"#]+)"', code_free)
        for target in targets:
            if not re.match(r"https?:", target):
                place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                if place == "browser/index.html":  # `make docs` copies it there, and `docs.site.built` looks for it
                    continue
                source = place.removesuffix(".html") + ".md" if place.endswith(".html") else place
                assert (site / "pages" / source).is_file(), f"{path}: {target}"
                count += 1
    assert count >= len([path for path in pages if path.startswith("messages/")])


def test_every_page_has_a_title_and_content(pages: dict[str, str]) -> None:
    assert "docs/spec-language.md" in pages
    for path, text in pages.items():
        title, _, rest = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).strip().partition("\n")
        assert title.startswith("# "), path
        assert len(rest.split()) >= 10, path


def test_a_search_finds_guides_before_messages_and_modules(pages: dict[str, str]) -> None:
    boosted = {path for path, text in pages.items() if re.match(r'---\n(?:.*\n)*?search: {"boost": 8}\n---\n', text)}
    assert boosted == {path for path in pages if path.startswith("docs/") and path.count("/") == 1}
    assert {"docs/offsets.md", "docs/own-specs.md", "docs/aio.md"} < boosted


def test_every_guide_is_of_one_kind_and_in_the_readme() -> None:
    guides = {f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md")}
    assert sorted(name for names in KINDS.values() for name in names) == sorted(Path(path).stem for path in guides)
    groups = groups_of((ROOT / "README.md").read_text())
    assert sorted(path for links in groups.values() for path in links) == sorted(guides)


def test_the_menu_has_the_groups_of_the_readme_and_each_page_its_kind(site: Path, pages: dict[str, str]) -> None:
    nav = json.loads((site / "mkdocs.yml").read_text())["nav"]
    (guides,) = (one["Guides"] for one in nav if "Guides" in one)
    expected = {
        name: [{title: path} for path, title in links.items() if path not in (*START, "docs/spec-language.md")]
        for name, links in groups_of((ROOT / "README.md").read_text()).items()
    }
    assert guides == [{name: links} for name, links in expected.items()]
    for kind, names in KINDS.items():
        for name in names:
            head = pages[f"docs/{name}.md"].split("---\n")[1]
            assert f'status: "{kind}"\n' in head
            title = title_of(f"docs/{name}.md", (ROOT / "docs" / f"{name}.md").read_bytes())
            assert f"title: {json.dumps(title, ensure_ascii=False)}\n" in head


def test_how_it_works_has_the_theories_of_five_modules(pages: dict[str, str]) -> None:
    page = pages["docs/how-it-works.md"]
    modules = re.findall(r"^<!-- theory of (\S+) -->$", (ROOT / "docs/how-it-works.md").read_text(), re.MULTILINE)
    assert len(modules) == 5
    for module in modules:
        assert theory((ROOT / module).read_text()) in page
        assert len(theory((ROOT / module).read_text()).split()) > 100


def test_a_theory_is_a_comment_or_a_docstring() -> None:
    assert theory('"""A room."""\n\n# Theory. It is\n#\n#     warm.\n\nimport x\n# More.\n') == "It is\n\n    warm.\n"
    assert theory('"""A room.\n\nIt is warm.\n"""\n') == "It is warm.\n"


SEARCHES = {
    "grafana": "offsets",
    "fuzz": "testing",
    "stuck transaction": "jobs",
    "pandas": "tables",
    "negotiate versions": "typed-client",
}


@pytest.mark.parametrize(("words", "page"), SEARCHES.items())
def test_what_people_search_is_on_the_page_that_answers(words: str, page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text().lower()
    assert all(word in text for word in words.split())


def test_a_page_cannot_take_the_place_of_another_one_or_be_blank() -> None:
    files = {"docs/a.md": b"# A\n", "docs/a.svg": b""}
    assert with_pages(files, [Page("b.md", "B", "# B\n")]) == {**files, "b.md": b"# B\n"}
    with pytest.raises(ValueError, match=r"docs/a\.md: there is a page at this path already"):
        with_pages(files, [Page("docs/a.md", "A", "# Other\n")])
    with pytest.raises(ValueError, match=r"b\.md: there is a page at this path already"):
        with_pages(files, [Page("b.md", "B", "# B\n"), Page("b.md", "B", "# B\n")])
    with pytest.raises(ValueError, match=r"b\.md: the page is blank"):
        with_pages(files, [Page("b.md", "B", "\n")])


@pytest.fixture(scope="module")
def built(site: Path) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(site / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return site / "html"


@pytest.mark.night
def test_every_built_page_has_its_content_and_no_dead_link(built: Path, pages: dict[str, str]) -> None:
    assert problems(built) == []
    for path in pages:
        page = re.sub(r"(^|/)README\.md$", r"\1index.html", path)
        assert (built / re.sub(r"\.md$", ".html", page)).is_file(), path


def test_blank_pages_and_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "file.svg").write_text("<svg/>")
    pages = {
        "index.html": '<h1 id="top">Good<a class="headerlink" href="#gone">¶</a></h1><p>Text <a href="a/b.html#x">b</a>'
        ' <a href="file.svg">file</a> <a href="https://a.b/c">web</a> <a href="#top">up</a></p>',
        "table.html": "<h1>Good</h1><table><tr><td></td></tr></table>",
        "a/b.html": '<h1>Blank</h1><script>text()</script><p id="x"> </p>',
        "a/c.html": '<p>No title. <a href="none.html">gone</a> <a href="../index.html#none">anchor</a></p>',
        "d.html": "",
    }
    (tmp_path / "a").mkdir()
    for path, text in pages.items():
        (tmp_path / path).write_text(
            f'<nav><a href="not-looked-at.html">x</a></nav><article class="x">{text}</article>'
        )
    found = problems(tmp_path)
    assert [one.partition(";")[0] for one in found] == [
        "a/b.html: the page is blank after its title",
        "a/c.html: the page has no title",
        "a/c.html: none.html: no page or file of this name",
        "a/c.html: ../index.html#none: the page has no such anchor",
        "d.html: the page has no title",
        "d.html: the page is blank after its title",
    ]
    link = '<a href="browser/#hex=00">bytes</a>'
    (tmp_path / "e.html").write_text(
        f'<article><h1>Good</h1><p><a href="browser/index.html">It</a> {link}</p></article>'
    )
    assert len(problems(tmp_path)) == len(found), "the page of bytes may be missing"
    (tmp_path / "browser").mkdir()
    assert problems(tmp_path)[-2:] == [
        f"e.html: {one}: no page or file of this name" for one in ("browser/index.html", "browser/#hex=00")
    ]
    (tmp_path / "browser" / "index.html").write_text("<h1>Bytes</h1>")
    assert len(problems(tmp_path)) == len(found)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert problems(empty) == [f"{empty}: no page is there; build the site first"]


@pytest.mark.night
def test_the_reference_has_every_public_name_and_search_finds_it(built: Path) -> None:
    search = json.loads((built / "search" / "search_index.json").read_text())
    locations = {entry["location"] for entry in search["docs"]}
    for module in MODULES:
        for name in public_names(module.name):
            assert f"reference/{module.name}.html#{module.name}.{name}" in locations
    for method in ("message", "versions", "decode_request", "encode_response"):
        assert f"reference/generated-packages.html#kipwire.message.registry.Registry.{method}" in locations
    for name in SMALLER:
        assert any(one.startswith(f"reference/smaller-modules.html#{name}.") for one in locations), name


def rank(entry: dict[str, Any], words: list[str]) -> float:
    """Rank an entry of the search index: words in its heading count most, then in its text, each by its boost."""
    heading, text = (re.sub("<[^>]+>", " ", entry[name]).lower() for name in ("title", "text"))
    found = [1000 * (word in heading) + (word in text) for word in words]
    return entry.get("boost", 1) * sum(found) if all(found) else 0


@pytest.mark.night
@pytest.mark.parametrize(("words", "page"), SEARCHES.items())
def test_a_search_finds_the_page_that_answers_first(built: Path, words: str, page: str) -> None:
    entries = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    best = max(entries, key=lambda entry: (rank(entry, words.split()), "#" not in entry["location"]))
    assert rank(best, words.split()) > 0
    assert best["location"].partition("#")[0] == f"docs/{page}.html"


@pytest.mark.parametrize("module", [module.name for module in MODULES])
def test_every_public_function_and_class_has_a_docstring(module: str) -> None:
    for name in public_names(module):
        found = getattr(import_module(module), name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found), name


def test_the_table_of_contents_has_every_page_once(site: Path, pages: dict[str, str]) -> None:
    settings = json.loads((site / "mkdocs.yml").read_text())

    def listed(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        values = entry if isinstance(entry, list) else list(entry.values()) if isinstance(entry, dict) else []
        return [path for value in values for path in listed(value)]

    assert sorted(listed(settings["nav"])) == sorted(pages)


def test_guides_that_are_missing_or_new_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# Me\n[a](docs/zebra.md), [gone](docs/none.md), [code](src), [web](https://a.b)\n"
    )
    (tmp_path / "docs" / "zebra.md").write_text("# The `zebra`\n[back](../README.md#me)\n```text\n[no](link.md)\n```\n")
    (tmp_path / "docs" / "testing.md").write_text("No heading. ![plot](plot.svg) ![gone](gone.svg)\n")
    (tmp_path / "docs" / "plot.svg").write_text("<svg/>")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "README.md").write_text("# Source\n")
    files = repository_files(tmp_path)
    assert files["README.md"] == b"# Me\n[a](docs/zebra.md), gone, [code](src/README.md), [web](https://a.b)\n"
    assert files["docs/zebra.md"].endswith(b"[back](../README.md#me)\n```text\n[no](link.md)\n```\n")
    assert files["docs/testing.md"] == b"No heading. ![plot](plot.svg) gone\n"
    assert files["docs/plot.svg"] == b"<svg/>"
    assert nav_of_guides(files) == [
        {"Overview": "README.md"},
        {"Guides": [{"Testing": "docs/testing.md"}, {"The zebra": "docs/zebra.md"}]},
        {"Project": [{"Source": "src/README.md"}]},
    ]


def test_the_language_pages_have_every_property_and_every_rule() -> None:
    texts = {page.path: page.text for page in language_pages(ROOT)}
    schema = json.loads((ROOT / "schemas" / "message-spec.schema.json").read_text())
    names = {*schema["properties"], *schema["$defs"]["field"]["properties"], *schema["$defs"]["struct"]["properties"]}
    assert names <= {one.name for section in sections(schema) for one in section.properties}
    assert all(f"<code>{name}</code>" in texts["language/properties.md"] for name in names)
    assert all(f"\n## {rule.id}\n" in texts["language/rules.md"] for rule in ALL)

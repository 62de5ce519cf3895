"""The documentation site: every page is there, says what the specs say, and leads only to pages that exist."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

import pytest

import kafka_messages
from docs.site.__main__ import write_site
from docs.site.byte_layout import Box, boxes
from docs.site.example import example_of, examples
from docs.site.guides import nav_of_guides, repository_files
from docs.site.language import language_pages, sections
from docs.site.messages import MessagePage
from docs.site.python_class import call, constructors
from docs.site.templating import render
from docs.site.versions_table import version_rows
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kipgen import check
from kipgen.layout import lay_out
from kipgen.rules import ALL
from kipgen.spec import MessageSpec

pytestmark = pytest.mark.same_without_kernel(
    "pages come from specs; the bytes that they show are those of golden tests"
)

ROOT = Path(__file__).parent.parent
SPECS = ROOT / "schemas" / "kafka_messages"
GOLDEN = [ROOT / f"tests/golden/{name}.jsonl.gz" for name in (*sorted(one.name for one in SPECS.iterdir()), "removed")]


def spec(text: str, folder: Path) -> MessageSpec:
    file = folder / "Probe.json"
    file.write_text(text)
    found = check.read_file(file).spec
    assert found is not None
    return found


PROBE = """{
  "type": "data", "name": "Probe", "validVersions": "0-2", "flexibleVersions": "1+",
  "fields": [
    { "name": "Plain", "type": "int32", "versions": "0+", "default": "-1" },
    { "name": "Items", "type": "[]Item", "versions": "1+", "fields": [
      { "name": "Text", "type": "string", "versions": "0+", "nullableVersions": "2+" },
      { "name": "Gone", "type": "bool", "versions": "0" }
    ]},
    { "name": "Late", "type": "uuid", "versions": "1+", "tag": 3, "taggedVersions": "1+" }
  ]
}"""


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
    assert [outline(box) for box in boxes(lay_out(probe, 0))] == [("plain", "4")]
    text = ("text", "", [("length", "1 to 3"), ("text", "length")])
    assert [outline(box) for box in boxes(lay_out(probe, 2))] == [
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
    """The fewest bytes of a box: counts, lengths and tagged fields are zero or not there."""
    if (box.name.startswith("tag ") and box.inner) or box.size in ("for each", "length"):
        return 0
    return sum(map(fewest, box.inner)) if box.inner else int(box.size.split()[0])


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchRequest", "ProduceRequest", "VoteRequest", "TopicRecord"])
def test_the_boxes_of_real_messages_have_the_size_of_an_empty_one(name: str) -> None:
    for one in check.read_folder(SPECS)[0]:
        if one.spec is not None and one.spec.name == name:
            for version in one.spec.valid_versions.each():
                cls = kafka_messages.message(name, version)
                size = sum(map(fewest, boxes(lay_out(one.spec, version))))
                empty = cls.from_json(dict(cls().to_json(), **{it.json_name: [] for it in cls.ATTRIBUTES if it.array}))
                assert size == empty.encoded_size(), version


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    write_site(ROOT, out)
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    folder = site / "pages"
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.md")}


def test_every_message_that_has_a_version_has_a_page(pages: dict[str, str]) -> None:
    names = [name for name in kafka_messages.names() if kafka_messages.versions(name)]
    assert {f"messages/{name}.md" for name in names} | {"messages/index.md"} == {
        path for path in pages if path.startswith("messages/")
    }
    for name in names:
        newest = kafka_messages.versions(name)[-1]
        text = pages[f"messages/{name}.md"]
        assert f"## The bytes of version {newest}" in text
        assert f"## An example of version {newest}" in text
        assert f'href="{name}.html"' in pages["messages/index.md"]


def test_links_lead_to_pages_and_files_that_are_there(site: Path, pages: dict[str, str]) -> None:
    count = 0
    for path, text in pages.items():
        code_free = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        targets = re.findall(r"\]\(([^)\s#]+)", code_free) + re.findall(r'href="([^"#]+)"', code_free)
        for target in targets:
            if not re.match(r"https?:", target):
                place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                source = place.removesuffix(".html") + ".md" if place.endswith(".html") else place
                assert (site / "pages" / source).is_file(), f"{path}: {target}"
                count += 1
    assert count >= len([path for path in pages if path.startswith("messages/")])


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


def test_examples_are_golden_bytes_of_the_newest_version_and_their_python_makes_them() -> None:
    found = examples(GOLDEN, kafka_messages.REGISTRY)
    assert len(found) == len([name for name in kafka_messages.names() if kafka_messages.versions(name)])
    for name in ("MetadataResponse", "HeartbeatRequest", "TopicRecord", "OffsetCommitValue", "ApiVersionsResponse"):
        example = found[name]
        assert type(example.message) is kafka_messages.message(name, kafka_messages.versions(name)[-1])
        names: dict[str, object] = {}
        exec(call(example.message), names)
        assert names["data"] == example.data
        assert example.lines[0].offset == 0
        assert sum(len(line.data.split()) for line in example.lines if "..." not in line.data) <= len(example.data)
        assert f"class {name}:" in constructors(type(example.message)).splitlines()[0]


def test_words_of_specs_and_bytes_cannot_break_a_page(tmp_path: Path) -> None:
    probe = spec(PROBE.replace('"name": "Plain",', '"name": "Plain", "about": "</td> & <script>",'), tmp_path)
    example = example_of(HeartbeatRequest(group_id="</table><script>").encode(), HeartbeatRequest)
    page = MessagePage(probe, "Probe.json", version_rows(probe), 2, boxes(lay_out(probe, 2)), "", example, "", "")
    text = render("message.md.j2", page=page)
    assert "<script" not in text
    assert "&lt;/td&gt; &amp; &lt;script&gt;" in text
    assert "&lt;/table&gt;&lt;script&gt;" in text
    for element in ("table", "div", "tr", "td", "th", "p"):
        assert len(re.findall(f"<{element}[ >]", text)) == text.count(f"</{element}>")

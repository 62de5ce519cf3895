"""`kipgen docs`: pages of one's own protocol say what its specs say, stand alone, and never take over other files."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs
from tests.support.command_line import Done, call
from tests.support.subjects.site_specs import PROBE

Kipgen = Callable[..., Done]
HOSTILE = '</td><script>alert(1)</script> <img src=\\"http://example.com/x.png\\"> & [a](http://example.com) KIP-482'
VOID = {"br", "meta", "input", "wbr"}


@pytest.fixture
def kipgen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kipgen:
    specs = tmp_path / "cachewire"
    (specs / "enums").mkdir(parents=True)
    for name, text in new_specs("Get", "request", 1).items():
        (specs / name).write_text(text)
    probe = PROBE.replace('"name": "Plain",', f'"name": "Plain", "enum": "Light", "about": "{HOSTILE}",')
    (specs / "Probe.json").write_text(probe.replace('"default": "-1"', '"default": "1"'))
    light = '{"name": "Light", "about": "%s", "values": [{"value": 1, "name": "ON", "about": "%s"}]}'
    (specs / "enums/Light.enum.json").write_text(light % (HOSTILE, HOSTILE))

    def run(*arguments: object) -> Done:
        return call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


class Reader(HTMLParser):
    """The parts of a page that matter here."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.links += [given["href"] or ""] if tag == "a" else []
        self.loaded += [f"{name}={value}" for name, value in attrs if name in ("src", "srcset", "data")]
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_pages_stand_alone_and_say_what_the_specs_say(kipgen: Kipgen, tmp_path: Path) -> None:
    assert kipgen("docs", "cachewire", "--out", "site") == (0, "site/index.html: 5 pages\n", "")
    texts = {file.name: file.read_text() for file in (tmp_path / "site").glob("*.html")}
    pages = {name: Reader(text) for name, text in texts.items()}
    assert set(pages) == {"index.html", "enums.html", "GetRequest.html", "GetResponse.html", "Probe.html"}
    for name, page in pages.items():
        assert page.open == []
        assert page.loaded == []
        assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object"})
        assert "default-src 'none'" in texts[name]
        assert "url(" not in texts[name]
        for link in page.links:
            file, _, anchor = link.partition("#")
            if not link.startswith("https://cwiki.apache.org/confluence/"):
                assert not anchor or anchor in pages[file].anchors, link
                assert file in pages, link
    probe = texts["Probe.html"]
    assert re.search(r"<thead><tr><th>field</th><th>2</th><th>1</th><th>0</th></tr>", probe)
    assert "<tr><td>2</td><td>may be null: <code>Items.<wbr>Text</code></td></tr>" in probe
    assert '<div class="box value"' in probe
    assert "&lt;script&gt;alert(1)" in probe
    assert '<a href="enums.html#light">Light</a>' in probe
    assert "<td>1 ON</td>" in probe
    assert "class Probe:" in re.sub("<[^>]*>", "", probe)
    assert "from cachewire.probe.v2 import" in re.sub("<[^>]*>", "", probe)
    assert 'href="GetResponse.html"' in texts["GetRequest.html"].partition("<nav")[0]
    assert 'id="light"' in texts["enums.html"]


def test_equal_specs_give_equal_pages_and_pages_of_removed_messages_go(kipgen: Kipgen, tmp_path: Path) -> None:
    def site() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (tmp_path / "site").iterdir()}

    kipgen("docs", "cachewire", "--out", "site")
    first = site()
    kipgen("docs", "cachewire", "--out", "site")
    assert site() == first
    (tmp_path / "site/mine.txt").touch()
    (tmp_path / "cachewire/Probe.json").unlink()
    assert kipgen("docs", "cachewire", "--out", "site").returncode == 0
    assert first.keys() ^ site().keys() == {"Probe.html", "mine.txt"}


def test_what_cannot_be_written_is_one_line_and_changes_nothing(kipgen: Kipgen, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.html").touch()
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged/pages.txt").write_text("Pages\n../cachewire/Probe.json\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/Probe.json").write_text("{}")
    before = sorted(tmp_path.rglob("*"))
    for specs, out, text in (
        ("cachewire", "other", "other has files that kipgen docs did not write, such as mine.html; give a new folder"),
        ("cachewire", "forged", "forged/pages.txt is not a list of pages that kipgen docs wrote; give a new folder"),
        ("cachewire", "other/mine.html", "other/mine.html: is a file, not a folder"),
        (
            "cachewire",
            "cachewire",
            "the pages would be written into cachewire, which is a folder of specs",
        ),
        ("nowhere", "site", "nowhere is not a folder of specs"),
        ("broken", "site", "broken has errors; correct them first"),
    ):
        done = kipgen("docs", specs, "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"kipgen: {text}" in done.stderr.splitlines()[-1]
    assert sorted(tmp_path.rglob("*")) == before

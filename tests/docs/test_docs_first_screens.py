"""First screens of the site: bytes that can be touched, numbers with a source, bars, growth, and links to bytes."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import kafka_messages
from benchmarks.reporting.bars import bars, ratios
from docs.site.home import LIT, RECORDED, WIDTH, example_frame, facts, record, terminal, with_first_screen
from docs.site.messages import kafka_examples
from docs.site.touch import touch
from kipgen.commands.docs.versions_table import growth, version_rows
from kipwire.console.inspect.tree import inspect_message
from tests.support.places import ROOT
from tests.support.subjects.site_specs import PROBE, spec

pytestmark = pytest.mark.xdist_group("docs_site")  # the site is written once


def labels(html: str) -> str:
    """Return the bytes that can be touched, in hex."""
    return "".join(re.findall(r"<label class=\"\w+\" for=\"[\w-]+\">([0-9a-f ]+)</label>", html)).replace(" ", "")


def test_readme_and_site_have_the_numbers_of_classes_results_and_benchmarks(pages: dict[str, str]) -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    for number, text in facts(ROOT):
        assert f"* **{number}** " in readme
        assert text in readme
        assert f"<dt>{number}</dt><dd>{text}" in pages["README.md"]


def test_every_byte_of_the_first_screen_can_be_touched(pages: dict[str, str]) -> None:
    page, frame = pages["README.md"], example_frame(ROOT)
    assert labels(page) == frame.hex()
    assert page.count('<div class="detail">') == page.count('<input type="radio"') > 20
    (lit,) = re.findall(r'<input [^>]* checked [^>]*aria-label="[^"]*: ([^",]+), ', page)
    assert lit == LIT
    assert f'href="browser/#hex={frame.hex()}"' in page
    assert kafka_messages.decode_request(frame[4:]).body.NAME == "CreateTopicsRequest"


def test_bytes_in_error_are_lit_with_the_reason_and_texts_of_bytes_are_escaped() -> None:
    damaged = inspect_message(kafka_messages.message("HeartbeatResponse", 0), b"\0\0\0")
    shown = touch(damaged, "probe")
    assert labels(shown) == "000000"
    assert '<div class="part">cannot be read</div>' in shown
    (lit,) = re.findall(r'checked aria-label="([^"]*)"', shown)
    assert lit.startswith("00: error")
    assert f"<small>from byte 2 on · {damaged.error}</small>" in unescape(shown)
    group = inspect_message(kafka_messages.message("HeartbeatRequest", 0), b"\0\x03<b>" + bytes(4) + b"\0\0")
    assert "&lt;b&gt;" in touch(group, "probe")
    assert "<b>'" not in touch(group, "probe")


def test_a_readme_without_three_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="three lines"):
        with_first_screen(ROOT, "# Title\n")


def test_the_terminal_is_text_of_its_width_with_colours() -> None:
    lines = list(terminal(RECORDED.read_text()))
    assert sum('<span class="typed">$ kipwire ' in line for line in lines) == 2
    assert any('<span class="red">' in line for line in lines)
    assert all("\x1b" not in line and line.count("<span") == line.count("</span>") for line in lines)
    assert all(len(unescape(re.sub("<[^>]+>", "", line))) <= WIDTH for line in lines[-6:])
    assert list(terminal("\x1b[1m<b>\x1b[0m & \x1b[99mx")) == [
        '<span class="bold">&lt;b&gt;</span> &amp; <span class="">x</span>'
    ]


@pytest.mark.night
def test_the_terminal_is_what_the_commands_print() -> None:
    assert record(ROOT) == RECORDED.read_text(), "python -m docs.site.home records it again"


def test_the_scoreboard_has_a_bar_for_each_library_and_its_failing_bytes(pages: dict[str, str]) -> None:
    page = pages["docs/conformance.md"]
    results = json.loads((ROOT / "conformance/results.json").read_text())
    parts = page.split("<details")[1:]
    others = [one for one in results["libraries"] if not one["name"].startswith("kipwire (")]
    assert len(parts) == len(others) + 1
    assert ">kipwire <small>" in parts[0]
    assert results["day"] in page
    for one in others:
        (part,) = (part for part in parts if f">{one['name']} <small>" in part)
        right = one["versions"] - one["wrong_versions"]
        assert f'class="right" style="flex: {right}"' in part
        assert f'class="wrong" style="flex: {one["wrong_versions"]}"' in part
        assert part.count('<div class="failure">') == len(one["failures"])
        assert labels(part) == "".join(failure["bytes"] for failure in one["failures"])
        for failure in one["failures"]:
            assert f'href="../messages/{failure["message"]}.html"' in part
    assert page.index(">kmsg <small>") < page.index(">kafka-python <small>") < page.index(">kafka-protocol-rs <small>")


def test_the_picture_of_results_is_that_of_the_tables() -> None:
    results = (ROOT / "benchmarks/RESULTS.md").read_text()
    assert (ROOT / "benchmarks/bars.svg").read_text() == bars(results)
    assert f"{ratios(results, 'Encode')['MetadataResponse v12']['kio']:.1f}" in results
    assert results.index("](bars.svg)") < results.index("\n## ") < results.index("\n## How this was measured\n")
    with pytest.raises(ValueError, match='no table "Decode: peer\'s time / native"'):
        ratios("# Results\n", "Decode")


def test_a_message_grew_as_its_versions_say(tmp_path: Path) -> None:
    probe = spec(PROBE, tmp_path)
    found = [(one.version, one.kept, one.new, one.gone) for one in growth(probe, version_rows(probe))]
    assert found == [(0, 1, 0, 0), (1, 1, 3, 0), (2, 4, 0, 0)]
    shrunk = PROBE.replace(
        '"name": "Plain", "type": "int32", "versions": "0+"', '"name": "Plain", "type": "int32", "versions": "0-1"'
    )
    probe = spec(shrunk, tmp_path)
    assert [(one.new, one.gone) for one in growth(probe, version_rows(probe))] == [(0, 0), (3, 0), (0, 1)]


def test_each_message_leads_to_its_example_in_the_browser(pages: dict[str, str]) -> None:
    for name, example in kafka_examples(ROOT).items():
        (fragment,) = re.findall(r'href="\.\./browser/#([^"]+)"', pages[f"messages/{name}.md"])
        given = parse_qs(unescape(fragment), keep_blank_values=True)
        data, form = bytes.fromhex(given["hex"][0]), given.get("as", [""])[0]
        cls = type(example.message)
        if not form:
            assert kafka_messages.decode_request(data).body.encode() == example.data, name
        elif form.startswith("response:"):
            _, api, version = form.split(":")
            response = kafka_messages.message(f"{api}Response", int(version))
            assert kafka_messages.decode_response(data, response).body.encode() == example.data, name
        else:
            assert (form, data) == (f"{cls.NAME}:{cls.VERSION}", example.data)


def test_the_bytes_of_a_message_come_before_its_tables(pages: dict[str, str]) -> None:
    page = pages["messages/FetchRequest.md"]
    order = [page.index(f"\n## {one}\n") for one in ("Bytes, by version", "Versions side by side", "Fields")]
    assert page.index('<figure class="growth">') < order[0] and order == sorted(order)
    assert re.search(r'id="form-18" checked', page)
    assert page.startswith('---\nhide: ["toc"]\n---\n')

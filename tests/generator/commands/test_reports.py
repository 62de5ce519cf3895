"""Problems in each format: text with source lines, JSON, SARIF and annotations of GitHub."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kipgen.commands.reporting import stale
from kipgen.commands.reporting.problems import WIDTH, annotation, excerpts_of, sarif_text
from kipgen.language.problems import Problem
from kipgen.language.spec import Location
from kipgen.reading.rules import ALL
from kipgen.reading.rules.examples import spec
from tests.support import command_line
from tests.support.command_line import Done

Call = Callable[..., Done]
MISTAKE = spec().replace("int32", "int31")
GAP = spec().replace('"versions": "0+"', '"versions": "0+", "tag": 1, "taggedVersions": "2+"')


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return lambda *arguments: command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    """A folder with a spec that has a mistake, and with one that has a warning only."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Probe.json").write_text(MISTAKE)
    (folder / "Gap.json").write_text(GAP.replace("Probe", "Gap"))
    return folder


def warned(folder: Path) -> None:
    (folder / "Probe.json").unlink()


def test_text_has_the_source_line_and_a_caret_and_ends_with_a_count(probe: Path, call: Call) -> None:
    done = call("check", "mine")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if "type-syntax" in line)
    number, column = map(int, lines[at].split(":")[1:3])
    assert lines[at + 1] == f"{number:>5} | {MISTAKE.splitlines()[number - 1]}"
    assert lines[at + 2].index("^") - len("      | ") == column - 1
    assert lines[at + 1][lines[at + 2].index("^") :].startswith('"int31"')
    assert lines[-1] == "Found 2 problems in 2 files: 1 error, 1 warning."


@pytest.mark.parametrize("command", ["check", "generate"])
def test_json_is_one_object_on_standard_output(command: str, probe: Path, call: Call) -> None:
    done = call(command, "mine", "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    (wrong,) = (one for one in report["problems"] if one["severity"] == "error")
    assert (wrong["rule"], wrong["path"], wrong["file"]) == ("type-syntax", "Probe.Alpha", "mine/Probe.json")
    assert [one["rule"] for one in report["problems"] if one["severity"] == "warning"] == ["tag-gap"]


def test_generated_packages_are_in_the_json(probe: Path, call: Call) -> None:
    warned(probe)
    (package,) = json.loads(call("generate", "mine", "--format", "json").stdout)["packages"]
    assert (package["name"], package["failed"], package["upToDate"]) == ("mine", False, False)
    assert "__init__.py" in package["changed"]
    done = call("generate", "mine", "--check", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "mine: up to date\n")
    assert json.loads(done.stdout)["packages"][0]["upToDate"]


@pytest.mark.parametrize("command", ["check", "generate"])
def test_sarif_places_each_problem_and_explains_its_rule(command: str, probe: Path, call: Call) -> None:
    (run,) = json.loads(call(command, "mine", "--format", "sarif").stdout)["runs"]
    assert run["tool"]["driver"]["name"] == f"kipgen {command}"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in ALL]
    wrong = next(one for one in run["results"] if one["level"] == "error")
    assert wrong["ruleId"] == run["tool"]["driver"]["rules"][wrong["ruleIndex"]]["id"] == "type-syntax"
    place = wrong["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "mine/Probe.json"
    assert MISTAKE.splitlines()[place["region"]["startLine"] - 1][place["region"]["startColumn"] - 1 :].startswith(
        '"int31'
    )


def test_every_rule_can_be_in_sarif() -> None:
    problems = [Problem(Location("a.json", 1, 1), "A", rule.id, "is wrong") for rule in ALL]
    (run,) = json.loads(sarif_text("kipgen check", problems))["runs"]
    assert [run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] for one in run["results"]] == [one.id for one in ALL]


@pytest.mark.parametrize("command", ["check", "generate"])
def test_github_is_chosen_by_itself_in_its_actions(
    command: str, probe: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = call(command, "mine").stdout.splitlines()
    errors = [line for line in lines if line.startswith("::error ")]
    assert len(errors) == 1
    assert errors[0].startswith("::error file=mine/Probe.json,line=")
    assert ",title=type-syntax::Probe.Alpha: 'int31' is not a type" in errors[0]
    assert [line.split(" ")[0] for line in lines if ",title=tag-gap::" in line] == ["::warning"]
    assert "type-syntax: " in call(command, "mine", "--format", "text").stdout


def test_stale_code_is_an_annotation(probe: Path, call: Call) -> None:
    warned(probe)
    done = call("generate", "mine", "--check", "--format", "github")
    assert done.returncode == 1
    assert "::error title=stale code::mine is not up to date: run kipgen generate" in done.stdout.splitlines()


def many(folder: Path, count: int, word: str) -> None:
    for number in range(count):
        text = spec(name=f"Probe{number}").replace("Alpha", word)
        (folder / f"Probe{number}.json").write_text(text)


@pytest.mark.parametrize("format_", ["text", "github"])
def test_a_check_names_stale_files_and_shows_the_first_lines(format_: str, tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    many(folder, 40, "Alpha")
    assert call("generate", "mine").returncode == 0
    many(folder, 40, "Omega")
    (folder / "Probe7.json").unlink()
    (tmp_path / "generated/mine/probe1/v0.py").unlink()
    arguments = ("generate", "mine", "--check", "--format", format_)
    done = call(*arguments)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "generated/mine/probe0/v0.py: differs" in lines
    assert "generated/mine/probe1/v0.py: is missing" in lines
    assert lines[stale.MOST_NAMES].startswith("... and ") and lines[stale.MOST_NAMES].endswith(" more files")
    assert f"... only the first {stale.MOST_LINES} lines of the differences; --diff shows all" in lines
    assert lines[-1] == "mine: not up to date: run kipgen generate"
    assert len(lines) <= stale.MOST_NAMES + stale.MOST_LINES + 4
    whole = call(*arguments, "--diff").stdout.splitlines()
    assert len(whole) > 10 * len(lines)
    assert sum(line == "+        self.omega = omega" for line in whole) == 78
    assert call("generate", "mine", "--diff").returncode == 2


def test_a_difference_of_a_few_lines_is_shown_whole(tmp_path: Path, call: Call) -> None:
    (tmp_path / "mine").mkdir()
    many(tmp_path / "mine", 1, "Alpha")
    assert call("generate", "mine").returncode == 0
    module = tmp_path / "generated/mine/probe0/v0.py"
    module.write_text(f"{module.read_text()}EVIL = 1\n")
    lines = call("generate", "mine", "--check").stdout.splitlines()
    assert lines[0] == "generated/mine/probe0/v0.py: differs"
    assert "-EVIL = 1" in lines
    assert not any("--diff" in line for line in lines)


def test_strays_fail_a_check_with_one_line_each(tmp_path: Path, call: Call) -> None:
    (tmp_path / "mine").mkdir()
    many(tmp_path / "mine", 1, "Alpha")
    assert call("generate", "mine").returncode == 0
    strays = ["generated/mine/extra.py", "generated/mine/probe0/v9.py"]
    for path in strays:
        (tmp_path / path).write_text("EVIL = 1\n")
    said = [f"{path}: not generated from any spec; remove it, or move it out of the package" for path in strays]
    done = call("generate", "mine", "--check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [*said, "mine: not up to date: remove the files that are not generated"]
    done = call("generate", "mine")
    assert (done.returncode, done.stdout.splitlines()[:2]) == (0, said)
    report = json.loads(call("generate", "mine", "--check", "--format", "json").stdout)["packages"][0]
    assert (report["failed"], report["upToDate"]) == (True, False)
    assert report["strays"] == ["extra.py", "probe0/v9.py"]
    for number in range(30):
        (tmp_path / f"generated/mine/extra{number}.py").write_text("")
    lines = call("generate", "mine", "--check", "--format", "github").stdout.splitlines()
    annotations = [line for line in lines if line.startswith("::error file=generated/mine/extra")]
    assert len(annotations) == stale.MOST_ANNOTATIONS


def test_annotations_escape_what_ends_their_parts() -> None:
    text = annotation("error", "50%\nof: a, b", "a,b:c.json", 1, 2, "x")
    assert text == "::error file=a%2Cb%3Ac.json,line=1,col=2,title=x::50%25%0Aof: a, b"


@pytest.mark.parametrize("command", ["check", "generate"])
def test_strict_fails_for_warnings(command: str, probe: Path, tmp_path: Path, call: Call) -> None:
    warned(probe)
    assert call(command, "mine", "--strict").returncode == 1
    assert not (tmp_path / "generated").exists()
    done = call(command, "mine")
    assert (done.returncode, "warning: Gap.Alpha: tag-gap: " in done.stdout) == (0, True)
    done = call(command, "mine", "--strict")  # also where nothing is left to generate
    assert (done.returncode, "tag-gap" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "name"), [((), "<stdin>"), (("--stdin-name", "mine/Probe.json"), "mine/Probe.json")]
)
def test_standard_input_is_checked(
    arguments: tuple[str, ...], name: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MISTAKE.encode())))
    done = call("check", "-", *arguments)
    assert done.returncode == 1
    headline, source, caret, _ = done.stdout.splitlines()
    assert headline.startswith(f"{name}:5:31: Probe.Alpha: type-syntax: ")
    assert source[caret.index("^") :].startswith('"int31"')


def test_standard_input_cannot_be_watched(call: Call) -> None:
    done = call("check", "-", "--watch")
    assert (done.returncode, "standard input cannot be watched" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("abc", 2, ("    1 | abc", "      |  ^")),
        ("\tabc", 2, ("    1 |     abc", "      |     ^")),
        ("日本語 x", 5, ("    1 | 日本語 x", "      |        ^")),
        ("e\u0301x", 3, ("    1 | e\u0301x", "      |  ^")),
        ("\x1b[31m x", 7, ("    1 | \\x1b[31m x", "      |          ^")),
    ],
)
def test_the_caret_is_under_the_character(text: str, column: int, found: tuple[str, str]) -> None:
    assert excerpts_of({"a": text.encode()})(Location("a", 1, column)) == found


@pytest.mark.parametrize("column", [1, 40, 5_000, 10_000])
def test_of_a_long_line_the_part_around_the_place_is_shown(column: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(10_000))
    found = excerpts_of({"a": text.encode()})(Location("a", 1, column))
    assert found is not None
    source, caret = found
    assert source[caret.index("^")] == text[column - 1]
    assert len(source) <= WIDTH + len("    1 | ") + 3


@pytest.mark.parametrize("location", [Location("a", 2, 1), Location("a", 3, 1), Location("missing", 1, 1)])
def test_what_has_no_source_line_has_no_excerpt(location: Location) -> None:
    assert excerpts_of({"a": b"x\n \n"})(location) is None

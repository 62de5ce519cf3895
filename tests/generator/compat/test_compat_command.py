"""`kipgen compat` as a command: its output, its files, its allowed changes, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kipgen.commands.app import app
from kipgen.commands.compat.rules import ALL
from kipgen.reading.rules.examples import ALPHA, spec

BETA = '{"name": "Beta", "type": "int32", "versions": "0+"}'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and no terminal to adapt to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def _kipgen(*arguments: str) -> Result:
    done = CliRunner().invoke(app, ["compat", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def _specs(old: str, new: str) -> tuple[str, str]:
    Path("old.json").write_text(old, encoding="utf-8")
    Path("new.json").write_text(new, encoding="utf-8")
    return "old.json", "new.json"


@pytest.mark.parametrize(
    ("new", "arguments", "status"),
    [
        (spec(), [], 0),
        (spec(valid="1-3"), [], 0),
        (spec(ALPHA.replace("}", ', "default": "1"}')), [], 1),
        (spec(ALPHA.replace("}", ', "default": "1"}')), ["--wire-only"], 0),
        (spec(ALPHA, BETA), [], 1),
        (spec(ALPHA, BETA), ["--wire-only"], 1),
        (spec(ALPHA.replace("int32", "int31")), [], 2),
        ("{", [], 2),
    ],
    ids=["same", "notice", "source", "source, wire only", "wire", "wire, wire only", "error", "no JSON"],
)
def test_exit_status(new: str, arguments: list[str], status: int) -> None:
    done = _kipgen(*_specs(spec(), new), *arguments)
    assert done.exit_code == status, done.output


def test_report_says_where_and_what_and_whom_it_breaks_and_what_to_do_instead() -> None:
    done = _kipgen(*_specs(spec(ALPHA, BETA, valid="1-3"), spec(ALPHA, valid="2-3")))
    assert done.stdout == (
        "WIRE: bytes of released versions change\n"
        "\n"
        "new.json:2:11: Probe.Beta: field-removed: the field was removed (versions 2-3)\n"
        "    breaks:  peers still send its bytes, which are then read as the next field\n"
        '    instead: let its versions end with the last released one, as in "versions": "0-3"\n'
        "    before:  old.json:6:14\n"
        "\n"
        "NOTICE: worth knowing\n"
        "\n"
        "new.json:3:20: Probe: lowest-version-raised: validVersions 1-3 became 2-3\n"
        "    breaks:  peers without a newer version are rejected, and records written in them can no longer be read\n"
        "    first:   upgrade writers, since new readers cannot read what old ones write\n"
        "    instead: make sure that no supported peer needs them\n"
        "    before:  old.json:3:20\n"
        "\n"
        "1 message compared: 1 wire, 0 source, 1 notice\n"
    )


def test_json_has_every_finding() -> None:
    done = _kipgen(*_specs(spec(ALPHA, BETA), spec(BETA, ALPHA)), "--json")
    report = json.loads(done.stdout)
    assert (report["messages"], report["allowed"]) == (1, 0)
    assert report["counts"] == {"wire": 1, "source": 0, "notice": 0}
    (finding,) = report["findings"]
    assert finding == {
        "rule": "field-moved",
        "severity": "wire",
        "path": "Probe.Beta",
        "change": "was after Alpha, is now first",
        "versions": [0, 1, 2, 3],
        "file": "new.json",
        "line": 5,
        "column": 14,
        "before": {"file": "old.json", "line": 6, "column": 14},
        "breaks": finding["breaks"],
        "first": None,
        "instead": finding["instead"],
        "against": [],
        "allowed": None,
    }


@pytest.mark.parametrize("format_", ["text", "json", "github"])
def test_broken_old_message_is_not_compared_and_hides_no_other(format_: str, here: Path) -> None:
    broken = spec().replace('"int32"', '"int32", "type": "int8"')
    for side, probe, other in (("old", broken, "int32"), ("new", spec(), "int64")):
        (here / side).mkdir()
        (here / side / "Probe.json").write_text(probe, encoding="utf-8")
        (here / side / "Other.json").write_text(spec(ALPHA.replace("int32", other), name="Other"), encoding="utf-8")
    done = _kipgen("old", "new", "--format", format_)
    assert done.exit_code == 1
    assert "Other.Alpha: type int32 became int64" in done.stdout.replace("type-changed: ", "") or format_ == "json"
    assert "old/Probe.json:5:" in done.stderr
    assert "new/Probe.json:2:11: not compared: Probe: its old spec has errors" in done.stderr
    if format_ == "json":
        report = json.loads(done.stdout)
        assert [one["rule"] for one in report["findings"]] == ["type-changed"]
        (left_out,) = report["not_compared"]
        assert (left_out["path"], left_out["file"], left_out["line"]) == ("Probe", "new/Probe.json", 2)
        assert left_out["errors"][0].startswith("old/Probe.json:5:")
    Path("new/Other.json").write_text(spec(name="Other"), encoding="utf-8")
    assert _kipgen("old", "new").exit_code == 0
    Path("new/Probe.json").unlink()
    done = _kipgen("old", "new")  # nothing is known of it, so nothing is said of its removal
    assert (done.exit_code, done.stdout) == (0, "1 message compared: 0 wire, 0 source, 0 notice\n")
    assert "not compared: Probe" in done.stderr
    # No other message is taken for the one that cannot be compared, as its new name.
    Path("new/Other.json").rename("new/Probe.json")
    Path("new/Probe.json").write_text(spec(), encoding="utf-8")
    assert "message-removed: Other was removed" in _kipgen("old", "new").stdout
    assert _kipgen("old/Probe.json", "new/Probe.json").exit_code == 2
    Path("old/Probe.json").write_text("{", encoding="utf-8")
    assert "not compared: Probe" in _kipgen("old", "new").stderr
    Path("new/Probe.json").write_text(spec().replace("int32", "int31"), encoding="utf-8")
    assert _kipgen("old", "new").exit_code == 2


def _sarif(target: str, text: str) -> Any:
    log = json.loads(text if target == "-" else Path(target).read_text(encoding="utf-8"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    return log["runs"][0]


@pytest.mark.parametrize("arguments", [("--format", "json"), ("-f", "json", "--json"), ("--json",)])
def test_formats_are_named_as_by_the_other_commands(arguments: tuple[str, ...]) -> None:
    paths = _specs(spec(ALPHA), spec(ALPHA.replace("int32", "int64")))
    done = _kipgen(*arguments, *paths)
    assert (done.exit_code, json.loads(done.stdout)["counts"]["wire"]) == (1, 1)
    assert json.loads(_kipgen("--format", "sarif", *paths).stdout) == json.loads(_kipgen("--sarif", "-", *paths).stdout)


def test_findings_are_annotations_in_the_actions_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    old = spec(ALPHA, BETA)
    paths = _specs(old, old.replace("int32", "int64", 1).replace("Beta", "Gamma"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = _kipgen(*paths).stdout.splitlines()
    assert lines[0].startswith("::error file=new.json,line=5,col=")
    assert ",title=type-changed::Probe.Alpha: type int32 became int64" in lines[0]
    assert "; instead: " in lines[0]
    assert lines[1].startswith("::notice file=new.json,") and ",title=field-renamed::" in lines[1]
    assert lines[2:] == ["1 message compared: 1 wire, 0 source, 1 notice"]
    allowed = ["--allow", "type-changed:Probe.Alpha=not released", "--allow", "field-renamed:*=not released"]
    done = _kipgen(*allowed, *paths)
    assert (done.exit_code, "::" in done.stdout) == (0, False)
    assert "WIRE: bytes of released versions change" in _kipgen("--format", "text", *paths).stdout
    for arguments in (["--format", "text", "--json"], ["--format", "text", "--sarif", "-"]):
        assert _kipgen(*arguments, *paths).exit_code == 2


@pytest.mark.parametrize("target", ["-", "report.sarif"])
def test_sarif_has_rules_places_levels_and_suppressions(target: str) -> None:
    Path("a folder").mkdir()
    Path("a folder/Probe.json").write_text(spec(ALPHA, valid="1-3"), encoding="utf-8")
    Path("old.json").write_text(spec(ALPHA, BETA), encoding="utf-8")
    done = _kipgen(
        "old.json", "a folder/Probe.json", "--sarif", target, "--allow", "lowest-version-raised:Probe=all are new"
    )
    assert done.exit_code == 1
    run = _sarif(target, done.stdout)
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in ALL]
    results = {result["ruleId"]: result for result in run["results"]}
    assert {id_: result["level"] for id_, result in results.items()} == {
        "field-removed": "error",
        "lowest-version-raised": "note",
    }
    for id_, result in results.items():
        assert rules[result["ruleIndex"]]["id"] == id_
    (location,) = results["field-removed"]["locations"]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "a%20folder/Probe.json"},
            "region": {"startLine": 2, "startColumn": 11},
        },
        "logicalLocations": [{"fullyQualifiedName": "Probe.Beta"}],
    }
    assert "suppressions" not in results["field-removed"]
    assert results["lowest-version-raised"]["suppressions"] == [{"kind": "external", "justification": "all are new"}]


ALLOWED = """\
[[allow]]
rule = "field-removed"
path = "Probe.*"
reason = "nobody has spoken it yet"
"""


def test_what_is_allowed_with_a_reason_does_not_fail(here: Path) -> None:
    paths = _specs(spec(ALPHA, BETA), spec(ALPHA))
    assert _kipgen(*paths).exit_code == 1
    for arguments in (
        ["--allow", "field-removed:Probe.Beta=nobody has spoken it yet"],
        ["--allow-file", "mine.toml"],
        [],
    ):
        Path("compat-allow.toml" if not arguments else "mine.toml").write_text(ALLOWED, encoding="utf-8")
        done = _kipgen(*paths, *arguments)
        assert done.exit_code == 0, done.output
        assert "ALLOWED" in done.stdout
        assert "because: nobody has spoken it yet" in done.stdout
        assert done.stdout.endswith("1 message compared: 0 wire, 0 source, 0 notice, 1 allowed\n")


@pytest.mark.parametrize(
    "allowance", ["field-removed:Probe.Alpha=x", "field-added:Probe.Beta=x", "field-removed:Probe=x"]
)
def test_allowance_of_something_else_is_reported_as_useless(allowance: str) -> None:
    done = _kipgen(*_specs(spec(ALPHA, BETA), spec(ALPHA)), "--allow", allowance)
    assert done.exit_code == 1
    assert f"allowed, but not found: {allowance.removesuffix('=x')}; remove the allowance" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "HEAD"], "there are no specs in schemas/; give a folder of specs"),
        (["old.json"], "give two files or folders, the old one first, or --against REVISION"),
        (["old.json", "new.json", "new.json"], "give two files or folders"),
        (["old.json", "missing.json"], "missing.json:1:1: unreadable"),
        (["old.json", "."], "specs with errors cannot be compared"),
        (["old.json", "new.json", "--json", "--sarif", "-"], "both write to standard output"),
        (["old.json", "new.json", "--allow", "field-removed"], "lacks a rule, a path or a reason"),
        (["old.json", "new.json", "--allow", "field-removed:Probe= "], "lacks a rule, a path or a reason"),
        (["old.json", "new.json", "--allow", "field-remove:Probe=x"], "did you mean field-removed?"),
        (["old.json", "new.json", "--allow-file", "missing.toml"], "missing.toml"),
        (["old.json", "new.json", "--allow-file", "new.json"], "new.json is not TOML"),
        (["old.json", "new.json", "--sarif", "missing/report"], "missing/report"),
        (["new.json", "--against", "HEAD"], "not a git repository"),
        (["missing.json", "--against", "HEAD"], "missing.json:1:1: unreadable"),
    ],
)
def test_what_cannot_be_carried_out_is_said_in_words_and_gives_2(arguments: list[str], said: str, here: Path) -> None:
    _specs(spec(), spec())
    (here / "broken").mkdir()
    (here / "broken" / "Broken.json").write_text("[", encoding="utf-8")
    done = CliRunner().invoke(app, ["compat", *arguments])
    if isinstance(done.exception, OSError):  # main() makes one line of it
        assert said in str(done.exception)
    else:
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "may contain only tables named [[allow]]"),
        ("allow = 1", "may contain only tables named [[allow]]"),
        ("[[allow]]\nrule = 'field-added'\npath = 'A'", "[[allow]] number 1 must have the keys rule, path and reason"),
        (
            ALLOWED + "[[allow]]\nrule = 1\npath = 'A'\nreason = 'x'",
            "[[allow]] number 2: rule, path and reason must be strings",
        ),
        (ALLOWED.replace("field-removed", "field-gone"), "[[allow]] number 1: unknown rule field-gone"),
        ("[[", "compat-allow.toml is not TOML"),
    ],
)
def test_file_of_allowances_that_is_wrong_is_refused_with_its_place(text: str, said: str) -> None:
    Path("compat-allow.toml").write_text(text, encoding="utf-8")
    done = _kipgen(*_specs(spec(), spec()))
    assert done.exit_code == 2
    assert said in done.stderr


COLOURS = json.dumps(
    {
        "name": "Colour",
        "about": "Lamps.",
        "values": [
            {"value": 0, "name": "RED", "about": "Stop."},
            {"value": 1, "name": "BLUE", "about": "Police."},
        ],
    }
)


@pytest.fixture
def renumbered() -> tuple[str, str]:
    # In the second package, the enum has another number for a name.
    for folder, text in (("old", COLOURS), ("new", COLOURS.replace('"value": 1', '"value": 2'))):
        Path(folder).mkdir()
        Path(folder, "Probe.json").write_text(spec())
        Path(folder, "Colour.enum.json").write_text(text)
    return "old", "new"


def test_report_on_an_enum_says_where_and_what_and_whom_it_breaks_and_what_to_do_instead(
    renumbered: tuple[str, str],
) -> None:
    done = _kipgen(*renumbered)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    column = COLOURS.index("1,", 20) + 1
    assert lines[2] == f"new/Colour.enum.json:1:{column}: Colour.BLUE: enum-value-changed: was 1, is now 2"
    assert [line.split(":")[0].strip() for line in lines[3:6]] == ["breaks", "instead", "before"]
    assert lines[5].endswith(f"old/Colour.enum.json:1:{column}")
    assert lines[-1] == "1 message and 1 enum compared: 1 wire, 0 source, 0 notice"


def test_findings_of_enums_have_all_formats_and_can_be_allowed(renumbered: tuple[str, str]) -> None:
    report = json.loads(_kipgen(*renumbered, "--json").stdout)
    assert (report["messages"], report["enums"], report["findings"][0]["path"]) == (1, 1, "Colour.BLUE")
    (result,) = _sarif("-", _kipgen(*renumbered, "--sarif", "-").stdout)["results"]
    assert (result["ruleId"], result["level"]) == ("enum-value-changed", "error")
    annotation = _kipgen(*renumbered, "--format", "github").stdout
    assert annotation.startswith("::error file=new/Colour.enum.json,line=1,")
    Path("compat-allow.toml").write_text(
        ALLOWED.replace("field-removed", "enum-value-changed").replace("Probe", "Colour")
    )
    assert _kipgen(*renumbered).exit_code == 0


def test_new_specs_of_a_folder_may_be_moved_between_its_sub_folders(here: Path) -> None:
    for folder, below in (("old", "a"), ("new", "b")):
        (here / folder / below).mkdir(parents=True)
        (here / folder / below / "Probe.json").write_text(spec(), encoding="utf-8")
    assert _kipgen("old", "new").stdout == "1 message compared: 0 wire, 0 source, 0 notice\n"

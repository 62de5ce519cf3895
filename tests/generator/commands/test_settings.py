"""Settings in kipgen.toml and pyproject.toml: commands need no arguments then, and mistakes in them are reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs
from kipgen.commands.settings import Settings, SettingsError, find_settings
from tests.support import command_line
from tests.support.command_line import Done

Call = Callable[..., Done]


@pytest.fixture
def call(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: object, folder: Path = project, stdin: bytes | None = None) -> Done:
        return command_line.call(*arguments, folder=folder, monkeypatch=monkeypatch, capsys=capsys, stdin=stdin)

    return call


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one package of specs, whose response has a gap in its tags: a warning."""
    folder = tmp_path / "project"
    (folder / "specs/mine").mkdir(parents=True)
    for name, text in new_specs("Foo", "request", 1000).items():
        (folder / "specs/mine" / name).write_text(text)
    response = folder / "specs/mine/FooResponse.json"
    response.write_text(response.read_text().replace('"tag": 0', '"tag": 3'))
    return folder


PLACES = pytest.mark.parametrize(("file", "table"), [("kipgen.toml", ""), ("pyproject.toml", "[tool.kipgen]\n")])


@PLACES
def test_commands_need_no_arguments(file: str, table: str, project: Path, call: Call) -> None:
    (project / file).write_text(f'{table}specs = ["specs/mine"]\nout = "src"\npackage = "my.wire"\n')
    assert call("check").stdout.endswith("Found 1 problem in 1 file: 0 errors, 1 warning.\n")
    assert call("generate").returncode == 0
    assert (project / "src/my/wire/foo_request/v0.py").exists()
    assert call("generate", "--check").returncode == 0


@PLACES
def test_a_table_of_specs_names_several_packages(file: str, table: str, project: Path, call: Call) -> None:
    (project / "specs/store").mkdir()
    for name, text in new_specs("Bar", "request", 1001).items():
        (project / "specs/store" / name).write_text(text)
    (project / file).write_text(f'{table}specs = {{ "my.wire" = "specs/mine", store = "specs/store" }}\nout = "src"\n')
    assert call("generate").returncode == 0
    assert (project / "src/my/wire/foo_request/v0.py").exists()
    assert (project / "src/store/bar_request/v0.py").exists()
    assert "\nmy.wire: up to date\n" in call("generate", "--check", "specs/mine").stdout
    assert call("check").stdout.endswith("Found 1 problem in 1 file: 0 errors, 1 warning.\n")


def test_settings_are_found_in_the_folders_above_and_their_paths_are_the_files_own(project: Path, call: Call) -> None:
    (project / "kipgen.toml").write_text('specs = "specs/mine"\nout = "src"\n')
    done = call("check", folder=project / "specs")
    assert done.stdout.startswith("../specs/mine/FooResponse.json:")
    assert call("generate", folder=project / "specs").returncode == 0
    assert (project / "src/mine/__init__.py").exists()


def test_the_nearest_file_counts_and_kipgen_toml_before_pyproject_toml(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.kipgen]\nkafka = true\n")
    (project / "specs/pyproject.toml").write_text("[tool.black]\n")
    assert find_settings(project / "specs") == Settings(kafka=True)
    (project / "kipgen.toml").write_text("strict = true\n")
    assert find_settings(project / "specs/mine") == Settings(strict=True)
    (project / "specs/kipgen.toml").write_text("")
    assert find_settings(project / "specs/mine") == Settings()


@pytest.mark.parametrize("is_file", [False, True], ids=["repository", "worktree"])
def test_settings_above_the_top_of_a_repository_are_of_another_project(
    is_file: bool, project: Path, call: Call
) -> None:
    (project / "kipgen.toml").write_text('specs = "specs/mine"\nstrict = true\n')
    inner = project / "inner"
    (inner / "schemas/mine").mkdir(parents=True)
    top = inner / ".git"
    if is_file:
        top.write_text("gitdir: elsewhere\n")
    else:
        top.mkdir()
    for folder in (inner, inner / "schemas/mine"):
        assert find_settings(folder) == Settings()
    assert "FooResponse" not in call("check", folder=inner).stdout
    (inner / "kipgen.toml").write_text("kafka = true\n")
    for folder in (inner, inner / "schemas/mine"):
        assert find_settings(folder) == Settings(kafka=True)


def test_rules_are_ignored_raised_or_all_warnings_fail(project: Path, call: Call) -> None:
    settings = project / "kipgen.toml"
    assert call("check", "specs/mine").returncode == 0
    settings.write_text('ignore = ["tag-gap"]\n')
    assert call("check", "specs/mine").stdout == "2 specs: no problems found.\n"
    for text in ('error = ["tag-gap"]\n', "strict = true\n"):
        settings.write_text(text)
        for command in ("check", "generate"):
            done = call(command, "specs/mine")
            assert (done.returncode, "tag-gap: " in done.stdout) == (1, True), text
    assert not (project / "generated").exists()
    settings.write_text('error = ["tag-gap"]\n')
    (found,) = json.loads(call("check", "specs/mine", "-f", "json").stdout)["problems"]
    assert found["severity"] == "error"


def test_the_command_line_wins(project: Path, call: Call) -> None:
    (project / "kipgen.toml").write_text(
        'specs = ["specs/mine"]\nout = "src"\npackage = "theirs"\nkafka = true\nstrict = true\n'
    )
    assert "kafka-about" in call("check").stdout
    done = call("check", "--no-kafka", "--no-strict")
    assert (done.returncode, "kafka-about" in done.stdout) == (0, False)
    assert call("generate", "specs/mine", "--out", "other", "--package", "ours", "--no-strict").returncode == 0
    assert (project / "other/ours").is_dir()
    assert not (project / "src").exists()


def test_new_puts_a_message_beside_the_others(project: Path, call: Call) -> None:
    (project / "kipgen.toml").write_text('specs = ["specs/mine"]\n')
    assert call("new", "Bar").returncode == 0
    assert (project / "specs/mine/BarRequest.json").exists()


WRONG = {
    "spec = []": "spec: unknown key; did you mean specs?",
    "colour = 1": "colour: unknown key; the keys are specs, out, package, newest, kafka, strict, ignore, error",
    "specs = 3": "specs: 3 is not valid; write a folder, or a list of folders",
    "specs = [3]": "specs: 3 is not valid; write text in a list, in quotes",
    "specs = []": 'specs: is empty; write folders of specs, as in ["specs/my_protocol"]',
    'specs = ["missing"]': "specs: 'missing' is not a folder of specs; paths are relative to the folder of this file",
    "out = true": "out: true is not valid; write a folder, in quotes",
    'kafka = "yes"': "kafka: 'yes' is not valid; write true or false",
    "strict = [1]": "strict: a list is not valid; write true or false",
    'specs = ["specs/mine"]\npackage = "a.class"': "package: 'a.class' cannot be imported: 'class' is a Python keyword",
    'specs = { "a.class" = "specs/mine" }': "specs: 'a.class' cannot be imported: 'class' is a Python keyword",
    'specs = { a = "specs/mine" }\npackage = "b"': "package: is the name of one package; give specs with one folder",
    "specs = { a = 3 }": "specs: 3 is not valid; write text in a list, in quotes",
    "specs = {}": 'specs: is empty; write folders of specs, as in ["specs/my_protocol"]',
    'package = "mine"': "package: is the name of one package; give specs with one folder",
    'ignore = ["tag-gpa"]': "ignore: unknown rule tag-gpa; did you mean tag-gap?",
    'ignore = ["type-syntax"]': "ignore: type-syntax is an error of the language",
    'error = "tag-gap"': "error: 'tag-gap' is not valid; write a list of rules",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
@PLACES
def test_mistakes_are_reported_with_file_and_key(text: str, file: str, table: str, project: Path, call: Call) -> None:
    (project / file).write_text(table + text + "\n")
    prefix = "tool.kipgen." if table else ""
    for command in ("check", "generate"):
        done = call(command, "specs/mine")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"kipgen: {project / file}: {prefix}{WRONG[text]}")
        assert len(done.stderr.splitlines()) == 1


def test_what_is_not_toml_is_reported(project: Path) -> None:
    (project / "kipgen.toml").write_text("specs = [")
    with pytest.raises(SettingsError, match=r"kipgen\.toml: is not valid TOML: Invalid value"):
        find_settings(project)
    (project / "kipgen.toml").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"is not valid TOML"):
        find_settings(project)
    (project / "kipgen.toml").unlink()
    (project / "pyproject.toml").write_text("[tool]\nkipgen = 3\n")
    with pytest.raises(SettingsError, match=r"tool\.kipgen: 3 is not a table"):
        find_settings(project)


def test_a_project_file_of_somebody_else_is_not_read(project: Path) -> None:
    (project / "pyproject.toml").write_text("this is not TOML")
    assert find_settings(project) == Settings()


def lanes(folder: Path, type_: str) -> None:
    field = {"name": "Lane", "type": type_, "versions": "0+", "entityType": "laneId", "about": "A lane."}
    spec = {"type": "data", "name": "Lanes", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    (folder / "specs/mine").mkdir(parents=True)
    (folder / "specs/mine/Lanes.json").write_text(json.dumps(spec))


@PLACES
def test_declared_entity_types_are_no_warnings_and_go_with_their_types(
    file: str, table: str, tmp_path: Path, call: Call
) -> None:
    lanes(tmp_path, "[]int64")
    spec = tmp_path / "specs/mine/Lanes.json"
    declare = 'declare a word of your own in the settings: entity-types = {laneId = "int64"}'
    assert declare in call("check", "specs/mine", folder=tmp_path).stdout
    assert declare in call("generate", "specs/mine", folder=tmp_path).stdout
    (tmp_path / file).write_text(f'{table}specs = ["specs/mine"]\nentity-types = {{ laneId = "int64" }}\n')
    assert call("check", folder=tmp_path).stdout == "1 spec: no problems found.\n"
    assert call("check", "--kafka", "--strict", folder=tmp_path).returncode == 0
    assert call("check", "--strict", "-", folder=tmp_path, stdin=spec.read_bytes()).returncode == 0
    for options in ((), ("--check",), ("--strict",)):
        done = call("generate", *options, folder=tmp_path)
        assert (done.returncode, "laneId" in done.stdout) == (0, False)

    spec.write_text(spec.read_text().replace("[]int64", "string"))
    for arguments in (("check",), ("generate",), ("generate", "--check")):
        done = call(*arguments, folder=tmp_path)
        assert done.returncode == 1
        assert "laneId goes with int64 by the settings, not string; change one of the two" in done.stdout
    spec.write_text(spec.read_text().replace("laneId", "laneID"))
    assert "laneID is no entity type of Kafka; did you mean laneId?" in call("check", folder=tmp_path).stdout


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('"laneId"', "'laneId' is not valid; write a table, as in {streamId = \"int64\"}"),
        ("{ laneId = 64 }", "laneId: 64 is no type of a field; write one such as int64"),
        ("{ laneId = [] }", "laneId: a list is no type of a field; write one such as int64"),
        ('{ laneId = "int46" }', "laneId: 'int46' is no type of a field; did you mean int64?"),
        ('{ laneId = "[]int64" }', "laneId: '[]int64' is no type of a field; did you mean int64?"),
        ('{ "lane id" = "int64" }', "'lane id' is not valid; write a word of letters and digits, such as streamId"),
        ('{ unknown = "int64" }', "unknown is Kafka's word for no entity type; leave it out"),
        ('{ topicName = "int64" }', "topicName is Kafka's, and goes with string; leave it out"),
    ],
)
def test_entity_types_that_cannot_be_declared_are_refused(written: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kipgen.toml").write_text(f"entity-types = {written}\n")
    with pytest.raises(SettingsError) as caught:
        find_settings(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'kipgen.toml'}: entity-types: {said}"


def test_a_word_of_kafka_may_be_declared_with_its_own_type(tmp_path: Path) -> None:
    (tmp_path / "kipgen.toml").write_text('entity-types = { topicName = "string" }\n')
    assert find_settings(tmp_path).entity_types == {"topicName": "string"}

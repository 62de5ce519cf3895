"""`kipgen vendor`: chosen messages as a package that stands alone, is checked like any other, and wrong choices."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import kafka_messages
from kipgen.commands.app import app
from kipgen.commands.console import SPECS_FOLDER
from kipgen.commands.vendor.choosing import choose
from kipgen.commands.vendor.cutting import write_cut
from kipgen.reading.check import read_file, read_folder, spec_files
from kipgen.reading.enum_spec import is_enum_file
from kipgen.resources import kafka_specs
from kipwire import DecodeError, Message
from kipwire.cli.command_line import Later
from tests.support.command_line import Done, call
from tests.support.golden_data import message_of, messages
from tests.support.places import ROOT
from tests.support.spec_package import generated

CHOICES = ("FetchSnapshot:0", "Heartbeat:4")
Kipgen = Callable[..., Done]


@pytest.fixture
def kipgen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kipgen:
    def run(*arguments: object) -> Done:
        return call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("vendored")
    write_cut(choose(CHOICES, kafka_specs()), kafka_specs(), folder / "kafka_messages")
    with generated(folder / "kafka_messages", "wire", folder):
        yield folder


def test_the_code_is_the_code_of_kafka_messages(vendored: Path) -> None:
    modules = sorted((vendored / "wire").glob("*/v*.py"))
    names = [file.relative_to(vendored / "wire").as_posix() for file in modules]
    assert [name for name in names if "header" not in name] == [
        *(
            "fetch_snapshot_request/v0.py",
            "fetch_snapshot_response/v0.py",
            "heartbeat_request/v4.py",
            "heartbeat_response/v4.py",
        ),
    ]
    for name, file in zip(names, modules, strict=True):
        ours, kafka = (_without_range(one.read_text()) for one in (file, ROOT / "generated/kafka_messages" / name))
        assert ours == kafka, name


def _without_range(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.lstrip().startswith(("MIN_VERSION", "MAX_VERSION"))]


@pytest.mark.night
def test_the_classes_write_and_read_what_java_wrote(tmp_path: Path) -> None:
    choices = ("Metadata", "Fetch:4+", "Produce:9+", "OffsetCommitKey", "TopicRecord")
    write_cut(choose(choices, kafka_specs()), kafka_specs(), tmp_path / "specs")
    tried = 0
    with generated(tmp_path / "specs", "vendored_wire", tmp_path) as wire:
        for name in wire.names():
            for version in wire.versions(name):
                cls: type[Message] = wire.message(name, version)
                for line in messages()[name, version]:
                    data = bytes.fromhex(line["hex"])
                    assert message_of(cls, line).encode() == data
                    assert repr(cls.decode(data)) == repr(kafka_messages.message(name, version).decode(data))
                    tried += 1
    assert tried > 300


def test_a_tag_of_other_versions_is_refused_as_by_kafka_messages(vendored: Path) -> None:
    import wire  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]  # made by the fixture

    for package in (wire, kafka_messages):
        cls = package.message("FetchSnapshotResponse", 0)
        plain = cls().encode()
        assert plain.endswith(b"\x00")
        with pytest.raises(DecodeError, match="tag 0"):  # NodeEndpoints, from version 1 on
            cls.decode(plain[:-1] + b"\x01\x00\x01\x00")


def test_the_package_needs_the_runtime_alone(vendored: Path) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
for name in ("kafka_messages", "kafka_records", "kipgen", "kipjobs", "kipspark"):
    sys.modules[name] = None
import wire
frame = wire.encode_request(wire.message("FetchSnapshotRequest", 0)(max_bytes=9), correlation_id=7, client_id="me")
header, body = wire.decode_request(frame)
assert (header.correlation_id, body.max_bytes) == (7, 9)
rooms = sorted({name.split(".")[1] for name in sys.modules if name.startswith("kipwire.")})
print(*rooms)
"""
    done = subprocess.run([sys.executable, "-c", code, str(vendored)], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"codec", "description", "message", "model", "tools", "_kernel"}


def test_a_package_is_written_checked_and_brought_up_to_date_by_what_it_was_made_of(
    kipgen: Kipgen, tmp_path: Path
) -> None:
    specs, out = tmp_path / "kafka", tmp_path / "src/mine/wire"
    write_cut(choose(["Heartbeat", "ApiVersions:0+"], kafka_specs()), kafka_specs(), specs)
    made = kipgen("vendor", "Heartbeat:3+", "--specs", specs, "--out", out)
    assert made.returncode == 0, made.stderr
    assert {file.name for file in out.iterdir() if file.is_dir()} == {
        *("heartbeat_request", "heartbeat_response", "request_header", "response_header"),
    }
    check = ("vendor", "--specs", specs, "--out", out, "--check")
    assert kipgen(*check) == (0, "wire: up to date\n", "")
    spec = specs / "clients/HeartbeatRequest.json"
    spec.write_text(spec.read_text().replace('"GroupId"', '"Group"'))
    stale = kipgen(*check)
    assert stale.returncode == 1
    assert stale.stdout.startswith("wire: changed since it was vendored: HeartbeatRequest\n")
    assert stale.stdout.endswith(f"wire: not up to date: run kipgen vendor --specs {specs} --out {out}\n")
    assert kipgen("vendor", "--specs", specs, "--out", out).stdout.startswith("wire: ")
    assert kipgen(*check).returncode == 0
    (out / "heartbeat_request/v4.py").write_text("# Generated by kipgen from me")
    assert "v4.py: differs" in kipgen(*check).stdout
    (out / "mine.py").touch()
    assert "mine.py: not generated from any spec" in kipgen(*check).stdout
    other = kipgen("generate", specs, "--package", "wire", "--out", out.parent)
    assert "has chosen messages of other specs; bring it up to date with kipgen vendor --out" in other.stderr
    assert kipgen("vendor", "ApiVersions:0", "--specs", specs, "--out", out).returncode == 0
    assert not (out / "heartbeat_request").exists()


WRONG = {
    ("Metdata",): "kipgen: unknown message 'Metdata'; did you mean Metadata?",
    ("FetchReqest:4",): "kipgen: unknown message 'FetchReqest'; did you mean FetchRequest?",
    ("Produce:14+",): "kipgen: Produce:14+: ProduceRequest has versions 0-13; choose some of these",
    ("Produce:3-14",): "kipgen: Produce:3-14: ProduceRequest has versions 0-13; choose some of these",
    ("Produce:new",): "kipgen: Produce:new: 'new' is not a version range; write 'none', 'N', 'N-M' or 'N+'",
    ("Fetch:4", "FetchResponse:5"): "kipgen: FetchResponse is chosen by Fetch:4 and FetchResponse:5; "
    "name it once, with one range",
    (): "kipgen: new was not vendored yet; name messages, as in kipgen vendor Metadata 'Produce:9+' --out new",
    ("Fetch", "--diff"): "kipgen: --diff needs --check",
    ("AlterIsr", "AlterPartition"): "kipgen: AlterIsrRequest: AlterPartitionRequest also has apiKey 56, but only "
    "versions 2-3; give it versions 0; choose other messages or versions",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_choice_is_one_line_and_writes_nothing(
    arguments: tuple[str, ...], kipgen: Kipgen, tmp_path: Path
) -> None:
    done = kipgen("vendor", *arguments, "--out", "new")
    assert done == (2, "", f"{WRONG[arguments]}\n")
    assert not (tmp_path / "new").exists()


def test_a_folder_of_other_files_is_left_alone(kipgen: Kipgen, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.txt").touch()
    for out, text in (
        ("notes", "notes has files that kipgen vendor did not write, such as mine.txt; give a new folder"),
        ("notes/mine.txt", "notes/mine.txt: "),
        ("class", "class: "),
    ):
        done = kipgen("vendor", "Heartbeat", "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"kipgen: {text}")
        assert done.stderr.count("\n") == 1
    assert [one.name for one in tmp_path.rglob("*")] == ["notes", "mine.txt"]


@pytest.mark.night
def test_every_message_can_be_chosen_alone_in_its_first_middle_and_last_version() -> None:
    specs = kafka_specs()
    for file in spec_files(specs):
        spec = None if is_enum_file(file) else read_file(file).spec
        if spec is None or spec.valid_versions.is_empty or spec.type in ("response", "coordinator-value"):
            continue
        lowest, highest = spec.valid_versions.lowest, spec.valid_versions.highest
        for version in {lowest, highest, (lowest + highest) // 2}:
            with tempfile.TemporaryDirectory() as folder:
                write_cut(choose([f"{spec.name}:{version}"], specs), specs, Path(folder))
                _, problems = read_folder(folder)
                assert [one for one in problems if one.severity == "error"] == [], spec.name


@pytest.mark.parametrize("name", ["check", "compat", "drift", "generate", "resolve", "vectors", "vendor"])
def test_each_command_knows_kafkas_specs_by_name_unless_a_folder_here_has_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    context = click.Context(app)
    command = app.get_command(context, name)
    assert isinstance(command, Later)
    (specs,) = (one for one in command.loaded.params if one.type is SPECS_FOLDER)
    given = ("kafka",) if specs.nargs == -1 else "kafka"
    assert specs.type_cast_value(context, given) in (kafka_specs(), (kafka_specs(),))
    (tmp_path / "kafka").mkdir()
    assert specs.type_cast_value(context, given) in (Path("kafka"), (Path("kafka"),))


def test_drift_writes_to_a_copy_of_specs(kipgen: Kipgen, tmp_path: Path) -> None:
    assert kipgen("drift", "kafka", "a.jar", "--out", "mine") == (2, "", "kipgen: --out needs --write\n")
    no_copy = kipgen("drift", "a.jar", "--write")
    assert no_copy.stderr == (
        "kipgen: --write needs a folder of specs before the jars, or --out FOLDER for a copy of them\n"
    )
    write_cut(choose(["ExpireDelegationToken"], kafka_specs()), kafka_specs(), tmp_path / "ours")
    before = (tmp_path / "ours/clients/ExpireDelegationTokenRequest.json").read_text()
    with zipfile.ZipFile(tmp_path / "kafka-clients-9.9.9.jar", "w") as jar:
        for half in ("Request", "Response"):
            spec = (tmp_path / f"ours/clients/ExpireDelegationToken{half}.json").read_text()
            jar.writestr(f"common/message/ExpireDelegationToken{half}.json", spec.replace('"1-2"', '"1-3"'))
    done = kipgen("drift", "ours", "kafka-clients-9.9.9.jar", "--write", "--out", "mine")
    assert done.stderr.startswith("wrote mine/clients/ExpireDelegationTokenRe"), done
    assert '"1-3"' in (tmp_path / "mine/clients/ExpireDelegationTokenRequest.json").read_text()
    assert (tmp_path / "ours/clients/ExpireDelegationTokenRequest.json").read_text() == before
    again = kipgen("drift", "ours", "kafka-clients-9.9.9.jar", "--write", "--out", "mine")
    assert again.stderr == (
        "kipgen: mine is there already; write to it without --out, as in kipgen drift mine JAR... --write\n"
    )

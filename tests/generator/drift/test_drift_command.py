"""`kipgen drift` as a command: what it prints, its exit status, and jars that it refuses."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kipgen.commands.drift.jars import JarError, read_release
from tests.support.subjects.drifting_specs import (
    DEPTH,
    KAFKA,
    NEW_FIELDS,
    OURS,
    as_data,
    jar,
    kipgen,
    package,
)


def test_the_command_lists_differences_and_says_it_by_its_exit_status(tmp_path: Path) -> None:
    theirs = as_data(KAFKA)
    specs = package(tmp_path, Colour=as_data(OURS))
    same = kipgen(specs, jar(tmp_path, theirs))
    assert (same.returncode, same.stdout) == (0, "1 message compared: no drift\n")
    release = jar(tmp_path, theirs.replace('"0-1"', '"0-2"').replace(DEPTH, NEW_FIELDS[0] + DEPTH))
    done = kipgen(specs, release)
    file = specs / "clients" / "Colour.json"
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "ColourRequest",
        f"  {file}:6:20: validVersions: 0-1 in the specs, 0-2 in Kafka",
        f"  {release}!common/message/0.json:6:17: Shades.Before only in Kafka (field: type int32, versions 0+)",
        "1 message compared: 2 differences",
    ]
    as_json = json.loads(kipgen(specs, release, "--json").stdout)
    assert as_json["differences"][0] == {
        "message": "ColourRequest",
        "path": "",
        "fact": "validVersions",
        "ours": "0-1",
        "kafka": "0-2",
        "location": {"file": str(file), "line": 6, "column": 20},
    }
    written = kipgen(specs, release, "--write")
    assert (written.returncode, written.stdout) == (0, "1 message compared: no drift\n")
    assert "ColourRequest.Shades.Before: about is missing" in written.stderr


def broken_jar(folder: Path, content: bytes) -> Path:
    (folder / "broken.jar").write_bytes(content)
    return folder / "broken.jar"


def truncated(folder: Path) -> Path:
    whole = jar(folder, KAFKA).read_bytes()
    return broken_jar(folder, whole.replace(b"common/message", b"common/massage", 1)[:-30])


def with_bad_checksum(folder: Path) -> Path:
    path = folder / "bad.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("message/0.json", KAFKA)
    return broken_jar(folder, path.read_bytes().replace(b"Words of another", b"Words of nobody!", 1))


def bomb(folder: Path) -> Path:
    return jar(folder, "{" + " " * (17 * 1024 * 1024))


def twice(folder: Path) -> Path:
    return jar(folder, KAFKA, KAFKA)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "missing.jar", "No such file or directory; give a jar of Kafka, such as "),
        (lambda folder: broken_jar(folder, b""), "broken.jar: cannot be read as a jar"),
        (lambda folder: broken_jar(folder, b"PK\5\6" + b"\xff" * 18), "broken.jar: cannot be read as a jar"),
        (truncated, "broken.jar: cannot be read as a jar"),
        (with_bad_checksum, "broken.jar: cannot be read as a jar: Bad CRC-32"),
        (bomb, "0.json: the specs are larger than in any Kafka release"),
        (twice, "0.json; give the jars of one release, each once"),
        (lambda folder: jar(folder), "no message specs inside; give a jar of Kafka, such as "),
        (lambda folder: jar(folder, "{"), "0.json:1:2: syntax: "),
        (
            lambda folder: jar(folder, '{"name": "\udcff"}'.encode("utf-8", "surrogatepass").decode("latin-1")),
            "0.json:",
        ),
        (lambda folder: jar(folder, KAFKA.replace('"int32"', '"[][]int32"')), "type-syntax: "),
        (lambda folder: jar(folder, KAFKA.replace('"about"', '"abuot"')), "0.json:5:"),
    ],
)
def test_a_jar_that_cannot_be_compared_is_refused_with_the_reason(
    make: Callable[[Path], Path], said: str, tmp_path: Path
) -> None:
    with pytest.raises(JarError) as error:
        read_release([make(tmp_path)])
    assert said in str(error.value)


def test_a_spec_of_a_release_with_errors_hides_no_other(tmp_path: Path) -> None:
    specs = package(tmp_path, Colour=as_data(OURS), Shape=as_data(OURS).replace("ColourRequest", "Shape"))
    ours = (specs / "clients" / "Shape.json").read_text()
    broken = as_data(KAFKA).replace("ColourRequest", "Shape").replace('"int32"', '"int32", "type": "int8"', 1)
    done = kipgen(specs, jar(tmp_path, as_data(KAFKA), broken))
    assert (done.returncode, done.stdout) == (0, "1 message compared: no drift\n")
    assert "not compared: Shape: Kafka's spec has errors" in done.stderr
    assert "1.json:" in done.stderr
    longer = as_data(KAFKA).replace('"0-1"', '"0-2"')
    written = kipgen(specs, jar(tmp_path, longer, broken), "--write", "--json")
    report = json.loads(written.stdout)
    assert (written.returncode, report) == (0, {"messages": 1, "not_compared": ["Shape"], "differences": []})
    assert (specs / "clients" / "Shape.json").read_text() == ours
    # Even the name cannot be read: the file has it, as Kafka's do.
    done = kipgen(specs, jar(tmp_path, longer, "{"))
    assert done.returncode == 1  # Shape is in the specs alone
    assert "not compared: 1:" in done.stderr


def test_a_property_that_is_given_twice_with_one_value_is_compared(tmp_path: Path) -> None:
    twice_given = as_data(KAFKA).replace('"int32"', '"int32", "type": "int32"', 1)
    assert kipgen(package(tmp_path, Colour=as_data(OURS)), jar(tmp_path, twice_given)).returncode == 0


def test_a_bad_jar_or_bad_specs_end_the_command_with_2(tmp_path: Path) -> None:
    specs = package(tmp_path, Colour=OURS.replace('"type": "request"', '"type": "requests"'))
    for folder, release in ((specs, jar(tmp_path, KAFKA)), (tmp_path / "none", jar(tmp_path, KAFKA))):
        done = kipgen(folder, release)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr


def test_a_release_alone_is_compared_with_the_specs_that_kipgen_has(tmp_path: Path) -> None:
    release = jar(tmp_path, as_data(KAFKA))
    done = kipgen(release, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["messages"] > 0) == (1, True)
    only_in_the_jar = [one for one in found["differences"] if one["message"] == "ColourRequest"]
    assert [one["ours"] for one in only_in_the_jar] == [None]
    refused = kipgen(release, "--write")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (
        refused.stderr
        == "kipgen: --write needs a folder of specs before the jars, or --out FOLDER for a copy of them\n"
    )


def test_a_folder_without_a_jar_is_refused(tmp_path: Path) -> None:
    done = kipgen(package(tmp_path, Colour=as_data(OURS)))
    assert (done.returncode, done.stdout) == (2, "")
    assert "no jar to compare" in done.stderr

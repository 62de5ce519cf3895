"""The archive of Java's classes: when it is used, and that nothing depends on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from kipjobs.errors import JobError
from kipspark.spark import class_archive
from kipspark.spark.class_archive import make, using
from kipspark.spark.java import use_java

WHOLE = (0xF00BABA8).to_bytes(4, "little") + b"the rest"


class Installed:
    """Fake installation of Java and Spark, with the archives that are kept for them."""

    def __init__(self, folder: Path) -> None:
        self.java, self.spark, self.kept = folder / "java", folder / "spark", folder / "cache/kipwire/spark-classes"
        self.base = self.java / "lib" / "server" / "classes.jsa"
        for file in (self.base, self.spark / "jars" / "spark-core.jar"):
            file.parent.mkdir(parents=True)
            file.write_text("some")

    def options(self) -> list[str]:
        return list(using(self.java, self.spark))

    def make(self, written: bytes = WHOLE) -> Path:
        """Return the archive that Java makes if it writes these bytes."""
        return make(lambda: file_to_make().write_bytes(written))


def file_to_make() -> Path:
    """Return the file that a JVM started now has to write the archive to."""
    option = os.environ["SPARK_SUBMIT_OPTS"].split('"')[3]
    name, _, file = option.partition("=")
    assert name == "-XX:ArchiveClassesAtExit"
    return Path(file)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    there = Installed(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(there.java))
    monkeypatch.setenv("SPARK_HOME", str(there.spark))
    return there


def test_the_archive_is_used_once_it_is_made(installed: Installed) -> None:
    assert installed.options() == []
    archive = installed.make()
    assert installed.options()[1:] == [
        f"-XX:SharedArchiveFile={archive}",
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+VerifySharedSpaces",
    ]


def test_a_new_archive_replaces_the_earlier_one(installed: Installed) -> None:
    installed.make()
    archive = installed.make(WHOLE + b", which is longer now")
    assert list(installed.kept.iterdir()) == [archive]


@pytest.mark.parametrize("written", [b"", bytes(4) + b"Java has not written the header yet"])
def test_what_java_has_not_completed_is_not_kept(installed: Installed, written: bytes) -> None:
    with pytest.raises(JobError, match="Java did not complete the archive; does the disk have 200 MB free"):
        installed.make(written)
    assert not list(installed.kept.iterdir())


def test_a_java_that_writes_nothing_is_reported(installed: Installed) -> None:
    with pytest.raises(JobError, match=r"did not write the class archive .*No such file"):
        make(lambda: None)
    installed.base.unlink()  # a Java without an archive of its own
    with pytest.raises(JobError, match=r"did not write the class archive .*classes\.jsa: No such file"):
        installed.make()


def test_an_archive_of_another_size_is_not_used(installed: Installed) -> None:
    archive = installed.make()
    archive.write_bytes(WHOLE[:-1])
    assert installed.options() == []


@pytest.mark.parametrize("changed", ["lib/server/classes.jsa", "jars/spark-core.jar"])
def test_another_java_or_spark_does_not_use_it(installed: Installed, changed: str) -> None:
    installed.make()
    file = next(folder / changed for folder in (installed.java, installed.spark) if (folder / changed).exists())
    os.utime(file, (1, 1))
    assert installed.options() == []


def test_options_are_set_only_while_spark_starts(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.make()
    with class_archive.class_archive():
        assert '"-XX:SharedArchiveFile=' in os.environ["SPARK_SUBMIT_OPTS"]
    assert "SPARK_SUBMIT_OPTS" not in os.environ
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    with class_archive.class_archive():
        assert os.environ["SPARK_SUBMIT_OPTS"].endswith('VerifySharedSpaces" -Dmine=1')
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dmine=1"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xshare:off")  # the user's own choice
    with class_archive.class_archive():
        assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dmine=1"


@pytest.mark.night
def test_java_writes_an_archive_and_ignores_a_broken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", os.environ.get("JAVA_HOME", ""))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    use_java()
    java, spark = Path(os.environ["JAVA_HOME"]), Path(_find_spark_home())

    def run(*options: str) -> tuple[str, str]:
        """Run a class of Spark; return its output, and Java's log of the loaded classes and their sources."""
        log = tmp_path / "loaded.txt"
        program = ["-cp", f"{spark}/jars/*", "org.apache.spark.launcher.Main", "org.apache.spark.Wanted"]
        command = [str(java / "bin" / "java"), *options, f"-Xlog:class+load:file={log}", *program]
        environment = {**os.environ, "SPARK_HOME": str(spark), "SPARK_SCALA_VERSION": "2.13"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout, log.read_text()

    plain, _ = run()
    assert "org.apache.spark.Wanted" in plain
    archive = make(lambda: run("-Xlog:disable", f"-XX:ArchiveClassesAtExit={file_to_make()}"))
    options = using(java, spark)
    said, loaded = run(*options)
    assert said == plain
    assert "org.apache.spark.launcher.Main source: shared objects file (top)" in loaded
    whole = archive.read_bytes()
    archive.unlink()
    middle = len(whole) // 2
    for broken in (
        whole[:middle],
        whole[:-4096],
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        whole[:4] + bytes(len(whole) - 4),
        whole[:middle] + bytes(len(whole) - middle),
        b"",
    ):
        archive.write_bytes(broken)
        assert bool(using(java, spark) == options) is (len(broken) == len(whole))  # then Java detects the fault
        said, loaded = run(*using(java, spark))
        assert said == plain
        assert "(top)" not in loaded
        archive.unlink()

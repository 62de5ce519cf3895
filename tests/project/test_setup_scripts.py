"""Scripts that fetch or install missing programs: their choices and output, with substitutes for commands."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.places import ROOT

SCRIPTS = ROOT / "scripts"


def command(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who is not root, on a machine with nothing but the usual commands."""
    stubs = tmp_path / "stubs"
    command(stubs, "id", "echo ${FAKE_USER:-1000}")
    command(stubs, "uname", '[ "$1" = -s ] && echo Linux || echo x86_64')
    command(stubs, "java", "exit 1")
    command(stubs, "apt-get", f'echo "$@" >> {tmp_path}/installed')
    return {"PATH": f"{stubs}:/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def run(script: str, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPTS / script), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def fake_java(tmp_path: Path, machine: dict[str, str]) -> tuple[Path, Path]:
    """Write a script that finds no Java but the downloaded one, and a download that is not Temurin; return both."""
    text = (SCRIPTS / "java.sh").read_text().replace("/usr/lib/jvm/*", str(tmp_path / "none"))
    copy = tmp_path / "scripts"
    copy.mkdir()
    (copy / "java.sh").write_text(text)
    (copy / "install.sh").write_text("exit 1\n")
    archive = tmp_path / "evil.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        content = b"#!/bin/sh\necho 'version \"17.0.1\"'\n"
        info = tarfile.TarInfo("jre/bin/java")
        info.size, info.mode = len(content), 0o755
        tar.addfile(info, io.BytesIO(content))
    stub = f'while [ "$#" -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done; cat {archive} > "${{out:-/dev/stdout}}"'
    command(tmp_path / "stubs", "curl", stub)
    return copy / "java.sh", archive


def test_java_that_has_another_checksum_is_not_unpacked(tmp_path: Path, machine: dict[str, str]) -> None:
    script, _ = fake_java(tmp_path, machine)
    done = run(str(script), env=machine)
    assert done.returncode == 2
    assert "its SHA-256 is not " in done.stderr
    assert done.stdout == ""
    assert list((tmp_path / "cache" / "kipwire" / "java").iterdir()) == []


def test_java_that_has_the_checksum_is_used(tmp_path: Path, machine: dict[str, str]) -> None:
    script, archive = fake_java(tmp_path, machine)
    known = subprocess.run(["sha256sum", archive], capture_output=True, text=True, check=True).stdout.split()[0]
    pinned = [word for word in script.read_text().split() if word.startswith("sum=")]
    assert len(pinned) == 2
    assert all(len(word) == len("sum=") + 64 for word in pinned)
    script.write_text(script.read_text().replace(pinned[0], f"sum={known}"))
    done = run(str(script), env=machine)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "cache" / "kipwire" / "java" / "jre")
    assert os.listdir(tmp_path / "cache" / "kipwire" / "java") == ["jre"]  # noqa: PTH208


def test_a_package_is_installed_by_root_alone_and_said_so(tmp_path: Path, machine: dict[str, str]) -> None:
    assert run("install.sh", "maven", "Jars are fetched by Maven", env=machine).returncode == 1
    assert not (tmp_path / "installed").exists()
    done = run("install.sh", "maven", "Jars are fetched by Maven", env=machine | {"FAKE_USER": "0"})
    assert done.returncode == 0
    assert "Jars are fetched by Maven; installing Debian's package maven with apt-get" in done.stderr
    assert "KIPWIRE_INSTALL=no forbids it" in done.stderr
    assert "install -y" in (tmp_path / "installed").read_text()


def test_installing_can_be_forbidden(tmp_path: Path, machine: dict[str, str]) -> None:
    forbidden = machine | {"FAKE_USER": "0", "KIPWIRE_INSTALL": "no"}
    assert run("install.sh", "maven", "Jars are fetched by Maven", env=forbidden).returncode == 1
    assert not (tmp_path / "installed").exists()


def test_a_broker_at_another_port_is_not_taken_for_the_one_that_is_wanted(tmp_path: Path) -> None:
    """A broker, here a process that sleeps, runs at port 19092."""
    script = tmp_path / "scripts" / "broker" / "broker.sh"
    state = tmp_path / "build" / "broker"
    for folder in (script.parent, state):
        folder.mkdir(parents=True)
    for name in ("broker.sh", "pom.xml"):
        (script.parent / name).write_bytes((SCRIPTS / "broker" / name).read_bytes())
    (state / "server.properties").write_text(
        "node.id=1\nlisteners=CLIENTS://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\n"
    )
    said = {}
    with subprocess.Popen(["sleep", "60"]) as running:
        (state / "pid").write_text(str(running.pid))
        for port in ("19092", "29092"):
            done = subprocess.run(
                ["bash", str(script), "start"],
                env={**os.environ, "BROKER_PORT": port},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            said[port] = (done.returncode, done.stdout + done.stderr)
        running.kill()
    assert said["19092"] == (0, f"The broker is already running at 127.0.0.1:19092 (process {running.pid})\n")
    status, line = said["29092"]
    assert status == 2 and "runs at port 19092, not 29092" in line and line.count("\n") == 1


def test_the_cluster_of_a_broker_never_has_an_id_that_looks_like_an_option(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    """A 64th of all ids would begin with a hyphen; here the 16 random bytes are such ones."""
    scripts = tmp_path / "scripts"
    command(scripts, "java.sh", f"echo {tmp_path}/java")
    command(scripts / "broker", "certificates.sh", "")
    for name in ("broker.sh", "pom.xml"):
        (scripts / "broker" / name).write_bytes((SCRIPTS / "broker" / name).read_bytes())
    (tmp_path / "java").mkdir()
    command(tmp_path / "java" / "bin", "java", f"""printf '%s\\n' "$@" >{tmp_path}/given; exit 1""")
    command(tmp_path / "stubs", "head", "printf '\\373%.0s' {1..16}")
    command(tmp_path / "stubs", "cksum", "echo 1 2")
    (tmp_path / "cache" / "kipwire" / "broker" / "1").mkdir(parents=True)  # in place of Kafka's jars
    done = run(str(scripts / "broker" / "broker.sh"), "start", env=machine | {"BROKER_PORT": "21780"})
    assert "cannot create its data folder" in done.stderr, done
    given = (tmp_path / "given").read_text().splitlines()
    assert given[given.index("-t") + 1] == "__v7" + "-_v7" * 4 + "-w"

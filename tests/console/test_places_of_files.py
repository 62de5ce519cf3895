"""Files that commands write take the place of regular files alone; a device, a pipe or a link stays what it is."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs
from kipwire.records import Record, write_batch
from kipwire.tools.atomic import need_place, write_atomically
from tests.support import command_line
from tests.support.places import DATA

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")

COMMANDS = (
    ("compaction", "logs", "--html"),
    ("offsets", "logs", "--metrics"),
    ("traffic", "capture", "--html"),
    ("conform", "--save-failures", "PLACE", "--", "true"),
    ("conform", "--page", "PLACE", "--", "true"),
    ("inspect", "MetadataRequest", "0", "00000000", "--html"),
    ("resolve", "specs", "--out"),
    ("compat", "specs", "specs", "--sarif"),
)
"""Every command and option that writes one file; the place is the last argument, or the one that says so."""
KINDS = ("a pipe", "a socket", "a device", "a link to a file", "a link to nothing", "a link to a device", "a folder")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """Places of all kinds in one folder, with what a command needs."""
    found = {kind: tmp_path / kind.replace(" ", "-") for kind in KINDS}
    (tmp_path / "specs").mkdir()
    for file, text in new_specs("Foo", "request", 1000).items():
        (tmp_path / "specs" / file).write_text(text)
    for partition in ("orders-0", "__consumer_offsets-0"):
        (tmp_path / "logs" / partition).mkdir(parents=True)
        batch = write_batch([Record(offset=0, timestamp=0, key=b"key")])
        (tmp_path / "logs" / partition / f"{0:020}.log").write_bytes(batch)
    (tmp_path / "theirs").write_text("theirs")
    monkeypatch.chdir(tmp_path)
    os.mkfifo(found["a pipe"])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("a-socket")  # a whole path may be too long for one
    if os.geteuid() == 0:
        os.mknod(found["a device"], stat.S_IFCHR | 0o600, os.makedev(1, 7))  # as /dev/full
    else:
        del found["a device"]
    found["a link to a file"].symlink_to(tmp_path / "theirs")
    found["a link to nothing"].symlink_to(tmp_path / "nothing")
    found["a link to a device"].symlink_to(os.devnull)
    found["a folder"].mkdir()
    with listener:
        yield found


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what there is in a folder."""
    found = {file.name: file.lstat() for file in folder.iterdir()}
    return {name: (one.st_mode, one.st_ino, one.st_size, one.st_mtime_ns) for name, one in found.items()}


def test_a_file_is_written_over_no_place_but_a_regular_file(places: dict[str, Path], tmp_path: Path) -> None:
    before = state(tmp_path)
    for kind, place in places.items():
        for write in (need_place, lambda file: write_atomically(file, b"ours")):
            with pytest.raises(OSError, match=kind.split()[1]) as error:
                write(place)
            assert error.value.filename == str(place)
    assert state(tmp_path) == before
    for place in (tmp_path / "theirs", tmp_path / "new"):
        need_place(place)
        write_atomically(place, b"ours")
        assert place.read_bytes() == b"ours"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_every_other_place_in_one_line(
    command: tuple[str, ...],
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"capture": str(DATA / "clients" / "sarama-1.46.0.pcap.gz")}
    before = state(tmp_path)
    for kind, place in places.items():
        words = [given.get(word, word) for word in command]
        words = [str(place) if word == "PLACE" else word for word in words]
        if "PLACE" not in command:
            words.append(str(place))
        done = command_line.call(*words, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
        assert str(place) in done.stderr and kind.split()[1] in done.stderr
    assert state(tmp_path) == before

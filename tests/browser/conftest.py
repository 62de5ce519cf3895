"""The page "Bytes in the browser", served from this machine and opened in Chromium: `make test-browser`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.chromium import Tab, chromium, program
from tests.support.command_line import Done
from tests.support.places import ROOT

FOLDER = ROOT / "build" / "browser"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of the folder, on a port of its own."""
    assert (FOLDER / "index.html").exists(), "make browser"
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(FOLDER)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Tab]:
    """A page that has loaded Python."""
    if program() is None:
        pytest.skip("needs Chromium")
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.look(1280, 800)
        opened.open(address)
        opened.until("document.documentElement?.dataset.started")
        yield opened


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    return lambda *arguments: command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

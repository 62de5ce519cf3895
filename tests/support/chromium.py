"""Chromium without a window, driven by its DevTools protocol over a pair of pipes: no library, no port."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Find Chromium: the one of the variable CHROMIUM, or one on the path; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(which, NAMES)), None)


class Tab:
    """One page, with what it has asked for."""

    def __init__(self, process: subprocess.Popen[bytes], into: int, out: int) -> None:
        """Open an empty page of a running Chromium; `into` and `out` are its pipes."""
        self._process, self._into, self._out = process, into, out
        self._last, self._rest, self._session = 0, b"", ""
        self.requests: list[str] = []
        """The addresses that page and workers have asked for; not data and blobs."""
        self.said: list[str] = []
        """Errors and refusals on the console."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def call(self, method: str, *, session: str | None = None, seconds: float = 300, **given: Any) -> Any:
        """Call a method of the protocol, and return its result.

        Raises:
            RuntimeError: Chromium refuses it.
            TimeoutError: there is no answer.
        """
        number = self._send(method, given, self._session if session is None else session)
        end = time.monotonic() + seconds
        while True:
            message = self._next(end)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._event(message)

    def run(self, script: str, seconds: float = 300) -> Any:
        """Run a script in the page, await what it gives, and return that.

        Raises:
            RuntimeError: the script fails.
        """
        done = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
            seconds=seconds,
        )
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def until(self, script: str, seconds: float = 60) -> Any:
        """Run a script until it gives something true, and return that.

        Raises:
            TimeoutError: it does not.
        """
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}; {self.said}")
            time.sleep(0.05)
        return found

    def open(self, address: str) -> None:
        """Open an address, as the first page that is looked at: nothing is cached."""
        self.call("Network.clearBrowserCache")
        self.call("Page.navigate", url=address)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window, in CSS pixels, and its colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def give(self, selector: str, files: list[Path]) -> None:
        """Choose files in a field for files."""
        found = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")
        paths = [str(file.resolve()) for file in files]
        self.call("DOM.setFileInputFiles", objectId=found["result"]["objectId"], files=paths)

    def _send(self, method: str, given: dict[str, Any], session: str) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": given, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._into, data) :]
        return self._last

    def _next(self, end: float) -> Any:
        while b"\0" not in self._rest:
            if not select.select([self._out], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium does not answer; it said {self.said}")
            piece = os.read(self._out, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _event(self, message: Any) -> None:
        match message.get("method"), message.get("params"):
            case "Network.requestWillBeSent", given if not given["request"]["url"].startswith(("data:", "blob:")):
                self.requests.append(given["request"]["url"])
            case "Target.attachedToTarget", given:  # a worker or a frame: listen to it as well, and let it go on
                session = given["sessionId"]
                for method in ("Network.enable", "Log.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                    self._send(method, {}, session)
            case "Log.entryAdded", given if given["entry"]["level"] == "error":
                self.said.append(given["entry"]["text"])
            case "Runtime.exceptionThrown", given:
                self.said.append(str(given["exceptionDetails"].get("exception", given["exceptionDetails"])))


@contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """Run Chromium with an empty profile, and open one page.

    Args:
        folder: for its profile.
    """
    found = program()
    assert found is not None
    to_read, into = os.pipe()
    out, to_write = os.pipe()

    def with_pipes() -> Callable[[], None]:
        def place() -> None:  # Chromium reads from 3 and writes to 4
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        return place

    process = subprocess.Popen(
        [found, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
        preexec_fn=with_pipes(),
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Tab(process, into, out)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(into)
        os.close(out)

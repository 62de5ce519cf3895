"""All golden messages are right in the page's Python, CPython 3.14 as WebAssembly, in Node and in Chromium."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from shutil import which

import pytest

from docs.browser.downloads import pyodide
from tests.support import golden_data
from tests.support.browser_page import paste
from tests.support.chromium import Tab
from tests.support.command_line import Done
from tests.support.places import ROOT, SUPPORT

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_all_golden_messages_are_right_under_python_3_14(record_property: Callable[[str, object], None]) -> None:
    node = which("node")
    if node is None:
        pytest.skip("needs Node")
    folder = pyodide(ROOT / "build" / "browser-downloads")
    command = [node, str(SUPPORT / "golden_in_wasm.mjs"), str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"\n{found}")
    for name, value in found.items():
        record_property(name, value)
    assert found["wrong"] == []
    assert found["python"].startswith("3.14.") and not found["native"]
    assert found["messages"] == sum(map(len, golden_data.messages().values())) > 3000
    assert found["versions"] == len(golden_data.every_message_and_version())


def test_a_golden_message_of_each_api_is_shown_in_chromium(tab: Tab, address: str, call: Callable[..., Done]) -> None:
    """One after another through the page, each in its newest version."""
    tab.open(address)  # without specs that were dropped before
    tab.until("document.documentElement?.dataset.started")
    newest = {name: max(version for one, version in golden_data.messages() if one == name)
              for name, _ in golden_data.messages()}  # fmt: skip
    chosen = sorted(newest.items())[:: max(1, len(newest) // 25)]
    assert len(chosen) >= 25
    for name, version in chosen:
        line = min(golden_data.messages()[name, version], key=lambda one: len(one["hex"]))
        if not line["hex"]:
            continue
        shown = paste(tab, line["hex"], f"{name}:{version}")
        done = call("inspect", name, version, line["hex"])
        assert (shown.out, shown.status) == (done.stdout, 0), (name, version)

"""Actions on the page "Bytes in the browser", as people do them, and the result that it then shows."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import NamedTuple

from tests.support.chromium import Tab

_SHOWN = "document.documentElement.dataset.shown"
_NUMBER = f"Number(({_SHOWN} ?? '0').split(':')[0])"

_RESULT = """(() => {
  const at = (id) => document.getElementById(id);
  return {
    command: at("command").textContent, notes: at("notes").textContent, said: at("said").textContent,
    out: at("page").hidden ? at("out").textContent : at("page").srcdoc,
  };
})()"""


class Shown(NamedTuple):
    """A result on the page."""

    words: list[str]
    """The command line, with the program."""
    out: str
    """The content of the view: standard output, or a page."""
    notes: str
    """Standard error, and hints below it."""
    status: int


def paste(tab: Tab, text: str, form: str = "", view: str = "text") -> Shown:
    """Put a text into the field, say what it is, and show it."""
    return act(
        tab,
        f"document.getElementById('text').value = {json.dumps(text)};"
        "document.getElementById('text').dispatchEvent(new Event('input'));"
        f"document.getElementById('form').value = {json.dumps(form)};"
        "document.querySelector('.main').click();",
        view,
    )


def choose(tab: Tab, files: list[Path], view: str = "text") -> Shown:
    """Choose files, and show them."""
    before = tab.run(_NUMBER)
    tab.give("#files", files)
    tab.until(f"{_NUMBER} > {before}")
    return act(tab, "", view)


def act(tab: Tab, script: str, view: str = "text") -> Shown:
    """Run a script that makes the page show something, then turn to a view of it."""
    if script:
        before = tab.run(_NUMBER)
        tab.run(f"{{ {script} }}; null")
        tab.until(f"{_NUMBER} > {before}")
    if tab.run(f"{_SHOWN}.split(':')[1]") not in (view, "specs"):
        before = tab.run(_NUMBER)
        tab.run(f"document.querySelector('[data-view={view}]').click()")
        tab.until(f"{_NUMBER} > {before}")
    found = tab.run(_RESULT)
    said = found["said"]
    status = int(said.split()[2].rstrip(",")) if said.startswith("Exit status") else 0
    return Shown(shlex.split(found["command"]), found["out"], found["notes"], status)

"""Answers to the page: which command shows what was given, and what it prints. It runs in the browser.

The commands decide what bytes mean and what is wrong with them; here is chosen only which of them is asked. It runs as
well outside of a browser, so that tests can compare.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import click

import kipwire
from kipwire.cli.apis import apis, registry_named
from kipwire.console.app import app
from kipwire.console.dump.log_files import HEAD_BYTES, begins_as_a_log
from kipwire.console.dump.partition_files import kind_of
from kipwire.console.inspect.input import capture_kind, read_input
from kipwire.console.inspect.tree import inspect_message, inspect_request, inspect_response
from kipwire.logs.names import SEGMENT, SNAPSHOT
from kipwire.message.registry import KAFKA_PACKAGE, Registry
from kipwire.model.errors import KipwireError
from kipwire.traffic.any_capture import capture_at

PASTED = "pasted.txt"
"""The file with a text that was pasted."""
_BYTES = Path("/tmp/pasted.bin")
"""The file with the bytes of a pasted text that shows a whole capture or log."""
_PAGE = Path("/tmp/page.html")
MOST_OUTPUT = 2_000_000
"""Characters of a command's output that a page shows: browsers lay out more of them slowly."""
_COLUMNS = 200
OWN = "own"
"""The name of the package that is generated from dropped specs."""


# Which command.


def chosen(names: Sequence[str], form: str, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Choose the command that shows some files.

    Args:
        names: of files and folders in the current folder; a pasted text is in `PASTED`.
        form: what the bytes are, in the words of a link: `request`, `response:API:VERSION`, `MESSAGE:VERSION`, or the
            last two without a version; "" where the bytes themselves say it.
        packages: generated packages besides Kafka's.

    Returns:
        `words`: the command line, without the program; `note`: a hint for people, or "".
    """
    options = [word for package in packages for word in ("--package", package)]
    if form:
        return {"words": ["inspect", *_words(form, names[0], packages), names[0], *options], "note": ""}
    paths = [Path(name) for name in names]
    if all(_is_of_a_log(path) for path in paths):
        return {"words": ["dump", "--records", *names], "note": ""}
    if all(capture_at(path) is not None for path in paths):
        return {"words": ["tap", *names, *options], "note": ""}
    if any(path.is_dir() for path in paths) or len(paths) > 1:
        return {"words": ["dump", "--records", *names, *options], "note": ""}
    data = _bytes_of(names[0])
    if data and (capture_kind(data) or begins_as_a_log(data[:HEAD_BYTES])):
        _BYTES.write_bytes(data)
        return {**chosen([str(_BYTES)], "", packages), "note": "the pasted bytes are a whole file"}
    registry = registry_named(*packages) if packages else registry_named(KAFKA_PACKAGE)
    note = ""
    if data:
        with suppress(KipwireError):
            if inspect_request(registry, data).error is not None:
                note = (
                    "Only requests say what they are. For anything else, choose it above: a response with its API, "
                    "or a message."
                )
    return {"words": ["inspect", "--request", names[0], *options], "note": note}


def _is_of_a_log(path: Path) -> bool:
    if path.is_dir():
        return any(one.suffix == SEGMENT for one in path.iterdir())
    if kind_of(path) is not None:
        return True
    if path.suffix in (SEGMENT, SNAPSHOT):
        return True
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return bool(head) and begins_as_a_log(head)


def _bytes_of(name: str) -> bytes:
    """Return the bytes that a file shows or has; none if the command refuses it."""
    if name == PASTED:
        raw = Path(name).read_bytes()
        if capture_kind(raw):
            return raw
    with suppress(ValueError, OSError), redirect_stderr(io.StringIO()):
        return read_input([name])
    return b""


def _words(form: str, name: str, packages: Sequence[str]) -> list[str]:
    """Return the words of `kipwire inspect` for a form; without a version, of the newest that reads all bytes."""
    parts = [one for one in re.split(r"[\s:+]+", form.strip()) if one]
    if parts == ["request"]:
        return ["--request"]
    is_response = parts[:1] == ["response"] and len(parts) > 1
    if is_response:
        parts = parts[1:]
    if len(parts) == 1:
        found = _newest_that_reads(parts[0], _bytes_of(name), is_response, packages)
        parts = [parts[0], "0" if found is None else str(found)]
    elif re.fullmatch(r"v\d+", parts[1]):
        parts[1] = parts[1][1:]
    return ["--response", *parts] if is_response else parts


def _newest_that_reads(name: str, data: bytes, is_response: bool, packages: Sequence[str]) -> int | None:
    """Return the newest version of a message, or of an API's response, that reads all bytes, or else the newest."""
    registry = registry_named(*(packages or (KAFKA_PACKAGE,)))
    try:
        message = f"{name}Response" if is_response else name
        versions = sorted(registry.versions(message), reverse=True)
    except KipwireError:
        return None
    for version in versions:
        cls = registry.message(message, version)
        with suppress(KipwireError):
            read = inspect_response(registry, cls, data) if is_response else inspect_message(cls, data)
            if read.error is None:
                return version
    return versions[0] if versions else None


def forms(packages: Sequence[str] = ()) -> list[str]:
    """List what bytes can be, in the words of a link: requests, each API's newest response, each message's newest."""
    registry: Registry = registry_named(*(packages or (KAFKA_PACKAGE,)))
    responses = [f"response:{api.name}:{max(api.versions)}" for api in apis(registry)]
    messages = [f"{name}:{max(registry.versions(name))}" for name in registry.names() if registry.versions(name)]
    return ["request", *sorted(responses), *sorted(messages)]


# What it prints.


class _FullError(BrokenPipeError):
    """More output than is shown."""


class _Limited(io.RawIOBase):
    """Keeps the beginning of what is written, and then is closed, as a pipe to `head` is."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.is_full = False
        self._sink = os.open(os.devnull, os.O_WRONLY)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._sink

    def write(self, data: Any) -> int:
        if self.is_full:
            return len(data)
        self.kept += data
        if len(self.kept) > MOST_OUTPUT:
            self.is_full = True
            raise _FullError
        return len(data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._sink)
        super().close()


def run(words: Sequence[str], view: str = "text") -> dict[str, Any]:
    """Run a command of kipwire, and return what it says.

    Args:
        words: the command line, without the program.
        view: `text`, `json`, or `page` for the page that `--html` writes.

    Returns:
        `status`: the exit status; `out`: standard output, its beginning if `cut`; `err`: standard error; `page`: HTML,
        or "" without one.
    """
    more = {"text": [], "json": ["--format", "json"], "page": ["--html", str(_PAGE)]}[view]
    _PAGE.unlink(missing_ok=True)
    status, out, err, is_cut = _called(app, "kipwire", [*words, *more])
    page = _PAGE.read_text("utf-8") if view == "page" and _PAGE.exists() else ""
    err = err.replace(f"wrote {_PAGE}\n", "")
    return {"status": status, "out": out, "err": err, "cut": is_cut, "page": page}


def _called(program: click.Command, name: str, words: Sequence[str]) -> tuple[int, str, str, bool]:
    kept: Any = _Limited()
    out, err = io.TextIOWrapper(kept, "utf-8", write_through=False), io.StringIO()
    status = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            program.main(list(words), prog_name=name)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except _FullError:
            pass
        except (MemoryError, RecursionError) as error:
            print(f"{name}: {type(error).__name__}: the input is too large for this page", file=err)
            status = 2
        with suppress(_FullError):
            out.flush()
    text = bytes(kept.kept[:MOST_OUTPUT]).decode("utf-8", "replace")
    is_cut = kept.is_full
    kept.is_full = True  # what is left in the buffer goes nowhere
    out.detach()
    return 0 if is_cut and status == 1 else status, text, err.getvalue(), is_cut


def link_of(words: Sequence[str]) -> dict[str, str]:
    """Return the bytes that `kipwire inspect` shows, in hex, and their form; both are "" where there is no message."""
    status, out, _, is_cut = _called(app, "kipwire", [*words, "--format", "json"])
    if status == 2 or is_cut or not out:
        return {"hex": "", "form": ""}
    found = json.loads(out)
    data = "".join(one["bytes"] for one in found["elements"]) + (
        "" if found["error"] is None else found["error"]["rest"]
    )
    parts = {one["part"].partition(" ")[0] for one in found["elements"]}
    name, version = found["message"], found["version"]
    if "RequestHeader" in parts or name == "RequestHeader":
        return {"hex": data, "form": ""}
    form = f"response:{name.removesuffix('Response')}:{version}" if "ResponseHeader" in parts else f"{name}:{version}"
    return {"hex": data, "form": form}


# Own specs.


def unpack_generator(archive: str) -> None:
    """Make the generator importable, and the runtime a folder, whose files the generator reads.

    Args:
        archive: a zip, compressed by xz.
    """
    with zipfile.ZipFile(io.BytesIO(lzma.decompress(Path(archive).read_bytes()))) as opened:
        opened.extractall("/generator")
    with zipfile.ZipFile("/kipwire.zip") as opened:
        opened.extractall("/runtime", [name for name in opened.namelist() if name.startswith("kipwire/")])
    for file in Path("/runtime").rglob("*.pyc"):  # the manifest of what is generated has hashes of these files
        file.rename(file.with_suffix(".py"))
    kipwire.__file__ = "/runtime/kipwire/__init__.py"
    sys.path.append("/generator")


def generate(folder: str) -> dict[str, Any]:
    """Check specs and generate their package, which later calls can name; the generator must have been loaded.

    Args:
        folder: the folder of the specs.

    Returns:
        `status`, `out` and `err` of `kipgen check`, or of `kipgen generate` if that fails; `classes`: the sources of
        the newest class of each message by name; `package`: its name, or "" if there is none.
    """
    from kipgen.commands.app import app as kipgen  # loaded when specs are dropped

    made = Path("/tmp/generated")
    status, out, err, _ = _called(kipgen, "kipgen", ["check", folder])
    if status == 0:
        failed, said, wrong, _ = _called(kipgen, "kipgen", ["generate", folder, "--package", OWN, "--out", str(made)])
        if failed:
            status, out, err = failed, out + said, err + wrong
    if status:
        return {"status": status, "out": out, "err": err, "classes": {}, "package": ""}
    for name in [name for name in sys.modules if name == OWN or name.startswith(f"{OWN}.")]:
        del sys.modules[name]
    if str(made) not in sys.path:
        sys.path.insert(0, str(made))
    classes = {}
    for message in sorted(path for path in (made / OWN).iterdir() if path.is_dir()):
        versions = [file for file in message.glob("v*.py") if file.stem[1:].isdigit()]
        if versions:
            newest = max(versions, key=lambda file: int(file.stem[1:]))
            classes[f"{message.name} {newest.stem}"] = newest.read_text("utf-8")
    return {"status": 0, "out": out, "err": err, "classes": classes, "package": OWN}


_ASKED: dict[str, Callable[..., Any]] = {
    "chosen": chosen, "forms": forms, "run": run, "link_of": link_of, "generate": generate
}  # fmt: skip


def answer(question: str) -> str:
    """Answer a question of the page: a JSON object with `call`, the name of a function here, and its `arguments`."""
    asked = json.loads(question)
    os.environ.update(COLUMNS=str(_COLUMNS), NO_COLOR="1")
    return json.dumps(_ASKED[asked["call"]](*asked["arguments"]))

"""The first screen of the site: the README's three numbers, a message whose bytes can be touched, a recorded terminal.

They take the place of what README.md has between two comments. `python -m docs.site.home` records the terminal again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

import kafka_messages
from benchmarks.reporting.bars import ratios
from docs.site.real_messages import CAPTURE
from docs.site.templating import render
from docs.site.touch import touch
from kipwire.codec.wire import pack_i
from kipwire.console.inspect.tree import inspect_request
from kipwire.traffic.captures import files_in, open_frames, read_index

FRAME = 227
"""A request of the capture: CreateTopics v7 of Java's admin client, 74 bytes."""
LIT = "topics[0].name"
"""The field that is lit at first."""
COMMANDS = (
    "kipwire tap examples/capture --errors --client kp-txn | head -n 3",
    "kipwire offsets tests/data/segments | grep -A 5 'lag of groups'",
)
RECORDED = Path(__file__).parent / "recorded.txt"
"""The terminal: commands behind `$`, and what they print, with its escapes for colours."""
WIDTH = 78

_PART = re.compile(r"<!-- first screen -->\n(?P<readme>.*?)<!-- end of first screen -->\n", re.DOTALL)
_NUMBER = re.compile(r"^\* \*\*(?P<number>[^*]+)\*\* (?P<text>.*(?:\n  .*)*)$", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)]+?)(?:\.md)?\)")
_ESCAPE = re.compile(r"\x1b\[(?P<code>\d*)m")
_CLASSES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "96": "cyan"}


class Fact(NamedTuple):
    """A number of the first screen."""

    number: str
    text: str
    """Text behind the number, with the other numbers in it."""


def facts(root: Path) -> tuple[Fact, ...]:
    """Compute the three numbers that README.md and the site show, from the classes, the results and the benchmarks.

    Args:
        root: the repository.
    """
    names = kafka_messages.names()
    versions = sum(len(kafka_messages.versions(name)) for name in names)
    conformance = json.loads((root / "conformance/results.json").read_text("utf-8"))
    libraries = {one["name"]: one for one in conformance["libraries"]}
    ours, other = libraries["kipwire (kernel)"], libraries["kafka-python"]
    asked = ours["passed"] + ours["required"] + ours["recommended"]
    results = (root / "benchmarks/RESULTS.md").read_text("utf-8")
    message = "MetadataResponse v12"
    decode, encode = (ratios(results, operation)[message]["kafka-python"] for operation in ("Decode", "Encode"))
    return (
        Fact(str(versions), f"versions of {len(names)} messages"),
        Fact(
            f"{ours['required']:,}",
            f"of {asked:,} conformance questions failed, kafka-python in {other['wrong_versions']} versions",
        ),
        Fact(f"{decode:.0f} times", f"as fast as kafka-python in decoding a {message}, {encode:.0f} times in encoding"),
    )


def with_first_screen(root: Path, readme: str) -> str:
    """Return the README with the first screen in the place of what it has for other readers.

    Args:
        root: the repository.
        readme: its Markdown.

    Raises:
        ValueError: the README has no such part, or not three numbers in it.
    """
    found = _PART.search(readme)
    numbers = [(one["number"], _html(one["text"])) for one in _NUMBER.finditer(found["readme"])] if found else []
    if found is None or len(numbers) != 3:
        raise ValueError("README.md: the first screen needs three lines '* **NUMBER** text' between its comments")
    frame = example_frame(root)
    hero = render(
        "home.html.j2",
        numbers=numbers,
        bytes=touch(inspect_request(kafka_messages.REGISTRY, frame), "home", LIT),
        size=len(frame),
        hex=frame.hex(),
        lines=list(terminal(RECORDED.read_text("utf-8"))),
    )
    return f"{readme[: found.start()]}{hero}\n{readme[found.end() :]}"


def _html(markdown: str) -> Markup:
    return Markup(_LINK.sub(r'<a href="\g<target>.html">\g<text></a>', str(escape(" ".join(markdown.split())))))


def example_frame(root: Path) -> bytes:
    """Read the request of the first screen from the capture, with its size before it.

    Args:
        root: the repository.
    """
    index, file = files_in(root / CAPTURE)
    with open_frames(file) as frames:
        entry = next(one for number, one in enumerate(read_index(index)) if number == FRAME)
        data = frames.read(entry)
    return pack_i(len(data)) + data


def terminal(recorded: str) -> Iterator[Markup]:
    """Yield the lines of a recorded terminal as HTML, commands in a class of their own.

    Args:
        recorded: the text, with escapes for colours.
    """
    for line in recorded.splitlines():
        if line.startswith("$ "):
            yield Markup('<span class="typed">{}</span>').format(line)
            continue
        parts, is_open, done = [], False, 0
        for found in _ESCAPE.finditer(line):
            parts.append(escape(line[done : found.start()]))
            parts.append(Markup("</span>") if is_open else Markup())
            is_open = found["code"] not in ("", "0")
            parts.append(Markup('<span class="{}">').format(_CLASSES.get(found["code"], "")) if is_open else Markup())
            done = found.end()
        parts += [escape(line[done:]), Markup("</span>") if is_open else Markup()]
        yield Markup().join(parts)


def record(root: Path) -> str:
    """Run the commands of the terminal, and return it.

    Args:
        root: the repository.

    Raises:
        CalledProcessError: a command fails.
    """
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PATH": f"{here}:{os.environ['PATH']}"}
    text = ""
    for command in COMMANDS:
        done = subprocess.run(
            command,
            shell=True,
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        text += f"$ {command}\n{done.stdout.decode()}"
    return text


if __name__ == "__main__":
    RECORDED.write_text(record(Path(__file__).resolve().parent.parent.parent), "utf-8")

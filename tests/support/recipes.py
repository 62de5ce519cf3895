"""The recipes of docs/call.md: the commands under each heading, as the page has them."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tests.support.places import ROOT

PAGE = ROOT / "docs" / "call.md"
ADDRESS = "localhost:9092"
TOPIC, GROUP = "orders", "billing"
"""Names in the recipes of the page."""


class Recipe(NamedTuple):
    """Content under one heading."""

    title: str
    commands: tuple[tuple[str, ...], ...]
    """The words of each, without the name of the program."""


def recipes(address: str, topic: str = TOPIC, group: str = GROUP) -> list[Recipe]:
    """Return the recipes in the order of the page, for a broker.

    Args:
        address: of the broker.
        topic: replaces the page's topic.
        group: replaces the page's group.
    """
    (section,) = re.findall(r"^## Recipes\n(.*?)^## ", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    found = []
    for part in re.split(r"^### ", section, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        lines = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
        commands = re.split(r"^kipwire ", lines, flags=re.MULTILINE)
        assert commands[0] == "", f"{title}: a recipe begins with kipwire"
        words = [tuple(shlex.split(command)) for command in commands[1:]]
        assert all(ADDRESS in one for one in words), f"{title}: a recipe is for {ADDRESS}"
        found.append(Recipe(title, tuple(tuple(_for(one, address, topic, group) for one in line) for line in words)))
    return found


def _for(word: str, address: str, topic: str, group: str) -> str:
    return address if word == ADDRESS else word.replace(TOPIC, topic).replace(GROUP, group)

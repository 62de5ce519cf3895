"""Packets cost the same each, however their segments are cut, mixed, repeated or left unanswered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from kipwire.traffic.packet_captures import find_frames
from tests.support import packet_dumps as made
from tests.support.growth import Action, slow
from tests.support.packet_dumps import Tcp
from tests.support.subjects.packet_talks import Talk


def talk(count: int, *, answered: bool = True) -> list[Tcp]:
    made_of = Talk()
    for number in range(count):
        made_of.ask(number)
        if answered:
            made_of.answer(number)
    return list(made_of.segments)


Way = Callable[[int], Sequence[Tcp]]
WAYS: dict[str, Way] = {
    "in order": talk,
    "unanswered": lambda count: talk(count, answered=False),
    "in reverse order": lambda count: talk(count)[::-1],
    "in any order": lambda count: Random(1).sample(talk(count), len(talk(count))),
    "sent twice": lambda count: [one for one in talk(count) for _ in range(2)],
    "all sent again": lambda count: talk(count) * 2,
    "the first lost": lambda count: talk(count)[3:],
    "every fifth lost": lambda count: [one for number, one in enumerate(talk(count)) if number % 5],
}


@pytest.mark.parametrize("way", WAYS)
def test_packets_cost_the_same_each(way: str, tmp_path: Path) -> None:
    def work(count: int) -> Action:
        file = tmp_path / f"{count}.pcap"
        file.write_bytes(made.dump(WAYS[way](count)))
        return lambda: list(find_frames([file]))

    assert slow(work, 100, 200) is None

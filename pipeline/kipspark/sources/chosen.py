"""The topics and partitions that a source is asked for, and that they are there."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kipspark.errors import SourceError
from kipspark.files.roots import Roots, shown_roots
from kipspark.sources.options import Options
from kipwire.tools.text import did_you_mean

CHOSEN_OPTIONS = ("topics", "partitions", "failOnMissingTopics")
_SHOWN = 20


class Chosen(NamedTuple):
    """The partitions that are wanted: those of these topics with these numbers; of what is empty, all."""

    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    must_exist: bool = True
    """Whether it is an error if a topic is not there, or none of them has a partition of a number."""

    def check(self, roots: Roots, there: Collection[tuple[str, int]]) -> None:
        """Check that what is named is there.

        Args:
            roots: where, for the message.
            there: topics and numbers of all partitions that have a folder.

        Raises:
            SourceError: something is not there, and must be.
        """
        if not self.must_exist:
            return
        topics = sorted({topic for topic, _ in there})
        for topic in self.topics:
            if topic not in topics:
                guess = did_you_mean(topic, topics)
                raise SourceError(
                    f"{shown_roots(roots)}: there is no folder of topic {topic!r}"
                    + (f"{guess} There {_are(topics)}" if guess else f"; there {_are(topics)}")
                )
        numbers = sorted({number for topic, number in there if not self.topics or topic in self.topics})
        for number in self.partitions:
            if number not in numbers:
                of = f" of {_listed(self.topics)}" if self.topics else ""
                raise SourceError(
                    f"{shown_roots(roots)}: there is no folder of partition {number}{of}; there {_are(numbers)}"
                )


def chosen_of(options: Options) -> Chosen:
    """What the options say.

    Raises:
        SourceError: one of them is not valid.
    """
    return Chosen(
        options.texts("topics"), options.numbers("partitions"), options.truth("failOnMissingTopics", default=True)
    )


def _are(names: Collection[str | int]) -> str:
    return f"{'is' if len(names) == 1 else 'are'} {_listed(names)}"


def _listed(names: Collection[str | int]) -> str:
    some = [str(name) for name in names][:_SHOWN]
    return ", ".join(some) + (f" and {len(names) - len(some):,} more" if len(names) > len(some) else "") or "none"

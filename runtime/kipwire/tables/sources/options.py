"""Parse and check the options of data sources, such as the topics and partitions to read.

Options are checked before anything is read, and an unknown name is an error, because a misspelt filter would give rows
that were not asked for. Spark does not keep the case of names, so it does not matter here either, and several paths
come as one JSON text. An error names the option, what it was, and what it must be.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kipwire.tables.errors import SourceError
from kipwire.tables.files.roots import Roots, each_root, roots_text
from kipwire.tables.files.stores import Storage, storage_of
from kipwire.tools.text import did_you_mean

_OF_STORAGE = "storage."
"""Prefix of the options of a store."""
_LAST_PORT = 65535
_OF_TABLES = {"owner", "provider"}
"""Options that Spark before 4.3 adds for a table made by `create table`."""

CHOSEN_OPTIONS = ("topics", "partitions", "failOnMissingTopics")
_SHOWN = 20


def parse_list(text: str) -> tuple[str, ...]:
    """Split a list at its commas, such as `orders, clicks`, and remove the spaces around its parts.

    Spark passes a list of Python as its text, `['orders', 'clicks']`, in which no name has a bracket or a quote.
    """
    if text.startswith(("[", "(")) and text.endswith(("]", ")")):
        text = text[1:-1].replace("'", "").replace('"', "")
    return tuple(part.strip() for part in text.split(",") if part.strip())


def path_options(roots: Roots) -> dict[str, str]:
    """Return the options with which a source reads these paths, also as a stream."""
    paths = each_root(roots)
    return {"path": paths[0]} if len(paths) == 1 else {"paths": json.dumps(paths)}


def _paths(text: str) -> list[str]:
    """Return the paths in a JSON list; none if the text is something else."""
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return paths if isinstance(paths, list) and all(isinstance(path, str) for path in paths) else []


class Options:
    """The options of one data source, each read once.

    As everywhere in Spark, case does not matter in names.
    """

    def __init__(self, source: str, given: Mapping[str, str], known: tuple[str, ...]) -> None:
        """Check the names of the options that a user has given.

        Raises:
            SourceError: an option is not a known one.
        """
        self._source = source
        self._given = {name.lower(): text for name, text in given.items()}
        names = {name.lower() for name in known} | {"path", "paths"} | _OF_TABLES
        for name in given:
            if name.lower() == "location" or name.lower().startswith("option."):
                raise SourceError(
                    f"{source}: Spark does not pass the options of a table to Python sources when it is read: create "
                    "it without options and read it with them, or make a temporary view of a reader with options"
                )
            if name.lower() not in names and not name.lower().startswith(_OF_STORAGE):
                raise SourceError(f"{source} has no option {name!r}; it has {', '.join(known)}")

    def text(self, name: str) -> str | None:
        """Return the text of an option; None if it was not given."""
        return self._given.get(name.lower())

    def roots(self) -> tuple[str, ...]:
        """Return the paths to read from: one for `load(PATH)`, several for `load([PATH, PATH])`.

        Spark passes several as the option `paths`, a JSON list; for a stream, whose `load` takes one, users set it.

        Raises:
            SourceError: there is none, or the option is not such a list.
        """
        path, paths = self.text("path"), self.text("paths")
        given = [*(_paths(paths) or [""] if paths is not None else []), *([path] if path is not None else [])]
        if not given or not all(given):
            if paths is not None:
                raise self._error("paths", paths, 'a JSON list of paths, such as ["/data/a", "/data/b"]')
            raise SourceError(f"{self._source} needs a path: spark.read.format({self._source!r}).load(PATH)")
        return tuple(root.removeprefix("file://") for root in given)

    def storage(self) -> Storage:
        """Return the options of the store, for a path that is a URL: each `storage.NAME` as `NAME`."""
        names = [name for name in self._given if name.startswith(_OF_STORAGE)]
        return storage_of({name.removeprefix(_OF_STORAGE): self._given[name] for name in names})

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list separated by commas, such as `orders,clicks`; empty if not given."""
        return parse_list(self.text(name) or "")

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers separated by commas; empty if not given.

        Raises:
            SourceError: one of them is not valid.
        """
        return tuple(self._number(name, part) for part in self.texts(name))

    def ports(self, name: str) -> tuple[int, ...]:
        """Return a list of TCP ports separated by commas; empty if not given.

        Raises:
            SourceError: one of them is not valid.
        """
        numbers = self.numbers(name)
        for number in numbers:
            if not 1 <= number <= _LAST_PORT:
                raise self._error(name, str(number), f"a port from 1 to {_LAST_PORT}")
        return numbers

    def number(self, name: str, least: int | None = None) -> int | None:
        """Return a whole number; None if not given.

        Raises:
            SourceError: it is not a whole number, or is below `least`.
        """
        text = self.text(name)
        if text is None:
            return None
        number = self._number(name, text)
        if least is not None and number < least:
            raise self._error(name, text, f"a whole number of at least {least}")
        return number

    def truth(self, name: str, default: bool) -> bool:
        """Return a truth value, from `true` or `false`; the default if not given.

        Raises:
            SourceError: it is neither.
        """
        text = (self.text(name) or str(default)).lower()
        if text not in ("true", "false"):
            raise self._error(name, text, "true or false")
        return text == "true"

    def one_of(self, name: str, known: tuple[str, ...], default: str) -> str:
        """Return one of several words, given in any case; the default if not given.

        Raises:
            SourceError: it is none of them.
        """
        text = self.text(name) or default
        for word in known:
            if text.lower() == word.lower():
                return word
        raise self._error(name, text, " or ".join(known))

    def _number(self, name: str, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise self._error(name, text, "a whole number") from None

    def error(self, reason: str) -> SourceError:
        """Return an error of this source."""
        return SourceError(f"{self._source}: {reason}")

    def _error(self, name: str, text: str, wanted: str) -> SourceError:
        return self.error(f"option {name} is {text!r}; it must be {wanted}")


class Chosen(NamedTuple):
    """A filter of partitions by topic and number; an empty tuple means all."""

    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    must_exist: bool = True
    """True if it is an error that a topic is missing, or that no topic has a partition with a number."""

    def check(self, roots: Roots, there: Collection[tuple[str, int]]) -> None:
        """Check that the named topics and partitions exist.

        Args:
            roots: the paths, for the message.
            there: topics and numbers of all partitions that have a folder.

        Raises:
            SourceError: one is missing, and `must_exist` is true.
        """
        if not self.must_exist:
            return
        topics = sorted({topic for topic, _ in there})
        for topic in self.topics:
            if topic not in topics:
                guess = did_you_mean(topic, topics)
                raise SourceError(
                    f"{roots_text(roots)}: there is no folder of topic {topic!r}"
                    + (f"{guess} There {_are(topics)}" if guess else f"; there {_are(topics)}")
                )
        numbers = sorted({number for topic, number in there if not self.topics or topic in self.topics})
        for number in self.partitions:
            if number not in numbers:
                of = f" of {_list_text(self.topics)}" if self.topics else ""
                raise SourceError(
                    f"{roots_text(roots)}: there is no folder of partition {number}{of}; there {_are(numbers)}"
                )


def parse_options(options: Options) -> Chosen:
    """Return the filter of partitions that the options give.

    Raises:
        SourceError: one of them is not valid.
    """
    return Chosen(
        options.texts("topics"), options.numbers("partitions"), options.truth("failOnMissingTopics", default=True)
    )


def _are(names: Collection[str | int]) -> str:
    return f"{'is' if len(names) == 1 else 'are'} {_list_text(names)}"


def _list_text(names: Collection[str | int]) -> str:
    some = [str(name) for name in names][:_SHOWN]
    return ", ".join(some) + (f" and {len(names) - len(some):,} more" if len(names) > len(some) else "") or "none"

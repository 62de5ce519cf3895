"""The command `kipgen tags`: the tags of a message, of all its versions and of its file's history.

The lowest free tag is one that no field has, had by `reservedTags`, or had in a commit of the file. Without git there
is no history, and both forms of the output say so: a tag that was removed without being reserved then looks free.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from kipgen.commands.compat.history import FileHistory, TagHistory, histories_of
from kipgen.commands.compat.tags import TagSpace, tag_spaces
from kipgen.commands.console import find_spec, print_problems
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.language.tagged_forms import lowest_free_tag
from kipgen.reading.check import read_file
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import OutputFormat, one_format
from kipwire.tools.text import print_out


@click.command
@click.argument("spec", type=PATH, metavar="MESSAGE|FILE", help="A spec, or the name of its message.")
@one_format
def tags(spec: Path, format_: OutputFormat) -> None:
    """List the tags of a message and its structs, of all versions and git's history, with the lowest free one."""
    spec, shown = find_spec(spec)
    checked = read_file(spec)
    if checked.spec is None:
        print_problems(checked.problems)
        fail(f"{spec} has errors; correct them first")
    past = histories_of([spec])[spec]
    spaces = list(_spaces(checked.spec, past.uses))
    if format_ is OutputFormat.JSON:
        print(json.dumps(_plain(checked.spec, shown, spaces, past), indent=2))
    else:
        for line in _lines(spaces, past):
            print_out(line)
        if checked.spec.flexible_versions.is_empty:
            print_out(f"{checked.spec.name} has no flexible versions, so no field of it can have a tag (KIP-482)")


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag that cannot be given to another field."""

    tag: int
    field: FieldSpec | None
    """The field that has the tag; None if no field has it now."""
    is_reserved: bool
    before: tuple[tuple[str, str], ...]
    """Other fields that had the tag, each with the newest commit where it did."""


@dataclass(frozen=True, slots=True)
class _Space:
    """The tags of a message, or of a struct."""

    path: str
    is_gone: bool
    """True for a struct that only the history has."""
    tags: tuple[_Tag, ...]

    @property
    def lowest_free(self) -> int:
        return lowest_free_tag({one.tag for one in self.tags})


def _spaces(spec: MessageSpec, uses: TagHistory) -> Iterator[_Space]:
    """Yield the message and its structs, then structs that only the history has."""
    now = {space.below_message: space for space in tag_spaces(spec)}
    gone = {use.path for use in uses} - now.keys()
    for path in (*now, *sorted(gone)):
        before: dict[int, list[tuple[str, str]]] = {}
        for use, commit in uses.items():
            if use.path == path:
                before.setdefault(use.tag, []).append((use.field, commit))
        yield _space(now.get(path), f"{spec.name}.{path}", before)


def _space(space: TagSpace | None, path: str, before: dict[int, list[tuple[str, str]]]) -> _Space:
    fields = {} if space is None else space.by_tag
    reserved = frozenset() if space is None else space.all_reserved
    found = []
    for tag in sorted({*fields, *reserved, *before}):
        field = fields.get(tag)
        others = tuple(one for one in before.get(tag, ()) if field is None or one[0] != field.name)
        found.append(_Tag(tag, field, tag in reserved, others))
    return _Space(path if space is None else space.path, space is None, tuple(found))


def _lines(spaces: list[_Space], past: FileHistory) -> Iterator[str]:
    for space in spaces:
        gone = " (no longer there)" if space.is_gone else ""
        yield f"{space.path}{gone}: lowest free tag {space.lowest_free}"
        names = [_name(one) for one in space.tags]
        width = max(map(len, names), default=0)
        for one, name in zip(space.tags, names, strict=True):
            yield f"  {one.tag:>3}  {name:<{width}}  {_state(one)}"
    if past.commit is not None:
        yield f"History: up to commit {past.commit.id[:10]}{f', but {past.lack}' if past.lack else ''}"
    else:
        yield f"Without history: {one_line(past.lack)}"


def _name(one: _Tag) -> str:
    if one.field is not None:
        return one.field.name
    return one.before[0][0] if one.before else "-"


def _state(one: _Tag) -> str:
    if one.field is not None:
        state = f"{one.field.type}, versions {one.field.tagged_versions}"
    else:
        state = "reserved" if one.is_reserved else "removed, and not reserved"
    had = ", ".join(f"{name} up to commit {commit}" for name, commit in one.before)
    return f"{state}; was {had}" if had else state


def _plain(spec: MessageSpec, shown: str, spaces: list[_Space], past: FileHistory) -> dict[str, object]:
    return {
        "message": spec.name,
        "spec": shown,
        "history": None if past.commit is None else past.commit.id,
        "history_lacks": past.lack,
        "structs": [
            {
                "path": space.path,
                "gone": space.is_gone,
                "lowest_free": space.lowest_free,
                "tags": [
                    {
                        "tag": one.tag,
                        "field": None if one.field is None else one.field.name,
                        "type": None if one.field is None else str(one.field.type),
                        "versions": None if one.field is None else str(one.field.tagged_versions),
                        "line": None if one.field is None else one.field.location.line,
                        "reserved": one.is_reserved,
                        "before": [{"field": name, "commit": commit} for name, commit in one.before],
                    }
                    for one in space.tags
                ],
            }
            for space in spaces
        ],
    }

"""Writes the facts that our specs lack into them, property by property, and keeps everything else.

Specs are edited as text, not written anew from data, so comments, order and line breaks of a file stay as its authors
made them. Differences are applied one after the other: each becomes `Edit`s by the locations of the parsed text, and
the text is parsed again before the next, since an edit moves all later locations. A result that has errors is not
written.

The order in the file: `write_missing` and the choice of edits, then the edits themselves by offsets in a text, then the
text of what is new. `compare` decides what differs, and each edit removes one of its differences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from kipgen.commands.drift.compare import (
    ORDER,
    PROPERTIES,
    WHOLE,
    Difference,
    Headers,
    Node,
    Value,
    covered_folders,
    differences,
    nodes,
    oldest_version,
    served_and_valid,
    with_older,
)
from kipgen.commands.drift.jars import Published
from kipgen.language.problems import Problem
from kipgen.language.spec import HEADERS
from kipgen.language.versions import Versions
from kipgen.reading import check
from kipgen.reading.draft import Draft
from kipgen.reading.source import MAX_BYTES, JsonPath, load_text
from kipgen.resolve.headers import header_versions
from kipwire.tools.files import read_regular, write_whole

_SAME = Headers()
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome for one spec."""

    file: Path
    unexplained: tuple[str, ...] = ()
    """Added elements that need an `about`, each with its location."""
    problems: tuple[Problem, ...] = ()
    """Reasons why the spec was not written: the errors that it would have."""


def write_missing(folder: Path, ours: Mapping[Path, Draft], release: Mapping[str, Published]) -> Iterator[Outcome]:
    """Write what Kafka has and our specs lack; nothing that only our specs have is removed.

    A spec that would break a rule is not changed. Files are replaced as a whole.

    Args:
        folder: the package of specs; new messages of a jar go where its others are, or into a sub-folder of its name.
        ours: our specs by file.
        release: Kafka's by name.
    """
    files = {draft.message.name: file for file, draft in ours.items()}
    headers = _headers_after(files, ours, release)
    folders = {jar: where for where, jar in covered_folders(ours, release).items()}
    for name, published in sorted(release.items()):
        if name in files:
            file = files[name]
            data = read_regular(file, MAX_BYTES)
            text = data.decode("utf-8-sig")
            after = update_text(text, published.draft, headers)
            if after != text:
                yield _write(file, after, data.startswith(_BOM), ours[file])
        else:
            where = folders.get(published.jar, folder / published.jar)
            yield _write(where / f"{name}.json", message_text(nodes(published.draft)), False, None)


def _headers_after(files: Mapping[str, Path], ours: Mapping[Path, Draft], release: Mapping[str, Published]) -> Headers:
    """Find the headers of both sides as they are once our specs of headers are written.

    Another version of a header can change the header of every message that does not say it.
    """
    after = {name: ours[file].message for name, file in files.items()}
    for name in set(HEADERS.values()) & release.keys():
        after[name] = release[name].draft.message
        if name in files:
            text = read_regular(files[name], MAX_BYTES).decode("utf-8-sig")
            after[name] = _read(update_text(text, release[name].draft)).message
    kafka = header_versions(one.draft.message for one in release.values())
    return Headers(header_versions(after.values()), kafka)


def update_text(text: str, kafka: Draft, headers: Headers = _SAME) -> str:
    """Write the facts that a spec lacks into its text.

    Args:
        text: our spec, which has no errors.
        kafka: Kafka's spec of the same message.
        headers: of both sides.
    """
    # A difference that no edit can remove stays, and would be tried for ever.
    tried: set[tuple[str, str]] = set()
    while True:
        ours = _read(text)
        found = differences(ours, kafka, headers)
        steps = (one for one in found if _can_be_written(one) and (one.path, one.fact) not in tried)
        step = next(steps, None)
        if step is None:
            return text
        tried.add((step.path, step.fact))
        text = apply(text, _edits(text, step, ours, kafka))


def _read(text: str) -> Draft:
    draft = check.understood(load_text(text, "")).draft
    assert draft is not None
    return draft


def _can_be_written(difference: Difference) -> bool:
    return difference.fact != ORDER and (difference.fact not in WHOLE or difference.kafka is not None)


def _edits(text: str, step: Difference, ours: Draft, kafka: Draft) -> list[Edit]:
    """Make the edits for one difference; none if it cannot be done without changing something else."""
    if step.fact in WHOLE:
        edits = _new_element(text, step.path, nodes(ours), nodes(kafka))
    elif step.fact == "validVersions":
        edits = _edit_versions(text, ours, kafka.message.valid_versions)
    else:
        value = with_older(step.fact, step.ours, step.kafka, oldest_version(kafka))
        edits = _edit_property(text, nodes(ours)[step.path], step.fact, value)
    # New lines of a file end as its others do.
    if "\r\n" in text:
        return [Edit(edit.start, edit.end, edit.text.replace("\n", "\r\n")) for edit in edits]
    return edits


def _edit_versions(text: str, ours: Draft, kafka: Versions) -> list[Edit]:
    """Serve the versions that Kafka has; those that it no longer has stay valid."""
    served, valid = served_and_valid(ours.message.valid_versions, kafka)
    offsets, keys = ours.part.document.value_offsets, ours.part.document.key_offsets
    start, there = offsets["validVersions",], offsets.get(("servedVersions",))
    edits = [replacement(text, start, value_json(str(valid)))] if valid != ours.message.valid_versions else []
    if there is None and served is not None:
        separator = "\n" + indentation(text, keys["validVersions",])
        edits += insertion_after(text, start, [property_text("servedVersions", served)], separator)
    elif there is not None and served is not None:
        edits.append(replacement(text, there, value_json(served)))
    elif there is not None and (edit := removal(text, keys["servedVersions",], there)):
        edits.append(edit)
    return edits


def _edit_property(text: str, node: Node, name: str, value: Value | None) -> list[Edit]:
    document = node.part.document
    path = (*node.part.path, name)
    there = document.value_offsets.get(path)
    if value is None:
        edit = removal(text, document.key_offsets[path], document.value_offsets[path])
        return [edit] if edit else []
    if there is not None:
        return [replacement(text, there, value_json(value))]
    return _new_property(text, node, name, property_text(name, value))


def _new_property(text: str, node: Node, name: str, item: str) -> list[Edit]:
    """Insert a property after the one that precedes it in our order."""
    document = node.part.document
    order = (*(() if node.kind == "message" else ("name",)), *PROPERTIES, "about", "fields")
    before = [one for one in order[: order.index(name)] if (*node.part.path, one) in document.value_offsets] or ["name"]
    key_start = document.key_offsets[*node.part.path, before[-1]]
    start = document.value_offsets[*node.part.path, before[-1]]
    if node.kind == "message":
        # Properties of a message have a line each, as in Kafka's specs.
        return insertion_after(text, start, [item], "\n" + indentation(text, key_start))
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", value_end(text, start))
    is_too_long = (line_end if line_end >= 0 else len(text)) - line_start + len(item) + 2 > WIDTH
    own = indentation(text, document.value_offsets[node.part.path])
    return insertion_after(text, start, [item], f"\n{own}  " if is_too_long else " ")


def _new_element(text: str, path: str, ours: Mapping[str, Node], kafka: Mapping[str, Node]) -> list[Edit]:
    """Insert a field or a common struct after the one that precedes it in Kafka's spec."""
    outer, _, _ = path.rpartition(".")
    node = ours[outer if kafka[path].kind == "field" else ""]
    if kafka[path].kind == "field":
        key, siblings = "fields", kafka[outer].children
    else:
        key, siblings = "commonStructs", tuple(one for one in kafka if kafka[one].kind == "struct")
    document, list_path = node.part.document, (*node.part.path, key)
    before = [one for one in siblings[: siblings.index(path)] if one in ours]
    if before:
        start = document.value_offsets[ours[before[-1]].part.path]
        indent = indentation(text, start)
        return insertion_after(text, start, [element_text(kafka, path, indent)], f"\n{indent}")
    there = _value_at(document.value, list_path)
    outer_indent = indentation(text, document.value_offsets[node.part.path])
    if isinstance(there, list):
        inner_indent = outer_indent + "  " * (1 + (node.kind == "message"))
        item = element_text(kafka, path, inner_indent)
        start = document.value_offsets[list_path]
        return [insertion_first(text, start, [item], f"\n{inner_indent}", f"\n{outer_indent}")]
    if there is not None:
        return []  # a single object instead of a list
    base = outer_indent + ("  " if node.kind == "message" else "")
    item = f'"{key}": [\n{base}  {element_text(kafka, path, base + "  ")}\n{base}]'
    return _last_property(text, node, item, f"\n{base}" if node.kind == "message" else " ")


def _last_property(text: str, node: Node, item: str, separator: str) -> list[Edit]:
    """Insert a property after all others of an object."""
    offsets = node.part.document.value_offsets
    depth = len(node.part.path) + 1
    own = [offset for path, offset in offsets.items() if len(path) == depth and path[:-1] == node.part.path]
    return insertion_after(text, max(own), [item], separator)


def _value_at(value: object, path: JsonPath) -> object:
    def step(here: Any, key: str | int) -> object:
        return here.get(key) if isinstance(here, dict) else here[key]

    return reduce(step, path, value)


def _write(file: Path, text: str, has_bom: bool, before: Draft | None) -> Outcome:
    """Replace a spec in one go, unless it would have errors."""
    # Kafka's spec and ours may each obey the rules of the language, and both together break one.
    checked = check.read_bytes(text.encode(), str(file))
    errors = tuple(problem for problem in checked.problems if problem.severity == "error")
    if errors or checked.draft is None:
        return Outcome(file, problems=errors)
    write_whole(file, text, "utf-8-sig" if has_bom else "utf-8")
    return Outcome(file, _without_about(checked.draft, before))


def _without_about(draft: Draft, before: Draft | None) -> tuple[str, ...]:
    """List new elements of a spec without an `about`, each with its location and its path."""
    old = nodes(before) if before is not None else {}
    return tuple(
        f"{node.part.location()}: {'.'.join(filter(None, (draft.message.name, path)))}"
        for path, node in nodes(draft).items()
        if path not in old and "about" not in node.part.given
    )


# Texts first and comments next, so that brackets and slashes within them are no tokens.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[\[\]{}]|[,:]|[^\s\[\]{}",:/]+', re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?[ \t]*(?=[\r\n]|\Z)")
_COMMA_AFTER = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*,", re.DOTALL)
_COMMA_BEFORE = re.compile(r",\s*\Z")


@dataclass(frozen=True, slots=True)
class Edit:
    """A range of characters in a text, and their replacement."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply all edits to a text; they must not overlap, and of several at one offset the first comes first."""
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda it: it.start):
        pieces += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*pieces, text[done:]])


def value_end(text: str, start: int) -> int:
    """Find the offset after the JSON value that starts at an offset; the text must be a spec that was read."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        if not depth:
            return token.end()
    return len(text)


def replacement(text: str, start: int, value: str) -> Edit:
    """Replace the value that starts at an offset."""
    return Edit(start, value_end(text, start), value)


def removal(text: str, key_start: int, value_start: int) -> Edit | None:
    """Remove a property with the comma before it; None if a comment is between the two."""
    comma = _COMMA_BEFORE.search(text, 0, key_start)
    return Edit(comma.start(), value_end(text, value_start), "") if comma else None


def insertion_after(text: str, start: int, items: Iterable[str], separator: str) -> list[Edit]:
    """Insert elements or properties after the one whose value starts at an offset.

    Args:
        text: the spec.
        start: where that value starts.
        items: their texts.
        separator: what comes before each of them, after the comma: a space, or a line break and an indentation.
    """
    end = value_end(text, start)
    comma = _COMMA_AFTER.match(text, end)
    at = comma.end() if comma else end
    # A comment at the end of the line belongs to what stands before it.
    line = _REST_OF_LINE.match(text, at) if "\n" in separator else None
    after = line.end() if line else at
    if comma:
        return [Edit(after, after, "".join(f"{separator}{item}," for item in items))]
    return [Edit(end, end, ","), Edit(after, after, ",".join(f"{separator}{item}" for item in items))]


def insertion_first(text: str, list_start: int, items: Iterable[str], separator: str, outer: str) -> Edit:
    """Insert elements before all others of a list.

    Args:
        text: the spec.
        list_start: where its opening bracket is.
        items: their texts.
        separator: the line break and the indentation of an element.
        outer: the line break and the indentation of the closing bracket, for a list that was empty.
    """
    line = _REST_OF_LINE.match(text, list_start + 1)
    at = line.end() if line else list_start + 1
    is_empty = value_end(text, list_start) == _past_gap(text, list_start + 1) + 1
    inside = ",".join(f"{separator}{item}" for item in items)
    has_break = text[at : at + 1] in ("\r", "\n")
    return Edit(at, at, inside + ("," if not is_empty else "" if has_break else outer))


def _past_gap(text: str, at: int) -> int:
    """Find the offset of the first token that is not a comment."""
    for token in _TOKEN.finditer(text, at):
        if not token[0].startswith(("//", "/*")):
            return token.start()
    return len(text)


def indentation(text: str, start: int) -> str:
    """Return the text between the start of a line and an offset in it, if it is blank; else the line's indentation."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    before = text[line:start]
    return before if not before.strip() else " " * (len(before) - len(before.lstrip()))


WIDTH = 120
_STEP = "  "


def message_text(nodes: Mapping[str, Node]) -> str:
    """Write a whole spec.

    Args:
        nodes: its content, as `compare.nodes` gives it.
    """
    message = nodes[""]
    lines = [f"{_STEP}{property_text(name, message.facts[name])}" for name in PROPERTIES if name in message.facts]
    lines.append(f'{_STEP}"fields": [{_elements(nodes, message.children, _STEP)}]')
    structs = tuple(path for path, node in nodes.items() if node.kind == "struct")
    if structs:
        lines.append(f'{_STEP}"commonStructs": [{_elements(nodes, structs, _STEP)}]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def element_text(nodes: Mapping[str, Node], path: str, indent: str) -> str:
    """Write a field or a common struct with its contents, without the indentation of its first line."""
    node = nodes[path]
    names = ["name", *(name for name in PROPERTIES if name in node.facts and name != "name")]
    text, width = "{ ", len(indent) + 2
    for index, name in enumerate(names):
        item = property_text(name, node.facts[name])
        if index and width + len(item) + len(", ") > WIDTH - len(" },"):
            text, width = f"{text},\n{indent}{_STEP}{item}", len(indent + _STEP + item)
        else:
            text, width = text + (", " if index else "") + item, width + len(item) + (2 if index else 0)
    if node.children or node.kind == "struct":
        inner = _elements(nodes, node.children, indent)
        return f'{text}, "fields": [{inner}]}}'
    return text + " }"


def property_text(name: str, value: Value) -> str:
    """Write a property as it stands in a spec."""
    return f"{json.dumps(name)}: {value_json(value)}"


def value_json(value: Value) -> str:
    """Write a fact as JSON, in which only necessary characters are escaped."""
    return json.dumps(value, ensure_ascii=False)


def _elements(nodes: Mapping[str, Node], paths: tuple[str, ...], indent: str) -> str:
    """Write the text between the brackets of a list."""
    if not paths:
        return ""
    inner = indent + _STEP
    return ",".join(f"\n{inner}{element_text(nodes, path, inner)}" for path in paths) + f"\n{indent}"

"""Check of a document against schemas/message-spec.schema.json, with problems in our words.

Texts with a grammar of their own (version ranges, types, names, encodings) have patterns in the schema for the sake of
editors; here they are left to `parse`, whose problems explain more. So are conditions between properties, to the rules.

`surely_accepts` comes first: it finds quickly that a document obeys a schema, without jsonschema, which is slow to
import and to run. That saves 100 ms of processor time of 220 in `kipgen check` of one file, 300 of 750 with the specs
of all of Kafka's messages. It supports the keywords that the schemas here use. A document with another keyword, or one
that it does not accept, is left to jsonschema, which also finds the problems.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from kipgen.language.problems import Problem
from kipgen.reading.source import Document, JsonPath, WrittenFloat
from kipgen.resources import schema_path
from kipwire.tools.text import did_you_mean, json_words, nearest

_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_FOR_EDITORS = (
    *("allOf", "defaultSnippets", "doNotSuggest", "enumDescriptions", "errorMessage", "patternErrorMessage"),
)
"""Keywords that editors alone need; the first is for conditions between properties."""
_RANGE_RULES = {"apiKey": "api-key-range", "tag": "tag-range", "reservedTags": "tag-range", "value": "header-key-range"}
_BOOLEAN = ["boolean", "string"]
"""The JSON types of a property that is true or false, which Kafka's reader takes as texts, too."""

_ENCODINGS = "encoding-coverage", "an encoding for each version of the field"
_COVERAGE = {
    "encoding": _ENCODINGS,
    "elementEncoding": _ENCODINGS,
    "headerVersions": ("header-versions-coverage", "the header of each version"),
}
"""Of the properties that are objects with a value for each version: the rule on empty ones, and what is due."""


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """Violations of the JSON Schema in a document, and the values that are not reported again.

    A path may be broken without a problem of its own: the property that a misspelt one was meant to be.
    """

    problems: tuple[Problem, ...]
    broken: frozenset[JsonPath]


def check_schema(document: Document, schema: Path | None = None) -> SchemaCheck:
    """Check a document against a JSON Schema; the schema of message specs by default."""
    problems: list[Problem] = []
    broken: set[JsonPath] = set()
    instance: Any = document.value
    file = schema or schema_path()
    if surely_accepts(_schema(file), instance):
        return SchemaCheck((), frozenset())
    errors: Iterable[Any] = _validator(file).iter_errors(instance)
    for error in errors:
        for problem, path in _translate(document, error):
            if path not in broken:
                problems.append(problem)
                broken.add(path)
                broken.update(_find_misspelt(document, path, _properties(file)))
    return SchemaCheck(tuple(problems), frozenset(broken))


def abbreviate(value: object) -> str:
    """Format a value of a spec for the text of a problem."""
    return value.written if isinstance(value, WrittenFloat) else json_words(value)


def one_of(words: Iterable[object]) -> str:
    """Join the words to a choice: `a, b or c`."""
    *most, last = (abbreviate(word) if isinstance(word, bool) else str(word) for word in words)
    return f"{', '.join(most)} or {last}" if most else last


@functools.cache
def _schema(file: Path) -> dict[str, Any]:
    """Read a schema without its conditions: they are for editors, and rules check the same and explain more."""
    schema: dict[str, Any] = without_conditions(json.loads(file.read_text(encoding="utf-8")))
    return schema


def without_conditions(schema: Any) -> Any:
    """Copy a JSON Schema, or a part of one, without what is for editors alone."""
    if isinstance(schema, dict):
        kept = {name: value for name, value in schema.items() if name not in _FOR_EDITORS}
        return {name: without_conditions(value) for name, value in kept.items()}
    if isinstance(schema, list):
        return [without_conditions(one) for one in schema]
    return schema


@functools.cache
def _validator(schema: Path) -> Any:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # here, see above

    return Draft202012Validator(_schema(schema))


def _translate(document: Document, error: Any) -> Iterator[tuple[Problem, JsonPath]]:
    """Translate one error of jsonschema into problems, each with the path that it is about."""
    path: JsonPath = tuple(error.absolute_path)
    name = path[-1] if path else ""
    value = error.instance
    about = document.subject(path)
    if error.validator == "required":
        for missing in error.validator_value:
            if missing not in value:
                text = f"{missing!r} is missing{_hint(error.schema, missing)}"
                name_path = (*path, "name")
                location = document.location(name_path if name_path in document.value_offsets else path)
                yield Problem(location, about, "missing-property", text), (*path, missing)
    elif error.validator == "additionalProperties":
        known = error.schema["properties"]
        for unknown in value:
            if unknown not in known:
                location = document.key_location((*path, unknown))
                text = f"unknown property {unknown!r}{_guess(unknown, known)}"
                yield Problem(location, about, "unknown-property", text), (*path, unknown)
    elif error.schema.get("type") == _BOOLEAN and error.validator in ("type", "pattern"):
        text = f"{_label(path)} is {abbreviate(value)}; write true or false"
        yield Problem(document.location(path), about, "unknown-word", text), path
    elif error.validator == "type":
        kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        # The intended kind comes first; the others are only tolerated, for Kafka's reader takes them.
        due = kinds if name in ("encoding", "elementEncoding") else kinds[:1]
        text = f"{_label(path)} is {_kind_of(value)}; write {one_of(_KINDS[kind] for kind in due)}"
        yield Problem(document.location(path), about, "wrong-kind", text), path
    elif error.validator == "enum":
        text = f"{_label(path)} is {abbreviate(value)}{_guess(value, error.validator_value)}"
        yield Problem(document.location(path), about, "unknown-word", text), path
    elif error.validator in ("minimum", "maximum"):
        property_ = next(step for step in reversed(path) if isinstance(step, str))
        bounds = error.schema["minimum"], error.schema["maximum"]
        yield Problem(document.location(path), about, *out_of_range(property_, value, bounds)), path
    elif error.validator == "pattern" and "minimum" in error.schema:
        text = f"{_label(path)} is {abbreviate(value)}; write a whole number"
        yield Problem(document.location(path), about, "wrong-kind", text), path
    elif error.validator == "minProperties":
        rule, content = _COVERAGE[str(name)]
        text = f"the object is empty; give {content}, or leave the property out"
        yield Problem(document.location(path), about, rule, text), path
    elif error.validator != "pattern":
        yield Problem(document.location(path), about, "wrong-kind", error.message), path


def limits(name: str) -> tuple[int, int]:
    """Return the lowest and the highest value of a property that is a whole number."""
    lowest, highest = (_property_schema(name)[word] for word in ("minimum", "maximum"))
    return lowest, highest


def out_of_range(name: str, value: object, bounds: tuple[int, int]) -> tuple[str, str]:
    """Return the rule and the text for a number that is out of range, which is from the lowest to the highest bound."""
    lowest, highest = bounds
    text = (
        f"{name!r} is {abbreviate(value)}; write a {(highest - lowest).bit_length()}-bit number, {lowest} to {highest}"
    )
    return _RANGE_RULES.get(name, "wrong-kind"), text


def properties_of(part: Literal["message", "field"]) -> frozenset[str]:
    """Return the names of the properties that a message or a field can have."""
    schema = _schema(schema_path())
    return frozenset((schema if part == "message" else schema["$defs"]["field"])["properties"])


def _property_schema(name: str) -> Any:
    """Return the JSON Schema of a property of messages or fields."""
    schema = _schema(schema_path())
    found: Any = (schema["$defs"]["field"]["properties"] | schema["properties"])[name]
    return _dereference(found["$ref"], schema) if "$ref" in found else found


def _label(path: JsonPath) -> str:
    """Name a value in a text: by its property, or by the property that it is an element of."""
    names = [step for step in path if isinstance(step, str)]
    if not names:
        return "the spec"
    return repr(names[-1]) if path[-1] == names[-1] else f"an element of {names[-1]!r}"


def _kind_of(value: object) -> str:
    if isinstance(value, list | dict):
        return abbreviate(value)
    if isinstance(value, str):
        return f"the string {abbreviate(value)}"
    return abbreviate(value) if isinstance(value, bool) or value is None else f"the number {abbreviate(value)}"


def _hint(schema: dict[str, Any], name: str) -> str:
    # A condition of the schema requires `flexibleVersions`, and has no properties of its own.
    if name == "flexibleVersions":
        # Up to 2.4 Kafka's generator took a message without it for one of which no version is flexible.
        return '; add "none" for a message that was released without it, as Kafka read it until 2.4; else "0+"'
    described = schema["properties"].get(name, {}) if "properties" in schema else _property_schema(name)
    if "enum" in described:
        return f"; add one of {one_of(described['enum'])}"
    if "examples" in described:
        return f"; add it, as in {json.dumps(name)}: {json.dumps(described['examples'][0])}"
    return "; add it"


def _guess(word: object, known: Iterable[object]) -> str:
    texts = [choice for choice in known if isinstance(choice, str)]
    choice = "one of " if len(texts) > 1 else ""
    return did_you_mean(str(word), texts) or f"; write {choice}{one_of(sorted(texts))}"


@functools.cache
def _properties(file: Path) -> frozenset[str]:
    """Collect the names of all properties that a JSON Schema describes, of any object."""
    schema = _schema(file)
    parts = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for part in parts for name in part.get("properties", ()))


def _find_misspelt(document: Document, path: JsonPath, properties: frozenset[str]) -> Iterator[JsonPath]:
    """Find the property that a misspelt one was meant to be, so that it is not reported as missing."""
    if path and path in document.key_offsets:
        near = nearest(str(path[-1]), properties) if path[-1] not in properties else None
        if near is not None and (*path[:-1], near) not in document.key_offsets:
            yield (*path[:-1], near)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int,),
    "object": (dict,),
    "string": (str,),
}
_NOTES = frozenset(("$schema", "$id", "$defs", "$comment", "title", "description", "examples", "then", "else"))
"""Keywords that do not refuse anything by themselves."""

_pattern = lru_cache(maxsize=256)(re.compile)


class _NotKnown(Exception):
    """A keyword or a value about which nothing can be said here."""


def surely_accepts(schema: Mapping[str, Any], value: object) -> bool:
    """True if a document obeys a schema; False also where that is unknown.

    It may err in one direction only: a document that it accepts is never given to jsonschema
    (`test_what_is_accepted_quickly_is_what_jsonschema_accepts`).
    """
    try:
        return _accepts(schema, schema, value)
    except (_NotKnown, KeyError, RecursionError):
        return False


def _accepts(schema: Mapping[str, Any], root: Mapping[str, Any], value: object) -> bool:
    # Types are compared, not tested by isinstance: to Python True is an integer, to JSON Schema it is not.
    if type(value) not in (dict, list, str, int, bool, type(None)):
        raise _NotKnown  # such as a float, which may be an integer for jsonschema
    return all(_obeys(keyword, rule, schema, root, value) for keyword, rule in schema.items() if keyword not in _NOTES)


def _obeys(keyword: str, rule: Any, schema: Mapping[str, Any], root: Mapping[str, Any], value: Any) -> bool:
    match keyword:
        case "type":
            return any(type(value) in _TYPES[name] for name in ([rule] if isinstance(rule, str) else rule))
        case "enum":
            return any(_is_same(value, one) for one in rule)
        case "const":
            return _is_same(value, rule)
        case "$ref":
            return _accepts(_dereference(rule, root), root, value)
        case "anyOf":
            return any(_accepts(one, root, value) for one in rule)
        case "if":
            branch = schema.get("then" if _accepts(rule, root, value) else "else", {})
            return _accepts(branch, root, value)
        case "pattern":
            return type(value) is not str or _pattern(rule).search(value) is not None
        case "minimum":
            return type(value) is not int or value >= rule
        case "maximum":
            return type(value) is not int or value <= rule
        case "items":
            return type(value) is not list or all(_accepts(rule, root, one) for one in value)
        case "contains":
            return type(value) is not list or any(_accepts(rule, root, one) for one in value)
        case "required" | "properties" | "additionalProperties" | "propertyNames" | "minProperties":
            return type(value) is not dict or _obeys_of_objects(keyword, rule, schema, root, value)
        case _:
            raise _NotKnown


def _obeys_of_objects(
    keyword: str, rule: Any, schema: Mapping[str, Any], root: Mapping[str, Any], value: dict[str, object]
) -> bool:
    match keyword:
        case "required":
            return all(name in value for name in rule)
        case "properties":
            return all(_accepts(rule[name], root, one) for name, one in value.items() if name in rule)
        case "additionalProperties":
            more = [one for name, one in value.items() if name not in schema.get("properties", {})]
            return not more if rule is False else all(_accepts(rule, root, one) for one in more)
        case "propertyNames":
            return all(_accepts(rule, root, name) for name in value)
        case _:
            return len(value) >= int(rule)


def _is_same(value: object, one: object) -> bool:
    if isinstance(one, list | dict | float):
        raise _NotKnown
    return type(value) is type(one) and value == one


def _dereference(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    start, *steps = reference.split("/")
    if start != "#":
        raise _NotKnown
    return functools.reduce(lambda part, step: part[step], steps, root)

"""Messages around a value: where the fields of a message are, and instances with one value, all, or random ones.

A vector about a field needs a message around it in which everything else is plain: defaults, arrays of one element on
the way, and values that meet the conditions of record formats. A tagged struct on the way is filled, because with its
defaults it would be left out. Structs that share structs could make a message of any size, so fields and structs have
limits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kipwire.conformance.field_values import Case, build_struct, cases, distinct
from kipwire.description.fields import meet_conditions
from kipwire.description.plan import Item, Plan, plan_of
from kipwire.model.structs import Root, Struct

_MOST_FIELDS = 1000
"""Limit for the fields of one version. Above it, a struct that many fields share is entered only once."""


MOST_STRUCTS = 10_000
"""Limit for the structs of a message with all fields."""


def structs_in_all(plan: Plan) -> int:
    """Count the structs of a message with all fields; a struct that many fields share counts each time."""
    return _structs_in_all(plan, {})


def _structs_in_all(plan: Plan, known: dict[Plan, int]) -> int:
    if plan not in known:
        known[plan] = 1 + sum(_structs_in_all(item.plan, known) for item in plan.attributes if item.plan is not None)
    return known[plan]


class FieldPath(NamedTuple):
    """The path of a field: the fields on the way to it, itself the last."""

    path: tuple[Item, ...]

    @property
    def item(self) -> Item:
        """The field itself."""
        return self.path[-1]

    @property
    def name(self) -> str:
        """Path of the field in JSON names, such as `topics.name`."""
        return ".".join(item.field.json_name for item in self.path)

    @property
    def attributes(self) -> str:
        """Path of the field as in decode errors of a message whose arrays have one element: `topics[0].name`."""
        steps = [f"{item.name}[0]" if item.array else item.name for item in self.path[:-1]]
        return ".".join([*steps, self.item.name])


def field_paths(message: type[Root]) -> list[FieldPath]:
    """List the fields of a message, the fields of inner structs after the field that has them.

    Raises:
        NoPlanError: a struct contains itself.
    """
    found: list[FieldPath] = []
    _collect(plan_of(message), (), found, set())
    return found


def _collect(plan: Plan, way: tuple[Item, ...], found: list[FieldPath], known: set[Plan]) -> None:
    for item in plan.attributes:
        found.append(FieldPath((*way, item)))
        if item.plan is not None and (len(found) < _MOST_FIELDS or item.plan not in known):
            known.add(item.plan)
            _collect(item.plan, (*way, item), found, known)


def structs(message: type[Root]) -> Iterator[tuple[Item, ...]]:
    """Yield the ways to the structs of a message, its own first, which is the empty way."""
    yield ()
    for field in field_paths(message):
        if field.item.plan is not None:
            yield field.path


def message_with(message: type[Root], path: Sequence[Item], value: Any) -> Any:
    """Build a message of defaults with a value for one field; arrays on the way to it have one element."""
    return _around(message, path, value, message, is_tagged=False)


def _around(cls: type[Struct], path: Sequence[Item], value: Any, root: type[Root], *, is_tagged: bool) -> Any:
    """Build a struct on the way to a field; a tagged one has no defaults, at which it would be left out."""
    first, *rest = path
    if rest:
        assert first.plan is not None
        inner = _around(first.plan.cls, rest, value, root, is_tagged=first.tag is not None and not first.array)
        value = [inner] if first.array else inner
    return fitting(cls, {**(full_values(cls, root) if is_tagged else {}), first.name: value})


def message_of_structs(message: type[Root], way: Sequence[Item]) -> tuple[Any, Any]:
    """Build a message with the struct at the end of a way, and this struct, with defaults where these are written."""
    if not way:
        root = fitting(message, {})
        return root, root
    last = way[-1]
    assert last.plan is not None
    is_tagged = last.tag is not None and not last.array
    inner = full(last.plan.cls, message) if is_tagged else fitting(last.plan.cls, {})
    return message_with(message, way, [inner] if last.array else inner), inner


def fitting(cls: type[Struct], values: dict[str, Any]) -> Struct:
    """Build a struct with values, and defaults for the rest that meet the conditions of record formats."""
    instance = build_struct(cls, values)
    if any(field.same_length_as or field.required_if for field in cls.FIELDS):
        every = {field.name: getattr(instance, field.name) for field in cls.ATTRIBUTES}
        for field in cls.FIELDS:  # as long as the one that was given
            other = field.same_length_as
            if other and (field.name in values) != (other in values):
                given, lacking = (field.name, other) if field.name in values else (other, field.name)
                every[lacking] = _fill_elements(cls, lacking, len(values[given]))
        meet_conditions(cls, every)
        instance = cls(**every)
    return instance


def _fill_elements(cls: type[Struct], name: str, count: int) -> list[Any]:
    """Make a list of so many elements for an array of a struct."""
    field = next(one for one in cls.ATTRIBUTES if one.name == name)
    item = Item(field)
    return [fitting(field.struct, {}) if field.struct else _elements(item)[0] for _ in range(count)]


def _elements(item: Item) -> list[Any]:
    """Different elements for an array of a primitive type."""
    for one in cases(item, Root):
        if one.name == "each":
            return list(one.value)
    raise AssertionError("every array of a primitive type has the case 'each'")


def full(cls: type[Struct], root: type[Root], depth: int = 0) -> Any:
    """Build a struct without any default in its fields, with two elements in arrays of structs near the root."""
    return fitting(cls, full_values(cls, root, depth))


def full_values(cls: type[Struct], root: type[Root], depth: int = 0) -> dict[str, Any]:
    """Choose the values of the struct that `full` builds, by their attributes."""
    values: dict[str, Any] = {}
    for item in plan_of(cls).attributes:
        if item.plan is not None:
            count = 2 if item.array and depth < 2 and not item.field.sorted_by else 1
            inner = [full(item.plan.cls, root, depth + 1) for _ in range(count)]
            values[item.name] = (distinct(inner) if count > 1 else inner) if item.array else inner[0]
        else:
            values[item.name] = [one.value for one in cases(item, root)][-1]
    return values


def field_cases(item: Item, root: type[Root]) -> Iterator[Case]:
    """Yield all that a field is tried with: its cases, and a struct that differs from its default in every field."""
    yield from cases(item, root)
    if item.plan is not None and not item.array:
        yield Case("filled", full(item.plan.cls, root))


def random_message(cls: type[Struct], root: type[Root], rng: random.Random, depth: int = 0) -> Any:
    """Build a struct of random values."""
    values: dict[str, Any] = {}
    for item in plan_of(cls).attributes:
        if item.nullable and not rng.randrange(4):
            values[item.name] = None
        elif item.tag is not None and rng.randrange(2):
            continue
        elif item.plan is not None and not item.array:
            values[item.name] = random_message(item.plan.cls, root, rng, depth + 1)
        elif item.plan is not None:
            count = 1 if item.field.sorted_by else rng.randrange(3 if depth < 2 else 2)
            inner = [random_message(item.plan.cls, root, rng, depth + 1) for _ in range(count)]
            values[item.name] = distinct(inner) if count > 1 else inner
        else:
            short = [one.value for one in cases(item, root) if one.name != "long" or not rng.randrange(8)]
            values[item.name] = rng.choice([one for one in short if one is not None])
    return fitting(cls, values)

"""The cost of an action on a class grows with its structs and fields, from the first use on, not with the ways to them.

Steps are counted, see `tests.support.growth`. Each export of the packages has a row here: a call of it, or the reason
why it involves no class.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import kipwire
import kipwire.drafts.kip_625
import kipwire.projection
import kipwire.testing
from kipwire import ConversionError, columns
from kipwire.columns import ColumnError
from kipwire.model.errors import KipwireError
from kipwire.projection import Projection, VersionedProjection
from kipwire.testing.strategies import field_values, messages, same_message, structs, unknown_tagged_fields
from tests.support.growing_specs import LEVELS, SHAPES, of_levels
from tests.support.growth import LINEAR, QUADRATIC, Action, Fresh, Packages, slow, untold

Walk = Callable[[Fresh], Action]
"""Function that returns an action, and prepares its arguments from classes that the action does not use."""


def failing(call: Action, error: type[Exception] = KipwireError) -> Action:
    """Return an action that expects the call to fail."""

    def failed() -> None:
        with pytest.raises(error):
            call()

    return failed


def one(it: Fresh) -> Any:
    return kipwire.build(it.cls, it.values)


def may_lose(message: Any, version: int) -> None:
    """Convert with a report, which may be an error, since versions of big messages have different fields."""
    with suppress(ConversionError):
        kipwire.convert(message, version, lost=[])


def wrong(it: Fresh) -> Any:
    """Return a message that cannot be encoded."""
    message = it.cls()
    setattr(message, it.cls.ATTRIBUTES[-1].name, object())
    return message


MESSAGES: dict[str, Walk] = {
    "decode": lambda it: lambda: it.cls.decode(it.data),
    "decode, cut": lambda it: failing(lambda: it.cls.decode(it.data[:-1])),
    "decode, too long": lambda it: failing(lambda: it.cls.decode(it.data + b"\0")),
    "read": lambda it: lambda: it.cls.read(it.data),
    "encode": lambda it: one(it).encode,
    "encode, wrong": lambda it: failing(wrong(it).encode),
    "encoded_size": lambda it: one(it).encoded_size,
    "to_json": lambda it: one(it).to_json,
    "from_json": lambda it: (lambda value: lambda: it.cls.from_json(value))(one(it).to_json()),
    "from_json, wrong": lambda it: failing(lambda: it.cls.from_json({"wrong": 1})),
    "__eq__": lambda it: (lambda a, b: lambda: a == b)(one(it), one(it)),
    "__repr__": lambda it: lambda: repr(one(it)),
    "__rich_repr__": lambda it: lambda: list(one(it).__rich_repr__()),
    "__replace__": lambda it: lambda: one(it).__replace__(),
    "__init__": lambda it: it.cls,
    "__reduce_ex__, copy": lambda it: lambda: copy.copy(one(it)),
    "__reduce_ex__, deepcopy": lambda it: lambda: copy.deepcopy(one(it)),
    "__reduce_ex__, pickle": lambda it: lambda: pickle.loads(pickle.dumps(one(it))),
}
"""Methods of every message; words after a comma say which way through them."""
OF_CLASSES = {"REQUEST": "a class", "RESPONSE": "a class", "FLEXIBLE": "a constant"}

EXPORTS: dict[str, Walk] = {
    "convert": lambda it: (lambda message: lambda: kipwire.convert(message, it.cls.MIN_VERSION))(one(it)),
    "convert, noted": lambda it: (lambda message: lambda: may_lose(message, it.cls.MIN_VERSION))(one(it)),
    "asdict": lambda it: (lambda message: lambda: kipwire.asdict(message))(one(it)),
    "build": lambda it: lambda: kipwire.build(it.cls, it.values),
}
NO_WALK: dict[str, str] = {
    "combine": "packages, no message",
    **dict.fromkeys(("Message", "Struct", "FlexibleMessage", "FlexibleStruct"), "their methods have rows"),
    "Field": "a part of a class, a field at a time",
    **dict.fromkeys((one for one in kipwire.__all__ if one.endswith("Error")), "an error"),
    **dict.fromkeys(("KAFKA_VERSION", "__version__", "native"), "facts"),
    "Loss": "one field",
    "AnsweredBy": "for type checkers",
}

COLUMNS: dict[str, Walk] = {
    "schema": lambda it: lambda: may_refuse(lambda: columns.schema(it.cls)),
    "schema, one path": lambda it: lambda: columns.schema(it.cls, [it.path]),
    "schema, wrong path": lambda it: failing(lambda: columns.schema(it.cls, [f"{it.path}.wrong"]), ColumnError),
    "decode": lambda it: lambda: may_refuse(lambda: columns.decode(it.cls, [it.data])),
    "decode, one path": lambda it: lambda: columns.decode(it.cls, [it.data], [it.path]),
    "decode, wrong": lambda it: failing(lambda: columns.decode(it.cls, [b""], [it.path])),
    "encode": lambda it: lambda: may_refuse(lambda: columns.encode(it.cls, columns.decode(it.cls, [it.data] * 2))),
    "explain": lambda it: (lambda rows: lambda: columns.explain(it.cls, [b""], rows))(
        columns.decode(it.cls, [b""], [it.path], mode="null")
    ),
}
NO_COLUMNS: dict[str, str] = {
    **dict.fromkeys(("RECORD_SCHEMA", "RecordColumns", "decode_records"), "records have one class"),
    **dict.fromkeys(("ColumnError", "RowDecodeError", "RowEncodeError"), "an error"),
    "split": "offsets, no class",
}

ENCODINGS: dict[str, Walk] = {
    "count": lambda it: (lambda message: lambda: kipwire.drafts.kip_625.count(message).fields)(it.cls.decode(it.data)),
    "count_all": lambda it: (lambda all_: lambda: kipwire.drafts.kip_625.count_all(all_))([it.cls.decode(it.data)] * 3),
    "Counts": lambda it: lambda: kipwire.drafts.kip_625.Counts().add(it.cls()),
    "merge": lambda it: (lambda counts: lambda: kipwire.drafts.kip_625.merge(counts, counts))(
        kipwire.drafts.kip_625.count(it.cls.decode(it.data))
    ),
}
NO_ENCODINGS = {"IntegerCounts": "the numbers of one field"}

PROJECTIONS: dict[str, Walk] = {
    "Projection": lambda it: lambda: Projection(it.cls, it.path),
    "Projection, wrong path": lambda it: failing(lambda: Projection(it.cls, f"{it.path}.wrong")),
    "Projection, decode": lambda it: lambda: Projection(it.cls, it.path).decode(it.data),
    "Projection, read": lambda it: lambda: Projection(it.cls, it.path).read(it.data),
    "Projection, replace": lambda it: lambda: replaced(Projection(it.cls, it.path), it.data),
    "VersionedProjection": lambda it: lambda: VersionedProjection(it.package.REGISTRY, "Big", it.path),
    "VersionedProjection, decode": lambda it: lambda: VersionedProjection(it.package.REGISTRY, "Big", it.path).decode(
        it.data, 1
    ),
}
NO_PROJECTIONS = {"ProjectionError": "an error"}


def replaced(projection: Projection, data: bytes) -> bytes:
    return projection.replace(data, projection.decode(data))


def valid(*strategies: Any) -> None:
    """Have Hypothesis look at strategies and at all that they are made of."""
    for strategy in strategies:
        strategy.validate()


TESTING: dict[str, Walk] = {
    "messages": lambda it: lambda: valid(messages(it.cls)),
    "structs": lambda it: lambda: valid(structs(it.cls)),
    "field_values": lambda it: lambda: valid(*map(field_values, it.cls.ATTRIBUTES)),
    "same_message": lambda it: (lambda a, b: lambda: same_message(a, b))(one(it), one(it)),
    "unknown_tagged_fields": lambda it: lambda: valid(unknown_tagged_fields(it.cls)),
}
NO_TESTING = {
    "check_package": "messages of each class",
    "FakeBroker": "Kafka's own messages",
    "GroupMember": "data",
    "GroupState": "data",
    "damaged": "bytes, no class",
}

ALL = {
    f"{package}: {name}": walk
    for package, walks in {
        "messages": MESSAGES,
        "kipwire": EXPORTS,
        "columns": COLUMNS,
        "encodings": ENCODINGS,
        "projection": PROJECTIONS,
        "testing": TESTING,
    }.items()
    for name, walk in walks.items()
}

DEPTH = "each level asks whether all below it is at its defaults; there are at most 32 levels"
ACCEPTED: dict[tuple[str, str], str] = {
    (name, "tagged structs"): DEPTH
    for name in (
        "messages: encode",
        "messages: encoded_size",
        "messages: to_json",
        "encodings: count",
        "encodings: count_all",
        "projection: Projection, replace",
    )
}
"""Actions that may grow with the square of a shape's size, each with the reason."""


def may_refuse(call: Action) -> None:
    """Call an action that may be refused for too many columns."""
    try:
        call()
    except ColumnError as error:
        assert "choose paths of fields" in str(error)


def test_everything_that_kipwire_exports_has_a_row() -> None:
    own = {name for name, value in vars(kipwire.drafts.kip_625).items() if _is_own(name, value)}
    methods = {name for name in dir(kipwire.Message) if not name.startswith("_")}
    methods |= {"__eq__", "__repr__", "__rich_repr__", "__replace__", "__init__", "__reduce_ex__"}
    tags = {"OTHER_TAGS": "a constant", "DECLARED_TAGS": "a constant"}
    assert not untold(set(kipwire.__all__), EXPORTS, NO_WALK)
    assert not untold(methods, MESSAGES, OF_CLASSES, tags)
    assert not untold(set(columns.__all__), COLUMNS, NO_COLUMNS)
    assert not untold(own, ENCODINGS, NO_ENCODINGS)
    assert not untold(set(kipwire.projection.__all__), PROJECTIONS, NO_PROJECTIONS)
    assert not untold(set(kipwire.testing.__all__), TESTING, NO_TESTING)


def _is_own(name: str, value: object) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", "") == kipwire.drafts.kip_625.__name__


def of_size(
    walk: Walk, packages: Packages, shape: Callable[[int], dict[str, Any]], name: str
) -> Callable[[int], Action]:
    return lambda count: walk(packages.fresh(shape, name, count))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return Packages(tmp_path_factory.mktemp("growing"))


@pytest.mark.night
@pytest.mark.parametrize("how", [how for how in LEVELS if how != "structs"])  # a default of those has all ways in it
def test_structs_that_share_structs_cost_no_more_than_structs(how: str, packages: Packages) -> None:
    problems = []
    for name, walk in ALL.items():
        if problem := slow(
            of_size(walk, packages, of_levels(how), how),
            8,
            16,
            30,
            factor=QUADRATIC if (name, how) in ACCEPTED else LINEAR,
        ):
            problems.append(f"{name}: {problem}")
    assert not problems, "\n".join(problems)


@pytest.mark.night
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.__name__ not in ("of_versions", "of_items")])
def test_twice_as_many_fields_or_structs_cost_twice_as_much(shape: Callable[[int], Any], packages: Packages) -> None:
    problems = []
    for name, walk in ALL.items():
        if problem := slow(
            of_size(walk, packages, shape, shape.__name__),
            50,
            100,
            factor=QUADRATIC if (name, shape.__name__) in ACCEPTED else LINEAR,
        ):
            problems.append(f"{name}: {problem}")
    assert not problems, "\n".join(problems)


def test_too_many_columns_are_refused_with_their_number(packages: Packages) -> None:
    it = packages.fresh(of_levels("arrays"), "arrays", 24)
    calls: list[Action] = [
        lambda: columns.schema(it.cls),
        lambda: columns.decode(it.cls, [it.data]),
        lambda: columns.encode(it.cls, columns.decode(it.cls, [it.data], [it.path])),
    ]
    for call in calls:
        with pytest.raises(ColumnError, match=r"^Big v1: it would have 41,943,039 columns, .* 65,536; choose"):
            call()
    assert len(columns.schema(it.cls, [it.path])) == 1
    with pytest.raises(ColumnError, match=r"^Big v1: what is chosen would have 20,971,519 columns"):
        columns.schema(it.cls, ["top.one"])
    assert columns.decode(it.cls, [it.data], [it.path]).to_pylist() != [None]

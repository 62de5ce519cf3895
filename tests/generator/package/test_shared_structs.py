"""A spec whose structs share structs costs what its structs cost, not what the ways through them do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kipwire import Field, FlexibleMessage, FlexibleStruct, LazyStruct, Message, Struct, native
from kipwire.description import plan
from kipwire.description.plan import plan_of, struct_plan
from tests.support import native_checks

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")

LEVELS = 30
ENOUGH = 100 * LEVELS
"""More steps than a few looks at every struct for every struct; the ways through them are 2**30."""


class Counted(tuple[Field, ...]):
    """Fields that count how often they are gone through."""

    steps = 0

    def __iter__(self) -> Iterator[Field]:
        Counted.steps += 1
        assert Counted.steps < ENOUGH, "the fields of shared structs are looked at again and again"
        return super().__iter__()


@pytest.fixture(autouse=True)
def steps() -> None:
    Counted.steps = 0


def struct(name: str, fields: tuple[Field, ...], *, flexible: bool) -> Any:
    return type(
        name,
        (FlexibleStruct if flexible else Struct,),
        {
            "__slots__": tuple(field.name for field in fields),
            "FIELDS": Counted(fields),
            "__init__": _init,
        },
    )


def _init(item: Any) -> None:
    """Set the defaults, as the generated code does."""
    Counted.steps += 1
    assert Counted.steps < ENOUGH, "a default of shared structs is made, which is as large as the ways through them"
    if item.FLEXIBLE:
        item._unknown_tagged_fields = None
    for field in item.FIELDS:
        setattr(item, field.name, field.default_value())


def levels(type_: str, *, flexible: bool, count: int = LEVELS) -> Any:
    """Return the outermost of structs within each other, each of which has two fields of the one below it."""
    inner = struct("Level0", (Field("number", "Number", "int32", default=0),), flexible=flexible)
    for level in range(1, count):
        fields = tuple(
            Field(name, name.title(), type_, default=(), struct=inner, compact=flexible) for name in ("one", "other")
        )
        inner = struct(f"Level{level}", fields, flexible=flexible)
    return inner


def test_fewest_bytes_of_shared_structs_are_added_up_once() -> None:
    outermost = levels("Level", flexible=False)
    assert plan_of(outermost).minimum_size == 4 * 2 ** (LEVELS - 1)


class CountedList(list[Any]):
    """Operations of a plan that count how often they are gone through."""

    def __iter__(self) -> Iterator[Any]:
        Counted.steps += 1
        assert Counted.steps < ENOUGH, "the plans of shared structs are looked at again and again"
        return super().__iter__()

    def __add__(self, other: Any) -> Any:
        return CountedList([*super().__iter__(), *other])


def outer(inner: Any) -> Any:
    """Return a message with a tagged struct, which is made when it is asked for."""
    attributes = {
        "__slots__": ("_lazy_inner",),
        "NAME": "Outer",
        "VERSION": 0,
        "TAGS": frozenset({0}),
        "DECLARED_TAGS": frozenset({0}),
        "FIELDS": Counted((Field("inner", "Inner", "Level", default=(), struct=inner, compact=True, tag=0),)),
        "inner": LazyStruct(inner),
    }
    return type("Outer", (FlexibleMessage,), attributes)


@pytest.fixture
def counted_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that count how often they are gone through."""
    made = plan.Plan.__init__

    def make(self: Any, *arguments: Any) -> None:
        made(self, *arguments)
        for name in ("in_order", "items", "tagged"):
            setattr(self, name, CountedList(getattr(self, name)))

    monkeypatch.setattr(plan.Plan, "__init__", make)


@needs_kernel
@pytest.mark.usefixtures("counted_plans")
@pytest.mark.parametrize("type_", ["Level", "[]Level"])
def test_first_decode_looks_at_each_struct_a_few_times(type_: str) -> None:
    cls = outer(levels(type_, flexible=True))
    kernel: Any = native.kernel
    assert kernel.serves(cls)
    assert kernel.encode(kernel.decode(cls, b"\0")) == b"\0"
    assert kernel.Projector(cls, {}, 0).decode(b"\0") == ()


@needs_kernel
@pytest.mark.usefixtures("counted_plans")
@pytest.mark.parametrize("type_", ["Level", "[]Level"])
def test_a_walk_to_a_chosen_field_looks_at_each_struct_a_few_times(type_: str) -> None:
    inner = levels(type_, flexible=False)
    attributes = {"__slots__": ("inner",), "NAME": "Outer", "VERSION": 0, "FLEXIBLE": False}
    fields = Counted((Field("inner", "Inner", "[]Level", default=(), struct=inner),))
    cls: Any = type("Outer", (Message,), {**attributes, "FIELDS": fields})
    choice: Any = 0
    for name in ("number", *["other"] * (LEVELS - 1), "inner"):
        choice = {name: choice}
    kernel: Any = native.kernel
    assert kernel.Projector(cls, choice, 1).decode(bytes(4)) == ([],)
    assert kernel.Projector(cls, {"inner": 0}, 1).decode(bytes(4)) == ([],)


@needs_kernel
@pytest.mark.parametrize("count", [40, 80])
def test_arrays_whose_elements_need_more_bytes_than_there_can_be_are_refused(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = levels("Level", flexible=False, count=count)
    assert struct_plan(inner).minimum_size == 2 ** (count + 1)
    monkeypatch.setattr(Counted, "__iter__", tuple.__iter__)
    fields = (Field("items", "Items", "[]Level", default=(), struct=inner),)
    attributes = {"__slots__": ("items",), "NAME": "Outer", "VERSION": 0, "FLEXIBLE": False, "FIELDS": fields}
    cls: Any = type("Outer", (Message,), attributes)
    kernel: Any = native.kernel
    assert kernel.serves(cls)
    assert kernel.decode(cls, bytes(4)).items == []
    with native_checks.alone(kernel), pytest.raises(native_checks.GaveUpError):
        kernel.decode(cls, (2**24).to_bytes(4, "big") + bytes(100))

"""Attributes made and modules imported on first use, and the mark of a default that is made for each message."""

from __future__ import annotations

from _thread import RLock
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Generic, Self, TypeVar, overload

    T = TypeVar("T")
else:  # without `typing`: it takes 8 ms of processor time to import, a first message without it 15
    T = None

    class Generic:
        def __class_getitem__(cls, parameters):
            return cls


class _Default:
    """The type of `DEFAULT`."""

    def __repr__(self) -> str:
        return "<default>"

    def __reduce__(self) -> str:
        return "DEFAULT"


DEFAULT: Any = _Default()
"""A default that is created for each message: an empty array, or a struct of defaults."""


_making = RLock()
"""Lock under which an attribute is looked at and set in one step. An attribute set without the lock is set for good."""
_enter, _leave = _making.acquire, _making.release
"""Bound methods for hot paths, since `with` takes twice as long."""


def get_or_set(cls: type, name: str, value: T) -> T:
    """Set an attribute of a class that has none of that name yet; return the value that came first."""
    with _making:
        if name not in vars(cls):
            setattr(cls, name, value)
        return vars(cls)[name]  # type: ignore[no-any-return]


def set_if_none(instance: object, name: str, value: T) -> T:
    """Set an attribute that is still None; return the value that came first, like `get_or_set`."""
    _enter()
    try:
        first = getattr(instance, name)
        if first is not None:
            return first  # type: ignore[no-any-return]
        setattr(instance, name, value)
        return value
    finally:
        _leave()


def submodules(package: str, *names: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that imports one of these modules when a program first asks for it.

    `package.module` then works without an import statement of its own. It is for what most programs never need: a
    first message takes some 15 ms of processor time, and `typing`, `re` and `uuid`, which such modules use, as much.
    """

    def submodule(name: str) -> ModuleType:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return submodule


class LazyModule:
    """A module by another name, imported when a program first asks for one of its names."""

    def __init__(self, name: str, package: str | None) -> None:
        self._name = name
        self._package = package

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name, self._package), name)


class _Text:
    """`__doc__` of a `LazyStruct`: the text of its field, which `help` shows; the class has its own docstring."""

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, instance: Any, owner: type) -> str | None:
        if instance is None:
            return self.of_class
        return next((field.about for field in instance.owner.FIELDS if field.slot == instance.slot), None)


def lazy_slot(name: str) -> str:
    """Name the slot with the value of a lazy struct; the descriptor has the name of the struct."""
    return f"_lazy_{name}"


class LazyStruct(Generic[T]):
    """A tagged struct that is made on first use, since most are never sent or read."""

    __doc__ = _Text(__doc__)  # pyright: ignore[reportAssignmentType]

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.slot = lazy_slot(name)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> Self | T:
        if instance is None:
            return self
        value = getattr(instance, self.slot)
        if value is DEFAULT:
            with _making:  # threads that read at the same time get the same struct
                value = getattr(instance, self.slot)
                if value is DEFAULT:
                    value = self.make()
                    setattr(instance, self.slot, value)
        return value  # type: ignore[no-any-return]

    def __set__(self, instance: object, value: T) -> None:
        with _making:  # a thread that reads the default does not undo it
            setattr(instance, self.slot, value)


class UnknownTaggedFields:
    """Tagged fields of a struct that its spec does not declare, by tag; made on first access."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> dict[int, bytes]: ...

    def __get__(self, instance: Any, owner: type) -> Self | dict[int, bytes]:
        if instance is None:
            return self
        fields: dict[int, bytes] | None = instance._unknown_tagged_fields
        if fields is None:
            with _making:
                fields = instance._unknown_tagged_fields
                if fields is None:
                    fields = instance._unknown_tagged_fields = {}
        return fields

    def __set__(self, instance: Any, value: dict[int, bytes]) -> None:
        with _making:
            instance._unknown_tagged_fields = value

"""Commands whose arguments are taken without pydantic, which typer imports to convert even a flag.

That import takes longer than checking a spec. What is converted here is sure: a flag, a text, a path, a member of an
enum, lists of them. Everything else, and everything wrong, is left to typer.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup


class QuickCommand(TyperCommand):
    """A command that converts plain arguments itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, `--help` among them, converting plain values themselves."""
        return [_with_plain_values(param) for param in super().get_params(ctx)]


class QuickGroup(TyperGroup):
    """Commands with common options, which it converts itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, `--help` among them, converting plain values themselves."""
        return [_with_plain_values(param) for param in super().get_params(ctx)]


def _with_plain_values(param: Any) -> Any:
    """The parameter, which needs typer's converters no more for plain values; other releases of typer have none."""
    descriptor = getattr(param, "type_descriptor", None)
    full = getattr(param, "get_runtime_param", None)
    if descriptor is not None and full is not None and not isinstance(full, _Plain):
        param.get_runtime_param = _Plain(full, descriptor)
    return param


class _Plain:
    """Converts plain values, and gives all others to typer's converter, which it makes only then."""

    def __init__(self, full: Any, descriptor: Any) -> None:
        self._full = full
        self._descriptor = descriptor

    def __call__(self) -> _Plain:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        annotation, info = self._descriptor.annotation, self._descriptor.parameter_info
        if info.parser is None and not (info.exists or info.resolve_path):
            try:
                return _converted(annotation, value, is_many)
            except _NotPlainError:
                pass
        return self._full().coerce(value, param=param, ctx=ctx)


class _NotPlainError(Exception):
    """A value that typer has to convert."""


def _converted(annotation: Any, value: Any, is_many: bool) -> Any:
    if get_origin(annotation) is list:
        if not is_many or not isinstance(value, list | tuple):
            raise _NotPlainError
        return [_converted(get_args(annotation)[0], one, False) for one in value]
    if annotation in (bool, str) and type(value) is annotation:
        return value
    if annotation is Path and isinstance(value, str | Path):
        return Path(value)
    if isinstance(annotation, type) and issubclass(annotation, Enum) and value in [one.value for one in annotation]:
        return annotation(value)
    raise _NotPlainError

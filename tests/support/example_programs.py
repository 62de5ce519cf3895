"""The programs in `examples/`, as modules."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.support.places import ROOT


def example(name: str) -> ModuleType:
    """Return a new module of a program, such as `proxy`."""
    spec = spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

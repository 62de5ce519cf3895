"""The adapter, which is one of the examples."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "examples" / "aiokafka_on_kipwire.py"


def adapter() -> Any:
    """Import the module of the adapter from its file."""
    spec = spec_from_file_location(FILE.stem, FILE)
    if spec is None or spec.loader is None:
        raise ImportError(f"{FILE} cannot be imported")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""The pages on libraries say what results.json has, and show one failure of each kind."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

from tests.support.places import ROOT


def run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_run", ROOT / "conformance" / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_have_what_the_results_have() -> None:
    module = run()
    for path, text in module.pages(json.loads(module.RESULTS.read_text())).items():
        assert (ROOT / path).read_text() == text, f"{path}: make conformance writes it"


def test_a_failure_of_each_kind_is_shown() -> None:
    reasons = [
        "writes other bytes: at 8 01, not 08",
        "writes other bytes: at 0 ff, not 00",
        "refuses it: Failed to decode a::b_request::BRequest v10 body",
        "refuses it: Failed to decode a::c_request::CRequest v2 body",
        "writes other bytes: at 5 nothing, not 00",
    ]
    shown = [one["reason"] for one in run().of_each_kind([{"reason": reason} for reason in reasons])]
    assert shown == [reasons[0], reasons[2], reasons[4]]

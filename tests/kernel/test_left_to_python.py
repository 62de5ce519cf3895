"""Every case in which the kernel is left for Python, as the head of `kipwire.native` names them, and no other."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kafka_messages.heartbeat_request.v3 import HeartbeatRequest as Older
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_records.message_and_offset import v0, v1
from kafka_records.record_batch.v2 import RecordBatch
from kipwire import Field, Message, Struct, convert, native
from kipwire.drafts import proposals
from kipwire.projection.one_version import projector
from kipwire.records import Record, record_batches, write_batch, write_message_set
from tests.support import native_checks
from tests.support.places import ROOT
from tests.support.subjects.kernel_classes import KERNEL, needs_kernel

pytestmark = needs_kernel

DATA = HeartbeatRequest(group_id="g").encode()
ONE = Record(offset=0, timestamp=0, value=b"value")
BATCH = write_batch([ONE])


def gives_up(function: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """True if a function of the kernel calls the Python function that it stands in for."""
    with native_checks.alone(KERNEL):
        try:
            function(*arguments, **named)
        except native_checks.GaveUpError:
            return True
    return False


def is_left_out(patch: pytest.MonkeyPatch, failure: type[ImportError] | None) -> bool:
    """True if loading gives no kernel: where importing it fails, or where it is switched off."""
    if failure is None:
        patch.setenv("KIPWIRE_NATIVE", "0")
        return runpy.run_path(native.__file__)["kernel"] is None

    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "kipwire._kernel" and failure is not None:
                raise failure("for the test")

    patch.delenv("KIPWIRE_NATIVE", raising=False)
    patch.delitem(sys.modules, "kipwire._kernel")
    patch.delattr("kipwire._kernel")
    patch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    return runpy.run_path(native.__file__)["kernel"] is None


class WithReader(HeartbeatRequest):
    __slots__ = ()

    def _read(self, data: bytes, pos: int) -> int:
        return super()._read(data, pos)


class WithSetter(HeartbeatRequest):
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)


class WithGetter(HeartbeatRequest):
    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


class WithDict(HeartbeatRequest):
    pass


def nested(depth: int) -> Any:
    """Return a struct that has structs in it, down to a depth."""
    fields = [Field("inner", "Inner", "Inner", default=(), struct=nested(depth - 1))] if depth > 1 else []
    names = {"__slots__": tuple(field.name for field in fields), "FIELDS": tuple(fields), "FLEXIBLE": False}
    cls: Any = type(f"Nested{depth}", (Message if depth > 99 else Struct,), names)
    return cls


def is_served(cls: Any) -> bool:
    served: bool = KERNEL.serves(cls)
    return served


def beyond_64_bits() -> bool:
    section = KERNEL.write_records([ONE], 0, 0)
    return gives_up(KERNEL.read_records, section, 2**63, 0) and gives_up(KERNEL.write_records, [ONE], 0, -(2**63) - 1)


def of_a_record_format() -> dict[str, bool]:
    return {
        "conversion": gives_up(convert, v1.MessageAndOffset(), v0.MessageAndOffset),
        "projection": projector(RecordBatch, {"records": 0}, 1) is None,
        "columns": not KERNEL.serves_columns(RecordBatch),
    }


def reads_by_python(data: Any, **options: Any) -> bool:
    """True if Python reads the first batch of a buffer."""
    return gives_up(lambda: next(KERNEL.read_batches(data, **options)))


def compresses_by_python(patch: pytest.MonkeyPatch) -> bool:
    data = write_batch([ONE], compression="gzip")
    called: list[str] = []

    def note(what: str) -> bytes:
        called.append(what)
        return b""

    KERNEL.bind("compress", lambda *_: note("write"))
    KERNEL.write_batch([ONE], compression="gzip")
    native_checks.bind_all(KERNEL)
    batch = next(KERNEL.read_batches(data))
    patch.setattr(record_batches, "decompress", lambda *_: note("read"))
    with pytest.raises(ValueError, match="declares 1 records, but has 0"):
        _ = batch.records
    return called == ["write", "read", "read"]


CASES: dict[str, Callable[[pytest.MonkeyPatch], bool]] = {
    "if KIPWIRE_NATIVE is 0": lambda patch: is_left_out(patch, None),
    "if it is not built": lambda patch: is_left_out(patch, ModuleNotFoundError),
    # As in test_native_use.py, where there is one.
    "in a second interpreter of the process": lambda patch: is_left_out(patch, ImportError),
    "if its plan has what the kernel does not know, such as `requiredIf`": lambda _: (
        not is_served(proposals.message("Messages", 2))
    ),
    "if it overrides generated code": lambda _: not is_served(WithReader),
    "`__setattr__`": lambda _: not is_served(WithSetter),
    "`__getattribute__`": lambda _: not is_served(WithGetter),
    "if its instances have a `__dict__`": lambda _: not is_served(WithDict),
    "if its structs are more than 100 deep": lambda _: is_served(nested(100)) and not is_served(nested(101)),
    "with bytes that are not valid": lambda _: (
        gives_up(KERNEL.decode, HeartbeatRequest, DATA[:-1]) and not gives_up(KERNEL.decode, HeartbeatRequest, DATA)
    ),
    "with a value whose type is not exactly its field's": lambda _: gives_up(
        KERNEL.encode, HeartbeatRequest(group_id=native_checks.Text("g"))
    ),
    "with a number beyond 64 bits": lambda _: beyond_64_bits(),
    "for a conversion with `lost` or `strict`": lambda _: (
        gives_up(convert, HeartbeatRequest(), 3, lost=[])
        and gives_up(convert, HeartbeatRequest(), 3, strict=True)
        and not gives_up(convert, HeartbeatRequest(), Older)
    ),
    "for a conversion, a projection or columns of a record format": lambda _: all(of_a_record_format().values()),
    "for batches of magic 0 or 1": lambda _: all(
        reads_by_python(write_message_set([Record(timestamp=-1, value=b"v")], magic=magic)) for magic in (0, 1)
    ),
    "of a draft": lambda _: reads_by_python(BATCH, magic_2="kip-82"),
    "in a buffer that is not `bytes`": lambda _: reads_by_python(bytearray(BATCH)) and not reads_by_python(BATCH),
    "for the codecs of compressed ones": compresses_by_python,
}
"""By the words of the head."""


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_is_left_for_python(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CASES[case](monkeypatch)


def test_the_head_names_these_cases_and_no_other() -> None:
    found = re.search(r"The kernel is left for Python\n(.*?)\n\n(?=Then)", native.__doc__ or "", re.DOTALL)
    assert found is not None
    text = " ".join(found[1].split())
    for case in CASES:
        assert case in text
        text = text.replace(case, "", 1)
    assert set(re.findall(r"\w+", text)) == {"as", "a", "whole", "for", "class", "call", "or", "and"}


def test_python_is_not_asked_for_what_follows_the_last_whole_batch() -> None:
    assert not gives_up(lambda: list(KERNEL.read_batches(BATCH * 3)))
    assert gives_up(lambda: list(KERNEL.read_batches(BATCH + BATCH[:-1])))


def test_the_kernel_is_given_by_name_all_that_it_asks_for() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "runtime/kernel").glob("*.p[xy][xi]"))
    never_gives_up = {"has_more_items"}
    assert set(re.findall(r'\bpython\["(\w+)"\]', sources)) | never_gives_up == native.PYTHON.keys()
    for name in native.PYTHON.keys() & vars(KERNEL).keys():
        assert getattr(KERNEL, name).__wrapped__ is native.PYTHON[name]

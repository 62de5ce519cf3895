"""The options of reading: each is explained where users look, has one default, and is known by both engines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kipwire import native
from kipwire.drafts import kip_82, kip_98
from kipwire.logs.segments import read_part
from kipwire.records import (
    MAX_DECOMPRESSED_SIZE,
    MAX_ITEMS,
    ReadOptions,
    Record,
    SegmentOptions,
    down_convert,
    read_batches,
    read_segment,
    up_convert,
    write_batch,
)
from kipwire.records.reading import MAX_BATCH_SIZE, BatchOptions, rules_of

DEFAULTS: dict[str, Any] = {
    "check_crcs": True,
    "magic_2": "kafka",
    "max_batch_size": MAX_BATCH_SIZE,
    "max_decompressed_size": MAX_DECOMPRESSED_SIZE,
    "max_items": MAX_ITEMS,
}
BATCH = write_batch([Record(offset=0, value=b"v")])


def options_of(of: Any) -> dict[str, Any]:
    return {name: DEFAULTS[name] for name in of.__annotations__}


def test_rules_have_the_defaults_of_all_options() -> None:
    parameters = inspect.signature(rules_of).parameters
    assert {name: one.default for name, one in parameters.items()} == DEFAULTS == options_of(SegmentOptions)


@pytest.mark.parametrize(("function", "of"), [(read_batches, ReadOptions), (read_segment, SegmentOptions)])
def test_help_explains_every_option(function: Callable[..., Any], of: Any) -> None:
    assert all(f"`{name}`" in str(function.__doc__) for name in of.__annotations__)


def functions(folder: Path) -> dict[str, tuple[Callable[..., Any], Any]]:
    """Return functions that read a batch with options, and the options that each takes."""
    file = folder / "00000000000000000000.log"
    file.write_bytes(BATCH)

    def part(**options: Any) -> Any:
        with file.open("rb") as opened:
            return list(read_part(opened, "part", grows=False, **options))

    return {
        "read_batches": (lambda **options: list(read_batches(BATCH, **options)), ReadOptions),
        "read_batches in Python": (
            lambda **options: list(native.PYTHON["read_batches"](BATCH, **options)),
            ReadOptions,
        ),
        "down_convert": (lambda **options: down_convert(BATCH, 1, **options), ReadOptions),
        "up_convert": (lambda **options: up_convert(BATCH, 2, **options), ReadOptions),
        "read_segment": (lambda **options: list(read_segment(file, **options)), SegmentOptions),
        "read_part": (part, SegmentOptions),
        "kip_82.read_records": (lambda **options: list(kip_82.read_records(b"", **options)), BatchOptions),
        "kip_82.to_magic_2": (lambda **options: kip_82.to_magic_2(b"", **options), BatchOptions),
        "kip_98.to_magic_2": (lambda **options: kip_98.to_magic_2(b"", **options), BatchOptions),
    }


def test_every_reader_takes_its_options_and_no_other(tmp_path: Path) -> None:
    for name, (read, of) in functions(tmp_path).items():
        assert read(**options_of(of)) is not None, name
        for wrong in {"chek_crcs", *DEFAULTS} - of.__annotations__.keys():
            with pytest.raises(TypeError, match=wrong):
                read(**{wrong: DEFAULTS.get(wrong, True)})


def test_a_limit_reaches_every_reader(tmp_path: Path) -> None:
    of_two = write_batch([Record(offset=0), Record(offset=1)])
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(of_two)
    for batches in (
        read_batches(of_two, max_items=1),
        read_batches(bytearray(of_two), max_items=1),
        read_segment(file, max_items=1),
    ):
        with pytest.raises(ValueError, match="max_items"):
            _ = next(batches).records
    with pytest.raises(ValueError, match="max_batch_size"):
        next(read_segment(file, max_batch_size=60))
    with pytest.raises(ValueError, match="max_items"):
        down_convert(of_two, 1, max_items=1)
    assert up_convert(of_two, 2, max_items=1).data == of_two

"""Each function for columns gives the same values on both engines: the ones written here, which are Spark's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from kipjobs.engines import Column, DataFrame, Functions, Session, functions_of
from kipjobs.engines.functions import AddedFunctions, NamedFunctions
from kipwire.tables.arrow import TIMESTAMP
from tests.support.subjects.both_engines import frame_of
from tests.support.subjects.spark_tables import rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
Example = tuple[Callable[[Functions], Column], Any]
"""A column, and its values."""

TYPES = {
    "row": pa.int32(),
    "a": pa.int64(),
    "b": pa.int64(),
    "text": pa.string(),
    "data": pa.binary(),
    "list": pa.list_(pa.int64()),
    "names": pa.list_(pa.string()),
    "nested": pa.list_(pa.list_(pa.int64())),
    "at": TIMESTAMP,
}
AT = datetime(2026, 11, 21, 8, 0, 50, 123456, tzinfo=UTC)
GIVEN = [
    (1, 3, 5, "dir/ä/b\n/file", b"\0\xff\x10", [3, 1, 3], ["b", "a"], [[1], [2, 3]], AT),
    (2, None, 1, None, None, None, None, None, None),
    (3, -2, None, "", b"", [], [], [], datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
]

OF_ROWS: dict[str, Example] = {
    "array": (lambda sf: sf.array("a", "b"), [[3, 5], [None, 1], [-2, None]]),
    "array_contains": (lambda sf: sf.array_contains("names", "a"), [True, None, False]),
    "array_except": (lambda sf: sf.array_except("list", sf.array("a")), [[1], None, []]),
    "array_sort": (lambda sf: sf.array_sort(sf.array("b", "a")), [[3, 5], [1, None], [-2, None]]),
    "base64": (lambda sf: sf.base64("data"), ["AP8Q", None, ""]),
    "bytes_of": (lambda sf: sf.bytes_of("data"), [3, None, 0]),
    "coalesce": (lambda sf: sf.coalesce("a", "b"), [3, 1, -2]),
    "col": (lambda sf: sf.col("a") - 1, [2, None, -3]),
    "concat": (lambda sf: sf.concat("text", sf.lit("!")), ["dir/ä/b\n/file!", None, "!"]),
    "concat_ws": (lambda sf: sf.concat_ws("-", "text", sf.lit("x")), ["dir/ä/b\n/file-x", "x", "-x"]),
    "current_timestamp": (lambda sf: sf.current_timestamp() > sf.lit(AT), [True] * 3),
    "flatten": (lambda sf: sf.flatten("nested"), [[1, 2, 3], None, []]),
    "greatest": (lambda sf: sf.greatest("a", "b"), [5, 1, -2]),
    "hex": (lambda sf: sf.hex("data"), ["00FF10", None, ""]),
    "kafka_time": (
        lambda sf: sf.kafka_time(sf.col("a") * 500),
        [datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=UTC), None, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)],
    ),
    "least": (lambda sf: sf.least("a", "b"), [3, 1, -2]),
    "lit": (lambda sf: sf.lit("it's"), ["it's"] * 3),
    "regexp_replace": (lambda sf: sf.regexp_replace("text", "/[^/]*$", ""), ["dir/ä/b\n", None, ""]),
    "round": (lambda sf: sf.round(sf.col("a") / sf.lit(2.0)), [2.0, None, -1.0]),
    "size": (lambda sf: sf.size(sf.coalesce("list", sf.array())), [3, 0, 0]),
    "struct": (lambda sf: sf.struct("a", sf.lit(1).alias("one")), [{"a": one, "one": 1} for one in (3, None, -2)]),
    "substring": (lambda sf: sf.substring("text", 5, 1), ["ä", None, ""]),
    "transform": (lambda sf: sf.transform("list", lambda one: one + 1), [[4, 2, 4], None, []]),
    "translate": (lambda sf: sf.translate("text", "/ä", "_"), ["dir__b\n_file", None, ""]),
    "unix_micros": (lambda sf: sf.unix_micros("at"), [int(AT.timestamp()) * 10**6 + 123456, None, -1]),
    "valid_text": (lambda sf: sf.valid_text("text"), ["dir/ä/b\n/file", None, ""]),
    "when": (lambda sf: sf.when(sf.col("a") > 0, "more").when(sf.col("a") < 0, "less"), ["more", None, "less"]),
}
"""Values of each row, by function."""

OF_ALL: dict[str, Example] = {
    "count": (lambda sf: sf.count("a"), 2),
    "count_distinct": (lambda sf: sf.count_distinct(sf.coalesce("a", sf.lit(3))), 2),
    "max": (lambda sf: sf.max("b"), 5),
    "max_by": (lambda sf: sf.max_by("a", "row"), -2),
    "min": (lambda sf: sf.min("text"), ""),
    "min_by": (lambda sf: sf.min_by("b", "row"), 5),
    "percentile": (lambda sf: sf.percentile("b", 0.25), 2.0),
    "sum": (lambda sf: sf.sum("a"), 1),
    "try_sum": (lambda sf: sf.try_sum(sf.lit(2**62)), None),
}
"""The value of all rows together."""

OF_WINDOWS: dict[str, Example] = {
    "first": (lambda sf: sf.first("a"), [3, 3, 3]),
    "lag": (lambda sf: sf.lag("b"), [None, 5, 1]),
    "last": (lambda sf: sf.last("a", ignorenulls=True), [3, 3, -2]),
    "lead": (lambda sf: sf.lead("row"), [2, 3, None]),
}
"""Values of the rows up to each, in their order."""

ELSEWHERE = {
    "broadcast": "changes no row",
    "desc": "test_descending_order_has_null_last",
    "explode": "test_lists_become_rows",
    "hashes": "test_hashes_distinguish_values",
    "from_coordinator": "the jobs",
    "from_metadata": "the jobs",
    "with_json": "test_one_struct_of_several_becomes_json_without_nulls",
    "map_batches": "the jobs",
    "add_columns": "the jobs",
    "map_groups": "the jobs",
    "Window": "test_functions_of_windows",
}
"""Functions that give no such values, and where they are tested."""


@pytest.fixture(scope="module")
def frame(session: Session) -> DataFrame:
    return frame_of(session, TYPES, GIVEN)


def test_every_function_has_an_example() -> None:
    names = {name for protocol in (NamedFunctions, AddedFunctions) for name in vars(protocol) if name[0] != "_"}
    assert names == {*OF_ROWS, *OF_ALL, *OF_WINDOWS, *ELSEWHERE}


def test_functions_of_rows(frame: DataFrame) -> None:
    sf = functions_of(frame)
    found = rows(frame.select("row", *[make(sf).alias(name) for name, (make, _) in OF_ROWS.items()]).orderBy("row"))
    assert {name: [row[name] for row in found] for name in OF_ROWS} == {name: one for name, (_, one) in OF_ROWS.items()}


def test_functions_of_all_rows(frame: DataFrame) -> None:
    sf = functions_of(frame)
    (found,) = rows(frame.agg(*[make(sf).alias(name) for name, (make, _) in OF_ALL.items()]))
    assert found == {name: value for name, (_, value) in OF_ALL.items()}


def test_functions_of_windows(frame: DataFrame) -> None:
    sf = functions_of(frame)
    whole = sf.Window.partitionBy(sf.lit(1)).orderBy("row")
    so_far = whole.rowsBetween(sf.Window.unboundedPreceding, sf.Window.currentRow)
    windows = {"lag": whole, "lead": whole}
    made = [make(sf).over(windows.get(name, so_far)).alias(name) for name, (make, _) in OF_WINDOWS.items()]
    found = rows(frame.select("row", *made).orderBy("row"))
    assert {name: [row[name] for row in found] for name in OF_WINDOWS} == {
        name: values for name, (_, values) in OF_WINDOWS.items()
    }


def test_descending_order_has_null_last(frame: DataFrame) -> None:
    sf = functions_of(frame)
    assert [row["a"] for row in rows(frame.orderBy("a"))] == [None, -2, 3]
    assert [row["a"] for row in rows(frame.orderBy(sf.desc("a")))] == [3, -2, None]


def test_lists_become_rows(frame: DataFrame) -> None:
    sf = functions_of(frame)
    found = rows(frame.select("row", sf.explode("list").alias("one")))
    assert sorted((row["row"], row["one"]) for row in found) == [(1, 1), (1, 3), (1, 3)]


def test_hashes_distinguish_values(frame: DataFrame) -> None:
    sf = functions_of(frame)
    one, other = sf.hashes("data")
    found = rows(frame.where(sf.col("data").isNotNull()).select(one.alias("one"), other.alias("other")))
    assert len({(row["one"], row["other"]) for row in found}) == 2


def test_one_struct_of_several_becomes_json_without_nulls(frame: DataFrame) -> None:
    sf = functions_of(frame)
    both = frame.select("row", sf.when(sf.col("a") > 0, sf.struct("a", "text")).alias("x"), sf.struct("b").alias("y"))
    found = rows(sf.with_json(both, ["x", "y"], "json").orderBy("row"))
    assert [row["json"] for row in found] == ['{"a":3,"text":"dir/ä/b\\n/file"}', '{"b":1}', "{}"]

"""Functions of users decode keys and values for display; their errors are in the line of the record."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from kipwire.records import Record, write_batch
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import log

MODULE = '''
import json, sys
from dataclasses import dataclass
from datetime import datetime, UTC
from decimal import Decimal

def order(data):
    return json.loads(data)

def number(data):
    return int.from_bytes(data, "big")

def where(data, context):
    return [context.topic, context.partition, context.field, context.record.offset, context.headers, data.decode()]

def with_default(data, schema="s"):
    return schema

@dataclass
class Price:
    amount: Decimal
    at: datetime

def odd(data):
    return {"price": Price(Decimal("1.50"), datetime(2026, 1, 2, tzinfo=UTC)), "raw": b"\\xff", "text": b"t",
            "nan": [float("nan"), 1.5], "set": {1}, "tuple": (1, None)}

def text(data):
    return "\\x1b[2J" + data.decode()

def nothing(data):
    return None

def ends(data):
    sys.exit("enough")

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError

def rude(data):
    raise Unprintable

def circular(data):
    found = []
    found.append(found)
    return found

class Deserializer:
    """Takes the arguments of a deserializer of Confluent's client."""
    def __call__(self, data, ctx=None):
        return f"{ctx.topic}-{ctx.field}"
    def method(self, data):
        return "method"

deserializer = Deserializer()

def none_at_all():
    pass

def too_many(data, context, more):
    pass

def by_name(data, *, schema):
    pass

value = 5
'''


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("decoders", "broken", "exits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "decoders.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    (tmp_path / "exits.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    records = [
        Record(offset=0, key=b"\0\7", value=b'{"id": 1}', headers=[("h", b"1")]),
        Record(offset=1, key=b"\1\0", value=None),
        Record(offset=2, key=None, value=b"no JSON\xff"),
    ]
    return log(tmp_path / "orders-0", write_batch(records))


def values(dump: Dump, *arguments: object) -> list[str]:
    done = dump(*arguments)
    return [line.partition(" value=")[2] for line in done.stdout.splitlines() if line.startswith("  offset")]


def test_values_and_keys_are_shown_as_functions_say(dump: Dump, orders: Path) -> None:
    done = dump(orders, "-r", "--value", "decoders:order", "--record-key", "decoders:number")
    assert [line.partition("key=")[2] for line in done.stdout.splitlines()[2:4]] == [
        '7 value={"id":1}',
        "256 value=null",
    ]
    assert done.returncode == 1
    last = done.stdout.splitlines()[4]
    assert last.startswith(
        r"""  offset=2 time=none key=null value=b'no JSON\xff' error="value: UnicodeDecodeError: 'utf-8'"""
    )
    assert done.stderr == f"error: {orders}: batch at byte 0: 1 record of it cannot be decoded\n"


def test_json_has_what_functions_return_and_the_bytes(dump: Dump, orders: Path) -> None:
    done = dump(orders, "-r", "-f", "json", "--value", "decoders:order", "--record-key", "decoders:number")
    first, second, third = (json.loads(line) for line in done.stdout.splitlines()[1:])
    assert (first["key"], first["value"]) == (7, {"id": 1})
    assert (b64decode(first["key_bytes"]), b64decode(first["value_bytes"])) == (b"\0\7", b'{"id": 1}')
    assert (first["key_size"], first["value_size"]) == (2, 9)
    assert (second["value"], "value_bytes" in second, "error" in second) == (None, False, False)
    assert b64decode(third["value"]["base64"]) == b"no JSON\xff"
    assert third["error"].startswith("value: UnicodeDecodeError: ")


def test_a_function_of_two_arguments_is_told_where_the_bytes_are_from(dump: Dump, orders: Path) -> None:
    shown = values(dump, orders, "-r", "--value", "decoders:where", "--to-offset", 1)
    assert shown == ['["orders",0,"value",0,[["h","1"]],"{\\"id\\": 1}"]']
    shown = values(dump, orders, "-r", "--value", "decoders:deserializer", "--to-offset", 1)
    assert shown == ["'orders-value'"]
    assert values(dump, orders, "-r", "--value", "decoders:with_default", "--to-offset", 1) == ["'s'"]
    assert values(dump, orders, "-r", "--value", "decoders:deserializer.method", "--to-offset", 1) == ["'method'"]


def test_what_json_does_not_have_is_shown_as_text(dump: Dump, orders: Path) -> None:
    done = dump(orders, "-r", "-f", "json", "--value", "decoders:odd", "--to-offset", 1)
    assert json.loads(done.stdout.splitlines()[1])["value"] == {
        "price": {"amount": "1.50", "at": "2026-01-02 00:00:00+00:00"},
        "raw": {"base64": "/w=="},
        "text": "t",
        "nan": ["nan", 1.5],
        "set": [1],
        "tuple": [1, None],
    }
    assert values(dump, orders, "-r", "--value", "decoders:text", "--to-offset", 1) == [r"""'\x1b[2J{"id": 1}'"""]
    assert values(dump, orders, "-r", "--value", "decoders:nothing", "--to-offset", 1) == ["null"]


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("ends", "value: SystemExit: enough"),
        ("rude", "value: Unprintable"),
        ("circular", "value: "),
        ("number.__len__", None),
    ],
)
def test_whatever_a_function_does_is_the_error_of_a_record(
    dump: Dump, orders: Path, function: str, error: str | None
) -> None:
    done = dump(orders, "-r", "-f", "json", "--value", f"decoders:{function}", "--to-offset", 1)
    if error is None:
        assert done.returncode == 2
        return
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[1])["error"].startswith(error)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("decoders", "'decoders' is not module:function, such as decoders:order, nor registry"),
        ("decoders:", "'decoders:' is not module:function, such as decoders:order, nor registry"),
        ("../decoders:order", "'../decoders:order' is not module:function, such as decoders:order, nor registry"),
        ("decoders:ordr", "decoders:ordr: no attribute 'ordr'; did you mean order?"),
        ("decoders:value", "decoders:value: is not a function but int"),
        ("absent:order", "absent:order: absent cannot be imported: ModuleNotFoundError: No module named 'absent'"),
        (
            "broken:order",
            "broken:order: broken cannot be imported: ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        ("exits:order", "exits:order: exits cannot be imported: SystemExit: 0"),
        (
            "decoders:none_at_all",
            "decoders:none_at_all: takes no argument; it gets the bytes, and the context if it takes two",
        ),
        ("decoders:too_many", "decoders:too_many: needs more arguments than the bytes and the context"),
        ("decoders:by_name", "decoders:by_name: needs more arguments than the bytes and the context"),
    ],
)
@pytest.mark.parametrize("option", ["--value", "--record-key"])
def test_a_function_that_cannot_be_had_is_one_line(
    dump: Dump, orders: Path, value: str, reason: str, option: str
) -> None:
    done = dump(orders, "-r", option, value)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: {option} {reason}\n")


def test_functions_need_records(dump: Dump, orders: Path) -> None:
    done = dump(orders, "--value", "decoders:order")
    assert (done.returncode, done.stderr) == (
        2,
        "kipwire: --value needs --records\n",
    )


def test_control_records_and_internal_topics_are_kipwires_own(dump: Dump, orders: Path, segments: Path) -> None:
    arguments: list[Any] = [segments / "__consumer_offsets-1", "-r", "--value", "decoders:nothing"]
    assert dump(*arguments).stdout == dump(*arguments[:2]).stdout
    shown = dump(*arguments, "--as", "none").stdout
    assert "OffsetCommit" not in shown
    assert " value=null\n" in shown

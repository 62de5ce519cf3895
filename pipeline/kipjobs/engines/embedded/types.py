"""Names of types: Spark's, DuckDB's, and the types of Arrow that they stand for."""

from __future__ import annotations

import re

import pyarrow as pa

from kipwire.tables.arrow import TIMESTAMP

_TYPES = (
    ("boolean", "BOOLEAN", pa.bool_()),
    ("tinyint", "TINYINT", pa.int8()),
    ("smallint", "SMALLINT", pa.int16()),
    ("int", "INTEGER", pa.int32()),
    ("bigint", "BIGINT", pa.int64()),
    ("double", "DOUBLE", pa.float64()),
    ("string", "VARCHAR", pa.string()),
    ("binary", "BLOB", pa.binary()),
    ("timestamp", "TIMESTAMPTZ", TIMESTAMP),
)
"""Spark's name, DuckDB's name, and the type of Arrow."""
_OF_WORD = {word: sql for word, sql, _ in _TYPES}
_OF_ARROW = {arrow: sql for _, sql, arrow in _TYPES}
_WORD_OF = {arrow: word for word, _, arrow in _TYPES}
_PIECE = re.compile(r"[<>,:]|[^<>,:]+")


def sql_type(words: str) -> str:
    """Return DuckDB's name of the type with a name of Spark, such as `array<struct<a:string>>`."""
    pieces = _PIECE.findall(words.replace(" ", ""))
    found = _take(pieces)
    assert not pieces, words
    return found


def _take(pieces: list[str]) -> str:
    word = pieces.pop(0)
    if word == "array":
        pieces.pop(0)
        found = _take(pieces) + "[]"
        pieces.pop(0)
        return found
    if word == "struct":
        fields = []
        while pieces.pop(0) != ">":
            name = pieces.pop(0)
            pieces.pop(0)
            fields.append(f'"{name}" {_take(pieces)}')
        return f"STRUCT({', '.join(fields)})"
    return _OF_WORD[word]


def type_of(type_: pa.DataType) -> str:
    """Return DuckDB's name for a type of Arrow.

    Raises:
        KeyError: DuckDB has no such type.
    """
    if pa.types.is_struct(type_):
        fields = (f'"{field.name}" {type_of(field.type)}' for field in type_)
        return f"STRUCT({', '.join(fields)})"
    if pa.types.is_list(type_):
        return type_of(type_.value_type) + "[]"
    if pa.types.is_map(type_):
        return f"MAP({type_of(type_.key_type)}, {type_of(type_.item_type)})"
    return _OF_ARROW[type_]


def words_of(type_: pa.DataType) -> str:
    """Return Spark's name for a type of Arrow, such as `array<bigint>`."""
    if pa.types.is_list(type_):
        return f"array<{words_of(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{words_of(type_.key_type)},{words_of(type_.item_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'{field.name}:{words_of(field.type)}' for field in type_)}>"
    return _WORD_OF[type_]

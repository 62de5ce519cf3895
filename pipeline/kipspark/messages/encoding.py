"""From a column of messages to a column of bytes."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from kipspark.compute import pc
from kipspark.errors import BrokenMessageError, JobError
from kipspark.messages.choice import Choice
from kipspark.messages.framing import write_prefix
from kipspark.messages.union import VERSION
from kipwire import EncodeError, Message, columns


class Encoded(NamedTuple):
    """A column of bytes."""

    data: pa.Array
    """Null where the row was, and where it cannot be written."""
    faults: dict[int, str]
    """What is wrong with those that cannot, by row."""


def encode(choice: Choice, rows: pa.StructArray) -> Encoded:
    """The bytes of a column of messages, whatever is wrong with some of them.

    With a version, they are the messages alone. Without one each row tells its own, and the bytes get before them what
    tells it where such messages are stored.

    Raises:
        JobError: no row tells a version, or nothing tells the version of such a message.
        EncodeError: a column is missing, or is of a type that does not fit.
        KipwireError: as `Choice.classes`.
    """
    if choice.version is not None:
        return _encode(choice.classes[0], rows)
    if rows.type.get_field_index(VERSION) < 0:
        raise JobError(f"the rows of {choice.message} have no {VERSION}: give a version")
    classes = {cls.VERSION: cls for cls in choice.classes}
    versions = pc.struct_field(rows, VERSION)
    places, parts = [], []
    faults: dict[int, str] = {}
    for version in versions.unique().to_pylist():
        chosen = pc.is_null(versions) if version is None else pc.fill_null(pc.equal(versions, version), False)
        here = pc.indices_nonzero(pc.and_(chosen, rows.is_valid()))
        if version in classes:
            data, wrong = _encode(classes[version], rows.take(here))
            prefix = pa.scalar(write_prefix(classes[version]), data.type)
            places.append(here)
            parts.append(pc.binary_join_element_wise(prefix, data, pa.scalar(b"", data.type)))
            at = here.to_pylist() if wrong else []
            faults.update({at[index]: text for index, text in wrong.items()})
        else:
            faults.update(
                dict.fromkeys(here.to_pylist(), f"{choice.message}: {VERSION}: there is no version {version}")
            )
    if not parts:
        return Encoded(pa.nulls(len(rows), pa.binary()), faults)
    order = pc.index_in(pa.array(range(len(rows)), pa.uint64()), pa.concat_arrays(places))
    return Encoded(pa.concat_arrays(parts).take(order), faults)


def encode_strictly(choice: Choice, rows: pa.StructArray) -> pa.Array:
    """The bytes of a column of messages.

    Raises:
        BrokenMessageError: the first row that cannot be written; the text tells the field's path.
        KipwireError: as `encode`.
    """
    data, faults = encode(choice, rows)
    if faults:
        raise BrokenMessageError(faults[min(faults)])
    return data


def _encode(cls: type[Message], rows: pa.StructArray) -> Encoded:
    """The bytes of messages of one class; each row that fails is left out, and what is behind it tried again."""
    kept = _kept(rows.type, pa.struct(list(columns.schema(cls))))
    faults = {
        row: f"{cls.NAME} v{cls.VERSION}: {path}: this version has no such field" for row, path in _lost(rows, kept)
    }
    narrow = rows.cast(kept)
    if faults:
        good = pa.array([row not in faults for row in range(len(rows))])
        narrow = pc.if_else(good, narrow, pa.scalar(None, kept))
    parts, start = [], 0
    while start < len(narrow):
        try:
            parts.append(columns.encode(cls, narrow.slice(start)))
            break
        except columns.RowEncodeError as error:
            parts += [columns.encode(cls, narrow.slice(start, error.row)), pa.nulls(1, pa.binary())]
            faults[start + error.row] = EncodeError.__str__(error)
            start += error.row + 1
    return Encoded(pa.concat_arrays(parts) if parts else pa.array([], pa.binary()), faults)


def _kept(given: pa.DataType, known: pa.DataType) -> pa.DataType:
    """The given type with only those fields of structs that are known."""
    if pa.types.is_struct(given) and pa.types.is_struct(known):
        names = [field.name for field in given if known.get_field_index(field.name) >= 0]
        return pa.struct([(name, _kept(given.field(name).type, known.field(name).type)) for name in names])
    if pa.types.is_list(given) and pa.types.is_list(known):
        return pa.list_(_kept(given.value_type, known.value_type))
    return given


def _lost(rows: pa.StructArray, kept: pa.DataType) -> list[tuple[int, str]]:
    """The rows that have a value in a field that is not kept, each with a path of such a field."""
    return [(row, path) for path, places in _dropped(rows, kept, "", None) for row in places]


def _dropped(array: pa.Array, kept: pa.DataType, path: str, parents: pa.Array | None) -> list[tuple[str, list[int]]]:
    """Paths of fields that are not kept, and the rows that have a value there.

    Args:
        array: structs or lists.
        kept: the type that is kept of them.
        path: where they are.
        parents: the row of each; None where they are the rows themselves.
    """
    if pa.types.is_list(array.type) and pa.types.is_list(kept):
        inner = pc.list_parent_indices(array)
        return _dropped(array.flatten(), kept.value_type, path, inner if parents is None else parents.take(inner))
    if not pa.types.is_struct(array.type):
        return []
    found = []
    for field in array.type:
        if field.name == VERSION and not path:
            continue
        child = pc.struct_field(array, field.name)
        where = f"{path}.{field.name}" if path else field.name
        if kept.get_field_index(field.name) < 0:
            places = pc.indices_nonzero(_says_something(child))
            if len(places):
                found.append((where, (places if parents is None else parents.take(places)).to_pylist()))
        else:
            found += _dropped(child, kept.field(field.name).type, where, parents)
    return found


def _says_something(values: pa.Array) -> pa.Array:
    """Which values are neither null nor a map without entries, as the unknown tagged fields mostly are."""
    if pa.types.is_map(values.type):
        offsets = values.offsets
        return pc.and_(values.is_valid(), pc.greater(offsets[1:], offsets[:-1]))
    return values.is_valid()

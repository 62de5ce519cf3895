"""What generated code takes from the runtime by name, by module."""

from __future__ import annotations

from kipwire.types import TYPES

_NUMBERS = [row.name.upper() for row in TYPES.values() if row.kind in ("integer", "float")]

RUNTIME_NAMES = {
    "kipwire.empty_elements": frozenset({"EmptyElements"}),
    "kipwire.rows": frozenset({"MANY", "RowPackers", "RowReader"}),
    "kipwire.uuids": frozenset({"ZERO_UUID", "uuid_from"}),
    "kipwire.varints": frozenset({"VARINTS"}),
    "kipwire.wire": frozenset(f"{way}_{name}" for name in _NUMBERS for way in ("PACK", "UNPACK")).union("""
        BOOL_BYTE FALSE_TRUE MAX_LENGTH ONE_BYTE
        as_bytes as_list encode_text in_order is_empty is_in_order new repeat section
        read_size read_string_size read_tag_section read_varint write_size write_string_size write_tag_section
        read_packed read_packed_array read_upacked read_upacked_array read_upacked_run
        write_packed write_packed_array write_upacked write_upacked_array write_upacked_run
        """.split()),
}

"""What generated code takes from the runtime by name, by module."""

from __future__ import annotations

from kipwire.types import TYPES

_NUMBERS = [row.name.upper() for row in TYPES.values() if row.kind in ("integer", "float")]
_OF_NUMBERS = {f"{way}_{name}" for name in _NUMBERS for way in ("PACK", "UNPACK")}.union(
    f"{way}_{code}" for way in ("pack", "unpack") for code in "bBhHiIqd"
)

RUNTIME_NAMES = {
    "kipwire.codec.arrays": frozenset("""
        read_struct read_structs read_compact_structs read_texts read_compact_texts read_blobs
        read_compact_blobs read_bools write_struct write_structs write_compact_structs write_elements write_texts
        write_compact_texts write_blobs write_compact_blobs write_bools write_sized_texts write_sized_blobs
        read_bounded_struct read_bounded_structs section
        """.split()),
    "kipwire.codec.empty_elements": frozenset("""
        counted_bytes counted_parts read_empty_structs settle_bytes settle_parts write_empty_structs
        """.split()),
    "kipwire.codec.uuids": frozenset({"ZERO_UUID", "read_uuids", "uuid_from", "write_uuids"}),
    "kipwire.codec.varints": frozenset({"VARINTS"}),
    "kipwire.structs": frozenset({"DEFAULT"}),
    "kipwire.codec.wire": frozenset(_OF_NUMBERS).union("""
        BOOL_BYTE FALSE_TRUE ONE_BYTE
        as_bytes as_list encode_text in_order is_empty is_in_order
        read_size read_string_size read_tag_section read_varint tag_section write_size write_string_size
        read_packed_array read_upacked read_upacked_array read_upacked_run
        write_packed write_packed_array write_upacked write_upacked_array write_upacked_run
        """.split()),
}

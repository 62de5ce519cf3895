"""What generated code takes from the runtime by name, by module."""

from __future__ import annotations

RUNTIME_NAMES = {
    "kipwire.arrays": frozenset("""
        RowPackers read_struct read_structs read_compact_structs read_texts read_compact_texts read_blobs
        read_compact_blobs read_bools write_struct write_structs write_compact_structs write_elements write_texts
        write_compact_texts write_blobs write_compact_blobs write_bools write_sized_texts write_sized_blobs
        read_bounded_struct read_bounded_structs section
        """.split()),
    "kipwire.empty_elements": frozenset("""
        counted_bytes counted_pieces read_empty_structs settle_bytes settle_pieces write_empty_structs
        """.split()),
    "kipwire.uuids": frozenset({"ZERO_UUID", "read_uuids", "uuid_from", "write_uuids"}),
    "kipwire.varints": frozenset({"VARINTS"}),
    "kipwire.wire": frozenset("""
        BOOL_BYTE FALSE_TRUE ONE_BYTE
        PACK_INT8 PACK_INT16 PACK_UINT16 PACK_INT32 PACK_UINT32 PACK_INT64 PACK_FLOAT64
        UNPACK_INT8 UNPACK_INT16 UNPACK_UINT16 UNPACK_INT32 UNPACK_UINT32 UNPACK_INT64 UNPACK_FLOAT64
        DEFAULT as_bytes as_list encode_text in_order is_empty is_in_order
        read_size read_string_size read_tag_section read_varint tag_section write_size write_string_size
        read_packed_array read_upacked read_upacked_array read_upacked_run
        write_packed write_packed_array write_upacked write_upacked_array write_upacked_run
        """.split()),
}

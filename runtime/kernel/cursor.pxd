# cython: language_level=3
"""The cursor: all that reads bytes goes through `take`, the one place that looks where they end."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    # Of a message alone: where it starts, and how many elements without bytes its arrays have so far.
    const uint8_t* start
    int64_t empty_elements


cdef inline void open_cursor(Cursor* cursor, const uint8_t* start, const uint8_t* end) noexcept nogil:
    """Move to the start of a message."""
    cursor.at = cursor.start = start
    cursor.end = end
    cursor.empty_elements = 0


cdef inline Py_ssize_t left(const Cursor* cursor) noexcept nogil:
    """Number of bytes left."""
    return cursor.end - cursor.at


cdef inline bint take(Cursor* cursor, Py_ssize_t count, const uint8_t** taken) noexcept nogil:
    """Take bytes, and move the cursor after them. True if as many are left, so never for a negative number."""
    if <size_t>count > <size_t>(cursor.end - cursor.at):
        return False
    taken[0] = cursor.at
    cursor.at += count
    return True


cdef inline bint take_varint(Cursor* cursor, int bits, uint64_t* value) noexcept nogil:
    """Take an unsigned varint. True if one of at most `bits` bits is there, in its shortest form."""
    cdef const uint8_t* byte
    cdef int shift = 7
    cdef uint64_t group
    if not take(cursor, 1, &byte):
        return False
    value[0] = byte[0] & 0x7F
    if byte[0] <= 0x7F:
        return True
    if not take(cursor, 1, &byte) or byte[0] == 0:  # most varints of more than one byte have two
        return False
    value[0] |= <uint64_t>(byte[0] & 0x7F) << 7
    while byte[0] > 0x7F:
        shift += 7
        if shift >= bits or not take(cursor, 1, &byte) or byte[0] == 0:
            return False
        group = byte[0] & 0x7F
        if shift + 7 > bits and group >> (bits - shift):
            return False
        value[0] |= group << shift
    return True


cdef inline bint take_zigzag(Cursor* cursor, int bits, int64_t* value) noexcept nogil:
    """Take a signed varint, which is short near zero on either side, by the same rules."""
    cdef uint64_t pattern
    if not take_varint(cursor, bits, &pattern):
        return False
    value[0] = <int64_t>(pattern >> 1 ^ (0 - (pattern & 1)))
    return True


cdef inline uint16_t big_endian_16(const uint8_t* p) noexcept nogil:
    return <uint16_t>(<uint32_t>p[0] << 8 | p[1])


cdef inline uint32_t big_endian_32(const uint8_t* p) noexcept nogil:
    return <uint32_t>p[0] << 24 | <uint32_t>p[1] << 16 | <uint32_t>p[2] << 8 | p[3]


cdef inline uint64_t big_endian_64(const uint8_t* p) noexcept nogil:
    return <uint64_t>big_endian_32(p) << 32 | big_endian_32(p + 4)


cdef inline uint64_t big_endian(const uint8_t* p, int width) noexcept nogil:
    """An unsigned integer of one, two, four or eight bytes."""
    if width == 1:
        return p[0]
    if width == 2:
        return big_endian_16(p)
    return big_endian_32(p) if width == 4 else big_endian_64(p)


cdef inline int64_t signed(uint64_t pattern, int bits) noexcept nogil:
    """The number whose two's complement has this pattern of `bits` bits."""
    cdef int unused = 64 - bits
    return <int64_t>(pattern << unused) >> unused

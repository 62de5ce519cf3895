# Prefixes of texts, blobs and arrays, which say how many bytes or elements follow.

PREFIXES = {
    "": NO_PREFIX,
    "int16": INT16_PREFIX,
    "int32": INT32_PREFIX,
    "varint": VARINT_PREFIX,
    "uvarint": UVARINT_PREFIX,
    "uvarint_plus_one": UVARINT_PLUS_ONE_PREFIX,
    "rest": REST_PREFIX,
}


cdef inline bint take_length(Prefix prefix, Cursor* cursor, int64_t* length) noexcept nogil:
    """Take a size or a count, -1 for null. True if the bytes are there, and say no number below -1."""
    cdef const uint8_t* p
    cdef uint64_t number
    if is_likely(prefix == UVARINT_PLUS_ONE_PREFIX):
        if not take_varint(cursor, 31, &number):
            return False
        length[0] = <int64_t>number - 1
        return True
    if prefix == INT32_PREFIX:
        if not take(cursor, 4, &p):
            return False
        length[0] = <int32_t>big_endian_32(p)
    elif prefix == INT16_PREFIX:
        if not take(cursor, 2, &p):
            return False
        length[0] = <int16_t>big_endian_16(p)
    elif prefix == VARINT_PREFIX:
        if not take_zigzag(cursor, 32, length):
            return False
    elif prefix == UVARINT_PREFIX:
        if not take_varint(cursor, 31, &number):
            return False
        length[0] = <int64_t>number
    else:
        length[0] = left(cursor)
    return length[0] >= -1


cdef inline bint take_text(
    Prefix prefix, bint nullable, Cursor* cursor, const uint8_t** text, int64_t* size
) noexcept nogil:
    """Take a text, of size -1 for null. True if its bytes are there, or null is allowed and there."""
    if not take_length(prefix, cursor, size) or not is_text_length(prefix, size[0]):
        return False
    return take(cursor, size[0], text) if is_likely(size[0] >= 0) else nullable


cdef inline bint take_blob(
    Prefix prefix, bint nullable, Cursor* cursor, const uint8_t** blob, int64_t* size
) noexcept nogil:
    """Take a blob, by the same rules."""
    if not take_length(prefix, cursor, size):
        return False
    return take(cursor, size[0], blob) if is_likely(size[0] >= 0) else nullable


cdef inline uint8_t* store_length(Prefix prefix, Py_ssize_t length, uint8_t* p) noexcept nogil:
    """Store a size or a count, where -1 means null, as a scalar; the address after it, or NULL for a great number."""
    if prefix == UVARINT_PLUS_ONE_PREFIX:
        if length < 0x7F:
            p[0] = <uint8_t>(length + 1)
            return p + 1
        return store_varint(p, <uint64_t>length + 1) if length <= MAX_LENGTH else NULL
    if length > MAX_LENGTH:
        return NULL
    if prefix == INT32_PREFIX:
        store_32(p, <uint32_t>length)
        return p + 4
    elif prefix == INT16_PREFIX:
        store_16(p, <uint32_t>length)
        return p + 2 if length <= MAX_STRING else NULL
    elif prefix == VARINT_PREFIX:
        return store_varint(p, zigzag(length))
    elif prefix == UVARINT_PREFIX:
        return store_varint(p, length) if length >= 0 else NULL
    return p


cdef inline bint put_length(Prefix prefix, Py_ssize_t length, Output* out) noexcept:
    """Write a size or a count; -1 means null. False if the number is too great."""
    cdef uint8_t* p = reserve(out, out.at, MAX_SCALAR_SIZE)
    return p != NULL and commit(out, store_length(prefix, length, p))


cdef inline bint set_length(Prefix prefix, Py_ssize_t at, Py_ssize_t length, Output* out) noexcept:
    """Replace the 0 that was written as a length. False if the length is too great."""
    if length > (MAX_STRING if prefix == INT16_PREFIX else MAX_LENGTH):
        return False
    if prefix == INT16_PREFIX:
        store_16(out.start + at, <uint32_t>length)
    elif prefix == INT32_PREFIX:
        store_32(out.start + at, <uint32_t>length)
    elif prefix != REST_PREFIX:
        length += prefix == UVARINT_PLUS_ONE_PREFIX
        return insert_varint(out, at, <uint64_t>length << (prefix == VARINT_PREFIX))
    return True


cdef inline bint is_text_length(Prefix prefix, int64_t length) noexcept nogil:
    """True if a text may have this length: in a message, the limit of a classic length also holds for a compact one."""
    return length <= MAX_STRING or prefix != UVARINT_PLUS_ONE_PREFIX

# cython: language_level=3
"""The output: a buffer that grows, first on the caller's stack, then inside the bytes object that is handed out."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from capi cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyObject, _PyBytes_Resize, xdecref
from sizes cimport is_size

cdef struct Output:
    uint8_t* start
    uint8_t* at
    uint8_t* end
    # The bytes object that the buffer is part of; NULL while it is on the stack.
    PyObject* result
    # Whether only the size is wanted: bytes fields are then counted instead of copied.
    bint counts
    Py_ssize_t counted
    # How many elements without bytes the arrays of the message have.
    int64_t empty_elements


cdef inline void open_output(Output* out, uint8_t* stack, Py_ssize_t size, bint counts) noexcept:
    out.start = out.at = stack
    out.end = stack + size
    out.result = NULL
    out.counts = counts
    out.counted = 0
    out.empty_elements = 0


cdef inline Py_ssize_t written(Output* out) noexcept:
    """Number of bytes written or counted."""
    return out.at - out.start + out.counted


cdef inline bint grow(Output* out, Py_ssize_t count) noexcept:
    """Make room for more bytes."""
    cdef Py_ssize_t size = out.at - out.start, wanted
    cdef PyObject* result
    # Twice as much as there is, but not twice a long value.
    if not is_size(size, 2, 64, &wanted) or not is_size(count, 1, wanted, &wanted):
        return False
    if out.result == NULL:
        result = PyBytes_FromStringAndSize(NULL, wanted)
        if result == NULL:
            return False
        memcpy(PyBytes_AS_STRING(result), out.start, size)
        out.result = result
    elif _PyBytes_Resize(&out.result, wanted) < 0:  # which then has set the result to NULL
        return False
    out.start = <uint8_t*>PyBytes_AS_STRING(out.result)
    out.at = out.start + size
    out.end = out.start + wanted
    return True


cdef inline uint8_t* put(Output* out, Py_ssize_t count) noexcept:
    """The address for the next bytes; NULL without memory."""
    if out.end - out.at < count and not grow(out, count):
        return NULL
    out.at += count
    return out.at - count


# A function that writes many values keeps the address of the next byte in a variable, and puts the address back into
# `at` before it calls a function that uses `at`. The functions below take the address, and return the address after
# what they wrote, or NULL.

cdef enum:
    MAX_VARINT_SIZE = 10
    MAX_SCALAR_SIZE = 16  # bytes that one number, one marker or one length takes at most


cdef inline uint8_t* reserve(Output* out, uint8_t* p, Py_ssize_t count) noexcept:
    """The address for the next bytes, which moves where the buffer has to grow."""
    if out.end - p < count:
        out.at = p
        return out.at if grow(out, count) else NULL
    return p


cdef inline bint commit(Output* out, uint8_t* p) noexcept:
    """Put the address back; False for NULL."""
    if p == NULL:
        return False
    out.at = p
    return True


cdef inline uint8_t* store_bytes(Output* out, uint8_t* p, const char* data, Py_ssize_t size) noexcept:
    """Bytes that may be many: copied, or counted where only the size is wanted."""
    if out.counts:
        out.counted += size
        return p
    p = reserve(out, p, size)
    if p == NULL:
        return NULL
    if size > 16:
        memcpy(p, data, size)
    elif size >= 8:  # twice eight bytes, which overlap: a call would take longer
        memcpy(p, data, 8)
        memcpy(p + size - 8, data + size - 8, 8)
    elif size >= 4:
        memcpy(p, data, 4)
        memcpy(p + size - 4, data + size - 4, 4)
    elif size > 0:
        p[0] = data[0]
        p[size >> 1] = data[size >> 1]
        p[size - 1] = data[size - 1]
    return p + size


cdef inline bint put_bytes(Output* out, const char* data, Py_ssize_t size) noexcept:
    cdef uint8_t* p = put(out, size)
    if p == NULL:
        return False
    memcpy(p, data, size)
    return True


cdef inline bint put_long(Output* out, const char* data, Py_ssize_t size) noexcept:
    """Bytes that may be many: copied, or counted where only the size is wanted."""
    return commit(out, store_bytes(out, out.at, data, size))


cdef inline uint8_t* store_varint(uint8_t* p, uint64_t value) noexcept nogil:
    while value > 0x7F:
        p[0] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
        p += 1
    p[0] = <uint8_t>value
    return p + 1


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    """Map a signed number to an unsigned one, which is small near zero on either side."""
    return <uint64_t>value << 1 ^ (~<uint64_t>0 if value < 0 else 0)


cdef inline bint put_varint(Output* out, uint64_t value) noexcept:
    cdef uint8_t* p = put(out, MAX_VARINT_SIZE)
    if p == NULL:
        return False
    out.at = store_varint(p, value)
    return True


cdef inline bint put_zigzag(Output* out, int64_t value) noexcept:
    return put_varint(out, zigzag(value))


cdef inline bint insert_varint(Output* out, Py_ssize_t at, uint64_t value) noexcept:
    """Put a varint where one byte was left for it, and move what follows if the varint takes more."""
    cdef Py_ssize_t more = 0
    cdef uint64_t rest = value >> 7
    cdef uint8_t* p
    while rest:
        more += 1
        rest >>= 7
    if more:
        if put(out, more) == NULL:
            return False
        p = out.start + at
        memmove(p + 1 + more, p + 1, out.at - p - 1 - more)
    store_varint(out.start + at, value)
    return True


cdef inline void store_16(uint8_t* p, uint32_t value) noexcept nogil:
    p[0] = <uint8_t>(value >> 8)
    p[1] = <uint8_t>value


cdef inline void store_32(uint8_t* p, uint32_t value) noexcept nogil:
    p[0] = <uint8_t>(value >> 24)
    p[1] = <uint8_t>(value >> 16)
    p[2] = <uint8_t>(value >> 8)
    p[3] = <uint8_t>value


cdef inline void store_64(uint8_t* p, uint64_t value) noexcept nogil:
    store_32(p, <uint32_t>(value >> 32))
    store_32(p + 4, <uint32_t>value)


cdef inline void store_integer(uint8_t* p, int width, uint64_t number) noexcept nogil:
    """An integer of one, two, four or eight bytes."""
    if width == 4:
        store_32(p, <uint32_t>number)
    elif width == 8:
        store_64(p, number)
    elif width == 2:
        store_16(p, <uint32_t>number)
    else:
        p[0] = <uint8_t>number


cdef inline bint put_integer(Output* out, int width, uint64_t number) noexcept:
    cdef uint8_t* p = put(out, width)
    if p == NULL:
        return False
    store_integer(p, width, number)
    return True


cdef inline PyObject* close_output(Output* out) noexcept:
    """The bytes that were written; a new reference, or NULL without memory."""
    cdef PyObject* result = out.result
    cdef Py_ssize_t size = out.at - out.start
    out.result = NULL
    if result == NULL:
        return PyBytes_FromStringAndSize(<char*>out.start, size)
    _PyBytes_Resize(&result, size)
    return result


cdef inline void discard_output(Output* out) noexcept:
    xdecref(out.result)
    out.result = NULL

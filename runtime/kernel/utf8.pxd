# cython: language_level=3
"""Whether bytes are UTF-8, by the rules that Python's own decoder goes by."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline bint is_utf8(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef uint64_t word
    cdef Py_ssize_t taken
    while p < end:
        if end - p >= 8:
            memcpy(&word, p, 8)
            if not word & <uint64_t>0x8080808080808080:  # eight characters of ASCII
                p += 8
                continue
        if p[0] < 0x80:
            p += 1
            continue
        taken = sequence_size(p, end - p)
        if taken == 0:
            return False
        p += taken
    return True


cdef inline Py_ssize_t sequence_size(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Bytes of the character that starts there and is not ASCII; 0 where none does."""
    cdef uint8_t lead = p[0]
    cdef Py_ssize_t size, i
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if left < size:
        return 0
    # Longer forms than needed, surrogates and what is beyond Unicode show in the second byte.
    if p[1] < (0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80):
        return 0
    if p[1] > (0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF):
        return 0
    for i in range(2, size):
        if p[i] & 0xC0 != 0x80:
            return 0
    return size

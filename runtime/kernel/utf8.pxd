# cython: language_level=3
"""Check of UTF-8, by the rules of Python's own decoder, and the text of bytes that break them."""

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
    cdef Py_ssize_t size = size_by_lead(p[0])
    if size == 1 or p[0] == 0xED and left > 1 and p[1] > 0x9F:  # a surrogate
        return 0
    return size if well_formed_size(p, left) == size else 0


cdef inline Py_ssize_t size_by_lead(uint8_t lead) noexcept nogil:
    """Bytes of a character that starts with a byte which is not ASCII; 1 where none does."""
    if lead < 0xC2 or lead > 0xF4:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef inline Py_ssize_t well_formed_size(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Bytes from there on, one at least, up to the first that cannot go on with a character, or with a surrogate."""
    cdef Py_ssize_t i, size = min(size_by_lead(p[0]), left)
    if size == 1:
        return 1
    # Longer forms than needed, and what is beyond Unicode, show in the second byte.
    if p[1] < (0xA0 if p[0] == 0xE0 else 0x90 if p[0] == 0xF0 else 0x80) or p[1] > (0x8F if p[0] == 0xF4 else 0xBF):
        return 1
    for i in range(2, size):
        if p[i] & 0xC0 != 0x80:
            return i
    return size


cdef inline Py_ssize_t put_text_of_any(const uint8_t* p, Py_ssize_t size, uint8_t* out) noexcept nogil:
    """Put the text that Java makes of any bytes there, as UTF-8. Its size, which is all that there is without `out`.

    U+FFFD stands for what would be a character if it went on, for a surrogate, and else for each byte that is none.
    """
    cdef const uint8_t* end = p + size
    cdef Py_ssize_t taken, count = 0
    cdef bint is_character
    while p < end:
        taken = 1 if p[0] < 0x80 else sequence_size(p, end - p)
        is_character = taken > 0
        if not is_character:
            taken = well_formed_size(p, end - p)
        if out != NULL:
            memcpy(out + count, p if is_character else <const uint8_t*>b"\xef\xbf\xbd", taken if is_character else 3)
        count += taken if is_character else 3
        p += taken
    return count

# cython: language_level=3
"""Texts of UTF-8, its check by the rules of Python's own decoder, and the text of bytes that break them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from capi cimport PyASCIIObject, PyObject, PyUnicode_DecodeUTF8, PyUnicode_New


cdef inline bint are_ascii(uint64_t bytes) noexcept nogil:
    """True if eight bytes, of which some may be 0 and stand for none, are ASCII."""
    return not bytes & <uint64_t>0x8080808080808080


cdef inline bint is_ascii(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """True if bytes are ASCII, as most texts are: tested by words, the last of which may overlap."""
    cdef uint64_t word, seen = 0
    cdef uint32_t half
    cdef Py_ssize_t i = 0
    if size >= 8:
        while i + 8 < size:
            memcpy(&word, p + i, 8)
            seen |= word
            i += 8
        memcpy(&word, p + size - 8, 8)
        seen |= word
    elif size >= 4:
        memcpy(&half, p, 4)
        seen = half
        memcpy(&half, p + size - 4, 4)
        seen |= half
    else:
        for i in range(size):
            seen |= p[i]
    return are_ascii(seen)


cdef inline PyObject* text_of(const uint8_t* utf8, Py_ssize_t size) noexcept:
    """A new str. ASCII needs no decoder if it is longer than the texts that Python keeps for each character."""
    cdef PyObject* text
    if size < 2 or not is_ascii(utf8, size):
        return PyUnicode_DecodeUTF8(<const char*>utf8, size, NULL)
    text = PyUnicode_New(size, 127)
    if text != NULL:
        memcpy(<PyASCIIObject*>text + 1, utf8, size)  # where PyUnicode_1BYTE_DATA would find it
    return text


cdef inline bint is_utf8(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """True if bytes are UTF-8. A look at the first byte saves a text in another script the test for ASCII."""
    cdef bint may_be_ascii = size == 0 or p[0] < 0x80
    return may_be_ascii and is_ascii(p, size) or is_utf8_of_sequences(p, size)


cdef inline bint is_utf8_of_sequences(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """The same, character by character, and eight at once where they are ASCII."""
    cdef const uint8_t* end = p + size
    cdef uint64_t word
    cdef Py_ssize_t taken
    while p < end:
        if p[0] >= 0x80:
            taken = sequence_size(p, end - p)
            if taken == 0:
                return False
            p += taken
            continue
        if end - p >= 8:
            memcpy(&word, p, 8)
            if are_ascii(word):
                p += 8
                continue
        p += 1
    return True


cdef inline Py_ssize_t sequence_size(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Size of the character at `p`, which is not ASCII; 0 where none starts."""
    cdef Py_ssize_t size = size_by_lead(p[0])
    if size == 1 or p[0] == 0xED and left > 1 and p[1] > 0x9F:  # a surrogate
        return 0
    return size if well_formed_size(p, left) == size else 0


cdef inline Py_ssize_t size_by_lead(uint8_t lead) noexcept nogil:
    """Size of a character by its first byte, which is not ASCII; 1 where none starts with that byte."""
    if lead < 0xC2 or lead > 0xF4:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef inline Py_ssize_t well_formed_size(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Number of bytes from `p` on, at least one, before the first that continues no character and no surrogate."""
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
    """Put the text that Java makes of any bytes into `out`, unless NULL, as UTF-8; the size of the text.

    U+FFFD stands for a character that is cut off, for a surrogate, and for each other byte that begins no character.
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

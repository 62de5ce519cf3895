# cython: language_level=3
"""Sizes: all that is computed from a count, a length or an offset goes through `is_size`, which detects overflow."""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    static inline int kip_is_size(int64_t count, int64_t width, int64_t more, Py_ssize_t* size) {
        if (count < 0 || width < 0 || more < 0) return 0;
    #if defined(__GNUC__)
        return !__builtin_mul_overflow(count, width, size) && !__builtin_add_overflow(*size, more, size);
    #else
        if (more > PY_SSIZE_T_MAX || (width && count > (PY_SSIZE_T_MAX - more) / width)) return 0;
        *size = (Py_ssize_t)(count * width + more);
        return 1;
    #endif
    }
    """
    # count * width + more. True if no argument is negative and the result fits a size.
    bint is_size "kip_is_size"(int64_t count, int64_t width, int64_t more, Py_ssize_t* size) noexcept nogil

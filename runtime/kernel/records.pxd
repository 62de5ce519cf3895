# The interface of records (records.pxi, batches.pxi).

cdef enum:
    # A record has a length, attributes, two deltas, two sizes and a count, of one byte each at least.
    MIN_RECORD_SIZE = 7

cdef bint is_sum(int64_t base, int64_t delta, int64_t* total) noexcept nogil

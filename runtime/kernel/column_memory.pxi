# The memory of columns: how it grows, what a row without a value gets, and how Arrow is handed the result.

cdef int set_widths(Column* column, type_) except -1:
    """Set what depends on the width of a value; `type_` is the spec's type."""
    from kipwire.model.types import TYPES  # here, as importing the kernel has no need of it

    if column.kind in (STRING, BYTES):
        return 0
    column.width = 0 if column.kind == BOOL else TYPES[type_].width
    if column.kind <= UUID:
        column.wire_width = column.item.min_size
        column.store = STORES[column.width]
        if column.kind == BOOL:
            pass  # not every byte is a bool, so that each is looked at in any case
        elif not column.wanted:
            column.store = STORE_NOTHING
        elif column.wire_width != column.width:
            column.store = STORE_WIDER
    return 0


cdef void free_column(Column* column) noexcept:
    cdef Py_ssize_t i
    free(column.validity)
    free(column.values)
    free(column.offsets)
    free(column.content)
    for i in range(column.part_count):
        free_column(&column.parts[i])
    if column.fields != NULL:
        for i in range(column.fields.column_count):
            free_column(&column.fields.columns[i])


# Growing.

cdef bint reserve_rows(Rows* rows, Py_ssize_t more) noexcept nogil:
    """Make room for `more` rows in each selected column."""
    cdef Py_ssize_t capacity, i
    if more > MAX_OFFSET - rows.count:
        rows.call.status = CAPACITY_ERROR
        return False
    if rows.count + more <= rows.capacity:
        return True
    capacity = max(expected(rows.call, rows.count + more), 2 * rows.capacity, <Py_ssize_t>MIN_CAPACITY)
    for i in range(rows.column_count):
        if not grow_column(rows.columns[i], rows.capacity, capacity):
            rows.call.status = OUT_OF_MEMORY
            return False
    rows.capacity = capacity
    return True


cdef Py_ssize_t expected(const Call* call, Py_ssize_t count) noexcept nogil:
    """Estimate a final count from the count so far, if the messages go on like that.

    The estimate is never more than what the bytes of all messages could hold, nor than what offsets can address.
    """
    cdef double likely = <double>count * call.total / call.done if call.done else count
    return max(count, <Py_ssize_t>min(likely, <double>MAX_OFFSET))


cdef bint grow_column(Column* column, Py_ssize_t old_capacity, Py_ssize_t capacity) noexcept nogil:
    cdef Py_ssize_t size
    if column.validity != NULL and not grow_bits(&column.validity, old_capacity, capacity):
        return False
    if is_struct(column):
        return True
    if column.kind == BOOL:
        return grow_bits(&column.values, old_capacity, capacity)
    if not is_size_of(column, capacity, &size):
        return False
    if not has_offsets(column):
        return resize(<void**>&column.values, size)
    if not resize(<void**>&column.offsets, size):
        return False
    if old_capacity == 0:
        column.offsets[0] = 0
    return True


cdef bint grow_bits(uint8_t** bits, Py_ssize_t old_capacity, Py_ssize_t capacity) noexcept nogil:
    """Make room for bits. New ones are zeroed, since one byte has the bits of several rows."""
    if not resize(<void**>bits, bits_size(capacity)):
        return False
    memset(bits[0] + bits_size(old_capacity), 0, bits_size(capacity) - bits_size(old_capacity))
    return True


cdef bint resize(void** block, size_t size) noexcept nogil:
    cdef void* moved = realloc(block[0], size)
    if moved != NULL:
        block[0] = moved
    return moved != NULL


cdef inline Py_ssize_t bits_size(Py_ssize_t count) noexcept nogil:
    """The bytes that a number of bits takes; it never wraps."""
    return (count >> 3) + ((count & 7) != 0)


cdef inline bint is_struct(const Column* column) noexcept nogil:
    return column.kind == STRUCT or column.kind == NULLABLE_STRUCT


cdef inline bint has_offsets(const Column* column) noexcept nogil:
    return column.kind == ARRAY or column.kind == STRING or column.kind == BYTES


cdef inline bint is_size_of(const Column* column, Py_ssize_t count, Py_ssize_t* size) noexcept nogil:
    """The bytes of the buffer of values or offsets for some rows; not for structs. Whether there can be that many."""
    if column.kind == BOOL:
        size[0] = bits_size(count)
        return count >= 0
    if has_offsets(column):
        return is_size(count, 4, 4, size)
    return is_size(count, column.width, 0, size)


cdef Py_ssize_t size_of(const Column* column, Py_ssize_t count) except -1:
    """The bytes of the buffer of values or offsets for a number of rows.

    Raises:
        ValueError: no buffer can have that many.
    """
    cdef Py_ssize_t size
    if not is_size_of(column, count, &size):
        raise ValueError(f"no buffer holds {count} values")
    return size


cdef inline bint add_content(Column* column, Py_ssize_t row, const void* data, Py_ssize_t size) noexcept nogil:
    """Add the value of a row of strings or bytes."""
    if size > column.content_capacity - column.content_size and not reserve_content(column, size):
        return False
    if size:
        memcpy(column.content + column.content_size, data, size)
        column.content_size += size
    column.offsets[row + 1] = <int32_t>column.content_size
    return True


cdef bint reserve_content(Column* column, Py_ssize_t more) noexcept nogil:
    cdef Py_ssize_t capacity
    if more > MAX_OFFSET - column.content_size:
        column.rows.call.status = CAPACITY_ERROR
        return False
    capacity = expected(column.rows.call, column.content_size + more)
    capacity = max(capacity, 2 * column.content_capacity, <Py_ssize_t>MIN_CAPACITY)
    capacity = min(capacity, <Py_ssize_t>MAX_OFFSET)  # so that nothing exceeds an offset unseen
    if not resize(<void**>&column.content, capacity):
        column.rows.call.status = OUT_OF_MEMORY
        return False
    column.content_capacity = capacity
    return True


cdef inline void set_bit(uint8_t* bits, Py_ssize_t at, bint value) noexcept nogil:
    cdef uint8_t mask = <uint8_t>(1 << (at & 7))
    bits[at >> 3] = bits[at >> 3] | mask if value else bits[at >> 3] & ~mask


cdef inline void set_valid(Column* column, Py_ssize_t row) noexcept nogil:
    """Mark the value of a row as not null."""
    if column.validity != NULL:
        set_bit(column.validity, row, True)


cdef bint set_null(Column* column, Py_ssize_t row) noexcept nogil:
    """Make the value of a row null."""
    if not column.wanted:
        return True
    if column.validity == NULL:
        column.validity = <uint8_t*>malloc(bits_size(column.rows.capacity))
        if column.validity == NULL:
            column.rows.call.status = OUT_OF_MEMORY
            return False
        memset(column.validity, 255, bits_size(column.rows.capacity))
    set_bit(column.validity, row, False)
    set_blank(column, row)
    return True


cdef void set_blank(Column* column, Py_ssize_t row) noexcept nogil:
    """Give a row something where its value does not matter."""
    cdef Py_ssize_t i
    if column.kind == STRUCT or column.kind == NULLABLE_STRUCT:
        for i in range(column.fields.wanted_count):
            set_valid(column.fields.wanted[i], row)
            set_blank(column.fields.wanted[i], row)
    elif column.offsets != NULL:
        column.offsets[row + 1] = column.offsets[row]
    elif column.kind == BOOL:
        set_bit(column.values, row, False)
    else:
        memset(column.values + row * column.width, 0, column.width)


cdef bint set_default(Column* column, Py_ssize_t row) noexcept nogil:
    """Make the value of a row the default of its field."""
    cdef Py_ssize_t i
    if not column.wanted:
        return True
    if column.null_by_default:
        return set_null(column, row)
    set_valid(column, row)
    if column.kind == STRUCT or column.kind == NULLABLE_STRUCT:
        for i in range(column.fields.wanted_count):
            if not set_default(column.fields.wanted[i], row):
                return False
    elif column.kind == ARRAY:
        column.offsets[row + 1] = column.offsets[row]
    elif column.kind == STRING or column.kind == BYTES:
        return add_content(column, row, column.default_content, column.default_size)
    elif column.kind == BOOL:
        set_bit(column.values, row, column.default_value[0])
    else:
        memcpy(column.values + row * column.width, column.default_value, column.width)
    return True


cdef void truncate_rows(Rows* rows, Py_ssize_t count) noexcept nogil:
    """Keep the first `count` rows; later ones are dropped, with their contents and elements."""
    cdef Py_ssize_t i
    cdef Column* column
    if rows.capacity:
        for i in range(rows.column_count):
            column = rows.columns[i]
            if column.kind == ARRAY:
                truncate_rows(&column.elements, column.offsets[count])
            elif column.kind == STRING or column.kind == BYTES:
                column.content_size = column.offsets[count]
    rows.count = count


# Handing out, as what an Arrow array is made of: number of values, buffers, and the same of the arrays in it.

cdef class Memory:
    """Memory that Python objects may look at, and that is freed with the last of these objects."""

    cdef void* start
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # By hand: PyBuffer_FillInfo would overwrite, and so leak, the reference to None that Cython puts there before.
        if flags & PyBUF_WRITABLE:
            raise BufferError("columns are read-only")
        buffer.obj = self
        buffer.buf = self.start
        buffer.len = self.size
        buffer.readonly = 1
        buffer.itemsize = 1
        buffer.format = NULL
        if flags & PyBUF_FORMAT:
            buffer.format = b"B"
        buffer.ndim = 1
        buffer.shape = &buffer.len if flags & PyBUF_ND else NULL
        buffer.strides = &buffer.itemsize if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = NULL

    def __dealloc__(self):
        free(self.start)


cdef as_buffer(void** block, Py_ssize_t size, Py_ssize_t capacity):
    """A block as an object, not much larger than it has to be; None where there is none."""
    cdef Memory memory
    cdef void* moved
    if block[0] == NULL:
        return None
    # Blocks of equal size are used again, while a large one that was cut goes back to the system.
    moved = block[0] if size > capacity // 4 * 3 else realloc(block[0], max(size, 1))
    memory = Memory()
    memory.start = block[0] if moved == NULL else moved
    memory.size = size
    block[0] = NULL
    return memory


cdef tuple column_parts(Column* column, Py_ssize_t count):
    cdef Py_ssize_t elements, size, capacity = column.rows.capacity
    buffers = [as_buffer(<void**>&column.validity, bits_size(count), bits_size(capacity))]
    children = []
    if is_struct(column):
        children = struct_parts(column.fields, count)
    elif has_offsets(column):
        size = size_of(column, count)
        buffers.append(as_buffer(<void**>&column.offsets, size, size_of(column, capacity)) or bytes(4))
        if column.kind != ARRAY:
            buffers.append(as_buffer(<void**>&column.content, column.content_size, column.content_capacity) or b"")
        else:
            elements = column.elements.count
            if column.fields != NULL:
                children = [(elements, [None], struct_parts(column.fields, elements))]
            elif column.part_count == 1:
                children = [column_parts(column.parts, elements)]
            else:
                tags_and_contents = [column_parts(&column.parts[0], elements), column_parts(&column.parts[1], elements)]
                children = [(elements, [None], tags_and_contents)]
    else:
        buffers.append(as_buffer(<void**>&column.values, size_of(column, count), size_of(column, capacity)) or b"")
    return count, buffers, children


cdef list struct_parts(Fields* fields, Py_ssize_t count):
    cdef Py_ssize_t i
    return [column_parts(fields.wanted[i], count) for i in range(fields.wanted_count)]

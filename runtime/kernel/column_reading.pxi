# From bytes to columns, by the rules of reading.pxi. Each function returns True after it has read valid bytes into the
# columns, else False; `truncate_rows` then drops the rows of that message.

cdef bint fill_struct(const Fields* fields, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef const Step* step
    cdef const uint8_t* p
    for i in range(fields.step_count):
        step = &fields.steps[i]
        if step.column != NULL:
            if not fill_column_value(step.column, row, cursor):
                return False
            continue
        if not take(cursor, step.width, &p):
            return False
        for j in range(step.part_count):
            if not store(step.parts[j].column, row, p + step.parts[j].at):
                return False
    return not fields.plan.flexible or fill_tag_section(fields, row, cursor)


cdef inline bint fill_column_value(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    """A value of a field: the field's own, or one element of its array."""
    cdef const uint8_t* p
    cdef int64_t number
    if column.kind == STRING:
        return fill_string(column, row, cursor)
    elif column.kind == ARRAY:
        return fill_array(column, row, cursor)
    elif column.kind == STRUCT:
        if column.wanted:
            set_valid(column, row)
        return fill_struct(column.fields, row, cursor)
    elif column.kind == NULLABLE_STRUCT:
        return fill_nullable_struct(column, row, cursor)
    elif column.kind == BYTES:
        return fill_bytes(column, row, cursor)
    elif column.kind > UUID:
        if not take_packed(column.item, cursor, &number):
            return False
        store_number(column, row, number)
        return True
    return take(cursor, column.wire_width, &p) and store(column, row, p)


cdef inline bint store(const Column* column, Py_ssize_t row, const uint8_t* p) noexcept nogil:
    """A value of fixed width."""
    if column.store == STORE_32:
        (<uint32_t*>column.values)[row] = big_endian_32(p)
    elif column.store == STORE_16:
        (<uint16_t*>column.values)[row] = big_endian_16(p)
    elif column.store == STORE_64:
        (<uint64_t*>column.values)[row] = big_endian_64(p)
    elif column.store == STORE_8:
        column.values[row] = p[0]
    else:
        return store_otherwise(column, row, p)
    return True


cdef bint store_otherwise(const Column* column, Py_ssize_t row, const uint8_t* p) noexcept nogil:
    if column.store == STORE_BIT:
        if p[0] > 1:
            return False
        if column.wanted:
            set_bit(column.values, row, p[0])
    elif column.store == STORE_128:
        memcpy(column.values + 16 * row, p, 16)
    elif column.store == STORE_WIDER:
        store_number(column, row, <int16_t>big_endian_16(p) if column.wire_width == 2 else <int32_t>big_endian_32(p))
    return True


cdef inline void store_number(const Column* column, Py_ssize_t row, int64_t number) noexcept nogil:
    """A number that fits its column."""
    if not column.wanted:
        return
    if column.width == 2:
        (<int16_t*>column.values)[row] = <int16_t>number
    elif column.width == 4:
        (<int32_t*>column.values)[row] = <int32_t>number
    else:
        (<int64_t*>column.values)[row] = number


cdef bint fill_nullable_struct(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef bint is_there
    if not take_marker(column.item, cursor, &is_there):
        return False
    if not is_there:
        return set_null(column, row)
    if column.wanted:
        set_valid(column, row)
    return fill_struct(column.fields, row, cursor)


cdef bint fill_array(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef int64_t count
    cdef Py_ssize_t first = column.elements.count
    if not take_count(column.item, column.nullable, cursor, &count):
        return False
    if count < 0:
        return set_null(column, row)
    if column.wanted:
        if not reserve_rows(&column.elements, count):
            return False
        column.elements.count += count
        set_valid(column, row)
        column.offsets[row + 1] = <int32_t>column.elements.count
    return fill_elements(column, first, count, cursor)


cdef bint fill_elements(Column* column, Py_ssize_t first, Py_ssize_t count, Cursor* cursor) noexcept nogil:
    cdef Column* elements = column.parts
    cdef const uint8_t* p
    cdef Py_ssize_t i, size
    if column.fields != NULL:
        for i in range(first, first + count):
            if not fill_struct(column.fields, i, cursor):
                return False
    elif elements.kind > UUID:
        for i in range(first, first + count):
            if not fill_column_value(elements, i, cursor):
                return False
    else:
        if not is_size(count, elements.wire_width, 0, &size) or not take(cursor, size, &p):
            return False
        return elements.store == STORE_NOTHING or store_run(elements, first, count, p)
    return True


cdef inline bint store_run(const Column* elements, Py_ssize_t first, Py_ssize_t count, const uint8_t* p) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t* numbers = <uint32_t*>elements.values + first
    if elements.store == STORE_32:  # such as node ids, which are common
        for i in range(count):
            numbers[i] = big_endian_32(p + 4 * i)
        return True
    for i in range(count):
        if not store(elements, first + i, p + i * elements.wire_width):
            return False
    return True


cdef bint fill_string(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_text(column.item.size, column.nullable, cursor, &p, &size):
        return False
    return fill_text(column, row, p, size) if is_likely(size >= 0) else set_null(column, row)


cdef inline bint fill_text(Column* column, Py_ssize_t row, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """UTF-8. The copy is checked, and not its source, which another thread may be changing."""
    if not column.wanted:
        return is_utf8(p, size)
    return fill_content(column, row, p, size) and is_utf8(column.content + (column.content_size - size), size)


cdef bint fill_bytes(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_blob(column.item.size, column.nullable, cursor, &p, &size):
        return False
    return fill_content(column, row, p, size) if is_likely(size >= 0) else set_null(column, row)


cdef inline bint fill_content(Column* column, Py_ssize_t row, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    if not column.wanted:
        return True
    set_valid(column, row)
    return add_content(column, row, p, size)


cdef inline bint fill_tag_section(const Fields* fields, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    """The tagged fields, with the defaults of those that are left out, and the unknown ones."""
    cdef uint64_t count
    if not take_varint(cursor, 31, &count):
        return False
    if (count or fields.plan.tagged_count) and not fill_tagged_fields(fields, row, count, cursor):
        return False
    if fields.unknown.wanted:
        fields.unknown.offsets[row + 1] = <int32_t>fields.unknown.elements.count
    return True


cdef bint fill_tagged_fields(const Fields* fields, Py_ssize_t row, uint64_t count, Cursor* cursor) noexcept nogil:
    cdef Tags tags
    cdef NextTag found
    open_tags(&tags, count)
    while True:
        found = next_tag(fields.plan, &tags, cursor)
        if found == TAG_LEFT_OUT:
            if not set_default(&fields.tagged[tags.known], row):
                return False
        elif found == TAG_KNOWN:
            if not fill_column_value(&fields.tagged[tags.known], row, cursor) or not has_size(&tags, cursor):
                return False
        elif found == TAG_UNKNOWN:
            if fields.unknown.wanted and not fill_unknown_field(fields.unknown, &tags):
                return False
        else:
            return found == TAGS_END


cdef bint fill_unknown_field(Column* column, const Tags* tags) noexcept nogil:
    cdef Py_ssize_t entry = column.elements.count
    if not reserve_rows(&column.elements, 1):
        return False
    (<int32_t*>column.parts[0].values)[entry] = <int32_t>tags.tag
    column.elements.count += 1
    return add_content(&column.parts[1], entry, tags.value, tags.size)


# Messages one after the other, as in an Arrow array.

cdef class View:
    """A borrowed buffer, held while it is read; a copy if its values would not be aligned."""

    cdef Py_buffer buffer

    def __cinit__(self, source, Py_ssize_t width=1):
        """Hold a buffer whose values have `width` bytes, and whose address must be a multiple of it."""
        PyObject_GetBuffer(source, &self.buffer, PyBUF_SIMPLE)
        if <size_t>self.buffer.buf % <size_t>width:
            PyBuffer_Release(&self.buffer)
            PyObject_GetBuffer(bytearray(source), &self.buffer, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)


def read_columns(cls, wanted, buffers, bint large, Py_ssize_t first, Py_ssize_t count, bint strict):
    """Fill the columns of a class from an Arrow array of bytes.

    Args:
        cls: the class of the messages.
        wanted: the columns in the order of the spec: each its name, and the same of those in it or None.
        buffers: the array's validity (or None), offsets and content.
        large: whether offsets have 64 bits.
        first: the first row of the array that is meant.
        count: how many rows are meant.
        strict: whether to stop at a broken message. Otherwise its row is null.

    Returns:
        The number of the message that is broken, and None; or -1, and the struct array's number of values, its
        buffers, and the same of the arrays in it.

    Raises:
        NotServed: the kernel does not read this class.
        OverflowError: a column would outgrow its offsets.
        ValueError: a buffer is too short, or the offsets make no sense.
    """
    cdef Tree tree = Tree(cls, wanted)
    cdef Py_ssize_t width = 8 if large else 4
    cdef View validity, offsets = View(buffers[1], width), content = View(buffers[2])
    cdef const uint8_t* bits = NULL
    cdef Py_ssize_t failed, last, size
    if not is_size(first, 1, count, &last) or not is_size(last, width, width, &size):
        raise ValueError(f"no buffer holds the offsets of {count} messages after {first} others")
    if buffers[0] is not None:
        validity = View(buffers[0])
        bits = <const uint8_t*>validity.buffer.buf
        if validity.buffer.len < bits_size(last):
            raise ValueError("the buffer of validity is too short")
    if offsets.buffer.len < size:
        raise ValueError("the buffer of offsets is too short")
    with nogil:
        failed = fill_rows(&tree.root, bits, offsets.buffer.buf, large, &content.buffer, first, count, strict)
    if tree.call.status == OUT_OF_MEMORY:
        raise MemoryError
    if tree.call.status == CAPACITY_ERROR:
        raise OverflowError
    if failed == BAD_OFFSETS:
        raise ValueError("offsets descend or are outside the content")
    return failed, None if failed >= 0 else column_parts(&tree.root, count)


cdef enum:
    ALL_GOOD = -1
    BAD_OFFSETS = -2

static_assert(ALL_GOOD < 0)  # as the number of a message is not
static_assert(BAD_OFFSETS < 0)


cdef Py_ssize_t fill_rows(
    Column* root, const uint8_t* validity, const void* offsets, bint large, const Py_buffer* content,
    Py_ssize_t first, Py_ssize_t count, bint strict,
) noexcept nogil:
    """Fill all rows; the number of the message that is broken, or why there is none."""
    cdef Py_ssize_t row, at
    cdef int64_t start, end
    cdef Cursor cursor
    start, end = offset_at(offsets, large, first), offset_at(offsets, large, first + count)
    if not 0 <= start <= end <= content.len:
        return BAD_OFFSETS
    root.rows.call.total = end - start
    if not reserve_rows(root.rows, count):
        return ALL_GOOD
    for row in range(count):
        at = first + row
        start, end = offset_at(offsets, large, at), offset_at(offsets, large, at + 1)
        if not 0 <= start <= end <= content.len:
            return BAD_OFFSETS
        if validity != NULL and not validity[at >> 3] >> (at & 7) & 1:
            if not set_null(root, row):
                return ALL_GOOD
            continue
        root.rows.call.done += end - start
        open_cursor(&cursor, <const uint8_t*>content.buf + start, <const uint8_t*>content.buf + end)
        if fill_struct(root.fields, row, &cursor) and cursor.at == cursor.end:
            set_valid(root, row)
            continue
        if root.rows.call.status:
            return ALL_GOOD
        if strict:
            return row
        truncate_rows(root.rows, row)
        if not set_null(root, row):
            return ALL_GOOD
    return ALL_GOOD


cdef inline int64_t offset_at(const void* offsets, bint large, Py_ssize_t at) noexcept nogil:
    return (<const int64_t*>offsets)[at] if large else (<const int32_t*>offsets)[at]

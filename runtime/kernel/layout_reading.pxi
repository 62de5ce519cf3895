# From bytes to instances of layouts. While a struct is read whose size is known, the cursor ends where the struct does.

cdef bint read_layout(const Form* form, PyObject* item, Cursor* cursor) noexcept:
    """Set the attributes of a new instance. Whether its bytes are strictly valid."""
    cdef const uint8_t* marks[MAX_MARKS]
    cdef const uint8_t* outer_end = cursor.end
    cdef const Part* part
    cdef Py_ssize_t i
    for i in range(form.part_count):
        part = &form.parts[i]
        if part.mark >= 0:
            marks[part.mark] = cursor.at
        if not read_part(part, item, marks, cursor):
            return False
    if form.size_part != NULL and cursor.at != cursor.end:
        return False
    for i in range(form.part_count):
        part = &form.parts[i]
        if part.kind == CHECKSUM and not part.is_behind:
            if not has_checksum(part, marks, cursor.at):
                return False
    cursor.end = outer_end
    return True


cdef bint read_part(const Part* part, PyObject* item, const uint8_t** marks, Cursor* cursor) noexcept:
    cdef const uint8_t* p
    if part.kind <= SECTION:
        return read_layout_value(part, item, marks, cursor)
    elif part.kind == BITS:
        return read_bits(part, item, cursor)
    elif part.kind == SIZE:
        return read_size(part, cursor)
    elif part.kind == CHECKSUM:
        return take(cursor, 4, &p) and (not part.is_behind or has_checksum(part, marks, p))
    else:  # CONSTANT
        return take(cursor, part.width, &p) and big_endian(p, part.width) == part.number


cdef inline bint has_checksum(const Part* part, const uint8_t** marks, const uint8_t* end) noexcept:
    """Whether the bytes up to there have the checksum that was told."""
    cdef const uint8_t* start = marks[part.start]
    return checksum(part.castagnoli, start, end - start) == big_endian_32(marks[part.mark])


cdef bint read_bits(const Part* part, PyObject* item, Cursor* cursor) noexcept:
    cdef const uint8_t* p
    cdef const Bit* bit
    cdef uint64_t number, value
    cdef PyObject* attribute
    cdef Py_ssize_t i
    if not take(cursor, part.width, &p):
        return False
    number = big_endian(p, part.width)
    if number & ~part.number:
        return False
    for i in range(part.bit_count):
        bit = &part.bits[i]
        if bit.presence.is_told:
            continue
        value = number >> bit.lowest & bit.most
        if bit.is_bool:
            attribute = new_reference(True_ if value else False_)
        else:
            attribute = PyLong_FromUnsignedLongLong(value)
            if attribute == NULL:
                return False
        slot_of(item, bit.slot)[0] = attribute
    return True


cdef inline uint64_t big_endian(const uint8_t* p, int width) noexcept nogil:
    """An unsigned integer of one, two, four or eight bytes."""
    if width == 1:
        return p[0]
    if width == 2:
        return big_endian_16(p)
    return big_endian_32(p) if width == 4 else big_endian_64(p)


cdef inline int64_t signed(uint64_t pattern, int bits) noexcept nogil:
    """The number whose two's complement has this pattern of so many bits."""
    cdef int unused = 64 - bits
    return <int64_t>(pattern << unused) >> unused


cdef inline int width_of_size(const Operation* field) noexcept nogil:
    """The bits of a computed size, which is signed as all integers that sizes are declared with."""
    return field.bits if field.bits else 8 * <int>field.least


cdef bint read_size(const Part* part, Cursor* cursor) noexcept:
    """The size of what stands behind, which becomes the cursor's end."""
    cdef const uint8_t* p
    cdef uint64_t pattern
    cdef int64_t size
    if part.field.element == PACKED:
        if not take_zigzag(cursor, part.field.bits, &size):
            return False
    else:
        if part.field.element == UPACKED:
            if not take_varint(cursor, part.field.bits, &pattern):
                return False
        elif take(cursor, part.field.least, &p):
            pattern = big_endian(p, part.field.least)
        else:
            return False
        size = signed(pattern, width_of_size(&part.field))
    if not 0 <= size <= left(cursor):
        return False
    cursor.end = cursor.at + size
    return True


cdef bint read_layout_value(const Part* part, PyObject* item, const uint8_t** marks, Cursor* cursor) noexcept:
    """Set the attribute of a field."""
    cdef PyObject* value
    if part.presence.is_told and not is_told_present(&part.presence, marks):
        value = new_reference(part.absent) if part.absent != NULL else PyList_New(0)
    elif part.kind == WHOLE:
        value = read_value(part.field.kind, &part.field, False, cursor)
    else:
        value = read_measured(part, marks, cursor)
    if value == NULL:
        return False
    slot_of(item, part.field.slot)[0] = value  # which now is the instance's to drop
    if part.sorted_slot >= 0 and not ascends(value, part.sorted_slot):
        return False
    return part.same_length_slot < 0 or have_same_length(value, slot_of(item, part.same_length_slot)[0])


cdef inline bint is_told_present(const Presence* presence, const uint8_t** marks) noexcept nogil:
    return ((marks[presence.mark][presence.byte] & presence.bit) != 0) == presence.means_present


cdef PyObject* read_measured(const Part* part, const uint8_t** marks, Cursor* cursor) noexcept:
    """A value behind its size or its count, or one that takes the rest."""
    cdef int64_t length
    cdef const uint8_t* p
    if part.prefix == PREFIX_REST or (part.partner.is_told and not is_told_present(&part.partner, marks)):
        length = left(cursor) - part.behind
        if length < 0:
            return NULL
    elif not take_prefix(part.prefix, cursor, &length):
        return NULL
    elif length < 0:
        return new_reference(None_) if part.field.nullable and not part.presence.is_told else NULL
    if part.kind == COUNTED:
        return read_counted(&part.field, length, cursor)
    if part.kind == SECTION:
        return read_section(part.field.form, cursor.at + length, cursor) if length <= left(cursor) else NULL
    if not take(cursor, length, &p):
        return NULL
    if part.field.element == STRING:
        return PyUnicode_DecodeUTF8(<const char*>p, length, NULL)
    return PyBytes_FromStringAndSize(<const char*>p, length)


cdef inline bint take_prefix(Prefix prefix, Cursor* cursor, int64_t* length) noexcept nogil:
    """A size or a count, -1 for null. Whether it is there and makes sense."""
    cdef const uint8_t* p
    cdef uint64_t size
    if prefix == PREFIX_VARINT:
        if not take_zigzag(cursor, 32, length):
            return False
    elif prefix == PREFIX_UVARINT:
        if not take_varint(cursor, 31, &size):
            return False
        length[0] = <int64_t>size
    elif prefix == PREFIX_INT16:
        if not take(cursor, 2, &p):
            return False
        length[0] = <int16_t>big_endian_16(p)
    else:
        if not take(cursor, 4, &p):
            return False
        length[0] = <int32_t>big_endian_32(p)
    return length[0] >= -1


cdef PyObject* read_counted(const Operation* field, int64_t count, Cursor* cursor) noexcept:
    cdef PyObject* items
    cdef PyObject* item
    cdef Py_ssize_t i
    if count > left(cursor) // field.least:
        return NULL
    items = new_list(count)
    if items == NULL:
        return NULL
    for i in range(count):
        item = read_value(field.element, field, False, cursor)
        if item == NULL:
            drop(items)
            return NULL
        PyList_SET_ITEM(items, i, item)
    track_list(items)
    return items


cdef PyObject* read_section(const Form* form, const uint8_t* end, Cursor* cursor) noexcept:
    """Structs that fill the bytes up to there."""
    cdef const uint8_t* outer_end = cursor.end
    cdef PyObject* items = PyList_New(0)
    cdef PyObject* item
    cdef int failed
    if items == NULL:
        return NULL
    cursor.end = end
    while cursor.at < end:
        item = read_struct(form, cursor)
        if item == NULL:
            drop(items)
            return NULL
        failed = PyList_Append(items, item)
        drop(item)
        if failed:
            drop(items)
            return NULL
    cursor.end = outer_end
    return items


cdef inline bint have_same_length(PyObject* items, PyObject* others) noexcept:
    """Whether both are arrays and have as many elements."""
    if items == NULL or others == NULL or not PyList_CheckExact(items) or not PyList_CheckExact(others):
        return False
    return PyList_GET_SIZE(items) == PyList_GET_SIZE(others)


cdef bint ascends(PyObject* items, Py_ssize_t slot) noexcept:
    """Whether an array's elements, which were just read, strictly ascend by an attribute."""
    cdef Py_ssize_t i
    cdef PyObject* key
    cdef PyObject* before = NULL
    if not PyList_CheckExact(items):
        return False
    for i in range(PyList_GET_SIZE(items)):
        key = slot_of(PyList_GET_ITEM(items, i), slot)[0]
        if not is_key(key, before) or (i and not is_less(before, key)):
            return False
        before = key
    return True


cdef inline bint is_key(PyObject* key, PyObject* before) noexcept:
    """Whether that can be compared with the key before it, if any; callbacks of the collector may have changed it."""
    if key == NULL or (before != NULL and type_of(key) != type_of(before)):
        return False
    return PyLong_CheckExact(key) or PyUnicode_CheckExact(key) or PyBytes_CheckExact(key)


cdef inline bint is_less(PyObject* one, PyObject* other) noexcept nogil:
    """Of two numbers, texts or bytes, whose comparison runs no code of others and cannot fail."""
    return PyObject_RichCompareBool(one, other, Py_LT) == 1

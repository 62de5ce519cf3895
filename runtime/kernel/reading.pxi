# From bytes to instances. Every function gives a new reference, or NULL where its bytes are not strictly valid.

cdef PyObject* read_struct(const Form* form, Cursor* cursor) noexcept:
    cdef PyObject* item = new(form.type)
    cdef PyObject* value
    cdef Py_ssize_t i
    if item == NULL:
        return NULL
    if form.parts != NULL and not read_layout(form, item, cursor):
        drop(item)
        return NULL
    for i in range(form.field_count):
        value = read_value(form.fields[i].kind, &form.fields[i], form.fields[i].nullable, cursor)
        if value == NULL:
            drop(item)
            return NULL
        slot_of(item, form.fields[i].slot)[0] = value
    if form.flexible and not read_tag_section(form, item, cursor):
        drop(item)
        return NULL
    track(item)
    return item


cdef inline PyObject* read_value(Kind kind, const Operation* field, bint nullable, Cursor* cursor) noexcept:
    """A value of a field: the field's own, of its kind, or one element of its array, which must not be null."""
    cdef const uint8_t* p
    cdef uint64_t bits
    cdef int64_t zigzag
    cdef double number
    if kind == INT32:
        return new_int(<int32_t>big_endian_32(p)) if take(cursor, 4, &p) else NULL
    elif kind == STRING:
        return read_string(field, nullable, cursor)
    elif kind == INT16:
        return new_int(<int16_t>big_endian_16(p)) if take(cursor, 2, &p) else NULL
    elif kind == INT64:
        return new_int(<int64_t>big_endian_64(p)) if take(cursor, 8, &p) else NULL
    elif kind == STRUCT:
        return read_struct(field.form, cursor)
    elif kind == ARRAY:
        return read_array(field, cursor)
    elif kind == NULLABLE_STRUCT:
        return read_nullable_struct(field, cursor)
    elif kind == INT8:
        return new_int(<int8_t>p[0]) if take(cursor, 1, &p) else NULL
    elif kind == BOOL:
        if not take(cursor, 1, &p) or p[0] > 1:
            return NULL
        return new_reference(True_ if p[0] else False_)
    elif kind == BYTES:
        return read_bytes(field, nullable, cursor)
    elif kind == UUID:
        return new_uuid(p) if take(cursor, 16, &p) else NULL
    elif kind == UINT16:
        return new_int(big_endian_16(p)) if take(cursor, 2, &p) else NULL
    elif kind == UINT32:
        return new_int(big_endian_32(p)) if take(cursor, 4, &p) else NULL
    elif kind == FLOAT64:
        if not take(cursor, 8, &p):
            return NULL
        bits = big_endian_64(p)
        memcpy(&number, &bits, 8)
        return PyFloat_FromDouble(number)
    elif kind == PACKED:
        return new_int(zigzag) if take_zigzag(cursor, field.bits, &zigzag) else NULL
    else:  # UPACKED: two's complement of so many bits
        if not take_varint(cursor, field.bits, &bits):
            return NULL
        if field.bits < 64 and bits >> (field.bits - 1):
            bits |= ~<uint64_t>0 << field.bits
        return new_int(<int64_t>bits)


cdef PyObject* read_nullable_struct(const Operation* field, Cursor* cursor) noexcept:
    """A struct behind its marker, which is a byte, or of one in a tag section a varint."""
    cdef const uint8_t* marker
    if not take(cursor, 1, &marker):
        return NULL
    if marker[0] == 1:
        return read_struct(field.form, cursor)
    if marker[0] == (255 if field.tag < 0 else 0):
        return new_reference(None_)
    return NULL


cdef PyObject* read_array(const Operation* field, Cursor* cursor) noexcept:
    cdef int64_t count
    cdef PyObject* items
    cdef PyObject* item
    cdef Py_ssize_t i
    if not take_length(field, cursor, 4, &count):
        return NULL
    if count < 0:
        return new_reference(None_) if field.nullable else NULL
    if not can_hold(cursor, count, field.least):
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


cdef inline bint can_hold(Cursor* cursor, int64_t count, Py_ssize_t least) noexcept nogil:
    """Whether so many elements may follow, of so many bytes at least; a product, as a division takes long."""
    cdef Py_ssize_t size
    if least:
        return is_size(count, least, 0, &size) and size <= left(cursor)
    cursor.empty_elements += count
    return may_have(cursor.end - cursor.start, cursor.empty_elements)


cdef bint may_have(Py_ssize_t size, int64_t empty_elements) noexcept nogil:
    """Whether a message of so many bytes may have so many elements without bytes in its arrays."""
    return empty_elements <= EMPTY_ELEMENTS_ALWAYS or empty_elements <= size // BYTES_FOR_EACH_MORE


cdef PyObject* read_string(const Operation* field, bint nullable, Cursor* cursor) noexcept:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_length(field, cursor, 2, &size) or size > MAX_STRING:
        return NULL
    if size < 0:
        return new_reference(None_) if nullable else NULL
    return PyUnicode_DecodeUTF8(<const char*>p, size, NULL) if take(cursor, size, &p) else NULL


cdef PyObject* read_bytes(const Operation* field, bint nullable, Cursor* cursor) noexcept:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_length(field, cursor, 4, &size):
        return NULL
    if size < 0:
        return new_reference(None_) if nullable else NULL
    return PyBytes_FromStringAndSize(<const char*>p, size) if take(cursor, size, &p) else NULL


cdef inline bint take_length(const Operation* field, Cursor* cursor, int width, int64_t* length) noexcept nogil:
    """A length or a count, -1 for null; a classic one has so many bytes. Whether it is there and makes sense."""
    cdef const uint8_t* p
    cdef uint64_t size
    if field.compact:
        if not take_varint(cursor, 31, &size):
            return False
        length[0] = <int64_t>size - 1
        return True
    if not take(cursor, width, &p):
        return False
    length[0] = <int16_t>big_endian_16(p) if width == 2 else <int32_t>big_endian_32(p)
    return length[0] >= -1


cdef inline bint read_tag_section(const Form* form, PyObject* item, Cursor* cursor) noexcept:
    """Read the tag section into its struct, the defaults of fields that it does not have included."""
    cdef uint64_t count
    cdef PyObject* unknown
    if not take_varint(cursor, 31, &count):
        return False
    if count == 0:
        slot_of(item, form.unknown_slot)[0] = new_reference(None_)
        return set_defaults(form, item)
    unknown = PyDict_New()
    if unknown == NULL:
        return False
    slot_of(item, form.unknown_slot)[0] = unknown
    return read_tagged_fields(form, item, unknown, count, cursor) and set_defaults(form, item)


cdef bint read_tagged_fields(
    const Form* form, PyObject* item, PyObject* unknown, uint64_t count, Cursor* cursor
) noexcept:
    cdef uint64_t tag, size
    cdef int64_t previous = -1
    cdef const uint8_t* start
    cdef const Operation* field
    cdef PyObject* value
    while count:
        count -= 1
        if not take_varint(cursor, 31, &tag) or not take_varint(cursor, 31, &size):
            return False
        if <int64_t>tag <= previous:
            return False
        previous = tag
        field = tagged_field(form, tag)
        start = cursor.at
        if field == NULL:
            if is_declared(form, tag) or not read_unknown_field(unknown, tag, size, cursor):
                return False
            continue
        value = read_value(field.kind, field, field.nullable, cursor)
        if value == NULL:
            return False
        slot_of(item, field.slot)[0] = value
        if cursor.at - start != <Py_ssize_t>size:
            return False
    return True


cdef bint read_unknown_field(PyObject* unknown, uint64_t tag, uint64_t size, Cursor* cursor) noexcept:
    cdef const uint8_t* p
    cdef PyObject* key
    cdef PyObject* value
    cdef bint done
    if not take(cursor, size, &p):
        return False
    key = new_int(tag)
    value = PyBytes_FromStringAndSize(<const char*>p, size)
    done = key != NULL and value != NULL and PyDict_SetItem(unknown, key, value) == 0
    drop_if_any(key)
    drop_if_any(value)
    return done


cdef inline bint set_defaults(const Form* form, PyObject* item) noexcept:
    """Give the tagged fields that were left out what they are then."""
    cdef const Operation* field
    cdef PyObject** slot
    cdef Py_ssize_t i
    for i in range(form.tagged_count):
        field = &form.tagged[i]
        slot = slot_of(item, field.slot)
        if slot[0] != NULL:
            continue
        if field.lazy:
            slot[0] = new_reference(LAZY)
        elif field.kind == ARRAY and field.default != None_:
            slot[0] = PyList_New(0)
            if slot[0] == NULL:
                return False
        else:
            slot[0] = new_reference(field.default)
    return True


cdef inline const Operation* tagged_field(const Form* form, int64_t tag) noexcept:
    cdef Py_ssize_t i
    for i in range(form.tagged_count):
        if form.tagged[i].tag == tag:
            return &form.tagged[i]
    return NULL


cdef inline bint is_declared(const Form* form, int64_t tag) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(form.declared_count):
        if form.declared[i] == tag:
            return True
    return False


cdef inline PyObject* new_int(int64_t number) noexcept:
    if -SMALL <= number < SMALL:
        return new_reference(SMALL_INTS[number + SMALL])
    return PyLong_FromLongLong(number)


cdef inline PyObject* new_reference(PyObject* value) noexcept:
    keep(value)
    return value


cdef PyObject* new_uuid(const uint8_t* p) noexcept:
    cdef PyObject* item = new(uuid_type)
    cdef PyObject* number
    if item == NULL:
        return NULL
    number = uuid_number(p)
    if number == NULL:
        drop(item)
        return NULL
    slot_of(item, uuid_number_slot)[0] = number
    slot_of(item, uuid_safety_slot)[0] = new_reference(uuid_safety)
    track(item)
    return item

# From instances to bytes. Every function tells whether it could; it could not where a value is wrong, and also where
# one is right but unusual, such as a tuple for a list: the generated code then looks at it. No Python code runs
# meanwhile, so that nothing can change what is being written.

cdef bint write_struct(const Form* form, PyObject* item, Output* out) noexcept:
    cdef Py_ssize_t i
    cdef PyObject* value
    if type_of(item) != form.type:
        return False
    if form.parts != NULL:
        return write_layout(form, item, out)
    for i in range(form.field_count):
        value = slot_of(item, form.fields[i].slot)[0]
        if value == NULL or not write_field(&form.fields[i], value, out):
            return False
    return not form.flexible or write_tag_section(form, item, out)


cdef bint write_field(const Operation* field, PyObject* value, Output* out) noexcept:
    cdef uint8_t* p
    if field.kind == ARRAY:
        return write_array(field, value, out)
    if field.kind == NULLABLE_STRUCT:
        p = put(out, 1)
        if p == NULL:
            return False
        p[0] = 1 if value != None_ else 255 if field.tag < 0 else 0
        return value == None_ or write_struct(field.form, value, out)
    if value == None_:
        return field.nullable and write_null(field, 2 if field.kind == STRING else 4, out)
    return write_value(field, value, out)


cdef inline bint write_value(const Operation* field, PyObject* value, Output* out) noexcept:
    """One value, not null: of the field itself, or of one element of an array."""
    cdef uint8_t* p
    cdef int64_t number
    cdef uint64_t bits
    cdef double real
    if field.element == STRUCT:
        return write_struct(field.form, value, out)
    elif field.element == STRING:
        return write_string(field, value, out)
    elif field.element == BYTES:
        return write_bytes(field, value, out)
    elif field.element == BOOL:
        p = put(out, 1)
        if p == NULL or (value != True_ and value != False_):
            return False
        p[0] = value == True_
        return True
    elif field.element == UUID:
        p = put(out, 16)
        return p != NULL and type_of(value) == uuid_type and write_uuid(value, p)
    elif field.element == FLOAT64:
        p = put(out, 8)
        if p == NULL or not PyFloat_CheckExact(value):
            return False
        real = PyFloat_AS_DOUBLE(value)
        memcpy(&bits, &real, 8)
        store_64(p, bits)
        return True
    if not as_number(value, &number):
        return False
    if field.element == INT32:
        p = put(out, 4)
        if p == NULL or number != <int32_t>number:
            return False
        store_32(p, <uint32_t>number)
    elif field.element == INT64:
        p = put(out, 8)
        if p == NULL:
            return False
        store_64(p, <uint64_t>number)
    elif field.element == INT16:
        p = put(out, 2)
        if p == NULL or number != <int16_t>number:
            return False
        store_16(p, <uint32_t>number)
    elif field.element == INT8:
        p = put(out, 1)
        if p == NULL or number != <int8_t>number:
            return False
        p[0] = <uint8_t>number
    elif field.element == UINT16:
        p = put(out, 2)
        if p == NULL or number != <uint16_t>number:
            return False
        store_16(p, <uint32_t>number)
    elif field.element == UINT32:
        p = put(out, 4)
        if p == NULL or number != <uint32_t>number:
            return False
        store_32(p, <uint32_t>number)
    else:
        return write_packed(field, number, out)
    return True


cdef bint write_packed(const Operation* field, int64_t number, Output* out) noexcept:
    """An integer as varint (KIP-625)."""
    if field.bits < 64 and not -(<int64_t>1 << (field.bits - 1)) <= number < <int64_t>1 << (field.bits - 1):
        return False
    if field.element == PACKED:
        return put_zigzag(out, number)
    return put_varint(out, <uint64_t>number & (~<uint64_t>0 >> (64 - field.bits)))


cdef inline bint as_number(PyObject* value, int64_t* number) noexcept:
    cdef int overflow = 0
    if not PyLong_CheckExact(value):
        return False
    number[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow == 0


cdef bint write_uuid(PyObject* value, uint8_t* p) noexcept:
    cdef PyObject* number = slot_of(value, uuid_number_slot)[0]
    return number != NULL and PyLong_CheckExact(number) and uuid_bytes(number, p)


cdef bint write_array(const Operation* field, PyObject* value, Output* out) noexcept:
    cdef Py_ssize_t i, count
    if value == None_:
        return field.nullable and write_null(field, 4, out)
    if not PyList_CheckExact(value):
        return False
    count = PyList_GET_SIZE(value)
    if field.least == 0:
        out.empty_elements += count
    if not write_length(field, 4, count, out):
        return False
    for i in range(count):
        if not write_value(field, PyList_GET_ITEM(value, i), out):
            return False
    return True


cdef bint write_string(const Operation* field, PyObject* value, Output* out) noexcept:
    cdef Py_ssize_t size = 0
    cdef const char* text
    if not PyUnicode_CheckExact(value):
        return False
    text = PyUnicode_AsUTF8AndSize(value, &size)
    if text == NULL or size > MAX_STRING:
        return False
    return write_length(field, 2, size, out) and put_bytes(out, text, size)


cdef bint write_bytes(const Operation* field, PyObject* value, Output* out) noexcept:
    cdef Py_ssize_t size
    if not PyBytes_CheckExact(value):
        return False
    size = PyBytes_GET_SIZE(value)
    return write_length(field, 4, size, out) and put_long(out, PyBytes_AS_STRING(value), size)


cdef inline bint write_length(const Operation* field, int width, Py_ssize_t length, Output* out) noexcept:
    """A length or a count; a classic one has so many bytes."""
    cdef uint8_t* p
    if length > MAX_LENGTH:
        return False
    if field.compact:
        return put_varint(out, <uint64_t>length + 1)
    p = put(out, width)
    if p == NULL:
        return False
    if width == 2:
        store_16(p, <uint32_t>length)
    else:
        store_32(p, <uint32_t>length)
    return True


cdef bint write_null(const Operation* field, int width, Output* out) noexcept:
    """The length or the count of null; a classic one has so many bytes."""
    cdef uint8_t* p = put(out, 1 if field.compact else width)
    if p == NULL:
        return False
    if field.compact:
        p[0] = 0
    else:
        memset(p, 255, width)
    return True


cdef bint write_tag_section(const Form* form, PyObject* item, Output* out) noexcept:
    """The tagged fields that are not at their defaults and the unknown ones, merged in the order of their tags."""
    cdef PyObject* unknown = slot_of(item, form.unknown_slot)[0]
    cdef Unknown* others = NULL
    cdef Py_ssize_t other_count = 0
    cdef bint done
    if unknown == NULL:
        return False
    if unknown != None_:
        if not PyDict_CheckExact(unknown):
            return False
        other_count = PyDict_Size(unknown)
    if other_count == 0:
        if form.tagged_count == 0:
            return put_varint(out, 0)
        return write_tagged_fields(form, item, NULL, 0, out)
    others = <Unknown*>uncleared(other_count, sizeof(Unknown))
    done = (
        others != NULL
        and gather_unknown(form, unknown, others)
        and write_tagged_fields(form, item, others, other_count, out)
    )
    PyMem_Free(others)
    return done


cdef struct Unknown:
    int64_t tag
    PyObject* value


cdef bint gather_unknown(const Form* form, PyObject* fields, Unknown* gathered) noexcept:
    """The unknown tagged fields of a dict in the order of their tags."""
    cdef Py_ssize_t at = 0, count = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef int64_t tag
    while PyDict_Next(fields, &at, &key, &value):
        if not as_number(key, &tag) or not 0 <= tag <= MAX_TAG or is_declared(form, tag):
            return False
        if not PyBytes_CheckExact(value):
            return False
        gathered[count].tag = tag
        gathered[count].value = value
        count += 1
    qsort(gathered, count, sizeof(Unknown), by_tag)
    return True


cdef int by_tag(const void* one, const void* other) noexcept nogil:
    return -1 if (<const Unknown*>one).tag < (<const Unknown*>other).tag else 1


cdef bint write_tagged_fields(
    const Form* form, PyObject* item, const Unknown* others, Py_ssize_t other_count, Output* out
) noexcept:
    cdef Py_ssize_t count_at = out.at - out.start
    cdef Py_ssize_t i = 0, j = 0, before
    cdef uint64_t count = 0
    cdef PyObject* value
    if put(out, 1) == NULL:
        return False
    while i < form.tagged_count or j < other_count:
        if j == other_count or (i < form.tagged_count and form.tagged[i].tag < others[j].tag):
            before = out.at - out.start
            value = slot_of(item, form.tagged[i].slot)[0]
            if value == NULL or not write_tagged_field(&form.tagged[i], value, out):
                return False
            count += out.at - out.start > before
            i += 1
        else:
            if not write_unknown_field(&others[j], out):
                return False
            count += 1
            j += 1
    return insert_varint(out, count_at, count)


cdef bint write_unknown_field(const Unknown* field, Output* out) noexcept:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(field.value)
    return (
        put_varint(out, field.tag)
        and put_varint(out, size)
        and put_long(out, PyBytes_AS_STRING(field.value), size)
    )


cdef bint write_tagged_field(const Operation* field, PyObject* value, Output* out) noexcept:
    """A known field with its tag and its size; nothing where it has its default."""
    cdef Py_ssize_t start = out.at - out.start, size_at, before
    cdef bint counts = out.counts
    if value == LAZY if field.lazy else is_default(field, value):
        return True
    if not put_varint(out, field.tag):
        return False
    size_at = out.at - out.start
    if put(out, 1) == NULL:
        return False
    before = written(out)
    out.counts = counts and not field.lazy  # of what is compared below the bytes are needed
    if not write_field(field, value, out):
        return False
    out.counts = counts
    if field.lazy and value != None_:
        if field.default_bytes == NULL:
            return False
        if ends_with(out, size_at + 1 + field.nullable, field.default_bytes):
            out.at = out.start + start
            return True
    return insert_varint(out, size_at, written(out) - before)


cdef bint is_default(const Operation* field, PyObject* value) noexcept:
    """Whether a tagged field is left out. Of a value that cannot be written it does not matter what is said."""
    if field.default == None_ or value == None_:
        return value == field.default
    if field.kind == ARRAY:
        return PyList_CheckExact(value) and PyList_GET_SIZE(value) == 0
    if field.kind == STRING:
        return PyUnicode_CheckExact(value) and PyObject_RichCompareBool(value, field.default, Py_EQ) == 1
    if field.kind == BYTES:
        return PyBytes_CheckExact(value) and PyObject_RichCompareBool(value, field.default, Py_EQ) == 1
    if field.kind == BOOL:
        return value == field.default
    if field.kind == FLOAT64:
        return PyFloat_CheckExact(value) and PyFloat_AS_DOUBLE(value) == PyFloat_AS_DOUBLE(field.default)
    if field.kind == UUID:
        return type_of(value) == uuid_type and same_uuid(value, field.default)
    return PyLong_CheckExact(value) and PyObject_RichCompareBool(value, field.default, Py_EQ) == 1


cdef bint same_uuid(PyObject* one, PyObject* other) noexcept:
    cdef uint8_t bytes_of_one[16]
    cdef uint8_t bytes_of_other[16]
    return (
        write_uuid(one, bytes_of_one)
        and write_uuid(other, bytes_of_other)
        and memcmp(bytes_of_one, bytes_of_other, 16) == 0
    )


cdef bint ends_with(Output* out, Py_ssize_t start, PyObject* expected) noexcept:
    """Whether what was written from `start` on is this."""
    cdef Py_ssize_t size = out.at - out.start - start
    return size == PyBytes_GET_SIZE(expected) and memcmp(out.start + start, PyBytes_AS_STRING(expected), size) == 0

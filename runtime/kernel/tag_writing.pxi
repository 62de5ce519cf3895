# The section of tagged fields (KIP-482) that ends a struct, from an instance to bytes.

cdef inline uint8_t* write_tag_section(const StructPlan* plan, PyObject* instance, uint8_t* p, Output* out) noexcept:
    """Write tagged fields that are not at their defaults, and unknown fields, merged in the order of tags."""
    if plan.tagged_count == 0 and slot_of(instance, plan.unknown_slot)[0] == None_:
        p = reserve(out, p, 1)
        if p == NULL:
            return NULL
        p[0] = 0
        return p + 1
    out.at = p
    return out.at if put_tagged_fields(plan, instance, out) else NULL


cdef bint put_tagged_fields(const StructPlan* plan, PyObject* instance, Output* out) noexcept:
    cdef PyObject* unknown = slot_of(instance, plan.unknown_slot)[0]
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
        if plan.tagged_count == 0:
            return put_varint(out, 0)
        return write_tagged_fields(plan, instance, NULL, 0, out)
    others = <Unknown*>alloc_items(other_count, sizeof(Unknown))
    done = (
        others != NULL
        and gather_unknown(plan, unknown, others)
        and write_tagged_fields(plan, instance, others, other_count, out)
    )
    PyMem_Free(others)
    return done


cdef struct Unknown:
    int64_t tag
    PyObject* value


cdef bint gather_unknown(const StructPlan* plan, PyObject* fields, Unknown* gathered) noexcept:
    """The unknown tagged fields of a dict in the order of their tags."""
    cdef Py_ssize_t at = 0, count = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef int64_t tag
    while PyDict_Next(fields, &at, &key, &value):
        if not as_number(key, &tag) or not 0 <= tag <= MAX_TAG or is_declared(plan, tag):
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
    const StructPlan* plan, PyObject* instance, const Unknown* others, Py_ssize_t other_count, Output* out
) noexcept:
    cdef Py_ssize_t count_at = out.at - out.start
    cdef Py_ssize_t i = 0, j = 0, before
    cdef uint64_t count = 0
    cdef PyObject* value
    if put(out, 1) == NULL:
        return False
    while i < plan.tagged_count or j < other_count:
        if j == other_count or (i < plan.tagged_count and plan.tagged[i].tag < others[j].tag):
            before = out.at - out.start
            value = slot_of(instance, plan.tagged[i].slot)[0]
            if value == NULL or not write_tagged_field(&plan.tagged[i], value, out):
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


cdef inline bint begin_tagged(const Item* item, TaggedField* field, Output* out) noexcept:
    """Write the tag of a field, and leave a byte for its size."""
    field.start = out.at - out.start
    if not put_varint(out, item.tag):
        return False
    field.size_at = out.at - out.start
    if put(out, 1) == NULL:
        return False
    field.before = written(out)
    return True


cdef inline bint end_tagged(const Item* item, bint is_there, const TaggedField* field, Output* out) noexcept:
    """Fill in the size of a field. A struct that turned out to be at its default is taken back."""
    if item.lazy and is_there:
        if item.default_bytes == NULL:
            return False
        if ends_with(out, field.size_at + 1 + item.nullable, item.default_bytes):
            out.at = out.start + field.start
            return True
    return insert_varint(out, field.size_at, written(out) - field.before)


cdef bint write_tagged_field(const Item* item, PyObject* value, Output* out) noexcept:
    """Write a known field with its tag and its size; nothing for a field at its default."""
    cdef TaggedField field
    cdef bint counts = out.counts
    if value == LAZY if item.lazy else is_default(item, value):
        return True
    if not begin_tagged(item, &field, out):
        return False
    out.counts = counts and not item.lazy  # what is compared with a default must be there
    if not put_item(item, value, out):
        return False
    out.counts = counts
    return end_tagged(item, value != None_, &field, out)


cdef bint is_default(const Item* item, PyObject* value) noexcept:
    """True if a tagged field is left out. For a value that cannot be written, either answer will do."""
    if item.default == None_ or value == None_:
        return value == item.default
    if item.kind == ARRAY:
        return PyList_CheckExact(value) and PyList_GET_SIZE(value) == 0
    if item.kind == STRING:
        return PyUnicode_CheckExact(value) and PyObject_RichCompareBool(value, item.default, Py_EQ) == 1
    if item.kind == BYTES:
        return PyBytes_CheckExact(value) and PyObject_RichCompareBool(value, item.default, Py_EQ) == 1
    if item.kind == BOOL:
        return value == item.default
    if item.kind == FLOAT64:
        return PyFloat_CheckExact(value) and PyFloat_AS_DOUBLE(value) == PyFloat_AS_DOUBLE(item.default)
    if item.kind == UUID:
        return type_of(value) == uuid_type and same_uuid(value, item.default)
    return PyLong_CheckExact(value) and PyObject_RichCompareBool(value, item.default, Py_EQ) == 1


cdef bint same_uuid(PyObject* one, PyObject* other) noexcept:
    cdef uint8_t bytes_of_one[16]
    cdef uint8_t bytes_of_other[16]
    return (
        write_uuid(one, bytes_of_one)
        and write_uuid(other, bytes_of_other)
        and memcmp(bytes_of_one, bytes_of_other, 16) == 0
    )


cdef bint ends_with(Output* out, Py_ssize_t start, PyObject* expected) noexcept:
    """True if the bytes written from `start` on equal `expected`."""
    cdef Py_ssize_t size = out.at - out.start - start
    return size == PyBytes_GET_SIZE(expected) and memcmp(out.start + start, PyBytes_AS_STRING(expected), size) == 0

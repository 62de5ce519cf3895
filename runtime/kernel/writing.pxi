# From instances to bytes. Every function says whether it could; it could not where a value is wrong, and also where
# one is right but unusual, such as a tuple for a list: the generated code then looks at it. No Python code runs
# meanwhile, so that nothing can change what is being written; without a GIL what is written is what `hold` gives.

cdef inline bint write_struct(const Form* form, PyObject* instance, Output* out) noexcept:
    return write_shared(form, instance, out) if WITHOUT_GIL else write_held(form, instance, out)


cdef bint write_shared(const Form* form, PyObject* instance, Output* out) noexcept:
    """A struct that other threads may change."""
    cdef PyObject* held = hold(instance, form.type, form.slots, form.slot_count)
    cdef bint done = held != NULL and write_held(form, held, out)
    let_go(held, form.slots, form.slot_count)
    return done


cdef inline bint write_held(const Form* form, PyObject* instance, Output* out) noexcept:
    return write_items(form, instance, NULL, out) if form.mark_count == 0 else write_computed(form, instance, out)


cdef bint write_items(const Form* form, PyObject* instance, Marks* marks, Output* out) noexcept:
    """A struct, whose computed items are not filled in yet; there are marks where it has any."""
    cdef const Item* item
    cdef PyObject* value
    cdef Py_ssize_t i
    if type_of(instance) != form.type:
        return False
    for i in range(form.item_count):
        item = &form.items[i]
        if item.kind >= BOUND:
            if not write_rare(item, instance, marks, out):
                return False
            continue
        value = slot_of(instance, item.slot)[0]
        if value == NULL or not write_item(item, value, out):
            return False
    return not form.flexible or write_tag_section(form, instance, out)


cdef bint write_item(const Item* item, PyObject* value, Output* out) noexcept:
    if item.kind == ARRAY or item.kind == SECTION:
        return write_array(item, value, out)
    if item.kind == NULLABLE_STRUCT:
        return put_marker(item, value != None_, out) and (value == None_ or write_struct(item.form, value, out))
    if value == None_:
        return item.nullable and put_length(item.size, -1, out)
    return write_value(item, value, out)


cdef inline bint put_marker(const Item* item, bint is_there, Output* out) noexcept:
    """The marker before a nullable struct: a byte, or a varint in a tag section."""
    return put_integer(out, 1, 1 if is_there else 255 if item.tag < 0 else 0)


cdef inline bint write_value(const Item* item, PyObject* value, Output* out) noexcept:
    """One value, not null: of the item itself, or of one element of an array."""
    cdef uint8_t* p
    cdef int64_t number
    cdef uint64_t bits
    cdef double real
    if item.element == STRUCT:
        return write_struct(item.form, value, out)
    elif item.element == STRING:
        return write_text(item.size, value, out)
    elif item.element == BYTES:
        return write_blob(item.size, value, out)
    elif item.element == BOOL:
        p = put(out, 1)
        if p == NULL or (value != True_ and value != False_):
            return False
        p[0] = value == True_
        return True
    elif item.element == UUID:
        p = put(out, 16)
        return p != NULL and type_of(value) == uuid_type and write_uuid(value, p)
    elif item.element == FLOAT64:
        p = put(out, 8)
        if p == NULL or not PyFloat_CheckExact(value):
            return False
        real = PyFloat_AS_DOUBLE(value)
        memcpy(&bits, &real, 8)
        store_64(p, bits)
        return True
    return as_number(value, &number) and put_number(item, number, out)


cdef inline bint put_number(const Item* item, int64_t number, Output* out) noexcept:
    """An integer that fits its type and its encoding (KIP-625)."""
    if not item.low <= number <= item.high:
        return False
    if item.bits == 0:
        return put_integer(out, <int>item.least, number)
    if item.element == PACKED:
        return put_zigzag(out, number)
    return put_varint(out, <uint64_t>number & (~<uint64_t>0 >> (64 - item.bits)))


cdef bint write_uuid(PyObject* value, uint8_t* p) noexcept:
    cdef PyObject* number = slot_value(value, uuid_number_slot)
    cdef bint done = number != NULL and PyLong_CheckExact(number) and uuid_bytes(number, p)
    give_back(number)
    return done


cdef bint write_array(const Item* item, PyObject* items, Output* out) noexcept:
    cdef Py_ssize_t at = out.at - out.start, before, count
    if items == None_:
        return item.nullable and put_length(item.count, -1, out)
    if not PyList_CheckExact(items):
        return False
    if item.kind == SECTION:
        if not put_length(item.count, 0, out):
            return False
        before = written(out)
        return write_elements(item, items, out) and set_length(item.count, at, written(out) - before, out)
    count = PyList_GET_SIZE(items)
    if item.least == 0:
        out.empty_elements += count
    return put_length(item.count, count, out) and write_elements(item, items, out)


cdef inline bint write_elements(const Item* item, PyObject* items, Output* out) noexcept:
    cdef Py_ssize_t i
    if item.rare != NULL and item.rare.sorted_slot >= 0:
        return write_set(item, items, out)
    for i in range(PyList_GET_SIZE(items)):
        if not write_value(item, PyList_GET_ITEM(items, i), out):
            return False
    return True


cdef inline bint write_text(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef Py_ssize_t size = 0
    cdef const char* text
    if not PyUnicode_CheckExact(value):
        return False
    text = utf8_of(value, &size)
    if text == NULL or not is_text_length(prefix, size):
        return False
    return put_length(prefix, size, out) and put_long(out, text, size)


cdef inline bint write_blob(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef Py_ssize_t size
    if not PyBytes_CheckExact(value):
        return False
    size = PyBytes_GET_SIZE(value)
    return put_length(prefix, size, out) and put_long(out, PyBytes_AS_STRING(value), size)


cdef bint write_tag_section(const Form* form, PyObject* instance, Output* out) noexcept:
    """The tagged fields that are not at their defaults and the unknown ones, merged in the order of their tags."""
    cdef PyObject* unknown = slot_of(instance, form.unknown_slot)[0]
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
        return write_tagged_fields(form, instance, NULL, 0, out)
    others = <Unknown*>uncleared(other_count, sizeof(Unknown))
    done = (
        others != NULL
        and gather_unknown(form, unknown, others)
        and write_tagged_fields(form, instance, others, other_count, out)
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
    const Form* form, PyObject* instance, const Unknown* others, Py_ssize_t other_count, Output* out
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
            value = slot_of(instance, form.tagged[i].slot)[0]
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


cdef bint write_tagged_field(const Item* item, PyObject* value, Output* out) noexcept:
    """A known field with its tag and its size; nothing where it has its default."""
    cdef Py_ssize_t start = out.at - out.start, size_at, before
    cdef bint counts = out.counts
    if value == LAZY if item.lazy else is_default(item, value):
        return True
    if not put_varint(out, item.tag):
        return False
    size_at = out.at - out.start
    if put(out, 1) == NULL:
        return False
    before = written(out)
    out.counts = counts and not item.lazy  # of what is compared below the bytes are needed
    if not write_item(item, value, out):
        return False
    out.counts = counts
    if item.lazy and value != None_:
        if item.default_bytes == NULL:
            return False
        if ends_with(out, size_at + 1 + item.nullable, item.default_bytes):
            out.at = out.start + start
            return True
    return insert_varint(out, size_at, written(out) - before)


cdef bint is_default(const Item* item, PyObject* value) noexcept:
    """Whether a tagged field is left out. Of a value that cannot be written it does not matter what is said."""
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
    """Whether what was written from `start` on is this."""
    cdef Py_ssize_t size = out.at - out.start - start
    return size == PyBytes_GET_SIZE(expected) and memcmp(out.start + start, PyBytes_AS_STRING(expected), size) == 0

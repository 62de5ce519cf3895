# From instances to bytes. Every function says whether it could, or gives the address of the next byte, or NULL; it could
# not where a value is wrong, and also where one is right but unusual, such as a tuple for a list: the generated code
# then looks at it. No Python code runs meanwhile, so that nothing can change what is being written.

cdef inline uint8_t* write_struct(const Form* form, PyObject* instance, uint8_t* p, Output* out) noexcept:
    if form.mark_count:
        return write_computed(form, instance, p, out)
    return write_items(form, instance, NULL, p, out)


cdef uint8_t* write_items(const Form* form, PyObject* instance, Marks* marks, uint8_t* p, Output* out) noexcept:
    """A struct, whose computed items are not filled in yet; there are marks where it has any."""
    cdef const Item* item = form.items
    cdef const Item* end = item + form.item_count
    cdef PyObject* value
    if type_of(instance) != form.type:
        return NULL
    while item < end:
        if item.kind >= BOUND:
            out.at = p
            p = out.at if write_rare(item, instance, marks, out) else NULL
        else:
            value = slot_of(instance, item.slot)[0]
            p = NULL if value == NULL else write_value(item.kind, item, value, item.nullable, p, out)
        if p == NULL:
            return NULL
        item += 1
    return write_tag_section(form, instance, p, out) if form.flexible else p


cdef uint8_t* write_item(Kind kind, const Item* item, PyObject* value, uint8_t* p, Output* out) noexcept:
    """As `write_value`, called where that would be too large for each of its callers."""
    return write_value(kind, item, value, kind == item.kind and item.nullable, p, out)


cdef inline bint put_item(const Item* item, PyObject* value, Output* out) noexcept:
    return moved(out, write_item(item.kind, item, value, out.at, out))


cdef inline uint8_t* write_value(
    Kind kind, const Item* item, PyObject* value, bint nullable, uint8_t* p, Output* out
) noexcept:
    """A value of an item: the item's own, of its kind, or one element of its array, which must not be null."""
    cdef int64_t number
    cdef uint64_t bits
    cdef double real
    p = with_room(out, p, ROOM)
    if p == NULL:
        return NULL
    if kind == INT32:
        if not as_number(value, &number) or number != <int32_t>number:
            return NULL
        store_32(p, <uint32_t>number)
        return p + 4
    elif kind == STRING:
        return store_text(item.size, value, nullable, p, out)
    elif kind == INT16:
        if not as_number(value, &number) or number != <int16_t>number:
            return NULL
        store_16(p, <uint32_t>number)
        return p + 2
    elif kind == INT64:
        if not as_number(value, &number):
            return NULL
        store_64(p, number)
        return p + 8
    elif kind == STRUCT:
        return write_struct(item.form, value, p, out)
    elif kind == ARRAY:
        return write_array(item, value, nullable, p, out)
    elif kind == BOOL:
        p[0] = value == True_
        return p + 1 if value == True_ or value == False_ else NULL
    elif kind == BYTES:
        return store_blob(item.size, value, nullable, p, out)
    elif kind == NULLABLE_STRUCT:
        p[0] = marker(item, value != None_)
        return p + 1 if value == None_ else write_struct(item.form, value, p + 1, out)
    elif kind == SECTION:
        return write_section(item, value, nullable, p, out)
    elif kind == UUID:
        return p + 16 if type_of(value) == uuid_type and write_uuid(value, p) else NULL
    elif kind == FLOAT64:
        if not PyFloat_CheckExact(value):
            return NULL
        real = PyFloat_AS_DOUBLE(value)
        memcpy(&bits, &real, 8)
        store_64(p, bits)
        return p + 8
    return store_encoded(item, number, p) if as_number(value, &number) else NULL


cdef inline uint8_t marker(const Item* item, bint is_there) noexcept nogil:
    """The marker before a nullable struct: a byte, or a varint in a tag section."""
    return 1 if is_there else 255 if item.tag < 0 else 0


cdef inline bint put_marker(const Item* item, bint is_there, Output* out) noexcept:
    return put_integer(out, 1, marker(item, is_there))


cdef inline uint8_t* store_encoded(const Item* item, int64_t number, uint8_t* p) noexcept nogil:
    """The address after an integer in its encoding (KIP-625); NULL where it does not fit its type."""
    if not item.low <= number <= item.high:
        return NULL
    if item.bits == 0:
        store_integer(p, <int>item.least, number)
        return p + item.least
    if item.element == PACKED:
        return store_varint(p, zigzag(number))
    return store_varint(p, <uint64_t>number & (~<uint64_t>0 >> (64 - item.bits)))


cdef inline bint put_number(const Item* item, int64_t number, Output* out) noexcept:
    cdef uint8_t* p = with_room(out, out.at, ROOM)
    return p != NULL and moved(out, store_encoded(item, number, p))


cdef bint write_uuid(PyObject* value, uint8_t* p) noexcept:
    cdef PyObject* number = slot_of(value, uuid_number_slot)[0]
    return number != NULL and PyLong_CheckExact(number) and uuid_bytes(number, p)


cdef uint8_t* write_array(const Item* item, PyObject* items, bint nullable, uint8_t* p, Output* out) noexcept:
    """An array, after whose count there is room."""
    cdef Py_ssize_t count
    if items == None_:
        return store_length(item.count, -1, p) if nullable else NULL
    if not PyList_CheckExact(items):
        return NULL
    count = PyList_GET_SIZE(items)
    p = store_length(item.count, count, p)
    if p == NULL:
        return NULL
    if item.element == INT32:
        return write_integers(4, item, items, p, out)
    elif item.element == INT64:
        return write_integers(8, item, items, p, out)
    elif item.least == 0:
        out.empty_elements += count
    return write_elements(item, items, p, out)


cdef inline uint8_t* write_integers(int width, const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    """Elements of a fixed width, for all of which room is made at once."""
    cdef int64_t number, low = item.low, high = item.high
    cdef Py_ssize_t i, size
    if not is_size(PyList_GET_SIZE(items), width, 0, &size):
        return NULL
    p = with_room(out, p, size)
    if p == NULL:
        return NULL
    for i in range(PyList_GET_SIZE(items)):
        if not as_number(PyList_GET_ITEM(items, i), &number) or not low <= number <= high:
            return NULL
        store_integer(p, width, number)
        p += width
    return p


cdef inline uint8_t* write_elements(const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    cdef Py_ssize_t i, at = p - out.start
    if item.rare != NULL and item.rare.sorted_slot >= 0:
        return write_set(item, items, p, out)
    for i in range(PyList_GET_SIZE(items)):
        if item.element == STRUCT:
            p = write_struct(item.form, PyList_GET_ITEM(items, i), p, out)
        else:
            p = write_item(item.element, item, PyList_GET_ITEM(items, i), p, out)
        if i == 0 and p != NULL:
            p = with_room_for_more(out, p, p - out.start - at, PyList_GET_SIZE(items) - 1)
        if p == NULL:
            return NULL
    return p


cdef inline uint8_t* with_room_for_more(Output* out, uint8_t* p, Py_ssize_t size, Py_ssize_t count) noexcept:
    """The address after the first element, with room for more of its size, if each takes less than its object does."""
    cdef Py_ssize_t wanted
    if not 0 < size <= LEAST_OBJECT or not is_size(count, size, 0, &wanted):
        return p
    return with_room(out, p, wanted)


cdef uint8_t* write_section(const Item* item, PyObject* items, bint nullable, uint8_t* p, Output* out) noexcept:
    """An array of structs after the number of bytes that they take."""
    cdef Py_ssize_t at = p - out.start, before
    if items == None_:
        return store_length(item.count, -1, p) if nullable else NULL
    if not PyList_CheckExact(items):
        return NULL
    out.at = store_length(item.count, 0, p)
    before = written(out)
    if not moved(out, write_elements(item, items, out.at, out)):
        return NULL
    return out.at if set_length(item.count, at, written(out) - before, out) else NULL


cdef inline uint8_t* store_text(Prefix prefix, PyObject* value, bint nullable, uint8_t* p, Output* out) noexcept:
    """A text, for whose size there is room."""
    cdef Py_ssize_t size = 0
    cdef const char* text
    if value == None_:
        return store_length(prefix, -1, p) if nullable else NULL
    if not PyUnicode_CheckExact(value):
        return NULL
    text = utf8_of(value, &size)
    if text == NULL or not is_text_length(prefix, size):
        return NULL
    p = store_length(prefix, size, p)
    return NULL if p == NULL else store_bytes(out, p, text, size)


cdef inline uint8_t* store_blob(Prefix prefix, PyObject* value, bint nullable, uint8_t* p, Output* out) noexcept:
    """A blob, for whose size there is room."""
    cdef Py_ssize_t size
    if value == None_:
        return store_length(prefix, -1, p) if nullable else NULL
    if not PyBytes_CheckExact(value):
        return NULL
    size = PyBytes_GET_SIZE(value)
    p = store_length(prefix, size, p)
    return NULL if p == NULL else store_bytes(out, p, PyBytes_AS_STRING(value), size)


# The same for what writes records.

cdef inline bint write_text(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef uint8_t* p = with_room(out, out.at, ROOM)
    return p != NULL and moved(out, store_text(prefix, value, False, p, out))


cdef inline bint write_blob(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef uint8_t* p = with_room(out, out.at, ROOM)
    return p != NULL and moved(out, store_blob(prefix, value, False, p, out))


cdef inline uint8_t* write_tag_section(const Form* form, PyObject* instance, uint8_t* p, Output* out) noexcept:
    """The tagged fields that are not at their defaults and the unknown ones, merged in the order of their tags."""
    if form.tagged_count == 0 and slot_of(instance, form.unknown_slot)[0] == None_:
        p = with_room(out, p, 1)
        if p == NULL:
            return NULL
        p[0] = 0
        return p + 1
    out.at = p
    return out.at if put_tagged_fields(form, instance, out) else NULL


cdef bint put_tagged_fields(const Form* form, PyObject* instance, Output* out) noexcept:
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
    if not put_item(item, value, out):
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

# From instances to bytes. Every function returns True or the address of the next byte; and False or NULL if a value is
# wrong, or right but unusual, such as a tuple for a list: the generated code then looks at the value. No Python code
# runs meanwhile, so nothing can change what is being written; without a GIL that is what `snapshot` gives.

cdef inline uint8_t* write_struct(const StructPlan* plan, PyObject* instance, uint8_t* p, Output* out) noexcept:
    return write_shared(plan, instance, p, out) if WITHOUT_GIL else write_snapshot(plan, instance, p, out)


cdef uint8_t* write_shared(const StructPlan* plan, PyObject* instance, uint8_t* p, Output* out) noexcept:
    """A struct that other threads may change."""
    cdef PyObject* held = snapshot(instance, plan.type, plan.slots, plan.slot_count)
    p = NULL if held == NULL else write_snapshot(plan, held, p, out)
    release_snapshot(held, plan.slots, plan.slot_count)
    return p


cdef inline uint8_t* write_snapshot(const StructPlan* plan, PyObject* instance, uint8_t* p, Output* out) noexcept:
    if plan.mark_count:
        return write_computed(plan, instance, p, out)
    return write_items(plan, instance, NULL, p, out)


cdef uint8_t* write_items(const StructPlan* plan, PyObject* instance, Marks* marks, uint8_t* p, Output* out) noexcept:
    """A struct, whose computed items are not filled in yet; `marks` is NULL where there are none."""
    cdef const Item* item = plan.items
    cdef const Item* end = item + plan.item_count
    cdef PyObject* value
    if type_of(instance) != plan.type:
        return NULL
    while item < end:
        if item.kind >= BOUND:
            out.at = p
            p = out.at if write_with_extras(item, instance, marks, out) else NULL
        else:
            value = slot_of(instance, item.slot)[0]
            p = NULL if value == NULL else write_value(item.kind, item, value, item.nullable, p, out)
        if p == NULL:
            return NULL
        item += 1
    return write_tag_section(plan, instance, p, out) if plan.flexible else p


cdef uint8_t* write_item(Kind kind, const Item* item, PyObject* value, uint8_t* p, Output* out) noexcept:
    """Call `write_value` out of line, where inlining it into each caller would be too large."""
    return write_value(kind, item, value, kind == item.kind and item.nullable, p, out)


cdef inline bint put_item(const Item* item, PyObject* value, Output* out) noexcept:
    return commit(out, write_item(item.kind, item, value, out.at, out))


cdef inline uint8_t* write_value(
    Kind kind, const Item* item, PyObject* value, bint nullable, uint8_t* p, Output* out
) noexcept:
    """A value of an item: the item's own, of its kind, or one element of its array, which must not be null."""
    cdef int64_t number
    cdef uint64_t bits
    cdef double real
    p = reserve(out, p, MAX_SCALAR_SIZE)
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
        return write_struct(item.plan, value, p, out)
    elif kind == ARRAY:
        return write_array(item, value, nullable, p, out)
    elif kind == BOOL:
        p[0] = value == True_
        return p + 1 if value == True_ or value == False_ else NULL
    elif kind == BYTES:
        return store_blob(item.size, value, nullable, p, out)
    elif kind == NULLABLE_STRUCT:
        p[0] = marker(item, value != None_)
        return p + 1 if value == None_ else write_struct(item.plan, value, p + 1, out)
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
    elif kind == UPACKED:
        return store_packed(UPACKED, item, number, p) if as_number(value, &number) else NULL
    elif kind == PACKED:
        return store_packed(PACKED, item, number, p) if as_number(value, &number) else NULL
    return store_encoded(item, number, p) if as_number(value, &number) else NULL


cdef inline uint8_t marker(const Item* item, bint is_there) noexcept nogil:
    """The marker before a nullable struct: a byte, or a varint in a tag section."""
    return 1 if is_there else 255 if item.tag < 0 else 0


cdef inline bint put_marker(const Item* item, bint is_there, Output* out) noexcept:
    return put_integer(out, 1, marker(item, is_there))


cdef inline uint8_t* store_encoded(const Item* item, int64_t number, uint8_t* p) noexcept nogil:
    """The address after an integer in its encoding (KIP-625); NULL where it does not fit its type."""
    if item.bits:
        return store_packed(PACKED if item.element == PACKED else UPACKED, item, number, p)
    if not item.low <= number <= item.high:
        return NULL
    store_integer(p, <int>item.min_size, number)
    return p + item.min_size


cdef inline uint8_t* store_packed(Kind kind, const Item* item, int64_t number, uint8_t* p) noexcept nogil:
    """Store a varint, by the same rules. A varint of a single byte, as most are, fits every type."""
    cdef uint64_t pattern = zigzag(number) if kind == PACKED else <uint64_t>number
    if is_likely(pattern <= 0x7F):
        p[0] = <uint8_t>pattern
        return p + 1
    if not item.low <= number <= item.high:
        return NULL
    return store_varint(p, pattern if kind == PACKED else pattern & (~<uint64_t>0 >> (64 - item.bits)))


cdef inline bint put_number(const Item* item, int64_t number, Output* out) noexcept:
    cdef uint8_t* p = reserve(out, out.at, MAX_SCALAR_SIZE)
    return p != NULL and commit(out, store_encoded(item, number, p))


cdef bint write_uuid(PyObject* value, uint8_t* p) noexcept:
    cdef PyObject* number = load_slot(value, uuid_number_slot)
    cdef bint done = number != NULL and PyLong_CheckExact(number) and uuid_bytes(number, p)
    release(number)
    return done


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
    elif item.element == UPACKED:
        return write_varints(UPACKED, item, items, p, out)
    elif item.element == PACKED:
        return write_varints(PACKED, item, items, p, out)
    elif item.min_size == 0:
        out.empty_elements += count
    return write_elements(item, items, p, out)


cdef inline uint8_t* write_integers(int width, const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    """Write elements of a fixed width, after room is made for all."""
    cdef int64_t number, low = item.low, high = item.high
    cdef Py_ssize_t i, size
    if not is_size(PyList_GET_SIZE(items), width, 0, &size):
        return NULL
    p = reserve(out, p, size)
    if p == NULL:
        return NULL
    for i in range(PyList_GET_SIZE(items)):
        if not as_number(PyList_GET_ITEM(items, i), &number) or not low <= number <= high:
            return NULL
        store_integer(p, width, number)
        p += width
    return p


cdef inline uint8_t* write_varints(Kind kind, const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    """Elements that are varints, without a call for each."""
    cdef int64_t number
    cdef Py_ssize_t i
    for i in range(PyList_GET_SIZE(items)):
        p = reserve(out, p, MAX_SCALAR_SIZE)
        if p == NULL or not as_number(PyList_GET_ITEM(items, i), &number):
            return NULL
        p = store_packed(kind, item, number, p)
        if p == NULL:
            return NULL
    return p


cdef inline uint8_t* write_elements(const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    cdef Py_ssize_t i, at = p - out.start
    if item.extras != NULL and item.extras.sorted_slot >= 0:
        return write_set(item, items, p, out)
    for i in range(PyList_GET_SIZE(items)):
        if item.element == STRUCT:
            p = write_struct(item.plan, PyList_GET_ITEM(items, i), p, out)
        else:
            p = write_item(item.element, item, PyList_GET_ITEM(items, i), p, out)
        if i == 0 and p != NULL:
            p = reserve_for_more(out, p, p - out.start - at, PyList_GET_SIZE(items) - 1)
        if p == NULL:
            return NULL
    return p


cdef inline uint8_t* reserve_for_more(Output* out, uint8_t* p, Py_ssize_t size, Py_ssize_t count) noexcept:
    """Make room for more elements of a size, if each takes less than its object does; the address after the first."""
    cdef Py_ssize_t wanted
    if not 0 < size <= MIN_OBJECT_SIZE or not is_size(count, size, 0, &wanted):
        return p
    return reserve(out, p, wanted)


cdef uint8_t* write_section(const Item* item, PyObject* items, bint nullable, uint8_t* p, Output* out) noexcept:
    """An array of structs after the number of bytes that they take."""
    cdef Py_ssize_t at = p - out.start, before
    if items == None_:
        return store_length(item.count, -1, p) if nullable else NULL
    if not PyList_CheckExact(items):
        return NULL
    out.at = store_length(item.count, 0, p)
    before = written(out)
    if not commit(out, write_elements(item, items, out.at, out)):
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


# Texts and blobs for code that writes records.

cdef inline bint write_text(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef uint8_t* p = reserve(out, out.at, MAX_SCALAR_SIZE)
    return p != NULL and commit(out, store_text(prefix, value, False, p, out))


cdef inline bint write_blob(Prefix prefix, PyObject* value, Output* out) noexcept:
    cdef uint8_t* p = reserve(out, out.at, MAX_SCALAR_SIZE)
    return p != NULL and commit(out, store_blob(prefix, value, False, p, out))

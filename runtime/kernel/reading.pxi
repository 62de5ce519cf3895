# From bytes to instances. Every function gives a new reference, or NULL where its bytes are not strictly valid.

cdef inline PyObject* read_struct(const StructPlan* plan, Cursor* cursor) noexcept:
    return read_items(plan, NULL, cursor) if plan.mark_count == 0 else read_computed(plan, cursor)


cdef PyObject* read_items(const StructPlan* plan, const uint8_t** marks, Cursor* cursor) noexcept:
    """A struct, whose computed items are not checked yet; `marks` has room for `mark_count`."""
    cdef const Item* item = plan.items
    cdef const Item* end = item + plan.item_count
    cdef PyObject* instance = new_instance(plan.type, 0)
    cdef PyObject* value
    if instance == NULL:
        return NULL
    while item < end:
        if item.kind < BOUND:
            value = read_value(item.kind, item, item.nullable, cursor)
            if value == NULL:
                decref(instance)
                return NULL
            slot_of(instance, item.slot)[0] = value
        elif not read_with_extras(item, instance, marks, cursor):
            decref(instance)
            return NULL
        item += 1
    if plan.flexible and not read_tag_section(plan, instance, cursor):
        decref(instance)
        return NULL
    return instance


cdef inline PyObject* read_value(Kind kind, const Item* item, bint nullable, Cursor* cursor) noexcept:
    """A value of an item: the item's own, of its kind, or one element of its array, which must not be null."""
    cdef const uint8_t* p
    cdef uint64_t bits
    cdef int64_t length
    cdef double number
    if kind == INT32:
        return new_int(<int32_t>big_endian_32(p)) if take(cursor, 4, &p) else NULL
    elif kind == STRING:
        return read_text(item.size, nullable, cursor)
    elif kind == INT16:
        return new_int(<int16_t>big_endian_16(p)) if take(cursor, 2, &p) else NULL
    elif kind == INT64:
        return new_int(<int64_t>big_endian_64(p)) if take(cursor, 8, &p) else NULL
    elif kind == STRUCT:
        return read_struct(item.plan, cursor)
    elif kind == ARRAY:
        return read_array(item, nullable, cursor)
    elif kind == NULLABLE_STRUCT:
        return read_nullable_struct(item, cursor)
    elif kind == INT8:
        return new_int(<int8_t>p[0]) if take(cursor, 1, &p) else NULL
    elif kind == BOOL:
        if not take(cursor, 1, &p) or p[0] > 1:
            return NULL
        return new_ref(True_ if p[0] else False_)
    elif kind == BYTES:
        return read_blob(item.size, nullable, cursor)
    elif kind == UUID:
        return new_uuid(p) if take(cursor, 16, &p) else NULL
    elif kind == SECTION:
        return read_section(item, nullable, cursor)
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
    else:
        return new_int(length) if take_packed(item, cursor, &length) else NULL


cdef inline bint take_packed(const Item* item, Cursor* cursor, int64_t* number) noexcept nogil:
    """An integer as varint (KIP-625): zigzag, or two's complement of some number of bits."""
    cdef uint64_t pattern
    if item.element == PACKED:
        return take_zigzag(cursor, item.bits, number)
    if not take_varint(cursor, item.bits, &pattern):
        return False
    number[0] = signed(pattern, item.bits)
    return True


cdef PyObject* read_nullable_struct(const Item* item, Cursor* cursor) noexcept:
    """A struct after its marker, which is a byte, or in a tag section a varint."""
    cdef bint is_there
    if not take_marker(item, cursor, &is_there):
        return NULL
    return read_struct(item.plan, cursor) if is_there else new_ref(None_)


cdef inline bint take_marker(const Item* item, Cursor* cursor, bint* is_there) noexcept nogil:
    cdef const uint8_t* marker
    if not take(cursor, 1, &marker):
        return False
    is_there[0] = marker[0] == 1
    return is_there[0] or marker[0] == (255 if item.tag < 0 else 0)


cdef inline bint take_count(const Item* item, bint nullable, Cursor* cursor, int64_t* count) noexcept nogil:
    """Take the number of elements of an array, -1 for null. True if as many may follow, or null is allowed."""
    if not take_length(item.count, cursor, count):
        return False
    return nullable if count[0] < 0 else can_hold(cursor, count[0], item.min_size)


cdef PyObject* read_array(const Item* item, bint nullable, Cursor* cursor) noexcept:
    cdef int64_t length
    cdef PyObject** elements
    cdef Py_ssize_t i
    if not take_count(item, nullable, cursor, &length):
        return NULL
    if length <= 0:
        return new_ref(None_) if length < 0 else PyList_New(0)
    elements = <PyObject**>alloc_items(length, sizeof(PyObject*))
    if elements == NULL:
        return NULL
    if item.element == INT32:
        return read_integers(4, elements, length, cursor)  # released by read_integers
    elif item.element == INT64:
        return read_integers(8, elements, length, cursor)  # released by read_integers
    for i in range(length):
        elements[i] = read_value(item.element, item, False, cursor)
        if elements[i] == NULL:
            return discard_elements(elements, i)
    return list_of(elements, length)


cdef inline PyObject* read_integers(int width, PyObject** elements, Py_ssize_t count, Cursor* cursor) noexcept:
    """A list of elements of a fixed width, whose bytes are taken at once."""
    cdef const uint8_t* p = NULL
    cdef Py_ssize_t i, size
    if not is_size(count, width, 0, &size) or not take(cursor, size, &p):
        return discard_elements(elements, 0)
    for i in range(count):
        elements[i] = new_int(<int32_t>big_endian_32(p) if width == 4 else <int64_t>big_endian_64(p))
        if elements[i] == NULL:
            return discard_elements(elements, i)
        p += width
    return list_of(elements, count)


cdef PyObject* discard_elements(PyObject** elements, Py_ssize_t count) noexcept:
    """Free the elements that were read of an array that is broken, and return NULL."""
    while count:
        count -= 1
        decref(elements[count])
    PyMem_Free(elements)
    return NULL


cdef PyObject* read_section(const Item* item, bint nullable, Cursor* cursor) noexcept:
    """A list of the elements that fill a number of bytes."""
    cdef const uint8_t* end = cursor.end
    cdef PyObject* items
    cdef PyObject* element
    cdef int64_t size
    cdef int failed
    if not take_length(item.count, cursor, &size) or size > left(cursor):
        return NULL
    if size < 0:
        return new_ref(None_) if nullable else NULL
    items = PyList_New(0)
    if items == NULL:
        return NULL
    cursor.end = cursor.at + size
    while cursor.at < cursor.end:
        element = read_value(item.element, item, False, cursor)
        if element == NULL:
            decref(items)
            return NULL
        failed = PyList_Append(items, element)
        decref(element)
        if failed:
            decref(items)
            return NULL
    cursor.end = end
    return items


cdef inline bint can_hold(Cursor* cursor, int64_t count, Py_ssize_t min_size) noexcept nogil:
    """True if a number of elements of a minimum size may follow; a product, since a division is slow."""
    cdef Py_ssize_t size
    if min_size:
        return is_size(count, min_size, 0, &size) and size <= left(cursor)
    cursor.empty_elements += count
    return may_have(cursor.end - cursor.start, cursor.empty_elements)


cdef bint may_have(Py_ssize_t size, int64_t empty_elements) noexcept nogil:
    """True if a message of a size may have a number of elements without bytes in its arrays."""
    return empty_elements <= EMPTY_ELEMENTS_ALWAYS or empty_elements <= size // BYTES_FOR_EACH_MORE


cdef inline PyObject* read_text(Prefix prefix, bint nullable, Cursor* cursor) noexcept:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_text(prefix, nullable, cursor, &p, &size):
        return NULL
    return new_ref(None_) if size < 0 else text_of(p, size)


cdef inline PyObject* read_blob(Prefix prefix, bint nullable, Cursor* cursor) noexcept:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_blob(prefix, nullable, cursor, &p, &size):
        return NULL
    return new_ref(None_) if size < 0 else PyBytes_FromStringAndSize(<const char*>p, size)


# Tag sections (KIP-482): objects, columns and projections go over them by `next_tag`.

cdef inline void open_tags(Tags* tags, uint64_t count) noexcept nogil:
    """Begin a tag section, whose number of fields has been taken."""
    tags.count = count
    tags.is_pending = False
    tags.field = tags.value = NULL
    tags.tag = -1
    tags.size = 0
    tags.known = tags.next_known = 0


cdef inline NextTag next_tag(const StructPlan* plan, Tags* tags, Cursor* cursor) noexcept nogil:
    """Go to the next field of a tag section in the order of tags, including fields that are left out."""
    cdef const uint8_t* p
    cdef int64_t previous
    if tags.count and not tags.is_pending:
        previous = tags.tag
        tags.field = cursor.at
        if not take_varint(cursor, 31, <uint64_t*>&tags.tag) or not take_varint(cursor, 31, &tags.size):
            return TAGS_BROKEN
        if tags.tag <= previous:
            return TAGS_BROKEN
        tags.count -= 1
        tags.is_pending = True
        tags.value = cursor.at
    tags.known = tags.next_known
    if tags.known < plan.tagged_count and (not tags.is_pending or plan.tagged[tags.known].tag <= tags.tag):
        tags.next_known += 1
        if not tags.is_pending or plan.tagged[tags.known].tag < tags.tag:
            return TAG_LEFT_OUT
        tags.is_pending = False
        return TAG_KNOWN
    if not tags.is_pending:
        return TAGS_END
    tags.is_pending = False
    return TAGS_BROKEN if is_declared(plan, tags.tag) or not take(cursor, tags.size, &p) else TAG_UNKNOWN


cdef inline bint has_size(const Tags* tags, const Cursor* cursor) noexcept nogil:
    """True if a known field, which has been read, has the length of its size."""
    return <uint64_t>(cursor.at - tags.value) == tags.size


cdef inline bint read_tag_section(const StructPlan* plan, PyObject* instance, Cursor* cursor) noexcept:
    """Read a tag section into a struct; fields that the section lacks get their defaults."""
    cdef uint64_t count
    cdef PyObject* unknown
    if not take_varint(cursor, 31, &count):
        return False
    unknown = PyDict_New() if count else new_ref(None_)
    if unknown == NULL:
        return False
    slot_of(instance, plan.unknown_slot)[0] = unknown
    return set_defaults(plan, instance) if count == 0 else read_tagged_fields(plan, instance, unknown, count, cursor)


cdef inline bint set_defaults(const StructPlan* plan, PyObject* instance) noexcept:
    """Give all tagged fields the values that they have when left out, as most fields are."""
    cdef Py_ssize_t i
    cdef PyObject* value
    for i in range(plan.tagged_count):
        value = new_default(&plan.tagged[i])
        if value == NULL:
            return False
        slot_of(instance, plan.tagged[i].slot)[0] = value
    return True


cdef bint read_tagged_fields(
    const StructPlan* plan, PyObject* instance, PyObject* unknown, uint64_t count, Cursor* cursor
) noexcept:
    cdef const Item* item
    cdef PyObject* value
    cdef Tags tags
    cdef NextTag found
    open_tags(&tags, count)
    while True:
        found = next_tag(plan, &tags, cursor)
        if found == TAG_UNKNOWN:
            if not set_unknown_field(unknown, &tags):
                return False
        elif found == TAG_KNOWN or found == TAG_LEFT_OUT:
            item = &plan.tagged[tags.known]
            if found == TAG_LEFT_OUT:
                value = new_default(item)
            else:
                value = read_value(item.kind, item, item.nullable, cursor)
            if value == NULL:
                return False
            slot_of(instance, item.slot)[0] = value
            if found == TAG_KNOWN and not has_size(&tags, cursor):
                return False
        else:
            return found == TAGS_END


cdef bint set_unknown_field(PyObject* unknown, const Tags* tags) noexcept:
    cdef PyObject* key = new_int(tags.tag)
    cdef PyObject* value = PyBytes_FromStringAndSize(<const char*>tags.value, tags.size)
    cdef bint done = key != NULL and value != NULL and PyDict_SetItem(unknown, key, value) == 0
    xdecref(key)
    xdecref(value)
    return done


cdef inline PyObject* new_default(const Item* item) noexcept:
    """Make the value of a tagged field that is left out."""
    if item.lazy:
        return new_ref(LAZY)
    return PyList_New(0) if item.kind == ARRAY and item.default != None_ else new_ref(item.default)


cdef inline bint is_declared(const StructPlan* plan, int64_t tag) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(plan.declared_count):
        if plan.declared[i] == tag:
            return True
    return False


cdef inline PyObject* new_int(int64_t number) noexcept:
    if -SMALL <= number < SMALL:
        return new_ref(SMALL_INTS[number + SMALL])
    return PyLong_FromLongLong(number)


cdef inline PyObject* new_ref(PyObject* value) noexcept:
    incref(value)
    return value


cdef PyObject* new_uuid(const uint8_t* p) noexcept:
    cdef PyObject* item = new_instance(uuid_type, 0)
    cdef PyObject* number
    if item == NULL:
        return NULL
    number = uuid_number(p)
    if number == NULL:
        decref(item)
        return NULL
    slot_of(item, uuid_number_slot)[0] = number
    slot_of(item, uuid_safety_slot)[0] = new_ref(uuid_safety)
    return item

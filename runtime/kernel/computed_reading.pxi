# From bytes to what computed.pxi describes. While a struct is read whose size is known, the cursor ends where the
# struct does.

cdef PyObject* read_computed(const StructPlan* plan, Cursor* cursor) noexcept:
    """A struct with computed items, which are checked."""
    cdef const uint8_t* marks[MAX_MARKS]
    cdef const uint8_t* end = cursor.end
    cdef PyObject* instance = read_items(plan, marks, cursor)
    if instance != NULL and not has_ended(plan, marks, cursor):
        decref(instance)
        return NULL
    cursor.end = end
    return instance


cdef bint read_with_extras(const Item* item, PyObject* instance, const uint8_t** marks, Cursor* cursor) noexcept:
    """Read an item and set its attributes. True if the bytes are strictly valid."""
    cdef const Extras* extras = item.extras
    cdef const uint8_t* p
    if extras.mark >= 0:
        marks[extras.mark] = cursor.at
    if item.kind == BITS:
        return read_bits(extras, instance, cursor)
    elif item.kind == SIZE:
        return read_size(item, cursor)
    elif item.kind == CHECKSUM:
        return take(cursor, 4, &p) and (not extras.is_after or has_checksum(extras, marks, p))
    elif item.kind == CONSTANT:
        return take(cursor, extras.width, &p) and big_endian(p, extras.width) == extras.number
    return read_bound(extras, instance, marks, cursor)


cdef bint has_ended(const StructPlan* plan, const uint8_t** marks, Cursor* cursor) noexcept:
    """True if a struct that was read has the length of its size field and the checksums before its end."""
    cdef const Item* item
    cdef Py_ssize_t i
    for i in range(plan.item_count):
        item = &plan.items[i]
        if item.kind == SIZE and cursor.at != cursor.end:
            return False
        if item.kind == CHECKSUM and not item.extras.is_after and not has_checksum(item.extras, marks, cursor.at):
            return False
    return True


cdef inline bint has_checksum(const Extras* extras, const uint8_t** marks, const uint8_t* end) noexcept:
    """True if the bytes up to `end` have the given checksum."""
    cdef const uint8_t* start = marks[extras.start]
    return checksum(extras.castagnoli, start, end - start) == big_endian_32(marks[extras.mark])


cdef bint read_bits(const Extras* extras, PyObject* instance, Cursor* cursor) noexcept:
    cdef const uint8_t* p
    cdef const Bit* bit
    cdef uint64_t number, value
    cdef PyObject* attribute
    cdef Py_ssize_t i
    if not take(cursor, extras.width, &p):
        return False
    number = big_endian(p, extras.width)
    if number & ~extras.number:
        return False
    for i in range(extras.bit_count):
        bit = &extras.bits[i]
        if bit.presence.is_optional:
            continue
        value = number >> bit.lowest & bit.most
        if bit.is_bool:
            attribute = new_ref(True_ if value else False_)
        else:
            attribute = PyLong_FromUnsignedLongLong(value)
            if attribute == NULL:
                return False
        slot_of(instance, bit.slot)[0] = attribute
    return True


cdef bint read_size(const Item* item, Cursor* cursor) noexcept:
    """Read the size of what follows, and end the cursor there. All types of sizes are signed."""
    cdef const uint8_t* p
    cdef int64_t size
    if item.bits:
        if not take_packed(item, cursor, &size):
            return False
    elif take(cursor, item.min_size, &p):
        size = signed(big_endian(p, <int>item.min_size), 8 * <int>item.min_size)
    else:
        return False
    if not 0 <= size <= left(cursor):
        return False
    cursor.end = cursor.at + size
    return True


cdef bint read_bound(const Extras* extras, PyObject* instance, const uint8_t** marks, Cursor* cursor) noexcept:
    """Set the attribute of a value that may be absent, without a prefix, or bound to something else."""
    cdef const Item* item = &extras.value
    cdef const uint8_t* end = cursor.end
    cdef PyObject* value
    if extras.presence.is_optional and not is_flagged_present(&extras.presence, marks):
        value = new_ref(extras.absent) if extras.absent != NULL else PyList_New(0)
    else:
        if extras.prefix_presence.is_optional and not is_flagged_present(&extras.prefix_presence, marks):
            item = &extras.without_prefix
        if takes_rest(item):
            if left(cursor) < extras.after:
                return False
            cursor.end -= extras.after
        value = read_value(item.kind, item, item.nullable and not extras.presence.is_optional, cursor)
        cursor.end = end
    if value == NULL:
        return False
    slot_of(instance, item.slot)[0] = value  # the instance owns the value from here on
    if extras.sorted_slot >= 0 and not ascends(value, extras.sorted_slot):
        return False
    return extras.same_length_slot < 0 or have_same_length(value, slot_of(instance, extras.same_length_slot)[0])


cdef inline bint is_flagged_present(const Presence* presence, const uint8_t** marks) noexcept nogil:
    return ((marks[presence.mark][presence.byte] & presence.bit) != 0) == presence.means_present


cdef bint ascends(PyObject* items, Py_ssize_t slot) noexcept:
    """True if an array's elements, which were just read, strictly ascend by an attribute."""
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

# From attributes to what computed.pxi describes. Sizes and checksums are filled in when all that they cover is written,
# from the last to the first.

cdef struct Marks:
    Py_ssize_t at[MAX_MARKS]
    # Number of bytes written or counted before what the size covers.
    Py_ssize_t before


cdef uint8_t* write_computed(const StructPlan* plan, PyObject* instance, uint8_t* p, Output* out) noexcept:
    """A struct with computed items."""
    cdef Marks marks
    cdef bint done
    marks.before = 0
    done = commit(out, write_items(plan, instance, &marks, p, out)) and fill_in(plan, &marks, out)
    return out.at if done else NULL


cdef bint write_with_extras(const Item* item, PyObject* instance, Marks* marks, Output* out) noexcept:
    cdef const Extras* extras = item.extras
    if extras.mark >= 0:
        marks.at[extras.mark] = out.at - out.start
    if item.kind == BITS:
        return write_bits(extras, instance, out)
    elif item.kind == SIZE:
        if put(out, 1 if item.bits else item.min_size) == NULL:
            return False
        marks.before = written(out)
        return True
    elif item.kind == CHECKSUM:
        if put(out, 4) == NULL:
            return False
        if extras.is_after:
            fill_checksum(extras, marks, marks.at[extras.mark], out)
        return True
    elif item.kind == CONSTANT:
        return put_integer(out, extras.width, extras.number)
    return write_bound(extras, instance, out)


cdef bint fill_in(const StructPlan* plan, Marks* marks, Output* out) noexcept:
    """Put sizes and checksums in their places. Each covers only bytes after itself, so the last comes first."""
    cdef const Item* item
    cdef Py_ssize_t i
    for i in range(plan.item_count - 1, -1, -1):
        item = &plan.items[i]
        if item.kind == SIZE:
            if not fill_size(plan, item, marks, written(out) - marks.before, out):
                return False
        elif item.kind == CHECKSUM and not item.extras.is_after:
            fill_checksum(item.extras, marks, out.at - out.start, out)
    return True


cdef void fill_checksum(const Extras* extras, const Marks* marks, Py_ssize_t end, Output* out) noexcept:
    """Put the checksum of the bytes up to `end` in its place, unless only the size is wanted."""
    cdef Py_ssize_t start = marks.at[extras.start]
    if not out.counts:
        store_32(out.start + marks.at[extras.mark], checksum(extras.castagnoli, out.start + start, end - start))


cdef bint fill_size(const StructPlan* plan, const Item* item, Marks* marks, Py_ssize_t size, Output* out) noexcept:
    """Put the struct's size in its place. A varint may move what follows, and then moves the marks there, too."""
    cdef Py_ssize_t at = marks.at[item.extras.mark]
    cdef Py_ssize_t end = out.at - out.start
    cdef int i
    if size > item.high:
        return False
    if item.bits == 0:
        store_integer(out.start + at, <int>item.min_size, size)
        return True
    if not insert_varint(out, at, <uint64_t>size << (item.element == PACKED)):
        return False
    for i in range(plan.mark_count):
        if marks.at[i] > at:
            marks.at[i] += out.at - out.start - end
    return True


cdef bint write_bits(const Extras* extras, PyObject* instance, Output* out) noexcept:
    cdef const Bit* bit
    cdef PyObject* value
    cdef uint64_t number = 0, one
    cdef int present
    cdef Py_ssize_t i
    for i in range(extras.bit_count):
        bit = &extras.bits[i]
        if bit.presence.is_optional:
            present = is_present(&bit.presence, instance)
            if present < 0:
                return False
            one = (present == 1) == bit.presence.means_present
        else:
            value = slot_of(instance, bit.slot)[0]
            if bit.is_bool:
                if value != True_ and value != False_:
                    return False
                one = value == True_
            elif value == NULL or not as_unsigned(value, &one) or one > bit.most:
                return False
        number |= one << bit.lowest
    return put_integer(out, extras.width, number)


cdef inline bint as_unsigned(PyObject* value, uint64_t* number) noexcept:
    if not PyLong_CheckExact(value):
        return False
    number[0] = PyLong_AsUnsignedLongLong(value)
    return number[0] != ~<uint64_t>0 or PyErr_Occurred() == NULL


cdef int is_present(const Presence* presence, PyObject* instance) noexcept:
    """True if a value that may be absent is present; -1 if it has an unusual type."""
    cdef PyObject* value = slot_of(instance, presence.slot)[0]
    if value == NULL:
        return -1
    if presence.nullable:
        return value != None_
    if presence.kind == BYTES:
        return PyBytes_GET_SIZE(value) > 0 if PyBytes_CheckExact(value) else -1
    if presence.kind == STRING:
        return PyUnicode_GET_LENGTH(value) > 0 if PyUnicode_CheckExact(value) else -1
    return PyList_GET_SIZE(value) > 0 if PyList_CheckExact(value) else -1


cdef bint write_bound(const Extras* extras, PyObject* instance, Output* out) noexcept:
    """A value that may be absent, without a prefix, or bound to something else."""
    cdef const Item* item = &extras.value
    cdef PyObject* value = slot_of(instance, item.slot)[0]
    cdef int present
    if value == NULL:
        return False
    if extras.presence.is_optional:
        present = is_present(&extras.presence, instance)
        if present < 1:
            return present == 0 and (value == None_ or has_length(item, instance, value))
    elif value == None_:
        return put_item(item, value, out)
    if not has_length(item, instance, value):
        return False
    if extras.prefix_presence.is_optional:
        present = is_present(&extras.prefix_presence, instance)
        if present < 0:
            return False
        if present == 0:
            item = &extras.without_prefix
    return put_item(item, value, out)


cdef inline bint has_length(const Item* item, PyObject* instance, PyObject* value) noexcept:
    """True if an array is a list with the length of the array that it must match."""
    if item.extras.same_length_slot >= 0:
        return have_same_length(value, slot_of(instance, item.extras.same_length_slot)[0])
    return (item.kind != ARRAY and item.kind != SECTION) or PyList_CheckExact(value)


# The elements of a set, which are written in the order of their keys.

cdef struct Keyed:
    PyObject* key
    PyObject* element


cdef uint8_t* write_set(const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    cdef Py_ssize_t i, gathered = 0, count = PyList_GET_SIZE(items)
    cdef Keyed* elements = <Keyed*>alloc_items(count, sizeof(Keyed))
    cdef bint done = elements != NULL and gather_keys(item, items, elements, &gathered)
    if done:
        qsort(elements, count, sizeof(Keyed), by_key)
        for i in range(count):
            done = i == 0 or is_less(elements[i - 1].key, elements[i].key)
            if done:
                p = write_snapshot(item.plan, elements[i].element, p, out)
            if not done or p == NULL:
                break
    for i in range(gathered):
        release_snapshot(elements[i].element, item.plan.slots, item.plan.slot_count)
    PyMem_Free(elements)
    return p if done else NULL


cdef bint gather_keys(const Item* item, PyObject* items, Keyed* elements, Py_ssize_t* gathered) noexcept:
    """Hold the elements and note their keys, if all keys are of one type."""
    cdef Py_ssize_t i
    cdef PyObject* element
    cdef PyObject* key
    for i in range(PyList_GET_SIZE(items)):
        element = PyList_GET_ITEM(items, i)
        if type_of(element) != item.plan.type:
            return False
        element = snapshot(element, item.plan.type, item.plan.slots, item.plan.slot_count)
        if element == NULL:
            return False
        elements[i].element = element  # released by write_set
        gathered[0] += 1
        key = slot_of(element, item.extras.sorted_slot)[0]
        if not is_key(key, elements[0].key if i else NULL):
            return False
        elements[i].key = key
    return True


cdef int by_key(const void* one, const void* other) noexcept nogil:
    return -1 if is_less((<const Keyed*>one).key, (<const Keyed*>other).key) else 1

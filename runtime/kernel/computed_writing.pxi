# From attributes to what computed.pxi describes. Sizes and checksums are filled in when all that they cover is written.

cdef struct Marks:
    Py_ssize_t at[MAX_MARKS]
    # How much was written or counted where what the size covers begins.
    Py_ssize_t before


cdef uint8_t* write_computed(const Form* form, PyObject* instance, uint8_t* p, Output* out) noexcept:
    """A struct with computed items."""
    cdef Marks marks
    cdef bint done
    marks.before = 0
    done = moved(out, write_items(form, instance, &marks, p, out)) and fill_in(form, &marks, out)
    return out.at if done else NULL


cdef bint write_rare(const Item* item, PyObject* instance, Marks* marks, Output* out) noexcept:
    cdef const Rare* rare = item.rare
    if rare.mark >= 0:
        marks.at[rare.mark] = out.at - out.start
    if item.kind == BITS:
        return write_bits(rare, instance, out)
    elif item.kind == SIZE:
        if put(out, 1 if item.bits else item.least) == NULL:
            return False
        marks.before = written(out)
        return True
    elif item.kind == CHECKSUM:
        if put(out, 4) == NULL:
            return False
        if rare.is_after:
            fill_checksum(rare, marks, marks.at[rare.mark], out)
        return True
    elif item.kind == CONSTANT:
        return put_integer(out, rare.width, rare.number)
    return write_bound(rare, instance, out)


cdef bint fill_in(const Form* form, Marks* marks, Output* out) noexcept:
    """Put sizes and checksums in their places. Each covers only what follows it, so the last comes first."""
    cdef const Item* item
    cdef Py_ssize_t i
    for i in range(form.item_count - 1, -1, -1):
        item = &form.items[i]
        if item.kind == SIZE:
            if not fill_size(form, item, marks, written(out) - marks.before, out):
                return False
        elif item.kind == CHECKSUM and not item.rare.is_after:
            fill_checksum(item.rare, marks, out.at - out.start, out)
    return True


cdef void fill_checksum(const Rare* rare, const Marks* marks, Py_ssize_t end, Output* out) noexcept:
    """Put the checksum of the bytes up to there in its place; where only the size is wanted, they are not there."""
    cdef Py_ssize_t start = marks.at[rare.start]
    if not out.counts:
        store_32(out.start + marks.at[rare.mark], checksum(rare.castagnoli, out.start + start, end - start))


cdef bint fill_size(const Form* form, const Item* item, Marks* marks, Py_ssize_t size, Output* out) noexcept:
    """Put the struct's size in its place. One that is a varint moves what follows it, so its marks move along."""
    cdef Py_ssize_t at = marks.at[item.rare.mark]
    cdef Py_ssize_t end = out.at - out.start
    cdef int i
    if size > item.high:
        return False
    if item.bits == 0:
        store_integer(out.start + at, <int>item.least, size)
        return True
    if not insert_varint(out, at, <uint64_t>size << (item.element == PACKED)):
        return False
    for i in range(form.mark_count):
        if marks.at[i] > at:
            marks.at[i] += out.at - out.start - end
    return True


cdef bint write_bits(const Rare* rare, PyObject* instance, Output* out) noexcept:
    cdef const Bit* bit
    cdef PyObject* value
    cdef uint64_t number = 0, one
    cdef int present
    cdef Py_ssize_t i
    for i in range(rare.bit_count):
        bit = &rare.bits[i]
        if bit.presence.is_told:
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
    return put_integer(out, rare.width, number)


cdef inline bint as_unsigned(PyObject* value, uint64_t* number) noexcept:
    if not PyLong_CheckExact(value):
        return False
    number[0] = PyLong_AsUnsignedLongLong(value)
    return number[0] != ~<uint64_t>0 or PyErr_Occurred() == NULL


cdef int is_present(const Presence* presence, PyObject* instance) noexcept:
    """Whether a value that may be absent is there; -1 if it is of an unusual type."""
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


cdef bint write_bound(const Rare* rare, PyObject* instance, Output* out) noexcept:
    """A value that may be absent, without a prefix, or bound to something else."""
    cdef const Item* item = &rare.value
    cdef PyObject* value = slot_of(instance, item.slot)[0]
    cdef int present
    if value == NULL:
        return False
    if rare.presence.is_told:
        present = is_present(&rare.presence, instance)
        if present < 1:
            return present == 0 and (value == None_ or has_length(item, instance, value))
    elif value == None_:
        return put_item(item, value, out)
    if not has_length(item, instance, value):
        return False
    if rare.partner.is_told:
        present = is_present(&rare.partner, instance)
        if present < 0:
            return False
        if present == 0:
            item = &rare.without_prefix
    return put_item(item, value, out)


cdef inline bint has_length(const Item* item, PyObject* instance, PyObject* value) noexcept:
    """Whether an array is a list with as many elements as the one that it has to be as long as."""
    if item.rare.same_length_slot >= 0:
        return have_same_length(value, slot_of(instance, item.rare.same_length_slot)[0])
    return (item.kind != ARRAY and item.kind != SECTION) or PyList_CheckExact(value)


# The elements of a set, which are written in the order of their keys.

cdef struct Keyed:
    PyObject* key
    PyObject* element


cdef uint8_t* write_set(const Item* item, PyObject* items, uint8_t* p, Output* out) noexcept:
    cdef Py_ssize_t i, gathered = 0, count = PyList_GET_SIZE(items)
    cdef Keyed* elements = <Keyed*>uncleared(count, sizeof(Keyed))
    cdef bint done = elements != NULL and gather_keys(item, items, elements, &gathered)
    if done:
        qsort(elements, count, sizeof(Keyed), by_key)
        for i in range(count):
            done = i == 0 or is_less(elements[i - 1].key, elements[i].key)
            if done:
                p = write_held(item.form, elements[i].element, p, out)
            if not done or p == NULL:
                break
    for i in range(gathered):
        let_go(elements[i].element, item.form.slots, item.form.slot_count)
    PyMem_Free(elements)
    return p if done else NULL


cdef bint gather_keys(const Item* item, PyObject* items, Keyed* elements, Py_ssize_t* gathered) noexcept:
    """Hold the elements and note their keys, if all of them are of the one type that keys of this set have."""
    cdef Py_ssize_t i
    cdef PyObject* element
    cdef PyObject* key
    for i in range(PyList_GET_SIZE(items)):
        element = PyList_GET_ITEM(items, i)
        if type_of(element) != item.form.type:
            return False
        element = hold(element, item.form.type, item.form.slots, item.form.slot_count)
        if element == NULL:
            return False
        elements[i].element = element
        gathered[0] += 1
        key = slot_of(element, item.rare.sorted_slot)[0]
        if not is_key(key, elements[0].key if i else NULL):
            return False
        elements[i].key = key
    return True


cdef int by_key(const void* one, const void* other) noexcept nogil:
    return -1 if is_less((<const Keyed*>one).key, (<const Keyed*>other).key) else 1

# From instances of layouts to bytes. Sizes and checksums are filled in when all that they cover is written.

cdef bint write_layout(const Form* form, PyObject* item, Output* out) noexcept:
    cdef Py_ssize_t marks[MAX_MARKS]
    cdef Py_ssize_t size_before = 0
    cdef const Part* part
    cdef Py_ssize_t i
    for i in range(form.part_count):
        part = &form.parts[i]
        if part.mark >= 0:
            marks[part.mark] = out.at - out.start
        if part == form.size_part:
            if put(out, 1 if part.field.bits else part.field.least) == NULL:
                return False
            size_before = written(out)
        elif not write_part(part, item, marks, out):
            return False
    # Each covers only what stands behind it and what is filled in by then, so the last comes first.
    for i in range(form.part_count - 1, -1, -1):
        part = &form.parts[i]
        if part == form.size_part:
            if not fill_size(form, marks, written(out) - size_before, out):
                return False
        elif part.kind == CHECKSUM and not part.is_behind:
            fill_checksum(part, marks, out.at - out.start, out)
    return True


cdef bint write_part(const Part* part, PyObject* item, const Py_ssize_t* marks, Output* out) noexcept:
    if part.kind <= SECTION:
        return write_layout_value(part, item, out)
    elif part.kind == BITS:
        return write_bits(part, item, out)
    elif part.kind == CONSTANT:
        return put_integer(out, part.width, part.number)
    if put(out, 4) == NULL:
        return False
    if part.is_behind:
        fill_checksum(part, marks, marks[part.mark], out)
    return True


cdef void fill_checksum(const Part* part, const Py_ssize_t* marks, Py_ssize_t end, Output* out) noexcept:
    """Put the checksum of the bytes up to there in its place; where only the size is wanted, they are not there."""
    cdef Py_ssize_t start = marks[part.start]
    if not out.counts:
        store_32(out.start + marks[part.mark], checksum(part.castagnoli, out.start + start, end - start))


cdef bint fill_size(const Form* form, Py_ssize_t* marks, Py_ssize_t size, Output* out) noexcept:
    """Put the struct's size in its place. One that is a varint moves what stands behind it, so its marks move along."""
    cdef const Operation* field = &form.size_part.field
    cdef Py_ssize_t at = marks[form.size_part.mark]
    cdef Py_ssize_t end = out.at - out.start
    cdef Py_ssize_t i
    if size >> (width_of_size(field) - 1):
        return False
    if field.bits == 0:
        store_integer(out.start + at, field.least, size)
        return True
    if not insert_varint(out, at, <uint64_t>size << (field.element == PACKED)):
        return False
    for i in range(form.mark_count):
        if marks[i] > at:
            marks[i] += out.at - out.start - end
    return True


cdef bint write_bits(const Part* part, PyObject* item, Output* out) noexcept:
    cdef const Bit* bit
    cdef PyObject* value
    cdef uint64_t number = 0, one
    cdef int present
    cdef Py_ssize_t i
    for i in range(part.bit_count):
        bit = &part.bits[i]
        if bit.presence.is_told:
            present = is_present(&bit.presence, item)
            if present < 0:
                return False
            one = (present == 1) == bit.presence.means_present
        else:
            value = slot_of(item, bit.slot)[0]
            if bit.is_bool:
                if value != True_ and value != False_:
                    return False
                one = value == True_
            elif value == NULL or not as_unsigned(value, &one) or one > bit.most:
                return False
        number |= one << bit.lowest
    return put_integer(out, part.width, number)


cdef inline bint as_unsigned(PyObject* value, uint64_t* number) noexcept:
    if not PyLong_CheckExact(value):
        return False
    number[0] = PyLong_AsUnsignedLongLong(value)
    return number[0] != ~<uint64_t>0 or PyErr_Occurred() == NULL


cdef int is_present(const Presence* presence, PyObject* item) noexcept:
    """Whether a value that may be absent is there; -1 if it is of an unusual type."""
    cdef PyObject* value = slot_of(item, presence.slot)[0]
    if value == NULL:
        return -1
    if presence.nullable:
        return value != None_
    if presence.kind == BYTES:
        return PyBytes_GET_SIZE(value) > 0 if PyBytes_CheckExact(value) else -1
    if presence.kind == STRING:
        return PyUnicode_GET_LENGTH(value) > 0 if PyUnicode_CheckExact(value) else -1
    return PyList_GET_SIZE(value) > 0 if PyList_CheckExact(value) else -1


cdef inline bint put_integer(Output* out, int width, uint64_t number) noexcept:
    cdef uint8_t* p = put(out, width)
    if p == NULL:
        return False
    store_integer(p, width, number)
    return True


cdef inline void store_integer(uint8_t* p, int width, uint64_t number) noexcept:
    """An integer of one, two, four or eight bytes."""
    if width == 1:
        p[0] = <uint8_t>number
    elif width == 2:
        store_16(p, <uint32_t>number)
    elif width == 4:
        store_32(p, <uint32_t>number)
    else:
        store_64(p, number)


cdef bint write_layout_value(const Part* part, PyObject* item, Output* out) noexcept:
    """One field with its size or count."""
    cdef PyObject* value = slot_of(item, part.field.slot)[0]
    cdef Prefix prefix = part.prefix
    cdef int present
    if value == NULL:
        return False
    if part.kind == WHOLE:
        return write_value(&part.field, value, out)
    if part.presence.is_told:
        present = is_present(&part.presence, item)
        if present < 1:
            return present == 0 and (value == None_ or has_length(part, item, value))
    elif value == None_:
        return part.field.nullable and put_prefix(prefix, -1, out)
    if part.partner.is_told:
        present = is_present(&part.partner, item)
        if present < 0:
            return False
        if present == 0:
            prefix = PREFIX_REST
    if part.kind == SIZED:
        return write_sized(&part.field, prefix, value, out)
    if not has_length(part, item, value):
        return False
    if part.kind == COUNTED:
        return put_prefix(prefix, PyList_GET_SIZE(value), out) and write_elements(part, value, out)
    return write_section(part, value, out)


cdef inline bint has_length(const Part* part, PyObject* item, PyObject* value) noexcept:
    """Whether an array is a list with as many elements as the one that it has to be as long as."""
    if part.same_length_slot >= 0:
        return have_same_length(value, slot_of(item, part.same_length_slot)[0])
    return part.kind == SIZED or PyList_CheckExact(value)


cdef bint write_sized(const Operation* field, Prefix prefix, PyObject* value, Output* out) noexcept:
    """Text or bytes."""
    cdef const char* text
    cdef Py_ssize_t size = 0
    if field.element == STRING:
        if not PyUnicode_CheckExact(value):
            return False
        text = PyUnicode_AsUTF8AndSize(value, &size)
        return text != NULL and put_prefix(prefix, size, out) and put_long(out, text, size)
    if not PyBytes_CheckExact(value):
        return False
    size = PyBytes_GET_SIZE(value)
    return put_prefix(prefix, size, out) and put_long(out, PyBytes_AS_STRING(value), size)


cdef bint write_section(const Part* part, PyObject* items, Output* out) noexcept:
    """An array of structs behind the number of its bytes."""
    cdef Py_ssize_t at = out.at - out.start, before, size
    if part.prefix == PREFIX_REST:
        return write_elements(part, items, out)
    if not put_prefix(part.prefix, 0, out):
        return False
    before = written(out)
    if not write_elements(part, items, out):
        return False
    size = written(out) - before
    if not is_told_by(part.prefix, size):
        return False
    if part.prefix == PREFIX_INT16:
        store_16(out.start + at, <uint32_t>size)
    elif part.prefix == PREFIX_INT32:
        store_32(out.start + at, <uint32_t>size)
    else:
        return insert_varint(out, at, <uint64_t>size << (part.prefix == PREFIX_VARINT))
    return True


cdef inline bint is_told_by(Prefix prefix, Py_ssize_t number) noexcept nogil:
    """Whether a size or a count is not too great for its form."""
    return number <= (0x7FFF if prefix == PREFIX_INT16 else 0x7FFFFFFF) or prefix == PREFIX_REST


cdef inline bint put_prefix(Prefix prefix, Py_ssize_t number, Output* out) noexcept:
    """A size or a count; -1 stands for null."""
    if not is_told_by(prefix, number):
        return False
    if prefix == PREFIX_VARINT:
        return put_zigzag(out, number)
    if prefix == PREFIX_UVARINT:
        return put_varint(out, number)
    if prefix == PREFIX_REST:
        return True
    return put_integer(out, 2 if prefix == PREFIX_INT16 else 4, number)


cdef bint write_elements(const Part* part, PyObject* items, Output* out) noexcept:
    cdef Py_ssize_t i
    if part.sorted_slot >= 0:
        return write_set(part, items, out)
    for i in range(PyList_GET_SIZE(items)):
        if not write_value(&part.field, PyList_GET_ITEM(items, i), out):
            return False
    return True


# The elements of a set, which are written in the order of their keys.

cdef struct Keyed:
    PyObject* key
    PyObject* item


cdef bint write_set(const Part* part, PyObject* items, Output* out) noexcept:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(items)
    cdef Keyed* elements = <Keyed*>uncleared(count, sizeof(Keyed))
    cdef bint done = elements != NULL and gather_keys(part, items, elements)
    if done:
        qsort(elements, count, sizeof(Keyed), by_key)
        for i in range(count):
            done = (i == 0 or is_less(elements[i - 1].key, elements[i].key)) and write_struct(
                part.field.form, elements[i].item, out
            )
            if not done:
                break
    PyMem_Free(elements)
    return done


cdef bint gather_keys(const Part* part, PyObject* items, Keyed* elements) noexcept:
    """The keys of the elements, if all of them are of the one type that keys of this set have."""
    cdef Py_ssize_t i
    cdef PyObject* item
    cdef PyObject* key
    for i in range(PyList_GET_SIZE(items)):
        item = PyList_GET_ITEM(items, i)
        if type_of(item) != part.field.form.type:
            return False
        key = slot_of(item, part.sorted_slot)[0]
        if not is_key(key, elements[0].key if i else NULL):
            return False
        elements[i].key, elements[i].item = key, item
    return True


cdef int by_key(const void* one, const void* other) noexcept nogil:
    return -1 if is_less((<const Keyed*>one).key, (<const Keyed*>other).key) else 1

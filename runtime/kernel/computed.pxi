# What items of record formats may have apart from a value: bits, sizes, checksums, and presence bits.

# Sizes, checksums, what these start at, and bits that say of values whether they are there, in one struct: their places
# stay on the stack.
cdef enum:
    MAX_MARKS = 64

cdef struct Presence:
    bint is_told  # else the value always is there
    Kind kind  # STRING, BYTES or ARRAY
    bint nullable
    Py_ssize_t slot
    # The bit, by the mark of its integer, a byte of it and the bit in that.
    int mark
    Py_ssize_t byte
    uint8_t bit
    bint means_present

cdef struct Bit:
    Py_ssize_t slot
    int lowest
    uint64_t most
    bint is_bool
    Presence presence

cdef struct Rare:
    # Where the item begins is remembered under this number, or -1.
    int mark
    # Of a value: what it is where it is there, and what without its prefix; whether it and its prefix are there.
    Item value
    Item without_prefix
    Presence presence
    Presence partner
    PyObject* absent  # NULL for a new list
    # Bytes after one that takes the rest.
    Py_ssize_t after
    Py_ssize_t sorted_slot
    Py_ssize_t same_length_slot
    # Of integers with bits and constants.
    int width
    uint64_t number  # the constant, or all bits that have a name
    Bit* bits
    Py_ssize_t bit_count
    # Of a checksum.
    bint castagnoli
    int start
    bint is_after


cdef int fill_computed(Form* form, plan, list kept) except -1:
    """Set what more than values the items of a form have."""
    marks = marks_of(plan.items)
    if len(marks) > MAX_MARKS or [planned.role for planned in plan.items].count("size") > 1:
        raise NotServed
    form.mark_count = len(marks)
    for number, planned in enumerate(plan.items):
        if planned.role != "value" or number in marks or says_more(planned):
            item = &form.items[<Py_ssize_t>number]
            item.rare = rare = <Rare*>memory(kept, 1, sizeof(Rare))
            rare.mark = marks.get(number, -1)
            rare.sorted_slot = rare.same_length_slot = -1
            if planned.role == "value":
                fill_value(item, planned, plan, kept, marks)
            elif planned.role == "bits":
                fill_bits(rare, planned, plan, kept, marks)
            elif planned.role == "constant":
                rare.width, rare.number = planned.width, planned.default & ((1 << 8 * planned.width) - 1)
            elif planned.role == "checksum":
                if planned.field.algorithm not in ("crc32", "crc32c"):
                    raise NotServed
                rare.castagnoli = planned.field.algorithm == "crc32c"
                rare.start, rare.is_after = marks[planned.start], planned.is_after
                with sharing:
                    learn_checksum(rare.castagnoli)
    return 0


def says_more(planned):
    """Whether a value is not simply there after its prefix."""
    field = planned.field
    takes_rest = field.prefix == "rest"
    return bool(planned.presence or planned.partner or takes_rest or field.sorted_by or field.same_length_as)


def marks_of(items):
    """The numbers under which the beginnings of items are remembered, by the number of the item."""
    wanted = set()
    for number, item in enumerate(items):
        if item.role == "checksum":
            wanted |= {number, item.start}
        elif item.role == "size" or any(bit.of for bit in item.bits):
            wanted.add(number)
    return {number: mark for mark, number in enumerate(sorted(wanted))}


cdef int fill_value(Item* item, planned, plan, list kept, marks) except -1:
    cdef Rare* rare = item.rare
    if item.kind == ARRAY and planned.partner:
        raise NotServed  # what is left says nothing of how many there are
    rare.value = rare.without_prefix = item[0]
    rare.without_prefix.size = rare.without_prefix.count = REST_PREFIX
    item.kind = BOUND
    rare.after = planned.after
    fill_presence(&rare.presence, planned.presence, plan, marks)
    fill_presence(&rare.partner, planned.partner, plan, marks)
    if planned.field.sorted_by:
        rare.sorted_slot = offset(planned.plan.cls, planned.field.sorted_by)
    if planned.field.same_length_as:
        rare.same_length_slot = offset(plan.cls, planned.field.same_length_as)
    if planned.nullable or not planned.array:
        absent = None if planned.nullable else "" if planned.kind == "string" else b""
        kept.append(absent)
        rare.absent = <PyObject*>absent
    return 0


cdef int fill_presence(Presence* presence, planned, plan, marks) except -1:
    if planned is None:
        return 0
    presence.is_told = True
    presence.kind = ARRAY if planned.of.array else KINDS[planned.of.kind][0]
    presence.nullable = planned.of.nullable
    presence.slot = offset(plan.cls, planned.of.name)
    presence.mark = marks[planned.number]
    presence.byte = plan.items[planned.number].width - 1 - planned.lowest // 8
    presence.bit = 1 << planned.lowest % 8
    presence.means_present = planned.means_present
    return 0


cdef int fill_bits(Rare* rare, planned, plan, list kept, marks) except -1:
    rare.width = planned.width
    rare.bits = <Bit*>memory(kept, len(planned.bits), sizeof(Bit))
    for one in planned.bits:
        bit = &rare.bits[rare.bit_count]
        rare.bit_count += 1
        bit.slot = offset(plan.cls, one.of.name if one.of else one.name)
        bit.lowest = one.lowest
        bit.most = (1 << one.bit_count) - 1
        bit.is_bool = one.bit_count == 1
        fill_presence(&bit.presence, one if one.of else None, plan, marks)
        rare.number |= bit.most << bit.lowest
    return 0


cdef inline bint takes_rest(const Item* item) noexcept nogil:
    return item.size == REST_PREFIX or item.count == REST_PREFIX


cdef inline bint have_same_length(PyObject* items, PyObject* others) noexcept:
    """Whether both are arrays and have as many elements."""
    if items == NULL or others == NULL or not PyList_CheckExact(items) or not PyList_CheckExact(others):
        return False
    return PyList_GET_SIZE(items) == PyList_GET_SIZE(others)


cdef inline bint is_key(PyObject* key, PyObject* before) noexcept:
    """Whether that can be compared with the key before it, if any."""
    if key == NULL or (before != NULL and type_of(key) != type_of(before)):
        return False
    return PyLong_CheckExact(key) or PyUnicode_CheckExact(key) or PyBytes_CheckExact(key)


cdef inline bint is_less(PyObject* one, PyObject* other) noexcept nogil:
    """Of two numbers, texts or bytes, whose comparison runs no code of others and cannot fail."""
    return PyObject_RichCompareBool(one, other, Py_LT) == 1

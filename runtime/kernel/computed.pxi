# What items of record formats may have apart from a value: bits, sizes, checksums, and presence bits. The kinds of
# such items are the last in the list, so that messages pay nothing.

# Marks in one struct, which lie on the stack: the places of sizes, of checksums and where these start, and of bits that
# say if a value is present.
cdef enum:
    MAX_MARKS = 64

cdef struct Presence:
    bint is_optional  # else the value always is there
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

cdef struct Extras:
    # Number of the mark for where the item begins, or -1.
    int mark
    # A value: how it is read with its prefix and without it, and the bits that say if the value and the prefix are
    # present.
    Item value
    Item without_prefix
    Presence presence
    Presence prefix_presence
    PyObject* absent  # NULL for a new list
    # Bytes after a value that takes the rest.
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


cdef int compile_extras(StructPlan* compiled, plan, list arena) except -1:
    """Compile what items have apart from a value."""
    marks = marks_of(plan.items)
    if len(marks) > MAX_MARKS or [planned.role for planned in plan.items].count("size") > 1:
        raise NotServed
    compiled.mark_count = len(marks)
    for number, planned in enumerate(plan.items):
        if planned.role != "value" or number in marks or says_more(planned):
            item = &compiled.items[<Py_ssize_t>number]
            item.extras = extras = <Extras*>arena_alloc(arena, 1, sizeof(Extras))
            extras.mark = marks.get(number, -1)
            extras.sorted_slot = extras.same_length_slot = -1
            if planned.role == "value":
                compile_value(item, planned, plan, arena, marks)
            elif planned.role == "bits":
                compile_bits(extras, planned, plan, arena, marks)
            elif planned.role == "constant":
                extras.width, extras.number = planned.width, planned.default & ((1 << 8 * planned.width) - 1)
            elif planned.role == "checksum":
                if planned.field.algorithm not in ("crc32", "crc32c"):
                    raise NotServed
                extras.castagnoli = planned.field.algorithm == "crc32c"
                extras.start, extras.is_after = marks[planned.start], planned.is_after
                with init_lock:
                    init_checksum(extras.castagnoli)
    return 0


def says_more(planned):
    """True if a value is not simply present after its prefix."""
    field = planned.field
    takes_rest = field.prefix == "rest"
    return bool(planned.presence or planned.prefix_presence or takes_rest or field.sorted_by or field.same_length_as)


def marks_of(items):
    """The numbers of marks, by the numbers of the items that begin there."""
    wanted = set()
    for number, item in enumerate(items):
        if item.role == "checksum":
            wanted |= {number, item.start}
        elif item.role == "size" or any(bit.of for bit in item.bits):
            wanted.add(number)
    return {number: mark for mark, number in enumerate(sorted(wanted))}


cdef int compile_value(Item* item, planned, plan, list arena, marks) except -1:
    cdef Extras* extras = item.extras
    if item.kind == ARRAY and planned.prefix_presence:
        raise NotServed  # what is left says nothing of how many there are
    extras.value = extras.without_prefix = item[0]
    extras.without_prefix.size = extras.without_prefix.count = REST_PREFIX
    item.kind = BOUND
    extras.after = planned.after
    compile_presence(&extras.presence, planned.presence, plan, marks)
    compile_presence(&extras.prefix_presence, planned.prefix_presence, plan, marks)
    if planned.field.sorted_by:
        extras.sorted_slot = offset(planned.plan.cls, planned.field.sorted_by)
    if planned.field.same_length_as:
        extras.same_length_slot = offset(plan.cls, planned.field.same_length_as)
    if planned.nullable or not planned.array:
        absent = None if planned.nullable else "" if planned.kind == "string" else b""
        arena.append(absent)
        extras.absent = <PyObject*>absent
    return 0


cdef int compile_presence(Presence* presence, planned, plan, marks) except -1:
    if planned is None:
        return 0
    presence.is_optional = True
    presence.kind = ARRAY if planned.of.array else KINDS[planned.of.kind][0]
    presence.nullable = planned.of.nullable
    presence.slot = offset(plan.cls, planned.of.name)
    presence.mark = marks[planned.number]
    presence.byte = plan.items[planned.number].width - 1 - planned.lowest // 8
    presence.bit = 1 << planned.lowest % 8
    presence.means_present = planned.means_present
    return 0


cdef int compile_bits(Extras* extras, planned, plan, list arena, marks) except -1:
    extras.width = planned.width
    extras.bits = <Bit*>arena_alloc(arena, len(planned.bits), sizeof(Bit))
    for one in planned.bits:
        bit = &extras.bits[extras.bit_count]
        extras.bit_count += 1
        bit.slot = offset(plan.cls, one.of.name if one.of else one.name)
        bit.lowest = one.lowest
        bit.most = (1 << one.bit_count) - 1
        bit.is_bool = one.bit_count == 1
        compile_presence(&bit.presence, one if one.of else None, plan, marks)
        extras.number |= bit.most << bit.lowest
    return 0


cdef inline bint takes_rest(const Item* item) noexcept nogil:
    return item.size == REST_PREFIX or item.count == REST_PREFIX


cdef inline bint have_same_length(PyObject* items, PyObject* others) noexcept:
    """True if both are arrays of the same length."""
    if items == NULL or others == NULL or not PyList_CheckExact(items) or not PyList_CheckExact(others):
        return False
    return PyList_GET_SIZE(items) == PyList_GET_SIZE(others)


cdef inline bint is_key(PyObject* key, PyObject* before) noexcept:
    """True if a key can be compared with the key before, if any."""
    if key == NULL or (before != NULL and type_of(key) != type_of(before)):
        return False
    return PyLong_CheckExact(key) or PyUnicode_CheckExact(key) or PyBytes_CheckExact(key)


cdef inline bint is_less(PyObject* one, PyObject* other) noexcept nogil:
    """Compare two numbers, texts or bytes: exact types, so no user code runs and it cannot fail."""
    return PyObject_RichCompareBool(one, other, Py_LT) == 1

# The parts of a layout as the kernel walks them.

cdef enum PartKind:
    WHOLE  # a value whose type tells where it ends
    SIZED  # text or bytes
    COUNTED  # an array behind the number of its elements
    SECTION  # an array of structs that takes so many bytes
    BITS
    SIZE
    CHECKSUM
    CONSTANT

# What tells a size or a count.
cdef enum Prefix:
    PREFIX_INT16
    PREFIX_INT32
    PREFIX_VARINT
    PREFIX_UVARINT
    PREFIX_REST

PREFIXES = {
    "int16": PREFIX_INT16,
    "int32": PREFIX_INT32,
    "varint": PREFIX_VARINT,
    "uvarint": PREFIX_UVARINT,
    "rest": PREFIX_REST,
}

# Sizes, checksums, what these start at, and bits that tell of values, in one struct: their places stay on the stack.
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

cdef struct Part:
    PartKind kind
    # Where the part begins is remembered under this number, or -1.
    int mark
    # Of a value; of a size its kind alone.
    Operation field
    Prefix prefix
    Py_ssize_t behind
    Presence presence
    Presence partner
    Py_ssize_t sorted_slot
    Py_ssize_t same_length_slot
    PyObject* absent  # NULL for a new list
    # Of integers with bits and constants.
    int width
    uint64_t number  # the constant, or all bits that have a name
    Bit* bits
    Py_ssize_t bit_count
    # Of a checksum.
    bint castagnoli
    int start
    bint is_behind


cdef int fill_parts(Form* form, plan, dict codecs, list kept) except -1:
    """Set the parts of a layout's form."""
    marks = marks_of(plan.items)
    if len(marks) > MAX_MARKS:
        raise NotServed
    form.mark_count = len(marks)
    form.parts = <Part*>allocated(len(plan.items), sizeof(Part))
    for number, planned in enumerate(plan.items):
        part = &form.parts[form.part_count]
        form.part_count += 1
        part.mark = marks.get(number, -1)
        if planned.role == "value":
            fill_value(part, planned, plan, codecs, kept, marks)
        elif planned.role == "bits":
            fill_bits(part, planned, plan, marks)
        elif planned.role == "size":
            part.kind = SIZE
            part.field.element, part.field.bits, part.field.least = KINDS[planned.kind]
            if form.size_part != NULL:
                raise NotServed
            form.size_part = part
        elif planned.role == "checksum":
            part.kind = CHECKSUM
            part.castagnoli = planned.field.algorithm == "crc32c"
            part.start = marks[planned.start]
            part.is_behind = planned.is_behind
            learn_checksum(part.castagnoli)
        else:
            part.kind, part.width = CONSTANT, planned.width
            part.number = planned.default & ((1 << 8 * planned.width) - 1)
    return 0


def marks_of(parts):
    """The numbers under which the beginnings of parts are remembered, by the number of the part."""
    wanted = set()
    for number, part in enumerate(parts):
        if part.role == "checksum":
            wanted |= {number, part.start}
        elif part.role == "size" or any(bit.of for bit in part.bits):
            wanted.add(number)
    return {number: mark for mark, number in enumerate(sorted(wanted))}


cdef int fill_value(Part* part, planned, plan, dict codecs, list kept, marks) except -1:
    operation = planned
    fill(&part.field, operation, plan.cls, codecs, kept)
    if not planned.prefix:
        part.kind = WHOLE
    else:
        part.prefix = PREFIXES[planned.prefix]
        part.kind = SIZED if not operation.array else SECTION if planned.field.sized or planned.prefix == "rest" else COUNTED
    part.behind = planned.behind
    fill_presence(&part.presence, planned.presence, plan, marks)
    fill_presence(&part.partner, planned.partner, plan, marks)
    part.sorted_slot = offset(operation.plan.cls, planned.field.sorted_by) if planned.field.sorted_by else -1
    part.same_length_slot = offset(plan.cls, planned.field.same_length_as) if planned.field.same_length_as else -1
    if operation.nullable or not operation.array:
        absent = None if operation.nullable else "" if operation.kind == "string" else b""
        kept.append(absent)
        part.absent = <PyObject*>absent
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


cdef int fill_bits(Part* part, planned, plan, marks) except -1:
    part.kind, part.width = BITS, planned.width
    part.bits = <Bit*>allocated(len(planned.bits), sizeof(Bit))
    for one in planned.bits:
        bit = &part.bits[part.bit_count]
        part.bit_count += 1
        bit.slot = offset(plan.cls, one.of.name if one.of else one.name)
        bit.lowest = one.lowest
        bit.most = (1 << one.bit_count) - 1
        bit.is_bool = one.bit_count == 1
        fill_presence(&bit.presence, one if one.of else None, plan, marks)
        part.number |= bit.most << bit.lowest
    return 0


cdef void free_parts(Form* form) noexcept:
    cdef Py_ssize_t i
    if form.parts != NULL:
        for i in range(form.part_count):
            PyMem_Free(form.parts[i].bits)
        PyMem_Free(form.parts)

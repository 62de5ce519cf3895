# The walk over a message. Its verdict on bytes is that of reading.pxi.

cdef object projected(Projector self, data, int64_t at, Cursor* cursor):
    """A tuple of the chosen values of the message that begins there; None where it is not strictly valid."""
    cdef Lane lanes[MAX_LANES]
    cdef PyObject* columns[MAX_LANES]
    cdef Visit visit
    cdef bint was_collecting = pause_collector()
    cdef bint done
    cdef Py_ssize_t i
    cdef PyObject* values = NULL
    memset(lanes, 0, self.lane_count * sizeof(Lane))
    for i in range(self.column_count):
        lanes[i].start = lanes[i].next = &columns[i]
    visit.lanes, visit.out = lanes, NULL
    open_bytes(data, at, cursor)
    if walk_struct(self.root, cursor, &visit):
        values = PyTuple_New(self.column_count)
    if values != NULL:
        for i in range(self.column_count):
            PyTuple_SET_ITEM(values, i, columns[i])
    else:
        abandon_lanes(self, lanes)
    resume_collector(was_collecting)
    if values == NULL:
        PyErr_Clear()
        return None
    return owned(values)


cdef void abandon_lanes(Projector self, Lane* lanes) noexcept:
    """Drop what was read of a message that is broken."""
    cdef Py_ssize_t i
    for i in range(self.lane_count):
        while lanes[i].next != lanes[i].start:
            lanes[i].next -= 1
            drop(lanes[i].next[0])
        if i >= self.column_count:
            PyMem_Free(lanes[i].start)


cdef bint walk_struct(const Walk* walk, Cursor* cursor, Visit* visit) noexcept:
    cdef const Hop* hop
    cdef Py_ssize_t i
    for i in range(walk.hop_count):
        hop = &walk.hops[i]
        if hop.leaf >= 0:
            if not meet_leaf(hop, cursor, visit):
                return False
        elif not walk_item(hop, cursor, visit):
            return False
    return not walk.form.flexible or walk_tag_section(walk, cursor, visit)


cdef inline bint meet_leaf(const Hop* hop, Cursor* cursor, Visit* visit) noexcept:
    """A chosen value: made, or replaced."""
    if visit.out == NULL:
        return push(visit, hop.leaf, read_value(hop.item.kind, hop.item, hop.item.nullable, cursor))
    return replace_value(hop, cursor, visit)


cdef inline bint push(Visit* visit, Py_ssize_t lane, PyObject* value) noexcept:
    """Put a new reference into a lane. Whether there is one."""
    if value == NULL:
        return False
    visit.lanes[lane].next[0] = value
    visit.lanes[lane].next += 1
    return True


cdef inline bint walk_item(const Hop* hop, Cursor* cursor, Visit* visit) noexcept:
    """What nobody chose, or a struct or an array in which something is chosen."""
    cdef const uint8_t* p
    cdef int64_t number
    cdef Py_ssize_t i
    cdef bint is_there
    if hop.op == HOP_FIXED:
        if not take(cursor, hop.width, &p):
            return False
        for i in range(hop.bool_count):
            if p[hop.bools[i]] > 1:
                return False
        return True
    elif hop.op == HOP_TEXT:
        return hop_text(hop.item.size, hop.item.nullable, cursor)
    elif hop.op == HOP_FIXED_ELEMENTS:
        return hop_fixed_elements(hop.item, cursor)
    elif hop.op == HOP_STRUCTS:
        return walk_structs(hop, cursor, visit)
    elif hop.op == HOP_BLOB:
        return hop_blob(hop.item.size, hop.item.nullable, cursor)
    elif hop.op == HOP_PACKED:
        return take_packed(hop.item, cursor, &number)
    elif hop.op == HOP_STRUCT:
        return walk_struct(hop.walk, cursor, visit)
    elif hop.op == HOP_NULLABLE_STRUCT:
        if not take_marker(hop.item, cursor, &is_there):
            return False
        return walk_struct(hop.walk, cursor, visit) if is_there else meet_null(hop, visit)
    return hop_elements(hop.item, cursor)


cdef inline bint hop_text(Prefix prefix, bint nullable, Cursor* cursor) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_length(prefix, cursor, &size) or not is_text_length(prefix, size):
        return False
    if size < 0:
        return nullable
    return take(cursor, size, &p) and is_text(p, size)


cdef inline bint is_text(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Whether bytes are UTF-8; of ASCII, which most are, few words are looked at, the last of which may overlap."""
    cdef uint64_t word, seen = 0
    cdef uint32_t half
    cdef Py_ssize_t i = 0
    if size >= 8:
        while i + 8 < size:
            memcpy(&word, p + i, 8)
            seen |= word
            i += 8
        memcpy(&word, p + size - 8, 8)
        seen |= word
    elif size >= 4:
        memcpy(&half, p, 4)
        seen = half
        memcpy(&half, p + size - 4, 4)
        seen |= half
    else:
        for i in range(size):
            seen |= p[i]
    return not seen & <uint64_t>0x8080808080808080 or is_utf8(p, size)


cdef inline bint hop_blob(Prefix prefix, bint nullable, Cursor* cursor) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t* p
    if not take_length(prefix, cursor, &size):
        return False
    return nullable if size < 0 else take(cursor, size, &p)


cdef inline bint hop_fixed_elements(const Item* item, Cursor* cursor) noexcept nogil:
    cdef int64_t count
    cdef Py_ssize_t size
    cdef const uint8_t* p
    if not take_length(item.count, cursor, &count):
        return False
    if count < 0:
        return item.nullable
    return is_size(count, item.least, 0, &size) and take(cursor, size, &p)


cdef bint hop_elements(const Item* item, Cursor* cursor) noexcept nogil:
    """An array of texts, blobs, varints or bools."""
    cdef int64_t count, number
    cdef Py_ssize_t i
    cdef const uint8_t* p
    if not take_length(item.count, cursor, &count):
        return False
    if count < 0:
        return item.nullable
    if not can_hold(cursor, count, item.least):
        return False
    for i in range(count):
        if item.element == STRING:
            if not hop_text(item.size, False, cursor):
                return False
        elif item.element == BYTES:
            if not hop_blob(item.size, False, cursor):
                return False
        elif item.element == BOOL:
            if not take(cursor, 1, &p) or p[0] > 1:
                return False
        elif not take_packed(item, cursor, &number):
            return False
    return True


cdef bint walk_structs(const Hop* hop, Cursor* cursor, Visit* visit) noexcept:
    """An array of structs."""
    cdef int64_t count
    cdef Py_ssize_t i, size
    cdef const uint8_t* p
    if not take_length(hop.item.count, cursor, &count):
        return False
    if count < 0:
        return hop.item.nullable and meet_null(hop, visit)
    if not can_hold(cursor, count, hop.item.least):
        return False
    if hop.walk.width:
        return is_size(count, hop.walk.width, 0, &size) and take(cursor, size, &p)
    if hop.lane_count and not begin_elements(hop, count, visit):
        return False
    for i in range(count):
        if not walk_struct(hop.walk, cursor, visit):
            return False
    return not hop.lane_count or visit.out != NULL or end_elements(hop, count, visit)


cdef bint meet_null(const Hop* hop, Visit* visit) noexcept:
    """Null in place of what is chosen in a struct or an array."""
    cdef Py_ssize_t i
    for i in range(hop.lane_count):
        if visit.out != NULL:
            if take_given(visit, hop.outer[i]) != None_:
                return False
        elif not push(visit, hop.outer[i], new_reference(None_)):
            return False
    return True


cdef bint begin_elements(const Hop* hop, Py_ssize_t count, Visit* visit) noexcept:
    """Make the lists of an array's chosen values, or take those that are given."""
    cdef Py_ssize_t i
    cdef Lane* lane
    cdef PyObject* given
    for i in range(hop.lane_count):
        lane = &visit.lanes[hop.inner[i]]
        if visit.out != NULL:
            given = take_given(visit, hop.outer[i])
            if not PyList_CheckExact(given) or PyList_GET_SIZE(given) != count:
                return False
            lane.given, lane.at = given, 0
        elif count:
            lane.start = lane.next = <PyObject**>uncleared(count, sizeof(PyObject*))
            if lane.start == NULL:
                return False
    return True


cdef bint end_elements(const Hop* hop, Py_ssize_t count, Visit* visit) noexcept:
    """Put the lists of an array's chosen values, which are full, where they belong."""
    cdef Py_ssize_t i
    cdef Lane* lane
    cdef PyObject** elements
    for i in range(hop.lane_count):
        lane = &visit.lanes[hop.inner[i]]
        elements = lane.start
        lane.start = lane.next = NULL
        if not push(visit, hop.outer[i], list_of(elements, count) if count else PyList_New(0)):
            return False
    return True


# Tag sections.

cdef inline bint is_chosen(const Hop* hop) noexcept nogil:
    """Whether it, or something in it, is chosen."""
    return hop.leaf >= 0 or hop.lane_count > 0


cdef inline bint walk_tag_section(const Walk* walk, Cursor* cursor, Visit* visit) noexcept:
    cdef uint64_t count
    if walk.chooses_tagged and visit.out != NULL:
        return rewrite_tag_section(walk, cursor, visit)
    if not take_varint(cursor, 31, &count):
        return False
    if count == 0 and not walk.chooses_tagged:
        return True
    return walk_tagged_fields(walk, count, cursor, visit)


cdef bint walk_tagged_fields(const Walk* walk, uint64_t count, Cursor* cursor, Visit* visit) noexcept:
    """Tagged fields, and the defaults of chosen ones that are left out."""
    cdef const Form* form = walk.form
    cdef const Hop* hop
    cdef const uint8_t* start
    cdef const uint8_t* p
    cdef int64_t tag = -1
    cdef uint64_t size
    cdef Py_ssize_t at = 0
    while count:
        count -= 1
        if not take_tag(cursor, &tag, &size):
            return False
        while at < form.tagged_count and form.tagged[at].tag < tag:
            if not meet_default(&walk.tagged[at], visit):
                return False
            at += 1
        start = cursor.at
        if at < form.tagged_count and form.tagged[at].tag == tag:
            hop = &walk.tagged[at]
            at += 1
            if not (meet_leaf(hop, cursor, visit) if hop.leaf >= 0 else walk_item(hop, cursor, visit)):
                return False
            if cursor.at - start != <Py_ssize_t>size:
                return False
            if visit.out != NULL and may_be_default(hop, start, size):
                return False
        elif is_declared(form, tag) or not take(cursor, size, &p):
            return False
    while at < form.tagged_count:
        if not meet_default(&walk.tagged[at], visit):
            return False
        at += 1
    return True


cdef bint meet_default(const Hop* hop, Visit* visit) noexcept:
    """The chosen values of a tagged field that is left out; they are read from the bytes of its default."""
    cdef Cursor cursor
    if not is_chosen(hop):
        return True
    open_default(hop, &cursor)
    return meet_leaf(hop, &cursor, visit) if hop.leaf >= 0 else walk_item(hop, &cursor, visit)


cdef inline void open_default(const Hop* hop, Cursor* cursor) noexcept:
    """Move to the bytes of a default."""
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(hop.default_bytes)
    open_cursor(cursor, start, start + PyBytes_GET_SIZE(hop.default_bytes))


cdef bint may_be_default(const Hop* hop, const uint8_t* value, uint64_t size) noexcept:
    """Whether a tagged field, which was just read, may be spelt out at its default, so that writing leaves it out."""
    cdef uint64_t bits
    cdef double number
    if hop.default_bytes == NULL:
        return True
    if hop.item.kind == FLOAT64:  # 0.0 and -0.0 are equal
        bits = big_endian_64(value)
        memcpy(&number, &bits, 8)
        return number == PyFloat_AS_DOUBLE(hop.item.default)
    return size == <uint64_t>PyBytes_GET_SIZE(hop.default_bytes) and (
        memcmp(value, PyBytes_AS_STRING(hop.default_bytes), size) == 0
    )

# The same walk with new values: other bytes are copied. It gives up where writing would not write the bytes that were
# read, which is where a tagged field is spelt out at its default.

cdef bint put_projected(Projector self, list values, Cursor* cursor, Output* out) noexcept:
    """Write the message that begins there with other values, which are as many as there are chosen fields."""
    cdef Lane lanes[MAX_LANES]
    cdef Visit visit
    cdef Py_ssize_t i, before = written(out)
    cdef bint done
    for i in range(self.column_count):
        lanes[i].given, lanes[i].at = <PyObject*>values, i
    visit.lanes, visit.out, visit.copied = lanes, out, cursor.at
    visit.own = PyList_New(0) if WITHOUT_GIL else NULL
    done = walk_struct(self.root, cursor, &visit) and copy_up_to(&visit, cursor.at)
    drop_if_any(visit.own)
    if not done:
        return False
    # Elements that were replaced are counted twice: where that is too many, Python counts.
    return may_have(cursor.at - cursor.start, cursor.empty_elements) and (
        may_have(written(out) - before, out.empty_elements + cursor.empty_elements)
    )


# What nothing takes for a value.
cdef object NO_VALUE = object()


cdef inline PyObject* take_given(Visit* visit, Py_ssize_t lane) noexcept:
    """The next value that is given, borrowed. A list is one that nobody else can change."""
    cdef Lane* taken = &visit.lanes[lane]
    cdef PyObject* value = PyList_GET_ITEM(taken.given, taken.at)
    taken.at += 1
    return own_list(visit, value) if WITHOUT_GIL and PyList_CheckExact(value) else value


cdef PyObject* own_list(Visit* visit, PyObject* value) noexcept:
    """A copy of a list, which lasts as long as the visit. Without memory it is no value."""
    cdef PyObject* copied = PyList_GetSlice(value, 0, PyList_GET_SIZE(value))
    if copied == NULL or PyList_Append(visit.own, copied) < 0:
        drop_if_any(copied)
        return <PyObject*>NO_VALUE
    drop(copied)
    return copied


cdef inline bint copy_up_to(Visit* visit, const uint8_t* end) noexcept:
    """Copy the bytes that were not copied yet."""
    cdef const uint8_t* start = visit.copied
    visit.copied = end
    return put_bytes(visit.out, <const char*>start, end - start)


cdef bint replace_value(const Hop* hop, Cursor* cursor, Visit* visit) noexcept:
    """Write a given value in place of the one that follows."""
    if not copy_up_to(visit, cursor.at) or not walk_item(hop, cursor, visit):
        return False
    visit.copied = cursor.at
    return put_item(hop.item, take_given(visit, hop.leaf), visit.out)


cdef bint rewrite_tag_section(const Walk* walk, Cursor* cursor, Visit* visit) noexcept:
    """A tag section in which something is chosen: new values may add fields, drop them and change their sizes."""
    cdef const Form* form = walk.form
    cdef const uint8_t* start
    cdef const uint8_t* p
    cdef Output* out = visit.out
    cdef Py_ssize_t count_at, at = 0
    cdef int64_t tag = -1
    cdef uint64_t count, size, field_count = 0
    if not copy_up_to(visit, cursor.at) or not take_varint(cursor, 31, &count):
        return False
    count_at = out.at - out.start
    if put(out, 1) == NULL:
        return False
    while count:
        count -= 1
        start = cursor.at
        if not take_tag(cursor, &tag, &size):
            return False
        while at < form.tagged_count and form.tagged[at].tag < tag:
            if not rewrite_default(&walk.tagged[at], visit, &field_count):
                return False
            at += 1
        visit.copied = p = cursor.at
        if at < form.tagged_count and form.tagged[at].tag == tag:
            if is_chosen(&walk.tagged[at]):
                if not rewrite_tagged_field(&walk.tagged[at], cursor, visit, &field_count):
                    return False
                start = cursor.at
            elif not walk_item(&walk.tagged[at], cursor, visit) or may_be_default(&walk.tagged[at], p, size):
                return False
            if cursor.at - p != <Py_ssize_t>size:
                return False
            at += 1
        elif is_declared(form, tag) or not take(cursor, size, &p):
            return False
        if start != cursor.at:  # it was not written yet
            field_count += 1
            if not put_bytes(out, <const char*>start, cursor.at - start):
                return False
    while at < form.tagged_count:
        if not rewrite_default(&walk.tagged[at], visit, &field_count):
            return False
        at += 1
    visit.copied = cursor.at
    return insert_varint(out, count_at, field_count)


cdef bint rewrite_default(const Hop* hop, Visit* visit, uint64_t* field_count) noexcept:
    """A tagged field that was left out, which the values that are chosen of it may bring in."""
    cdef Cursor cursor
    if not is_chosen(hop):
        return True
    open_default(hop, &cursor)
    visit.copied = cursor.at
    return rewrite_tagged_field(hop, &cursor, visit, field_count)


cdef bint rewrite_tagged_field(const Hop* hop, Cursor* cursor, Visit* visit, uint64_t* field_count) noexcept:
    """A chosen tagged field, or one in which something is chosen; nothing is written where it has its default."""
    cdef Output* out = visit.out
    cdef Py_ssize_t start = out.at - out.start, size_at
    if hop.leaf >= 0:
        if not walk_item(hop, cursor, visit) or not write_tagged_field(hop.item, take_given(visit, hop.leaf), out):
            return False
        field_count[0] += out.at - out.start > start
        return True
    if not put_varint(out, hop.item.tag):
        return False
    size_at = out.at - out.start
    if put(out, 1) == NULL or not walk_item(hop, cursor, visit) or not copy_up_to(visit, cursor.at):
        return False
    if ends_with(out, size_at + 1, hop.default_bytes):
        out.at = out.start + start
        return True
    field_count[0] += 1
    return insert_varint(out, size_at, out.at - out.start - size_at - 1)

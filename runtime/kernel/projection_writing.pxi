# Programs run with new values: all other bytes are copied. A run gives up where encoding would not write the bytes that
# were read: where a tagged field is spelt out at its default.

cdef bint put_projected(Projector self, list values, Cursor* cursor, Output* out) noexcept:
    """Write the message at the cursor with other values, one for each chosen field."""
    cdef ValueBuffer buffers[MAX_BUFFERS]
    cdef Context context
    cdef Py_ssize_t i, before = written(out)
    cdef bint done
    for i in range(self.column_count):
        buffers[i].given, buffers[i].at = <PyObject*>values, i
    context.buffers, context.out, context.copied = buffers, out, cursor.at
    context.copies = PyList_New(0) if WITHOUT_GIL else NULL
    done = run_struct(self.root, cursor, &context) and copy_up_to(&context, cursor.at)
    xdecref(context.copies)
    if not done:
        return False
    # Elements that were replaced are counted twice: where that is too many, Python counts.
    return may_have(cursor.at - cursor.start, cursor.empty_elements) and (
        may_have(written(out) - before, out.empty_elements + cursor.empty_elements)
    )


# What nothing takes for a value.
cdef object NO_VALUE = object()


cdef inline PyObject* take_given(Context* context, Py_ssize_t buffer) noexcept:
    """Take the next given value, borrowed. The list is private, so it cannot change meanwhile."""
    cdef ValueBuffer* taken = &context.buffers[buffer]
    cdef PyObject* value = PyList_GET_ITEM(taken.given, taken.at)
    taken.at += 1
    return copy_given(context, value) if WITHOUT_GIL and PyList_CheckExact(value) else value


cdef PyObject* copy_given(Context* context, PyObject* value) noexcept:
    """A copy of a list, which lasts as long as the context. Without memory it is no value."""
    cdef PyObject* copied = PyList_GetSlice(value, 0, PyList_GET_SIZE(value))
    if copied == NULL or PyList_Append(context.copies, copied) < 0:
        xdecref(copied)
        return <PyObject*>NO_VALUE
    decref(copied)
    return copied


cdef inline bint copy_up_to(Context* context, const uint8_t* end) noexcept:
    """Copy the bytes up to a place that were not copied yet."""
    cdef const uint8_t* start = context.copied
    context.copied = end
    return put_bytes(context.out, <const char*>start, end - start)


cdef bint replace_value(const Op* op, Cursor* cursor, Context* context) noexcept:
    """Write a given value in place of the value that follows."""
    if not copy_up_to(context, cursor.at) or not run_op(op, cursor, context):
        return False
    context.copied = cursor.at
    return put_item(op.item, take_given(context, op.selected), context.out)


cdef bint rewrite_tag_section(const Program* program, Cursor* cursor, Context* context) noexcept:
    """A tag section in which something is chosen: new values may add fields, drop them and change their sizes."""
    cdef const Op* op
    cdef Output* out = context.out
    cdef Py_ssize_t count_at
    cdef uint64_t count, field_count = 0
    cdef Tags tags
    cdef NextTag found
    if not copy_up_to(context, cursor.at) or not take_varint(cursor, 31, &count):
        return False
    open_tags(&tags, count)
    count_at = out.at - out.start
    if put(out, 1) == NULL:
        return False
    while True:
        found = next_tag(program.plan, &tags, cursor)
        op = &program.tagged[tags.known]
        if found == TAG_LEFT_OUT:
            if not rewrite_default(op, context, &field_count):
                return False
        elif found == TAG_KNOWN and is_chosen(op):
            context.copied = tags.value
            if not rewrite_tagged_field(op, cursor, context, &field_count) or not has_size(&tags, cursor):
                return False
        elif found == TAG_KNOWN or found == TAG_UNKNOWN:
            if found == TAG_KNOWN:
                if not run_op(op, cursor, context) or not has_size(&tags, cursor):
                    return False
                if may_be_default(op, tags.value, tags.size):
                    return False
            field_count += 1
            if not put_bytes(out, <const char*>tags.field, cursor.at - tags.field):
                return False
        elif found == TAGS_END:
            context.copied = cursor.at
            return insert_varint(out, count_at, field_count)
        else:
            return False


cdef bint rewrite_default(const Op* op, Context* context, uint64_t* field_count) noexcept:
    """A tagged field that was left out, which new values may bring in."""
    cdef Cursor cursor
    if not is_chosen(op):
        return True
    open_default(op, &cursor)
    context.copied = cursor.at
    return rewrite_tagged_field(op, &cursor, context, field_count)


cdef bint rewrite_tagged_field(const Op* op, Cursor* cursor, Context* context, uint64_t* field_count) noexcept:
    """Write a chosen tagged field, or one with a chosen field in it; nothing for a field at its default."""
    cdef Output* out = context.out
    cdef TaggedField field
    cdef Py_ssize_t start = out.at - out.start
    if op.selected >= 0:
        if not run_op(op, cursor, context) or not write_tagged_field(op.item, take_given(context, op.selected), out):
            return False
        field_count[0] += out.at - out.start > start
        return True
    if not begin_tagged(op.item, &field, out) or not run_op(op, cursor, context) or not copy_up_to(context, cursor.at):
        return False
    if ends_with(out, field.before, op.default_bytes):
        out.at = out.start + start
        return True
    field_count[0] += 1
    return insert_varint(out, field.size_at, out.at - out.start - field.before)

# Programs run over a message. They judge bytes as reading.pxi does.

cdef object project(Projector self, data, int64_t at, Cursor* cursor):
    """A tuple of the chosen values of the message at a position; None if the message is not strictly valid."""
    cdef ValueBuffer buffers[MAX_BUFFERS]
    cdef PyObject* columns[MAX_BUFFERS]
    cdef Context context
    cdef bint was_collecting = pause_collector()
    cdef bint done
    cdef Py_ssize_t i
    cdef PyObject* values = NULL
    memset(buffers, 0, self.buffer_count * sizeof(ValueBuffer))
    for i in range(self.column_count):
        buffers[i].start = buffers[i].next = &columns[i]
    context.buffers, context.out = buffers, NULL
    open_bytes(<PyObject*>data, at, cursor)
    if run_struct(self.root, cursor, &context):
        values = PyTuple_New(self.column_count)
    if values != NULL:
        for i in range(self.column_count):
            PyTuple_SET_ITEM(values, i, columns[i])
    else:
        discard_buffers(self, buffers)
    resume_collector(was_collecting)
    if values == NULL:
        PyErr_Clear()
        return None
    return steal(values)


cdef void discard_buffers(Projector self, ValueBuffer* buffers) noexcept:
    """Drop what was read of a message that is broken."""
    cdef Py_ssize_t i
    for i in range(self.buffer_count):
        while buffers[i].next != buffers[i].start:
            buffers[i].next -= 1
            decref(buffers[i].next[0])
        if i >= self.column_count:
            PyMem_Free(buffers[i].start)


cdef bint run_struct(const Program* program, Cursor* cursor, Context* context) noexcept:
    cdef const Op* op
    cdef Py_ssize_t i
    for i in range(program.op_count):
        op = &program.ops[i]
        if op.selected >= 0:
            if not run_selected(op, cursor, context):
                return False
        elif not run_op(op, cursor, context):
            return False
    return not program.plan.flexible or run_tag_section(program, cursor, context)


cdef inline bint run_selected(const Op* op, Cursor* cursor, Context* context) noexcept:
    """A chosen value: made, or replaced."""
    if context.out == NULL:
        return push(context, op.selected, read_value(op.item.kind, op.item, op.item.nullable, cursor))
    return replace_value(op, cursor, context)


cdef inline bint push(Context* context, Py_ssize_t buffer, PyObject* value) noexcept:
    """Put a new reference into a buffer; False for NULL."""
    if value == NULL:
        return False
    context.buffers[buffer].next[0] = value
    context.buffers[buffer].next += 1
    return True


cdef inline bint run_op(const Op* op, Cursor* cursor, Context* context) noexcept:
    """Skip an unselected field, or enter a struct or an array with selected fields."""
    cdef const uint8_t* p
    cdef int64_t number
    cdef Py_ssize_t i
    cdef bint is_there
    if op.kind == OP_FIXED:
        if not take(cursor, op.width, &p):
            return False
        for i in range(op.bool_count):
            if p[op.bools[i]] > 1:
                return False
        return True
    elif op.kind == OP_TEXT:
        return skip_text(op.item.size, op.item.nullable, cursor)
    elif op.kind == OP_FIXED_ELEMENTS:
        return skip_fixed_elements(op.item, cursor)
    elif op.kind == OP_STRUCTS:
        return run_structs(op, cursor, context)
    elif op.kind == OP_BLOB:
        return take_blob(op.item.size, op.item.nullable, cursor, &p, &number)
    elif op.kind == OP_PACKED:
        return take_packed(op.item, cursor, &number)
    elif op.kind == OP_STRUCT:
        return run_struct(op.program, cursor, context)
    elif op.kind == OP_NULLABLE_STRUCT:
        if not take_marker(op.item, cursor, &is_there):
            return False
        return run_struct(op.program, cursor, context) if is_there else select_null(op, context)
    return skip_elements(op.item, cursor)


cdef inline bint skip_text(Prefix prefix, bint nullable, Cursor* cursor) noexcept nogil:
    cdef int64_t size
    cdef const uint8_t* p
    return take_text(prefix, nullable, cursor, &p, &size) and (size < 0 or is_utf8(p, size))


cdef inline bint skip_fixed_elements(const Item* item, Cursor* cursor) noexcept nogil:
    cdef int64_t count
    cdef Py_ssize_t size
    cdef const uint8_t* p
    if not take_length(item.count, cursor, &count):
        return False
    if count < 0:
        return item.nullable
    return is_size(count, item.min_size, 0, &size) and take(cursor, size, &p)


cdef bint skip_elements(const Item* item, Cursor* cursor) noexcept nogil:
    """An array of texts, blobs, varints or bools."""
    cdef int64_t count, number
    cdef Py_ssize_t i
    cdef const uint8_t* p
    if not take_count(item, item.nullable, cursor, &count):
        return False
    for i in range(count):
        if item.element == STRING:
            if not skip_text(item.size, False, cursor):
                return False
        elif item.element == BYTES:
            if not take_blob(item.size, False, cursor, &p, &number):
                return False
        elif item.element == BOOL:
            if not take(cursor, 1, &p) or p[0] > 1:
                return False
        elif not take_packed(item, cursor, &number):
            return False
    return True


cdef bint run_structs(const Op* op, Cursor* cursor, Context* context) noexcept:
    """An array of structs."""
    cdef int64_t count
    cdef Py_ssize_t i, size
    cdef const uint8_t* p
    if not take_count(op.item, op.item.nullable, cursor, &count):
        return False
    if count < 0:
        return select_null(op, context)
    if op.program.width:
        return is_size(count, op.program.width, 0, &size) and take(cursor, size, &p)
    if op.buffer_count and not begin_elements(op, count, context):
        return False
    for i in range(count):
        if not run_struct(op.program, cursor, context):
            return False
    return not op.buffer_count or context.out != NULL or end_elements(op, count, context)


cdef bint select_null(const Op* op, Context* context) noexcept:
    """Null in place of what is chosen in a struct or an array."""
    cdef Py_ssize_t i
    for i in range(op.buffer_count):
        if context.out != NULL:
            if take_given(context, op.outer[i]) != None_:
                return False
        elif not push(context, op.outer[i], new_ref(None_)):
            return False
    return True


cdef bint begin_elements(const Op* op, Py_ssize_t count, Context* context) noexcept:
    """Make the lists of an array's chosen values, or take the given lists."""
    cdef Py_ssize_t i
    cdef ValueBuffer* buffer
    cdef PyObject* given
    for i in range(op.buffer_count):
        buffer = &context.buffers[op.inner[i]]
        if context.out != NULL:
            given = take_given(context, op.outer[i])
            if not PyList_CheckExact(given) or PyList_GET_SIZE(given) != count:
                return False
            buffer.given, buffer.at = given, 0
        elif count:
            buffer.start = buffer.next = <PyObject**>alloc_items(count, sizeof(PyObject*))
            if buffer.start == NULL:
                return False
    return True


cdef bint end_elements(const Op* op, Py_ssize_t count, Context* context) noexcept:
    """Put the lists of an array's chosen values, which are full, into the buffers around the array."""
    cdef Py_ssize_t i
    cdef ValueBuffer* buffer
    cdef PyObject** elements
    for i in range(op.buffer_count):
        buffer = &context.buffers[op.inner[i]]
        elements = buffer.start
        buffer.start = buffer.next = NULL
        if not push(context, op.outer[i], list_of(elements, count) if count else PyList_New(0)):
            return False
    return True


# Tag sections.

cdef inline bint is_chosen(const Op* op) noexcept nogil:
    """True if the field of an op, or a field in it, is selected."""
    return op.selected >= 0 or op.buffer_count > 0


cdef inline bint run_tag_section(const Program* program, Cursor* cursor, Context* context) noexcept:
    cdef uint64_t count
    if program.chooses_tagged and context.out != NULL:
        return rewrite_tag_section(program, cursor, context)
    if not take_varint(cursor, 31, &count):
        return False
    return (count == 0 and not program.chooses_tagged) or run_tagged_fields(program, count, cursor, context)


cdef bint run_tagged_fields(const Program* program, uint64_t count, Cursor* cursor, Context* context) noexcept:
    """Tagged fields, and the defaults of chosen ones that are left out."""
    cdef const Op* op
    cdef Tags tags
    cdef NextTag found
    open_tags(&tags, count)
    while True:
        found = next_tag(program.plan, &tags, cursor)
        op = &program.tagged[tags.known]
        if found == TAG_LEFT_OUT:
            if not select_default(op, context):
                return False
        elif found == TAG_KNOWN:
            if not (run_selected(op, cursor, context) if op.selected >= 0 else run_op(op, cursor, context)):
                return False
            if not has_size(&tags, cursor):
                return False
            if context.out != NULL and may_be_default(op, tags.value, tags.size):
                return False
        elif found != TAG_UNKNOWN:
            return found == TAGS_END


cdef bint select_default(const Op* op, Context* context) noexcept:
    """The chosen values of a tagged field that is left out, read from the bytes of its default."""
    cdef Cursor cursor
    if not is_chosen(op):
        return True
    open_default(op, &cursor)
    return run_selected(op, &cursor, context) if op.selected >= 0 else run_op(op, &cursor, context)


cdef inline void open_default(const Op* op, Cursor* cursor) noexcept:
    """Move to the bytes of a default."""
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(op.default_bytes)
    open_cursor(cursor, start, start + PyBytes_GET_SIZE(op.default_bytes))


cdef bint may_be_default(const Op* op, const uint8_t* value, uint64_t size) noexcept:
    """True if a tagged field, which was just read, may be at its default, so that writing leaves it out."""
    cdef uint64_t bits
    cdef double number
    if op.default_bytes == NULL:
        return True
    if op.item.kind == FLOAT64:  # 0.0 and -0.0 are equal
        bits = big_endian_64(value)
        memcpy(&number, &bits, 8)
        return number == PyFloat_AS_DOUBLE(op.item.default)
    return size == <uint64_t>PyBytes_GET_SIZE(op.default_bytes) and (
        memcmp(value, PyBytes_AS_STRING(op.default_bytes), size) == 0
    )

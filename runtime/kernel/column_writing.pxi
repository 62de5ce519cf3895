# From columns to bytes, by the rules of writing.pxi. Every function returns False if a value is wrong, or right but
# unusual, such as unknown tags in another order: the generated code then looks at the row.

cdef bint put_struct(const Fields* fields, Py_ssize_t row, Output* out) noexcept:
    cdef Py_ssize_t i, j
    cdef const Step* step
    cdef uint8_t* p
    for i in range(fields.step_count):
        step = &fields.steps[i]
        if step.column != NULL:
            if not put_value(step.column, row, out):
                return False
            continue
        p = put(out, step.width)
        if p == NULL:
            return False
        for j in range(step.part_count):
            if not load(step.parts[j].column, row, p + step.parts[j].at):
                return False
    return not fields.plan.flexible or put_tag_section(fields, row, out)


cdef bint put_value(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """A value of a field: the field's own, or one element of its array."""
    cdef uint8_t* p
    cdef bint null = is_null(column, row)
    if column.kind == NULLABLE_STRUCT:
        return put_marker(column.item, not null, out) and (null or put_struct(column.fields, row, out))
    if null:
        return column.nullable and put_length(column.item.count if column.kind == ARRAY else column.item.size, -1, out)
    if column.kind == STRING:
        return put_string(column, row, out)
    elif column.kind == ARRAY:
        return put_array(column, row, out)
    elif column.kind == STRUCT:
        return put_struct(column.fields, row, out)
    elif column.kind == BYTES:
        return put_content(column, row, out)
    elif column.kind > UUID:
        return put_number(column.item, number_at(column, row), out)
    p = put(out, column.wire_width)
    return p != NULL and load(column, row, p)


cdef inline bint load(const Column* column, Py_ssize_t row, uint8_t* p) noexcept:
    """A value of fixed width. None of them may be null."""
    if is_null(column, row):
        return False
    if column.store == STORE_32:
        store_32(p, (<const uint32_t*>column.values)[row])
    elif column.store == STORE_16:
        store_16(p, (<const uint16_t*>column.values)[row])
    elif column.store == STORE_64:
        store_64(p, (<const uint64_t*>column.values)[row])
    elif column.store == STORE_8:
        p[0] = column.values[row]
    else:
        return load_otherwise(column, row, p)
    return True


cdef bint load_otherwise(const Column* column, Py_ssize_t row, uint8_t* p) noexcept:
    cdef int64_t number
    if column.store == STORE_BIT:
        p[0] = bit_at(column.values, column.first_bit + row)
        return True
    if column.store == STORE_128:
        memcpy(p, column.values + 16 * row, 16)
        return True
    number = number_at(column, row)
    store_integer(p, <int>column.wire_width, number)
    return column.item.low <= number <= column.item.high


cdef inline bint bit_at(const uint8_t* bits, Py_ssize_t at) noexcept:
    return bits[at >> 3] >> (at & 7) & 1


cdef inline bint is_null(const Column* column, Py_ssize_t row) noexcept:
    return column.validity != NULL and not bit_at(column.validity, column.first_bit + row)


cdef inline int64_t number_at(const Column* column, Py_ssize_t row) noexcept:
    """A number of a type that KIP-625 has encodings of."""
    if column.width == 4:
        return (<const int32_t*>column.values)[row]
    elif column.width == 8:
        return (<const int64_t*>column.values)[row]
    return (<const int16_t*>column.values)[row]


# Where the value of a row starts among contents or elements, and its size in these.
cdef struct Slice:
    Py_ssize_t start
    Py_ssize_t size


cdef inline bint slice_of(const Column* column, Py_ssize_t row, Py_ssize_t limit, Slice* found) noexcept:
    """Find the value of a row. True if its offsets, which other threads may change and so are read once, make sense."""
    cdef int64_t start = column.offsets[row], end = column.offsets[row + 1]
    found.start, found.size = start, end - start
    return 0 <= start <= end <= limit


cdef bint put_array(const Column* column, Py_ssize_t row, Output* out) noexcept:
    cdef Slice elements
    cdef Py_ssize_t i
    if not slice_of(column, row, column.elements.count, &elements):
        return False
    if column.item.min_size == 0:
        out.empty_elements += elements.size
    if not put_length(column.item.count, elements.size, out):
        return False
    if column.fields == NULL and column.parts.kind <= UUID:
        return put_run(column.parts, elements.start, elements.size, out)
    for i in range(elements.start, elements.start + elements.size):
        if not (put_value(column.parts, i, out) if column.fields == NULL else put_struct(column.fields, i, out)):
            return False
    return True


cdef bint put_run(const Column* elements, Py_ssize_t first, Py_ssize_t count, Output* out) noexcept:
    cdef Py_ssize_t i, size
    cdef uint8_t* p
    if not is_size(count, elements.wire_width, 0, &size):
        return False
    p = put(out, size)
    if p == NULL:
        return False
    for i in range(count):
        if not load(elements, first + i, p + i * elements.wire_width):
            return False
    return True


cdef bint put_string(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """UTF-8. The copy is checked, and not its source, which another thread may be changing."""
    cdef Slice content
    if not slice_of(column, row, column.content_size, &content) or not is_text_length(column.item.size, content.size):
        return False
    return put_slice(column, &content, out) and is_utf8(out.at - content.size, content.size)


cdef bint put_content(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """Bytes after their length."""
    cdef Slice content
    return slice_of(column, row, column.content_size, &content) and put_slice(column, &content, out)


cdef inline bint put_slice(const Column* column, const Slice* content, Output* out) noexcept:
    return put_length(column.item.size, content.size, out) and put_bytes(
        out, <const char*>column.content + content.start, content.size
    )


cdef bint put_tag_section(const Fields* fields, Py_ssize_t row, Output* out) noexcept:
    """Write tagged fields that are not at their defaults, and unknown fields, merged in the order of tags."""
    cdef Py_ssize_t count_at = written(out), before
    cdef Py_ssize_t i = 0, j = 0, last = 0
    cdef int64_t previous = -1
    cdef uint64_t count = 0
    cdef Slice entries
    cdef const Column* unknown = fields.unknown
    if unknown.wanted and not is_null(unknown, row):
        if not slice_of(unknown, row, unknown.elements.count, &entries):
            return False
        j, last = entries.start, entries.start + entries.size
    if j == last and fields.plan.tagged_count == 0:
        return put_varint(out, 0)
    if put(out, 1) == NULL:
        return False
    while i < fields.plan.tagged_count or j < last:
        before = written(out)
        if j == last or (i < fields.plan.tagged_count and fields.plan.tagged[i].tag < number_at(unknown.parts, j)):
            if fields.tagged[i].wanted and not put_tagged_field(&fields.tagged[i], row, out):
                return False
            i += 1
        else:
            if not put_unknown_field(fields, j, &previous, out):
                return False
            j += 1
        count += written(out) > before
    return insert_varint(out, count_at, count)


cdef bint put_unknown_field(const Fields* fields, Py_ssize_t entry, int64_t* previous, Output* out) noexcept:
    cdef const Column* contents = &fields.unknown.parts[1]
    cdef int64_t tag = number_at(fields.unknown.parts, entry)
    cdef Slice content
    if tag <= previous[0] or is_declared(fields.plan, tag):
        return False
    if is_null(contents, entry) or not slice_of(contents, entry, contents.content_size, &content):
        return False
    previous[0] = tag
    return (
        put_varint(out, tag)
        and put_varint(out, content.size)
        and put_bytes(out, <const char*>contents.content + content.start, content.size)
    )


cdef bint put_tagged_field(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """Write a known field with its tag and its size; nothing for a field at its default."""
    cdef TaggedField field
    cdef bint null = is_null(column, row)
    if column.null_by_default if null else is_default_at(column, row):
        return True
    if not begin_tagged(column.item, &field, out) or not put_value(column, row, out):
        return False
    return end_tagged(column.item, not null, &field, out)


cdef bint is_default_at(const Column* column, Py_ssize_t row) noexcept:
    """True if a value, which is not null, is the default. A struct has to be written to find out."""
    cdef Slice content
    cdef double value, default
    if column.null_by_default or is_struct(column):
        return False
    if has_offsets(column):
        if not slice_of(column, row, column.elements.count if column.kind == ARRAY else column.content_size, &content):
            return False
        if column.kind != STRING:
            return content.size == 0
        return content.size == column.default_size and memcmp(
            column.content + content.start, column.default_content, content.size
        ) == 0
    if column.kind == BOOL:
        return bit_at(column.values, column.first_bit + row) == column.default_value[0]
    if column.kind == FLOAT64:  # 0.0 and -0.0 are equal
        memcpy(&value, column.values + 8 * row, 8)
        memcpy(&default, column.default_value, 8)
        return value == default
    return memcmp(column.values + column.width * row, column.default_value, column.width) == 0


# Columns of an Arrow array, which are looked at where they are.

cdef int bind_column(Tree tree, Column* column, parts) except -1:
    """Point a column to the buffers of an array.

    `parts` are its number of values, the number of the first one in its buffers, the buffers, and the same for the
    arrays in it.

    Raises:
        ValueError: a buffer or an array in it is shorter than the array says.
    """
    cdef Py_ssize_t count, first, last
    count, first, buffers, children = parts
    if count == 0:
        return 0
    if not is_size(count, 1, first, &last):
        raise ValueError(f"no buffer holds {count} values after {first} others")
    column.first_bit = first
    if buffers[0] is not None:
        column.validity = view_of(tree, buffers[0], 1, bits_size(last), NULL)
    if is_struct(column):
        return bind_fields(tree, column.fields, children, count)
    if has_offsets(column):
        column.offsets = <int32_t*>view_of(tree, buffers[1], 4, size_of(column, last), NULL) + first
        if column.kind != ARRAY:
            column.content = view_of(tree, buffers[2], 1, 0, &column.content_size)
            return 0
        (elements,) = children
        column.elements.count = elements[0]
        if column.fields != NULL:
            return bind_fields(tree, column.fields, elements[3], elements[0])
        if column.part_count == 1:
            return bind_column(tree, column.parts, elements)
        for part, tags_or_contents in enumerate(elements[3]):
            bind_column(tree, &column.parts[<Py_ssize_t>part], tags_or_contents)
        return 0
    column.values = view_of(tree, buffers[1], min(max(column.width, 1), 8), size_of(column, last), NULL)
    if column.kind != BOOL:  # whose first bit may be within a byte
        column.values += column.width * first
    return 0


cdef int bind_fields(Tree tree, Fields* fields, children, Py_ssize_t count) except -1:
    cdef Py_ssize_t i
    for i in range(fields.wanted_count):
        if children[i][0] < count:
            raise ValueError("a column has fewer values than there are structs")
        bind_column(tree, fields.wanted[i], children[i])
    return 0


cdef uint8_t* view_of(Tree tree, source, Py_ssize_t width, Py_ssize_t min_size, Py_ssize_t* size) except NULL:
    """The start of a buffer of values of some width, which must have enough bytes."""
    cdef View view = View(b"" if source is None else source, width)
    tree.arena.append(view)
    if view.buffer.len < min_size:
        raise ValueError(f"a buffer has {view.buffer.len} bytes, but {min_size} are needed")
    if size != NULL:
        size[0] = view.buffer.len
    return <uint8_t*>view.buffer.buf


def write_columns(cls, wanted, parts):
    """Write the rows of a struct array.

    Args:
        cls: the class of the messages.
        wanted: the columns that are there, in the order of the spec: each its name, and the same for the columns in it
        or None.
        parts: the array's number of values, the number of the first one in its buffers, its buffers, and the same for
        its columns.

    Returns:
        The number of the row that the generated code has to look at, or -1; and the rows' offsets and bytes.

    Raises:
        NotServed: the kernel does not write this class.
        OverflowError: there are more rows, or all together have more bytes, than offsets can address.
        ValueError: a buffer is shorter than its array says.
    """
    cdef Tree tree = Tree(cls, wanted)
    cdef Py_ssize_t row, size, before, count = parts[0]
    cdef Output out
    cdef uint8_t stack[STACK]
    cdef int32_t* ends
    tree.borrows = True
    bind_column(tree, &tree.root, parts)
    if not is_size(count, 4, 4, &size) or count > MAX_OFFSET:
        raise OverflowError
    offsets = bytearray(size)
    ends = <int32_t*>PyByteArray_AS_STRING(<PyObject*>offsets)
    open_output(&out, stack, STACK, False)
    for row in range(count):
        before = written(&out)
        out.empty_elements = 0
        if not is_null(&tree.root, row) and not (
            put_struct(tree.root.fields, row, &out) and may_have(written(&out) - before, out.empty_elements)
        ):
            discard_output(&out)
            PyErr_Clear()
            return row, None, None
        if written(&out) > MAX_OFFSET:
            discard_output(&out)
            raise OverflowError
        ends[row + 1] = <int32_t>written(&out)
    return -1, offsets, steal(close_output(&out))
